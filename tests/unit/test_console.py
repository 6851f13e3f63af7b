"""Errors in the console are recorded with the step that they came in, without secrets."""

from __future__ import annotations

from protocol import limits
from protocol.page.actions.action import Goto
from tests.given_secrets import given
from tests.twins.browser import Document
from tests.unit.test_replayer import HOME, Bench


async def test_each_step_has_the_errors_that_came_in_it() -> None:
    """Guard: protocol/page/secrets/redaction.py, redact_console."""
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
    bench = Bench()
    bench.site.documents[HOME] = Document(title="Shop", console=("abc " * 75,))
    recorder = await bench.record(secrets=given(at=HOME, a_name_that_is_long="abc"))
    (said,) = recorder.steps[0].console
    assert len(said) == limits.CONSOLE_ERROR_CHARS_MAX
