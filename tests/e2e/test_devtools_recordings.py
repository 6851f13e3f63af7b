"""Recordings of the DevTools Recorder on a real page: what they assert is checked, what they choose is chosen."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from nacl.signing import SigningKey

from adapters.clock.system import SystemClock
from adapters.ports.browser import Browser, Page
from node.live.acting.driver import Gate
from node.live.recording.keeping import Recording
from node.live.recording.recorder import Recorder
from node.live.recording.run import record, record_actions
from node.sessions.actions.action_files import parse_actions
from node.signing.identity import Identity
from node.signing.witness import Witness
from protocol.errors import MeshError
from protocol.page.actions.action import Select
from protocol.recording.records.session import Profile, Skipped, Step
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.requests import GuardPolicy
from tests.gates import unreported
from tests.sites.pages.visits import element
from tests.twins.storage import MemoryStore

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

_PAGE = """<title>Order</title><h1>Order</h1><a href=/next>Next</a>
<label>Size <select><option value=s>Small</option><option value=l>Large</option><option value=Small>Odd</option>
<option value=x1>Extra</option><option value=x2>Extra</option><option value=q>Delete account</option></select></label>
<label>Word <input></label> <label><input type=checkbox> Gift</label>
<p id=y>at 0</p><div style="height:5000px"></div>
<script>addEventListener('scroll', () => { document.getElementById('y').textContent = 'at ' + Math.round(scrollY); });</script>"""


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[str]:
    async def page(request: web.Request) -> web.Response:
        text = _PAGE if request.path == "/" else "<title>Next</title><h1>Next</h1>"
        return web.Response(text=text, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    app.router.add_get("/next", page)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class Run:
    """A recording on its way through the browser."""

    def __init__(self, browser: Browser, page: Page, site: str) -> None:
        self._browser, self._page = browser, page
        self._site = site
        self.recorder: Recorder | None = None

    async def of(self, *steps: dict[str, Any], skipped: tuple[Skipped, ...] = ()) -> Recorder:
        """The session of these steps on the page."""
        text = json.dumps({"title": "t", "steps": [{"type": "navigate", "url": f"{self._site}/"}, *steps]})
        file, clock, store = parse_actions(text.encode()), SystemClock(), MemoryStore()
        witness = Witness(Identity(SigningKey(bytes(32)), clock), store, clock)
        await witness.load()
        plan = Recording(
            title=file.title,
            start_url=file.start_url,
            profile=file.profile,
            browser=self._browser.info,
            gate=Gate(report=unreported, risk_max=4),
            skipped=skipped,
        )
        async with record(store, self._page, clock, witness, plan) as self.recorder:
            await record_actions(self.recorder, file.actions, file.arrivals)
        return self.recorder

    async def refused(self, *steps: dict[str, Any]) -> tuple[str, Step, Verdict]:
        """The code with which these steps end, the step it ended at, and the verdict of the session."""
        with pytest.raises(MeshError) as caught:
            await self.of(*steps)
        assert self.recorder is not None
        return caught.value.code, self.recorder.steps[-1], self.recorder.session.verdict


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """One for all recordings: each begins with its first page."""
    context = await browser.open(Profile(), GuardPolicy())
    yield await context.page()
    await context.close()


@pytest.fixture
def run(browser: Browser, page: Page, site: str) -> Run:
    return Run(browser, page, site)


def change(value: str, selector: str = "select") -> dict[str, Any]:
    return {"type": "change", "value": value, "selectors": [[selector]]}


async def test_an_option_is_chosen_by_its_value_before_its_label_and_recorded_by_its_label(run: Run) -> None:
    recorder = await run.of(change("l"), change("Small"), change("Large"))
    chosen = [step.action.option for step in recorder.steps[1:] if isinstance(step.action, Select)]
    assert chosen == ["Large", "Odd", "Large"]
    assert recorder.observation is not None
    assert element(recorder.observation, "combobox", "Size").value == "Large"


async def test_a_choice_by_value_is_judged_by_the_label_and_needs_one_of_its_own(run: Run) -> None:
    """Guard: node/live/acting/preparing.py, prepare."""
    assert (await run.refused(change("q")))[0] == "risk.refused"
    assert (await run.refused(change("x1")))[0] == "action.not_possible"
    assert (await run.refused(change("huge")))[0] == "action.not_possible"
    assert (await run.refused(change("on", "input[type=checkbox]")))[0] == "action.not_possible"


@pytest.mark.parametrize(
    ("path", "title", "code"),
    [
        ("/next", "Next", ""),
        ("/next", "", ""),
        ("/next", "Other", "action.arrival_differs"),
        ("/other", "Next", "action.arrival_differs"),
    ],
)
async def test_an_asserted_navigation_is_checked(run: Run, site: str, path: str, title: str, code: str) -> None:
    """Guard: node/live/recording/recorder.py, Recorder.perform."""
    event = {"type": "navigation", "url": site + path, "title": title}
    click = {"type": "click", "selectors": [["aria/Next"]], "offsetX": 1, "offsetY": 1, "assertedEvents": [event]}
    if not code:
        assert (await run.of(click)).session.verdict == Verdict.PASS
        return
    ended, step, verdict = await run.refused(click)
    assert (ended, step.ok, step.error, verdict) == (code, False, code, Verdict.PARTIAL)


async def test_an_element_that_is_waited_for_must_be_there(run: Run) -> None:
    assert (await run.of({"type": "waitForElement", "selectors": [["aria/Next"]]})).session.verdict == Verdict.PASS
    code, step, _ = await run.refused({"type": "waitForElement", "selectors": [["#does-not-exist"]], "timeout": 500})
    assert (code, step.ok) == ("action.assertion_failed", False)
    many = {"type": "waitForElement", "selectors": [["option"], ["label"]], "timeout": 500}
    assert (await run.of({**many, "operator": ">="})).session.verdict == Verdict.PASS
    assert (await run.of({**many, "selectors": [["label"]], "operator": "==", "count": 3})).steps[-1].held == "held"
    code, step, _ = await run.refused({**many, "selectors": [["label"]], "operator": "==", "count": 2})
    assert (code, step.extracted) == ("action.assertion_failed", "3")


async def test_the_selectors_of_a_step_must_lead_to_one_element(run: Run) -> None:
    alike = {
        "type": "click",
        "offsetX": 1,
        "offsetY": 1,
        "selectors": ["aria/Next", "a", "xpath///a", "text/Nex", "pierce/a"],
    }
    assert (await run.of(alike)).steps[-1].title == "Next"
    code, step, _ = await run.refused({**alike, "selectors": ["aria/Next", "h1"]})
    assert (code, step.ok) == ("action.target_differs", False)
    code, _, _ = await run.refused({**alike, "selectors": ["text/next"]})
    assert code == "action.target_missing"


async def test_a_step_that_was_left_out_makes_the_session_partial(run: Run) -> None:
    skipped = Skipped(place="steps[2].type", what="customStep", reason="unknown", before=3)
    session = (await run.of(change("l"), skipped=(skipped,))).session
    assert (session.verdict, session.skipped) == (Verdict.PARTIAL, (skipped,))
    assert session.reason == "steps[2].type of the imported file was skipped (customStep): unknown"


async def test_the_page_is_scrolled_to_the_recorded_position_wherever_it_was(run: Run) -> None:
    away = {"type": "click", "selectors": [["input:not([type])"]]}
    recorder = await run.of({"type": "scroll", "y": 900}, away, {"type": "scroll", "y": 250})
    assert recorder.observation is not None
    assert "at 250" in recorder.observation.text


async def test_a_capital_is_typed_with_shift_held(run: Run) -> None:
    shift = [{"type": kind, "key": "Shift"} for kind in ("keyDown", "keyUp")]
    letter = [{"type": kind, "key": "A"} for kind in ("keyDown", "keyUp")]
    recorder = await run.of({"type": "click", "selectors": [["input:not([type])"]]}, shift[0], *letter, shift[1])
    assert recorder.observation is not None
    assert element(recorder.observation, "textbox", "Word").value == "A"
