"""Errors in the console are recorded with the step that they came in, without secrets."""

from __future__ import annotations

from node.live.finding.console import Console
from protocol import limits
from protocol.page.actions.action import Goto
from protocol.risk.requests.requests import GuardPolicy
from tests.given_secrets import given
from tests.twins.browser import Document, MemoryPage, MemorySite
from tests.unit.test_replayer import HOME, Bench


async def test_each_step_has_the_errors_that_came_in_it() -> None:
    """Guard: node/live/finding/console.py, redact_console."""
    bench = Bench()
    there = f"{HOME}mugs"
    said = "GET http://shop.test/api?token=abc123 failed for Ann-Marie"
    bench.site.documents |= {HOME: Document(title="Shop"), there: Document(title="Mugs", console=(said,))}
    recorder = await bench.record(actions=(Goto(url=HOME), Goto(url=there), Goto(url=HOME)))
    assert [step.console for step in recorder.steps] == [
        (),
        ("GET http://shop.test/api?token=REDACTED failed for ‹secret:user›",),
        (),
    ]


async def test_what_redaction_has_made_longer_is_cut() -> None:
    page = MemoryPage(MemorySite({HOME: Document(title="Shop", console=("abc " * 75,))}), GuardPolicy())
    await page.perform(Goto(url=HOME))
    (said,) = Console(page, given(at=HOME, a_name_that_is_long="abc").keyed(None).stored).new()
    assert len(said) == limits.CONSOLE_ERROR_CHARS_MAX
