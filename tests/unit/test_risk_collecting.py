"""Truth runs of ``make bench-risk``: whose effect does not come again count nowhere, what opening the page changes is no effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

from benchmarks.risk.collecting import _repeat
from benchmarks.risk.records import Book, Control, Place, Truth
from benchmarks.risk.targets import target

_TARGET: Final = target("buildbot")


def truth(name: str, *effect: str, error: str = "") -> Truth:
    control = Control(selector=name, kind="click", tag="button")
    return Truth(
        application=_TARGET.name,
        place=Place(path="/"),
        control=control,
        kind="click",
        effect=effect,
        error=error,
    )


class _Driver:
    """Answers with what a second run did; notes what was run."""

    def __init__(self, *truths: Truth, opened: tuple[str, ...] = ()) -> None:
        self._found = {each.control.selector: each for each in truths}
        self._opened = list(opened)
        self.ran: list[str] = []

    async def run(self, place: Place, control: Control) -> tuple[list[Truth], list[Control]]:
        self.ran.append(control.selector)
        found = self._found.get(control.selector)
        return ([found] if found else []), []

    async def only_opened(self, place: Place) -> list[str]:
        return self._opened


async def test_an_effect_that_does_not_come_again_is_not_known_and_every_other_one_is_kept(tmp_path: Path) -> None:
    book = Book(tmp_path / "truth.jsonl")
    for each in (truth("same", "a", "b"), truth("gone", "a"), truth("other", "a"), truth("lost", "a"), truth("none")):
        book.add(each)
    driver = _Driver(truth("same", "b"), truth("gone"), truth("other", "c"), truth("lost", error="the page is gone"))
    said: list[str] = []
    await _repeat(cast(Any, driver), book, _TARGET, said.append)
    assert driver.ran == ["same", "gone", "other", "lost"]
    last = {each.control.selector: each for each in book.read(Truth)}
    assert {name for name, each in last.items() if each.error} == {"gone", "other"}
    assert last["same"].effect == ("a", "b") and last["lost"].repeated and not last["none"].repeated
    assert len(said) == 2
    await _repeat(cast(Any, driver), book, _TARGET, said.append)
    assert len(driver.ran) == 4, "each is done again once"


async def test_what_opening_the_page_changes_too_is_no_effect_of_a_control(tmp_path: Path) -> None:
    book = Book(tmp_path / "truth.jsonl")
    known = (truth("both", "a", "seen"), truth("none", "seen"))
    for each in known:
        book.add(each)
    await _repeat(cast(Any, _Driver(*known, opened=("seen",))), book, _TARGET, lambda line: None)
    last = {each.control.selector: each for each in book.read(Truth)}
    assert (last["both"].effect, last["none"].effect) == (("a",), ())
    assert not any(each.error for each in last.values())
