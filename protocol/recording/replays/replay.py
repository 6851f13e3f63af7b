"""Compares a replay with its recording step by step and derives the verdict. Pages are passed in as observations."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from protocol import limits
from protocol.errors import CODES, Blame, MeshError
from protocol.kinds import Done, Home, PageText, Request
from protocol.page.actions.action import Action, Assert, Extract, Goto, Wait
from protocol.page.actions.dialogs import Dialog
from protocol.page.actions.downloads import Download
from protocol.page.secrets.comparing import comparable, comparable_snapshot
from protocol.page.secrets.personal import common
from protocol.page.seen.observation import Observation
from protocol.recording.pages.alerts import Alert
from protocol.recording.pages.extracts import same_extracted
from protocol.recording.pages.masks import apply_masks, mask_address, mask_text
from protocol.recording.pages.page_text import compare_text
from protocol.recording.records.inputs import InputReplacement
from protocol.recording.records.page_outline import outline, regrouped
from protocol.recording.records.session import Level, RequestFault, Step, StepMatch, TextMatch
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.records.verdicts import matches
from protocol.recording.replays.known_changes import KnownChanges

TEXT_WORDS: Final[Mapping[TextMatch, str]] = {
    "same": "same",
    "masked": "same but for masks and wrappers",
    "numbers": "only numbers differ",
    "differs": "differs",
}
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)


class Rebase(msgspec.Struct, frozen=True):
    """Maps addresses between the origin of a recording and the origin of its replay."""

    recorded: str = ""
    """``https://host:port``; empty if nothing is mapped."""
    replayed: str = ""

    @property
    def active(self) -> bool:
        """True if the replay runs on another origin."""
        return self.recorded != self.replayed

    def outward(self, url: str) -> str:
        """The address to open in place of a recorded one."""
        return _swap(url, self.recorded, self.replayed)

    def homeward(self, url: str) -> str:
        """The recorded counterpart of an address in the replay.

        An address at the recorded origin is moved to the replayed one, because a page that leads there has left the origin of the
        replay.
        """
        home = _swap(url, self.replayed, self.recorded)
        return _swap(url, self.recorded, self.replayed) if home == url and self.active else home

    def text_homeward(self, text: str) -> str:
        """A text of the page with its own origin replaced by the recorded one."""
        if not self.recorded:
            return text
        # A longer host or port is another origin: example.com.evil.example, or port 8080 for 80.
        own = re.compile(rf"{re.escape(self.replayed)}(?![\w-]|[.:][\w-])")
        return own.sub(lambda _: self.recorded, text)


def _swap(url: str, old: str, new: str) -> str:
    found = _ORIGIN.match(url)
    return new + url[found.end() :] if found and found[0].lower() == old else url


def rebase(start_url: str, base_url: str) -> Rebase:
    """The mapping for a session that began at ``start_url`` and is replayed at the origin ``base_url`` (empty for the same).

    Errors: ``input.invalid`` if ``base_url`` is not exactly an http(s) origin.
    """
    if not base_url:
        return Rebase()
    try:
        parts = urlsplit(base_url)
        plain = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        plain = False
    if not plain or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise MeshError(
            "input.invalid", "the base address must be http(s)://host:port and nothing more", field="base_url"
        )
    origin = _ORIGIN.match(start_url)
    return Rebase(origin[0].lower() if origin else "", f"{parts.scheme}://{parts.netloc}".lower())


def rebased(action: Action, mapping: Rebase) -> Action:
    """``action`` with its address mapped to the replayed origin."""
    match action:
        case Goto(url=url):
            return msgspec.structs.replace(action, url=mapping.outward(url))
        case Wait(address=address) if address:
            return msgspec.structs.replace(action, address=mapping.outward(address))
        case Wait(response=response) if response:
            return msgspec.structs.replace(action, response=mapping.outward(response))
        case Assert(what="address", expected=expected):
            return msgspec.structs.replace(action, expected=mapping.outward(expected))
        case _:
            return action


class Met(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the replay in the form of the recording, with addresses mapped to the recorded origin."""

    state: bytes
    url: Home
    title: PageText
    extracted: PageText
    text: Done
    digest: bytes
    """SHA-256 of ``text``. If it equals ``Step.snapshot``, the texts are the same."""
    faults: tuple[RequestFault, ...] = ()
    """The failed requests of the step."""
    held: bool = True
    """As ``StepMatch.held``."""
    dialogs: tuple[Dialog, ...] = ()
    downloads: tuple[Download, ...] = ()
    tab: bool = False
    alert: Alert | None = None
    """An alert on the page that the recording lacks."""
    unsent: tuple[int, ...] = ()
    """As ``StepMatch.unsent``."""
    blocked: tuple[Request, ...] = ()
    """Requests of the step that the guard refused."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """The demands on a step."""

    level: Level = "text"
    strict: bool = False
    """True if nothing is masked."""


BAR: Final = Bar()


def as_recorded(
    page: Observation,
    *,
    extracted: str = "",
    secrets: Mapping[str, str],
    mapping: Rebase = Rebase(),  # noqa: B008 - frozen, so sharing it is safe
    faults: tuple[RequestFault, ...] = (),
    held: bool = True,
    exchange: InputReplacement = InputReplacement(),  # noqa: B008 - never changes
    dialogs: tuple[Dialog, ...] = (),
    downloads: tuple[Download, ...] = (),
    tab: bool = False,
    unsent: tuple[int, ...] = (),
    blocked: tuple[str, ...] = (),
) -> Met:
    """``page`` and the text ``extracted`` from it, with addresses mapped to the recorded origin, in the form of a recording.
    exchange: inputs that the replay changed.
    """
    page, extracted = exchange.page_home(page), exchange.home(extracted)
    home = msgspec.structs.replace(page, url=mapping.homeward(page.url))
    text = comparable_snapshot(mapping.text_homeward(home.text), secrets)
    met = Met(
        state=home.state,
        url=home.url,
        title=home.title,
        extracted=extracted,
        text=text,
        digest=hashlib.sha256(text.encode()).digest(),
        faults=faults[: limits.REQUEST_FAULTS_MAX],
        held=held,
        dialogs=dialogs[: limits.DIALOGS_PER_STEP_MAX],
        downloads=downloads[: limits.DOWNLOADS_PER_STEP_MAX],
        tab=tab,
        unsent=unsent,
        blocked=blocked,
    )
    return comparable(met, secrets)


def compare(
    step: Step,
    met: Met,
    *,
    snapshot: bytes | None = None,
    duration_ms: int,
    bar: Bar = BAR,
    known: KnownChanges | None = None,
) -> StepMatch:
    """Compare the page ``met`` after the action of ``step`` with the recording.

    The result tells if it matches at ``bar``. snapshot: the stored text, if available; without it, any text that is not identical
    ``differs``. known: changes that earlier steps showed.
    """
    plain = (lambda text: text) if bar.strict else mask_text
    titles = tuple(map(plain, common(step.title, met.title)))
    same_title = titles[0] == titles[1] or (known is not None and known.covers(step.title, met.title))
    extracted = same_extracted(step.action, *common(step.extracted, met.extracted), strict=bar.strict)
    text = _text_match(step, met, snapshot)
    match = StepMatch(
        index=step.index,
        performed=True,
        state=met.state == step.state,
        url=_same_address(step, met, bar, known),
        title=same_title,
        extracted=extracted,
        matched=False,
        duration_ms=duration_ms,
        text=text,
        held=met.held and (extracted or not isinstance(step.action, Extract)),
        faults=met.faults,
        dialogs=met.dialogs,
        downloads=met.downloads,
        tab=met.tab,
        unsent=met.unsent,
        # A text that equals the recorded one after masking has no new alert.
        alert=met.alert.role if met.alert is not None and text in ("numbers", "differs") else "",
    )
    return msgspec.structs.replace(match, matched=matches(match, step, bar.level, strict=bar.strict))


def _same_address(step: Step, met: Met, bar: Bar, known: KnownChanges | None) -> bool:
    old, new = common(step.url, met.url)
    if new == old or (not bar.strict and mask_address(new) == mask_address(old)):
        return True
    return known is not None and known.covers_address(step.url, met.url)


def _text_match(step: Step, met: Met, snapshot: bytes | None) -> TextMatch:
    if not step.snapshot:
        return ""
    if met.digest == step.snapshot:
        return "same"
    recorded = snapshot_text(snapshot)
    if recorded is None:
        return "differs"
    if recorded == met.text:
        return "same"
    recorded, text = common(recorded, met.text)
    old, new = apply_masks(recorded, step.masks, text)
    if old == new:
        return "masked"
    pages = outline(old), outline(new)
    if len(pages[0].lines) == len(pages[1].lines) and regrouped(pages[0].wrappers, pages[1].wrappers):
        return "differs"
    return "masked" if pages[0].text == pages[1].text else compare_text(pages[0].text, pages[1].text)


def not_performed(step: Step, error: str, duration_ms: int) -> StepMatch:
    """The entry for a step whose action could not be performed; ``error`` is the code."""
    return StepMatch(
        index=step.index,
        performed=False,
        state=False,
        url=False,
        title=False,
        extracted=False,
        matched=False,
        duration_ms=duration_ms,
        error=error,
    )


def differences(match: StepMatch) -> tuple[str, ...]:
    """The differences from the recording, in words; empty for a step that matched."""
    if not match.performed:
        return (f"not performed: {match.error}",)
    parts = (
        (f"a new {match.alert}", not match.alert),
        ("assertion", match.held),
        ("page", match.state),
        ("address", match.url),
        ("title", match.title),
        ("extracted text", match.extracted),
    )
    return tuple(name for name, same in parts if not same)


def text_counts(matches: Sequence[StepMatch]) -> dict[str, int]:
    """The number of steps whose text was ``same``, ``numbers`` or ``differs``. Steps without a comparison do not count."""
    counted = Counter(match.text for match in matches)
    return {text: counted[text] for text in TEXT_WORDS}


def text_words(counts: Mapping[str, int]) -> str:
    """``text: 3 same, 1 only numbers differ, 1 differs``; empty if no text was compared."""
    words = TEXT_WORDS if counts["differs"] == 1 else {**TEXT_WORDS, "differs": "differ"}
    said = [f"{counts[text]} {word}" for text, word in words.items() if counts[text]]
    return "text: " + ", ".join(said) if said else ""


def unreached(matches: Sequence[StepMatch]) -> str:
    """The error code of the first step that did not match, if it reached no page; empty if it reached one, or if all steps matched.

    Everything before was as recorded, so such a replay says nothing about the recording.
    """
    first = next((match for match in matches if not match.matched), None)
    if first is None or first.performed:
        return ""
    # After the first step, an address that the policy refuses counts as a lack of permission.
    kept_out = first.error == "browser.refused" and first is matches[0]
    missed = first.error in CODES and CODES[first.error].blame is Blame.ENVIRONMENT
    return first.error if kept_out or missed else ""


def replayable(steps: Sequence[Step]) -> list[Step]:
    """The steps that a replay performs: those that succeeded in the recording."""
    return [step for step in steps if step.ok]


def goes_on(step: Step, match: StepMatch) -> bool:
    """True if a replay continues after ``step``: it was performed, and is no failed assertion, or only a soft one."""
    return match.performed and (match.held or not isinstance(step.action, Assert) or step.action.soft)


def stopped_at(matches: Sequence[StepMatch], steps: int) -> int:
    """The index of the step at which a replay of ``steps`` steps stopped, because it was not performed or its assertion failed; 0
    if the replay reached its end.
    """
    return matches[-1].index if matches and (not matches[-1].performed or len(matches) < steps) else 0
