"""Typed values: read from text, compared by what they mean, and used in later actions of the same run."""

from __future__ import annotations

import time
from typing import Any

import pytest

from node.sessions.actions.action_files import parse_actions
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Assert, Click, Extract, Fill, Locator, Secret, Select
from protocol.page.actions.values import filled_in, read_value, same_value
from protocol.page.seen.observation import Element, Traits
from tests.tables import each
from tests.twins.browser import Control, Document
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

HOME = f"{ORIGIN}/"


@each(
    ("kind", "text", "value"),
    [
        ("number", "3 left", "3"),
        ("number", "about 1,234 items", "1234"),
        ("number", "1.234.567", "1234567"),
        ("number", "1.234", "1.234"),
        ("number", "1.234,50", "1234.5"),
        ("number", "1,234.50", "1234.5"),
        ("number", "12,5 %", "12.5"),
        ("number", "−3", "-3"),
        ("number", "1 234 567", "1234567"),
        ("number", "1'234,50", "1234.5"),
        ("number", "5 10", "5"),
        ("number", "1 234 5678", "1234"),
        ("number", "0.10", "0.1"),
        ("number", "100", "100"),
        ("number", "none", None),
        ("money", "Total: £1,234.50", "1234.5"),
        ("money", "1.234,50 EUR", "1234.5"),
        ("money", "2 × £10.00", "10"),
        ("money", "10 €", "10"),
        ("money", "-£3", "-3"),
        ("money", "10 mugs", None),
        ("money", "Price in EUR", None),
        ("date", "on 2026-11-23 at noon", "2026-11-23"),
        ("date", "23 November 2026", "2026-11-23"),
        ("date", "Nov 3rd, 2026", "2026-11-03"),
        ("date", "23.11.2026", "2026-11-23"),
        ("date", "11/23/2026", "2026-11-23"),
        ("date", "03/04/2026", "2026-04-03"),
        ("date", "31 February 2026", None),
        ("date", "tomorrow", None),
        ("ago", "Updated 7 minutes ago", "7 minutes ago"),
        ("ago", "in 3 days", "in 3 days"),
        ("ago", "yesterday", "yesterday"),
        ("ago", "7 minutes", None),
        ("text", " as it is ", " as it is "),
    ],
)
def test_a_value_is_read_out_of_the_text_around_it(kind: Any, text: str, value: str | None) -> None:
    found = read_value(kind, text)
    assert (found and found.text) == value


OTHER = [
    ("number", "1e5", "1e6"),
    ("number", ".5", "5"),
    ("number", "1.5k", "1.5M"),
    ("number", "50%", "50"),
    ("number", "(5.00)", "5.00"),
    ("number", "5-", "5"),
    ("number", "–5", "5"),
    ("number", "3–5 days", "3–8 days"),
    ("number", "3-5", "3"),
    ("number", "5 million", "5"),
    ("number", "1,2,3.4", "12,3.4"),
    ("number", "12,34,56", "1,23,456"),
    ("money", "10–20 €", "10–30 €"),
    ("money", "10–20 €", "5–20 €"),
    ("money", "€10 - €20", "€10 - €25"),
    ("money", "10 € to 20 €", "10 € to 25 €"),
    ("money", "1,200.00 INR CR", "1,200.00 INR DR"),
    ("money", "£10.00 Cr", "£10.00"),
    ("money", "£10.00CR", "£10.00DR"),
    ("money", "DR £10.00", "CR £10.00"),
    ("money", "5 Mio. €", "5 Mrd. €"),
    ("money", "(£10.00)", "£10.00"),
    ("money", "£10m", "£10"),
    ("money", "£10k", "£10M"),
    ("money", "10.00- €", "10.00 €"),
    ("money", "$10", "CA$10"),
    ("money", "A$10", "US$10"),
    ("money", "$10 USD", "$10 AUD"),
]
SAME = [
    ("number", ".5", "0.50"),
    ("number", "–5", "-5"),
    ("number", "12,34,567", "1234567"),
    ("number", "12,34,567.50", "1,234,567.5"),
    ("number", "3–5 days", "3 - 5 days"),
    ("money", "10–20 €", "€10.00 to €20.00"),
    ("money", "10-20 EUR", "10 – 20 EUR"),
    ("money", "£10 cr", "£10.00 CR"),
    ("number", "Dr. Day 5", "5"),
    ("date", "23. November 2026", "2026-11-23"),
    ("date", "3. März 2026", "3 March 2026"),
    ("date", "24. Dez. 2026", "24.12.2026"),
    ("date", "1. Mai 2026", "May 1st, 2026"),
    ("number", "50 %", "50%"),
    ("number", "5km", "5 km"),
    ("number", "No.5", "5"),
    ("number", "Inbox (5)", "5"),
    ("number", "1e999999999", "1"),
    ("money", "$10", "US$10.00"),
    ("money", "$10 USD", "10 USD"),
    ("money", "−£10", "£-10"),
]


def test_what_makes_a_number_another_one_counts_and_its_spelling_does_not() -> None:
    kinds: list[tuple[Any, str, str, bool]] = [(*row, False) for row in OTHER] + [(*row, True) for row in SAME]
    for kind, recorded, met, same in kinds:
        assert (recorded, met, same_value(Extract(name="x", kind=kind), recorded, met)) == (recorded, met, same)


@each(
    ("pattern", "text", "value"),
    [
        ("TK-#", "Ticket TK-1042 was opened", "TK-1042"),
        ("TK-#", "Ticket TK- was opened", None),
        ("Ticket * was", "The\nTicket TK-7 was opened", "Ticket TK-7 was"),
        ("by *", "Written by Ann\nyesterday", "by Ann"),
        ("a*b", "a\nb\nacb", "acb"),
        ("(#)", "(12) [13]", "(12)"),
        (".#", "x1 .2", ".2"),
    ],
)
def test_a_form_is_found_in_one_line(pattern: str, text: str, value: str | None) -> None:
    found = read_value("pattern", text, pattern)
    assert (found and found.text) == value


def test_no_form_takes_long_on_any_text() -> None:
    began = time.process_time()
    for kind, pattern in (
        ("pattern", "*a" * 100 + "#"),
        ("pattern", "#" * 60),
        ("number", ""),
        ("money", ""),
        ("date", ""),
    ):
        for text in ("a" * 50_000, "1" * 50_000, "1,1 " * 12_000, "€" * 50_000):
            read_value(kind, text, pattern)  # type: ignore[arg-type]
    assert time.process_time() - began < 2


@each(
    ("kind", "old", "new", "same"),
    [
        ("money", "£1,234.50", "GBP 1234.5", True),
        ("money", "£10", "€10", False),
        ("money", "£10", "£12", False),
        ("money", "£10", "Sold out", False),
        ("number", "3 items", "3 products", True),
        ("date", "23 Nov 2026", "2026-11-23", True),
        ("date", "23 Nov 2026", "2026-11-24", False),
        ("ago", "7 minutes ago", "2 hours ago", True),
        ("ago", "7 minutes ago", "in 2 hours", False),
        ("pattern", "TK-1", "TK-2", True),
        ("pattern", "TK-1", "none", False),
        ("text", "10 ", "10", False),
    ],
)
def test_values_are_the_same_by_what_they_mean(kind: Any, old: str, new: str, same: bool) -> None:
    action = Extract(name="x", kind=kind, pattern="TK-#" if kind == "pattern" else "")
    assert same_value(action, old, new) is same
    assert same_value(action, new, old) is same


FIELD = Locator(role="textbox", name="${id}", selectors=("css=${id}",))


def test_a_reference_is_filled_in_where_text_is_typed_chosen_or_expected_and_nowhere_else() -> None:
    values = {"id": "7 ${more}", "more": "no"}
    assert filled_in(Fill(target=FIELD, value="a ${id} b"), values) == Fill(target=FIELD, value="a 7 ${more} b")
    assert filled_in(Select(target=FIELD, option="${id}"), values) == Select(target=FIELD, option="7 ${more}")
    assert filled_in(Assert(what="text", expected="${id}"), values) == Assert(what="text", expected="7 ${more}")
    for kept in (
        Click(target=FIELD),
        Fill(target=FIELD, value=Secret(secret="id")),
        Fill(target=FIELD, value="${none}"),
    ):
        assert filled_in(kept, values) == kept
    with pytest.raises(MeshError) as caught:
        filled_in(Fill(target=FIELD, value="${id}${id}"), {"id": "x" * (limits.ACTION_TEXT_CHARS_MAX // 2 + 1)})
    assert caught.value.code == "action.not_possible"


def written(*steps: str) -> str:
    return f"start: {HOME}\nsteps:\n" + "\n".join(f"- {step}" for step in steps)


@each(
    ("steps", "words"),
    [
        (("assert: '${id}'",), "nothing was extracted under this name before"),
        (("assert: '${id}'", "extract: id"), "nothing was extracted under this name before"),
        (("extract: id", "assert: '$${id}'"), "choose another name"),
        (("extract: {as: id, type: pattern}",), "belong together"),
        (("extract: {as: id, pattern: a}",), "belong together"),
        (("extract: {as: id, type: pattern, pattern: '**'}",), "more than"),
        (("extract: {as: id, type: colour}",), "`type`"),
    ],
)
def test_a_value_that_nobody_has_read_is_refused_before_anything_is_done(steps: tuple[str, ...], words: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse_actions(written(*steps).encode())
    assert caught.value.code == "input.invalid"
    assert words in caught.value.message


def test_a_text_that_looks_like_a_reference_is_written_with_two_signs() -> None:
    (_, action) = parse_actions(written("assert: 'costs $${price}'").encode()).actions
    assert action == Assert(what="text", expected="costs ${price}", match="contains")


# --- recorded and replayed -------------------------------------------------------------------------------------------


@pytest.fixture
async def bench() -> Bench:
    made = await node_of()
    made.site.documents[HOME] = tickets("TK-1041", "£10.00", "2 minutes ago")
    return made


def tickets(ticket: str, price: str, when: str) -> Document:
    field = Element(ref="", role="searchbox", name="Find", traits=Traits(tag="input", input_type="search"))
    named = [
        Element(ref="", role=role, name=name)
        for role, name in (("heading", f"Ticket {ticket} opened"), ("status", price), ("time", when))
    ]
    return Document(
        title="Tickets",
        controls=tuple(Control(element=item, selectors=(f"css={item.role}",)) for item in (field, *named)),
    )


STEPS = (
    'extract: {as: ticket, type: pattern, pattern: "TK-#", selectors: ["css=heading"]}',
    'extract: {as: price, type: money, selectors: ["css=status"]}',
    'extract: {as: when, type: ago, selectors: ["css=time"]}',
    'fill: {role: searchbox, name: Find, value: "about ${ticket}"}',
    'assert: {role: searchbox, name: Find, value: "about ${ticket}", timeout_ms: 1}',
)  # fmt: skip


async def test_a_recording_keeps_the_reference_and_a_replay_uses_its_own_value(bench: Bench) -> None:
    done = await bench.record(written(*STEPS))
    steps = await bench.store.steps(done.id)
    assert isinstance(steps[4].action, Fill)
    assert (steps[4].action.value, steps[1].extracted) == ("about ${ticket}", "Ticket TK-1041 opened")
    bench.site.documents[HOME] = tickets("TK-2077", "10 GBP", "3 hours ago")
    replayed = await bench.call("replay", session=done.id)
    assert [match.performed for match in replayed.report.steps] == [True] * 6
    assert [match.extracted for match in replayed.report.steps] == [True] * 6
    bench.site.documents[HOME] = tickets("TK-2077", "£12.00", "3 hours ago")
    changed = await bench.call("replay", session=done.id)
    assert [match.extracted for match in changed.report.steps] == [True, True, False, True, True, True]
    assert [(found.recorded, found.met) for found in changed.differences if found.what == "extracted"] == [
        ("£10.00", "£12.00")
    ]


async def test_a_text_without_such_a_value_fails_the_extract(bench: Bench) -> None:
    bench.site.documents[HOME] = tickets("TK-1", "Sold out", "now")
    refused = await bench.refused("record", actions=written(STEPS[1]))
    assert (refused.code, refused.message) == ("action.not_of_type", "“Sold out” has no money")
