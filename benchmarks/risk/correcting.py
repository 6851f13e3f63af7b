"""Corrects the kept truth: takes out effects of actions that sent nothing themselves, and adds effects that left no trace."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.risk.records import Request, Truth

_FILE: Final = Path(__file__).with_name("corrections.toml")


class Correction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of change that an application makes by itself."""

    application: str
    change: str
    reason: str


class Addition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One effect that the application keeps where nobody looks."""

    application: str
    request: str
    """Method and path of what has it."""
    change: str
    reason: str


class _Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    correction: tuple[Correction, ...]
    addition: tuple[Addition, ...]


@functools.cache
def _known() -> _Known:
    return msgspec.convert(tomllib.loads(_FILE.read_text(encoding="utf-8")), type=_Known)


def corrections() -> tuple[Correction, ...]:
    """Changes that are known to be nobody's."""
    return _known().correction


def additions() -> tuple[Addition, ...]:
    """Effects that are known to be missing."""
    return _known().addition


def fits(addition: Addition, truth: Truth) -> bool:
    """True if the action sent the request of ``addition`` and the truth holds no effect of it."""
    sent = {f"{each.method} {urlsplit(each.url).path}" for each in truth.requests if each.acted}
    found = bool(truth.effect or truth.error)
    return not found and addition.application == truth.application and addition.request in sent


def sent_nothing(truth: Truth, loads: Collection[Request]) -> bool:
    """True if nothing followed the action but a request that a browser sends by itself, such as one for the icon of the page."""
    known = {(each.method, each.url) for each in loads}
    own = (each for each in truth.requests if each.acted)
    return all(each.kind == "other" and (each.method, each.url) in known for each in own)


def corrected(truths: Iterable[Truth], loads: Collection[Request]) -> Iterator[Truth]:
    """``truths`` without the effects that are not the control's, with those that are missing."""
    for truth in truths:
        if truth.effect and not truth.error and sent_nothing(truth, loads):
            not_its = {each.change for each in corrections() if each.application == truth.application}
            yield msgspec.structs.replace(truth, effect=tuple(each for each in truth.effect if each not in not_its))
        else:
            missing = tuple(each.change for each in additions() if fits(each, truth))
            yield msgspec.structs.replace(truth, effect=missing) if missing else truth
