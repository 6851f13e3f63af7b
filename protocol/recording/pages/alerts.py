"""Finds alerts on the page of a replay that its recording lacks, such as "Saving failed" beside assertions that hold.
docs/adr/0033.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from protocol import limits
from protocol.page.secrets.personal import TOKEN
from protocol.page.seen.names import fold
from protocol.recording.pages.masks import mask_line, mask_text
from protocol.recording.records.page_outline import parsed

AlertRole = Literal["alert", "alertdialog", "status"]

COMPLAINT: Final = re.compile(
    r"\b(?:(?:permission|access) (?:was |is )?denied|not (?:allowed|permitted|authori[sz]ed|saved|found|available)"
    r"|unauthori[sz]ed|forbidden|error|failed|failure|could not|couldn['’]t|cannot|can['’]t"
    r"|unable to|is (?:required|invalid)|must (?:not )?be|invalid"
    r"|expired|sold out|out of stock|already (?:exists|taken|been)|too (?:long|short|many)|went wrong|try again|locked)\b",
    re.IGNORECASE,
)
"""Words with which pages report that something was not done."""
_ROLES: Final[dict[str, AlertRole]] = {"alert": "alert", "alertdialog": "alertdialog", "status": "status"}
_WITH_DIGIT: Final = re.compile(r"\S*[0-9]\S*")
_ALERTS_MAX: Final = 50
_LINES_MAX: Final = 100
"""The number of lines of one alert that are read. Alerts can be nested, so without a limit the time would be quadratic."""


class Alert(NamedTuple):
    """An element with which a page announces something by itself."""

    role: AlertRole
    words: str
    key: str
    """``words`` for comparison: folded, masked, and with ``#`` for each word that contains a digit."""


def alerts(text: str) -> tuple[Alert, ...]:
    """The alerts with text in the snapshot ``text``: the first ``_ALERTS_MAX``, in order.

    A status counts only if it reports a failure: most statuses report success, or a count.
    """
    found: list[Alert] = []
    if not any(role in text for role in _ROLES):
        return ()  # most pages have no alerts, so their lines need not be parsed
    lines = text.split("\n")
    for place, line in enumerate(lines):
        role = _ROLES.get(parsed(line).role)
        if role is None:
            continue
        block = list(_block(lines, place))
        words = " ".join(filter(None, map(_words, block)))
        key = _key(" ".join(filter(None, (_words(mask_line(each)) for each in block))))
        if key and (role != "status" or COMPLAINT.search(words)):
            found.append(Alert(role, words[: limits.DIFFERENCE_CHARS_MAX], key))
        if len(found) == _ALERTS_MAX:
            break
    return tuple(found)


def new_alerts(there: Sequence[Alert], title: str, known: Sequence[str]) -> tuple[Alert, ...]:
    """The alerts of a page in ``there`` that no snapshot in ``known`` has. title: the title of the page. Frameworks announce it in
    an alert when they change the page without loading it, so it is never new.
    """
    keys = {one.key for text in known for one in alerts(text)} | {_key(mask_text(title))}
    return tuple(one for one in there if one.key not in keys)


def _block(lines: Sequence[str], place: int) -> Iterator[str]:
    """The line at ``place`` and the lines inside its element."""
    yield lines[place]
    indent = _indent(lines[place])
    for line in lines[place + 1 : place + _LINES_MAX]:
        if _indent(line) <= indent:
            return
        yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _words(line: str) -> str:
    said = parsed(line)
    return " ".join(filter(None, (said.name, said.text)))


def _key(words: str) -> str:
    # Installations write different tokens for the same person.
    return fold(_WITH_DIGIT.sub("#", TOKEN.sub(r"‹\1›", words)))
