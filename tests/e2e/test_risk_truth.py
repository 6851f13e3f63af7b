"""The truth runs of ``make bench-risk`` leave out what a form complained of before it was sent: what it does is not known."""

from __future__ import annotations

from typing import Any, Final, cast

import pytest

from benchmarks.bench_risk import plain_browser
from benchmarks.risk.driving import _HEAR_COMPLAINTS, Visit
from benchmarks.risk.records import Control
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.browser

_PAGE: Final = """<!doctype html><title>Forms</title>
<form method=post action=/a><input id=wrong type=email value=figs></form>
<form method=post action=/b onsubmit="alert('The title is missing'); return false"><input id=alerts></form>
<form method=post action=/c onsubmit="return false"><input id=quiet></form>
<form method=post action=/d target=other><input id=sent></form><iframe name=other></iframe>
<form onsubmit="alert('42 rooms'); return false"><input id=finds></form>"""


async def test_a_form_by_post_that_was_kept_back_with_a_complaint_is_told_from_one_that_did_nothing() -> None:
    server = PageServer()
    server.extra = {"/forms.html": _PAGE}
    await server.start()
    found = {}
    try:
        async with plain_browser() as browser:
            context = await browser.new_context()
            visit = Visit(context, await context.new_page(), cast(Any, None))
            for name in ("wrong", "alerts", "quiet", "sent", "finds"):
                visit.requests, visit.acted, visit.alerts = [], False, 0
                await visit.page.goto(f"{server.origin}/forms.html")
                visit.acted = True
                await visit.frame(0).evaluate(_HEAR_COMPLAINTS)
                await visit.page.locator(f"#{name}").press("Enter")
                await visit.still(0.2)
                form = "get " if name == "finds" else "post /"
                control = Control(selector=f"#{name}", kind="fill", tag="input", form=form)
                found[name] = await visit.kept_back(control)
    finally:
        await server.stop()
    assert found == {"wrong": True, "alerts": True, "quiet": False, "sent": False, "finds": False}
