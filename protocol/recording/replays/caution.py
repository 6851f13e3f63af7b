"""Decides if a step that differs from its recording forbids later steps that write. docs/adr/0033.

Cosmetic differences do not forbid: a part of the title, an id in the address, and, at another origin, controls and texts that were
added or removed. Signs of different data or another place do: see ``forbids``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from protocol import limits
from protocol.page.seen.names import fold
from protocol.recording.pages.alerts import COMPLAINT
from protocol.recording.pages.masks import apply_masks, mask_address, mask_text
from protocol.recording.records.findings import changed_part
from protocol.recording.records.page_outline import OutlineLine, parsed
from protocol.recording.records.session import Step, StepMatch
from protocol.recording.records.verdicts import matches, new_faults, other_dialogs
from protocol.recording.replays.replay import BAR, Bar, Met
from protocol.risk.pressing.classes import WRITE_CLASS

_FIELDS: Final = frozenset(
    {"textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider", "checkbox", "radio", "switch", "option"}
)
_CELLS: Final = frozenset({"cell", "gridcell", "rowheader"})
_WARNINGS: Final = frozenset({"alert", "alertdialog", "dialog", "status"})
_CONTROLS: Final = frozenset({"button", "link", "tab", "menuitem", "columnheader", "img", "treeitem"})
_NUMBER: Final = re.compile(r"[0-9]+")
_VERSION: Final = re.compile(r"\bv?[0-9]+\.[0-9]+(?:\.[0-9]+|[a-z]+[0-9]+)[.0-9a-z]*\b", re.IGNORECASE)
_MONEY: Final = re.compile(
    r"(?:[£$€¥₹₽₩]|\b(?:EUR|USD|GBP|CHF)) ?[0-9][0-9.,]{0,30}|(?<![0-9.,])[0-9][0-9.,]{0,30} ?(?:[£$€¥₹₽₩]|(?:EUR|USD|GBP|CHF)\b)"
)
_STATE_CHARS_MAX: Final = 40
_PUNCTUATION: Final = re.compile(r"[\s.,:;!?'’&/()-]+")
_READS: Final = ("GET ", "HEAD ", "OPTIONS ", "PROPFIND ", "REPORT ", "SEARCH ", "QUERY ")
"""Methods that only read (RFC 9110, RFC 4918, RFC 3253, RFC 5323)."""


def forbids(step: Step, match: StepMatch, met: Met, recorded: str | None, *, elsewhere: bool, bar: Bar = BAR) -> str:
    """The difference, in words, that forbids writes after a step that did not match; empty if none does.

    recorded: the recorded text of the page, None if it is missing. elsewhere: the replay is at another origin, where another
    version of the application may run. Checks, in order: the assertion and the extracted text; requests; address; title; text. At
    the same origin the text must be the recorded one. At another one it must not contradict it (``contradiction``).
    If everything else holds at ``bar``, only a new alert counts.
    """
    if match.alert and matches(msgspec.structs.replace(match, alert=""), step, bar.level, strict=bar.strict):
        return _alerting(match, met, recorded) if elsewhere else f"a new {match.alert}"
    if not match.held or not match.extracted:
        return "another value"
    if _is_broken(step, match, met, elsewhere=elsewhere):
        return "a request that went wrong"
    if other_dialogs(step.dialogs, match.dialogs):
        return "another dialog"
    if not _same_place(step.url, met.url):
        return "another address"
    if not match.title and changed_part(mask_text(step.title), mask_text(met.title))[0] == mask_text(step.title):
        return "another title"
    if match.text in ("same", "masked") or (not match.text and match.state):
        return ""
    if not elsewhere:
        return "another text"
    if recorded is None:
        return "no recorded text to compare with"
    return contradiction(*apply_masks(recorded, step.masks, met.text), same_address=met.url == step.url)


def _alerting(match: StepMatch, met: Met, recorded: str | None) -> str:
    """The reason to forbid writes if only a new alert differs. Another version may report success in other words."""
    old, new = ([parsed(line) for line in (text or "").split("\n")] for text in (recorded, met.text))
    return f"a new {match.alert}" if _more_warnings(old, new) or _complaint(old, new) else ""


def _is_broken(step: Step, match: StepMatch, met: Met, *, elsewhere: bool) -> bool:
    """True if requests newly failed.

    At another origin a refused read (400 to 499) does not count, because it changed nothing. It counts if it was the page itself,
    or if the step should have changed something, on which later steps may rely.
    """
    if not elsewhere:
        return bool(new_faults(match, step))
    page = urlsplit(met.url).path
    left = [
        fault
        for fault in match.faults
        if fault.status >= 500
        or ((fault.fault != "status" or step.risk >= WRITE_CLASS) and not fault.request.startswith(_READS))
        or fault.request.partition(" ")[2].partition("?")[0] == page
    ]
    return bool(new_faults(msgspec.structs.replace(match, faults=tuple(left)), step))


def _same_place(recorded: str, met: str) -> bool:
    """True if two addresses differ only in numbers of path and fragment, and in query keys that one of them lacks."""
    if recorded == met:
        return True
    try:
        old, new = urlsplit(mask_address(recorded)), urlsplit(mask_address(met))
    except ValueError:
        return False
    if (old.scheme, old.netloc) != (new.scheme, new.netloc):
        return False
    if any(
        _NUMBER.sub("#", one) != _NUMBER.sub("#", other)
        for one, other in ((old.path, new.path), (old.fragment, new.fragment))
    ):
        return False
    ours, theirs = dict(parse_qsl(old.query)), dict(parse_qsl(new.query))
    return all(ours[key] == theirs[key] for key in ours.keys() & theirs.keys())


def contradiction(recorded: str, met: str, *, same_address: bool = False) -> str:
    """The contradiction between two snapshots, in words; empty if one of them only contains more.

    Contradictions are: a missing cell or amount of money; a missing heading, unless the address is the same and it has no number
    ("Login" may become "Sign in", but "Order 7" is not "Order 8"); a field with other content; a new alert, dialog or status, or a
    text about a failure; another text behind the same label; a few words replaced by others. Numbers of versions do not count.
    """
    old, new = ([parsed(_VERSION.sub("#", line)) for line in text.split("\n")] for text in (recorded, met))
    said, whole = {line.said for line in new}, fold(met)
    for line in old:
        is_named = line.role == "heading" and not (same_address and not _NUMBER.search(line.said))
        if "‹" in line.said:
            continue  # a masked text changes by itself, and may be written differently
        if (line.role in _CELLS and line.said and line.said not in said) or (is_named and line.said not in whole):
            return f"no {line.role} “{line.name or line.text}” any more"
    if gone := Counter(_MONEY.findall(recorded)) - Counter(_MONEY.findall(met)):
        return f"no amount {next(iter(gone))} any more"
    if field := _other_field(old, new):
        return f"another content of {field}"
    if more := _more_warnings(old, new):
        return f"a new {more}"
    if label := _other_labelled(old, new):
        return f"something else behind “{label}”"
    if instead := _replaced(old, new):
        return instead
    complaint = _complaint(old, new)
    return f"“{complaint}”, which is new" if complaint else ""


def _other_field(old: Sequence[OutlineLine], new: Sequence[OutlineLine]) -> str:
    """A field with other content or another state, if both pages have the same number of fields with its role and name."""
    before, after = _fields(old), _fields(new)
    for key, contents in before.items():
        if key in after and len(after[key]) == len(contents) and after[key] != contents:
            return f"{key[0]} “{key[1]}”"
    return ""


def _fields(lines: Sequence[OutlineLine]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for line in lines:
        if line.role in _FIELDS:
            found.setdefault((line.role, line.name), []).append((line.states.replace(" [active]", ""), line.text))
    return found


def _more_warnings(old: Sequence[OutlineLine], new: Sequence[OutlineLine]) -> str:
    before, after = (Counter(line.role for line in lines if line.role in _WARNINGS) for lines in (old, new))
    return next(iter(after - before), "")


def _complaint(old: Sequence[OutlineLine], new: Sequence[OutlineLine]) -> str:
    """A new text about a failure. Many pages report failures without an alert."""
    before = {line.said for line in old}
    for line in new:
        said = line.text or line.name
        if line.role in _CONTROLS | _FIELDS or line.said in before or len(said) > limits.DIFFERENCE_CHARS_MAX:
            continue
        if COMPLAINT.search(said):
            return said
    return ""


def _other_labelled(old: Sequence[OutlineLine], new: Sequence[OutlineLine]) -> str:
    """A label that occurs equally often on both pages, but with another text after it: "Customer: Ann". Counters are ignored."""
    before, after = _labelled(old), _labelled(new)
    for label, said in before.items():
        if label in after and len(after[label]) == len(said) and after[label] != said:
            return label
    return ""


def _labelled(lines: Sequence[OutlineLine]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        label, colon, value = line.said.partition(": ") if line.role not in _CONTROLS | _FIELDS else ("", "", "")
        if colon and len(line.said) <= 2 * _STATE_CHARS_MAX and "‹" not in value and re.search(r"[^\W\d_]", value):
            found.setdefault(label.strip('"'), []).append(value.strip('"'))
    return found


def _replaced(old: Sequence[OutlineLine], new: Sequence[OutlineLine]) -> str:
    """A text that was replaced by another one of the same role, if both pages have the same number of such texts."""
    texts = [[line for line in lines if line.role not in _CONTROLS | {"heading"}] for lines in (old, new)]
    same = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    ours, theirs = (lines[same : same + limits.DIFFERENCE_LINES_MAX] for lines in texts)
    for kind, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind != "replace" or b - a != d - c:
            continue
        for before, after in zip(ours[a:b], theirs[c:d], strict=True):
            if before.role == after.role and before.said != after.said and _is_state(before) and _is_state(after):
                return f"“{after.name or after.text}” in place of “{before.name or before.text}”"
    return ""


def _is_state(line: OutlineLine) -> bool:
    """True if the line has only a few words. New versions of an application change long texts and counts."""
    said = line.said
    return len(said) <= _STATE_CHARS_MAX and ("@" in said or _PUNCTUATION.sub("", said).isalpha())
