"""A table of thousands of rows that look alike: what is asked about one of them does not go through all of them for each."""

from __future__ import annotations

import time

from adapters.browser.base.masking import masker
from adapters.browser.observing.aria import parse
from adapters.browser.observing.view import FrameFacts, assemble
from protocol import limits
from protocol.page.actions.action import Locator, Within
from protocol.page.actions.evidence import Judge, collect
from protocol.page.actions.scope import container
from protocol.page.seen.observation import Observation
from protocol.page.showing.element_ids import ElementIds
from protocol.page.showing.naming import Naming
from protocol.page.showing.outline import outline
from protocol.page.showing.table import parted
from protocol.page.showing.table import table as table_of

ROWS = 3_000
ROW = """  - row "Part {0} Open" [ref=e{1}]:
    - cell "Part {0}" [ref=e{2}]
    - cell "Open" [ref=e{3}]:
      - link "Open" [ref=e{4}] [cursor=pointer]:
        - /url: /open?part={0}"""
OPEN = Locator(role="link", name="Open")
WORK_S_MAX = 20
"""Of this process: a fortieth of what it took while each row was compared with all others."""


def table() -> Observation:
    rows = "\n".join(ROW.format(n, 10 * n + 2, 10 * n + 3, 10 * n + 4, 10 * n + 5) for n in range(ROWS))
    snapshot = f"- table [ref=e1]:\n{rows}"
    return assemble(parse(snapshot), FrameFacts(), url="https://x.example/", title="", mask=masker({})).observation


def nested() -> Observation:
    """Boxes in boxes, each with a hand as its cursor and a text of its own."""
    lines = (f"{'  ' * n}- group [ref=e{n + 1}] [cursor=pointer]:" for n in range(ROWS))
    snapshot = "\n".join(f"{line}\n{' ' * (line.index('-') + 2)}- text: word" for line in lines)
    return assemble(parse(snapshot), FrameFacts(), url="https://x.example/", title="", mask=masker({})).observation


def test_one_of_thousands_of_rows_is_told_from_the_others_in_a_moment() -> None:
    began = time.process_time()
    page = table()
    links = [item for item in page.elements if item.role == "link"]
    assert len(links) == ROWS
    evidence = collect(links[-1], page)
    assert (evidence.alike, evidence.cells[evidence.only[0]]) == (ROWS - 1, f"Part {ROWS - 1}")
    judge = Judge(evidence, page, text=str, address=str)
    assert judge.choose(OPEN, links, writes=True) == links[-1]
    assert container(Within(role="row", text=f"Part {ROWS - 1}"), "", page).name == f"Part {ROWS - 1} Open"
    naming = Naming(page)
    found = [naming.locator(link) for link in links]
    assert found[-1] == Locator(role="link", name="Open", within=Within(role="row", text=f"Part {ROWS - 1}"))
    named = ElementIds().name(page, {})
    shown = outline(named)
    listed = table_of(named)
    assert (len(shown), len(listed.rows), time.process_time() - began < WORK_S_MAX) == (ROWS * 4 + 1, ROWS, True)


def test_deep_pages_are_read_in_a_moment_and_their_indentation_fills_no_memory() -> None:
    began = time.process_time()
    page = nested()
    assert len(page.elements) == ROWS
    assert page.elements[0].name.startswith("word word")
    assert [each.bound for each in page.cut] == ["text"]
    assert time.process_time() - began < WORK_S_MAX


def test_a_long_page_is_shown_in_parts_that_say_which_they_are() -> None:
    lines = [(given, line + "x" * 1_000) for given, line in outline(ElementIds().name(table(), {}))]
    first = parted(lines, 1, limits.SNAPSHOT_PART_BYTES)
    assert first.more == f"part 1 of {first.parts}"
    parts = [parted(lines, number, limits.SNAPSHOT_PART_BYTES) for number in range(1, first.parts + 1)]
    assert [line for each in parts for line in each.lines] == [line for _, line in lines]
    assert max(len("\n".join(each.lines).encode()) for each in parts) <= limits.SNAPSHOT_PART_BYTES
