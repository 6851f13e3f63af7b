"""What in the kept truth is not the control's: an effect that came although the action sent nothing of its own."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.risk.records import Request, Truth

_FILE: Final = Path(__file__).with_name("corrections.toml")


class Correction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of change that an application makes by itself."""

    application: str
    change: str
    reason: str


@functools.cache
def corrections() -> tuple[Correction, ...]:
    """Those that are known."""
    return msgspec.convert(tomllib.loads(_FILE.read_text(encoding="utf-8"))["correction"], type=tuple[Correction, ...])


def sent_nothing(truth: Truth, loads: Collection[Request]) -> bool:
    """Whether nothing followed the action but what a browser asks for by itself, as the icon of the page.

    loads: what loading the pages sends.
    """
    known = {(each.method, each.url) for each in loads}
    own = (each for each in truth.requests if each.acted)
    return all(each.kind == "other" and (each.method, each.url) in known for each in own)


def corrected(truths: Iterable[Truth], loads: Collection[Request]) -> Iterator[Truth]:
    """``truths`` without the effects that are not the control's."""
    for truth in truths:
        if truth.effect and not truth.error and sent_nothing(truth, loads):
            not_its = {each.change for each in corrections() if each.application == truth.application}
            yield msgspec.structs.replace(truth, effect=tuple(each for each in truth.effect if each not in not_its))
        else:
            yield truth
