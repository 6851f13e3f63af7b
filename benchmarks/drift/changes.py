"""Changes of meaning between server and browser: a price, a state, a missing row, a disabled control, an error page.

What is changed is a text that the recording shows, so a person would see the change. Nothing here knows an application.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, get_args

import msgspec

from benchmarks.drift.proxy import Answer, Change

ChangeKind = Literal["price", "state", "missing row", "disabled", "error page"]
KINDS: Final[tuple[ChangeKind, ...]] = get_args(ChangeKind)
_TEXTUAL: Final = frozenset({"text/html", "application/json", "application/xml", "text/xml"})
_LINE: Final = re.compile(r'- ([a-z]+)(?: "((?:[^"\\]|\\.)*)")?(?: \[[^\]]*\])*(?:: (.*))?')
_AMOUNT: Final = re.compile(r"[0-9]+[.,][0-9]{1,2}")
_STATE: Final = re.compile(r"[A-Za-z]+(?: [a-z]+)?")
_STATES: Final = ("Withdrawn", "Broken", "Lost", "Refused")
_PAGE: Final = "<!doctype html><title>{title}</title><h1>Something went wrong</h1><p>Please try again later.</p>"
_TITLE: Final = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)


class Shown(msgspec.Struct, frozen=True):
    """A line of a recorded snapshot."""

    role: str
    text: str


class Planned(msgspec.Struct, frozen=True):
    """One change, and what it is called."""

    kind: ChangeKind
    what: str
    change: Change


def shown(snapshot: str) -> Iterator[Shown]:
    """The text of the lines of a snapshot."""
    for line in snapshot.split("\n"):
        found = _LINE.fullmatch(line.strip())
        role, text = (found[1], found[2] or found[3] or "") if found else ("text", line.strip().removeprefix("- "))
        if text and role not in ("table", "row", "rowgroup", "list"):
            yield Shown(role, text)


def plan(rng: random.Random, kind: ChangeKind, lines: Sequence[Shown], answers: Sequence[Answer]) -> Planned | None:
    """A change of this kind that alters at least one of the recorded ``answers``; None if there is nothing to change."""
    for made in _candidates(rng, kind, lines, answers):
        if any(made.change(answer) != answer for answer in answers):
            return made
    return None


def _candidates(
    rng: random.Random, kind: ChangeKind, lines: Sequence[Shown], answers: Sequence[Answer]
) -> Iterable[Planned]:
    match kind:
        case "price":
            for text in _mixed(rng, (each.text for each in lines if _AMOUNT.search(each.text))):
                new = _AMOUNT.sub(lambda found: f"{rng.randrange(100, 999)}{found[0][-3:]}", text, count=1)
                yield Planned(kind, f"{text} → {new}", _textual(_replace(text, new)))
        case "state":
            plain = (each.text for each in lines if each.role in _SAYING and _STATE.fullmatch(each.text))
            for text in _mixed(rng, plain):
                new = rng.choice(_STATES)
                yield Planned(kind, f"{text} → {new}", _textual(_replace(text, new)))
        case "missing row":
            for text in _mixed(rng, (each.text for each in lines if each.role in _ROWS)):
                yield Planned(kind, text, _textual(_without_row(text)))
        case "disabled":
            for text in _mixed(rng, (each.text for each in lines if each.role == "button")):
                yield Planned(kind, text, _textual(_disabled(text)))
        case "error page":
            documents = [each for each in answers if each.request.document and each.status == 200]
            for one in _mixed(rng, (each.request.said for each in documents)):
                yield Planned(kind, one, _error_page(one, rng.choice((200, 403, 500, 503))))


_SAYING: Final = frozenset({"cell", "gridcell", "text", "paragraph", "listitem", "definition", "generic", "strong"})
_ROWS: Final = frozenset({"cell", "gridcell", "rowheader", "listitem", "link"})


def _mixed(rng: random.Random, texts: Iterable[str]) -> list[str]:
    every = sorted(set(texts))
    rng.shuffle(every)
    return every


def _textual(alter: Callable[[str], str]) -> Change:
    def change(answer: Answer) -> Answer:
        if answer.kind not in _TEXTUAL or answer.status >= 400:
            return answer
        text = answer.body.decode(errors="surrogateescape")
        return msgspec.structs.replace(answer, body=alter(text).encode(errors="surrogateescape"))

    return change


def _replace(old: str, new: str) -> Callable[[str], str]:
    """Whole texts of elements, and whole strings of JSON."""
    forms = "|".join(re.escape(each) for each in {old, html.escape(old)})
    pattern = re.compile(rf"(>\s*|: ?\")(?:{forms})(?=\s*<|\")")
    return lambda text: pattern.sub(lambda found: found[1] + html.escape(new), text)


def _without_row(text: str) -> Callable[[str], str]:
    """The row, item or card that says ``text``."""
    forms = "|".join(re.escape(each) for each in {text, html.escape(text)})
    inner = r"(?:(?!</?{tag}\b).)*?"
    patterns = [
        re.compile(
            rf"<{tag}\b[^>]*>{inner.format(tag=tag)}>\s*(?:{forms})\s*<{inner.format(tag=tag)}</{tag}>",
            re.DOTALL | re.IGNORECASE,
        )
        for tag in ("tr", "li", "article")
    ]

    def alter(page: str) -> str:
        for pattern in patterns:
            page = pattern.sub("", page)
        return page

    return alter


def _disabled(name: str) -> Callable[[str], str]:
    """The button of this name."""
    forms = "|".join(re.escape(each) for each in {name, html.escape(name)})
    tagged = re.compile(rf"<button\b(?=[^>]*>\s*(?:<[^>]*>\s*)*(?:{forms})\s*<)", re.IGNORECASE)
    valued = re.compile(rf"<input\b(?=[^>]*\bvalue=\"(?:{forms})\")(?![^>]*hidden)", re.IGNORECASE)
    return lambda page: valued.sub("<input disabled", tagged.sub("<button disabled", page))


def _error_page(said: str, status: int) -> Change:
    def change(answer: Answer) -> Answer:
        if answer.request.said != said:
            return answer
        title = _TITLE.search(answer.body.decode(errors="replace"))
        page = _PAGE.format(title=title[1] if title else "")
        return msgspec.structs.replace(answer, status=status, body=page.encode())

    return change
