"""Seeded changes of a page: each change of meaning ends red at the default level, each of a clock, an id or a token green."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import msgspec
import pytest

from protocol.page.actions.action import Goto
from protocol.page.seen.observation import Element
from protocol.recording.pages.masks import find_masks
from tests.twins.browser import Control, Document
from tests.unit.test_replayer import HOME, Bench

SEED: Final = 20261122
EACH: Final = 25
"""How many pages are tried with each kind of change."""

_WORDS: Final = ("Beer", "Tin mug", "Saffron", "Lamp", "Blue cup", "Oat milk", "Invoice", "Door key")
_STATES: Final = ("Open", "Closed", "Paid", "In stock", "Sold out", "Waiting for approval", "Shipped", "Refused")
Change = Callable[[random.Random, Document], Document]


def clock(rng: random.Random) -> str:
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"


def token(rng: random.Random) -> str:
    return f"{rng.getrandbits(128) | 1 << 127:032x}"


def uuid(rng: random.Random) -> str:
    digits = token(rng)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def volatile(rng: random.Random) -> tuple[str, ...]:
    """What is another text each time."""
    months = ("January", "March", "May", "Oct", "Dec")
    return (
        f"It is {clock(rng)}",
        f"Last login: {rng.randrange(1, 29)} {rng.choice(months)} 20{rng.randrange(20, 30)} at {clock(rng)}",
        f"changed {rng.randrange(2, 59)} {rng.choice(('minutes', 'hours', 'days'))} ago by Ann",
        f"Order {uuid(rng)}",
        f"csrf {token(rng)}",
        f"Seen on 20{rng.randrange(20, 30)}-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T{clock(rng)}Z",
        f"{rng.randrange(1, 99_999)} views",
    )


def page(rng: random.Random) -> Document:
    """A page of rows with prices and states, among things that change by themselves."""
    names = rng.sample(_WORDS, 5)
    rows = tuple(f"{name} £{rng.randrange(1, 500)}.{rng.randrange(100):02} {rng.choice(_STATES)}" for name in names)
    parts = [*rows, *volatile(rng)]
    button = Element(ref="", role="button", name=f"Buy {names[0]}")
    return Document(title=f"Shop of {names[1]}", controls=(Control(element=button),), text=tuple(parts))


def ticks(rng: random.Random, document: Document) -> Document:
    """Only what changes by itself."""
    return msgspec.structs.replace(document, text=(*document.text[:5], *volatile(rng)))


def _row(rng: random.Random, document: Document, change: Callable[[str], str]) -> Document:
    place = rng.randrange(5)
    rows = [*document.text]
    rows[place] = change(rows[place])
    return msgspec.structs.replace(document, text=tuple(rows))


def price(rng: random.Random, document: Document) -> Document:
    def other(row: str) -> str:
        name, _, rest = row.partition("£")
        amount, _, state = rest.partition(" ")
        return f"{name}£{float(amount) + rng.randrange(1, 99):.2f} {state}"

    return _row(rng, document, other)


def status(rng: random.Random, document: Document) -> Document:
    def other(row: str) -> str:
        old = next(state for state in _STATES if row.endswith(state))
        return row.removesuffix(old) + rng.choice([state for state in _STATES if state != old])

    return _row(rng, document, other)


def sold_out(rng: random.Random, document: Document) -> Document:
    return _row(rng, document, lambda row: f"{row.partition('£')[0]}Sold out, sorry")


def missing_row(rng: random.Random, document: Document) -> Document:
    place = rng.randrange(5)
    return msgspec.structs.replace(document, text=document.text[:place] + document.text[place + 1 :])


def disabled(rng: random.Random, document: Document) -> Document:
    (control,) = document.controls
    off = msgspec.structs.replace(control.element, states=("disabled",))
    return msgspec.structs.replace(document, controls=(msgspec.structs.replace(control, element=off),))


def error_page(rng: random.Random, document: Document) -> Document:
    return Document(title=document.title, text=("Something went wrong",), status=rng.choice((200, 403, 500, 503)))


def clock_gone(rng: random.Random, document: Document) -> Document:
    return msgspec.structs.replace(document, text=(*document.text[:5], "It is closed", *document.text[6:]))


def money_that_looks_like_views(rng: random.Random, document: Document) -> Document:
    return msgspec.structs.replace(document, text=(*document.text, f"You pay £{rng.randrange(9)} views included"))


MEANINGS: Final[tuple[Change, ...]] = (
    price,
    status,
    sold_out,
    missing_row,
    disabled,
    error_page,
    clock_gone,
    money_that_looks_like_views,
)


@pytest.mark.parametrize("change", MEANINGS, ids=lambda change: change.__name__)
async def test_a_change_of_meaning_ends_red(change: Change) -> None:
    rng = random.Random(f"{SEED}{change.__name__}")
    missed: list[Document] = []
    for _ in range(EACH):
        bench = Bench()
        recorded = page(rng)
        bench.site.documents[HOME] = recorded
        recorder = await bench.record()
        assert recorder.session.verdict == "pass"
        bench.site.documents[HOME] = changed = change(rng, ticks(rng, recorded))
        done = await bench.replay(recorder)
        if done.report.verdict == "pass" or not done.report.reason:
            missed.append(changed)
    assert not missed, f"seed {SEED}"


async def test_what_changes_by_itself_ends_green() -> None:
    rng = random.Random(SEED)
    for _ in range(4 * EACH):
        bench = Bench()
        recorded = page(rng)
        bench.site.documents[HOME] = recorded
        recorder = await bench.record()
        bench.site.documents[HOME] = ticks(rng, recorded)
        done = await bench.replay(recorder)
        shown = [(one.recorded, one.met) for one in done.differences]
        assert (done.report.verdict, done.report.reason, shown) == ("pass", "", []), f"seed {SEED}"
        assert {match.text for match in done.report.steps} == {"masked"}


async def test_nothing_is_masked_if_the_text_must_be_the_same_to_the_letter() -> None:
    rng = random.Random(SEED)
    bench = Bench()
    bench.site.documents[HOME] = recorded = page(rng)
    recorder = await bench.record()
    assert (await bench.replay(recorder, strict=True)).report.verdict == "pass"
    bench.site.documents[HOME] = ticks(rng, recorded)
    done = await bench.replay(recorder, strict=True)
    assert (done.report.verdict, done.report.reason) == ("partial", "step 1: other text")
    assert done.differences


async def test_masks_are_few_and_leave_prices_and_rows_alone() -> None:
    rng = random.Random(SEED)
    for _ in range(EACH):
        document = page(rng)
        masks = find_masks("\n".join(f"- {line}" for line in document.text))
        assert {mask.line for mask in masks} == set(range(6, 13))
        whole = "\n".join(f'- row "{line}"' for line in document.text[:5])
        assert find_masks(whole) == ()


async def test_the_name_of_a_control_is_not_masked_even_if_it_is_a_time() -> None:
    bench = Bench()
    slot = Element(ref="", role="button", name="Midday 12:30")
    bench.site.documents[HOME] = Document(title="Slots", controls=(Control(element=slot),))
    recorder = await bench.record(actions=(Goto(url=HOME),))
    later = msgspec.structs.replace(slot, name="Midday 12:45")
    bench.site.documents[HOME] = Document(title="Slots", controls=(Control(element=later),))
    assert (await bench.replay(recorder)).report.verdict == "partial"
