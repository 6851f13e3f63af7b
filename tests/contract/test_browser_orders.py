"""Orders by GET do not leave, whatever loads them; while a grave control is at work neither does what nobody can read."""

from __future__ import annotations

from typing import Final

import pytest
import pytest_asyncio

from adapters.ports.browser import ActionOutcome, Given, Page
from protocol.page.actions.action import Action, Click, Fill, Locator, Scroll, Secret
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.page.seen.observation import Observation
from protocol.risk.requests.refused import OPAQUE, TYPED
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import shown

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def page(each_page: Page) -> Page:
    """That of each way to a Chromium."""
    return each_page


LOADS: Final = (
    "<img src=/items/7/expunge><script src=/logout.js></script><iframe src=/eliminate/7></iframe>"
    "<link rel=stylesheet href='/list?action=purge&id=7'><img src=/mugs.png>"
)
# Each is sent by a script of the page, the last of them with a later press.
MUTE: Final = """
new Image().src = '/u/Zx81kqVb7TnQ'; document.head.append(Object.assign(document.createElement('script'), {src: '/e/7'}));
document.body.append(Object.assign(document.createElement('iframe'), {src: '/r/8f14e45fceea167a'}));
new Image().src = '/mugs/7.png'; fetch('/items/7'); then.onclick = () => fetch('/late/Zx81kqVb7TnQ')
"""


async def press(page: Page, seen: Observation, name: str, *, grave: bool = False) -> ActionOutcome:
    ref = next(each.ref for each in seen.elements if each.name == name)
    return await page.perform(Click(target=Locator()), ref=ref, given=Given(grave=grave))


def asked(site: PageServer) -> set[str]:
    return {entry for entry in site.reached if not entry.startswith("GET /shown.html")}


async def test_an_order_by_get_is_refused_as_a_picture_a_script_a_frame_and_a_style(
    page: Page, site: PageServer
) -> None:
    site.reached.clear()
    await shown(page, site, LOADS)
    assert asked(site) == {"GET /mugs.png"}


async def test_while_a_grave_control_is_at_work_and_after_it_nothing_leaves_that_nobody_can_read(
    page: Page, site: PageServer
) -> None:
    """Guard: adapters/browser/egress/closely.py, Closely.grave. Guard: adapters/browser/egress/plain.py, PlainReads.pause_all."""
    html = f'<img src=/a.png><button onclick="{MUTE}">Delete all</button><button id=then>Next</button>'
    told = ("/u/Zx81kqVb7TnQ", "/e/7", "/r/8f14e45fceea167a", "/late/Zx81kqVb7TnQ")
    for grave in (False, True):
        seen = await shown(page, site, html)
        await page.perform(Scroll())
        site.reached.clear()
        outcomes = [await press(page, seen, "Delete all", grave=grave), await press(page, seen, "Next")]
        refused = {pair for each in outcomes for pair in zip(each.blocked, each.blocked_by, strict=True)}
        assert refused == ({(f"GET {path}", OPAQUE) for path in told} if grave else set())
        assert asked(site) == {"GET /mugs/7.png", "GET /items/7"} | (
            set() if grave else {f"GET {path}" for path in told}
        )
        assert all(each.blocked_forms for each in outcomes) is grave, "the owner can be asked"


async def test_a_secret_that_was_typed_leaves_in_no_address(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/egress/closely.py, Closely.begin."""
    told = "new Image().src = '/pixel.png?x=' + btoa(word.value); fetch('/innocent.txt?y=' + word.value)"
    seen = await shown(page, site, f'<img src=/a.png><input type=password id=word aria-label=Word oninput="{told}">')
    await page.perform(Scroll())
    ref = next(each.ref for each in seen.elements if each.name == "Word")
    secrets = Secrets({"word": GivenSecret(value="correct-horse-7", origins=(site.origin,))})
    action: Action = Fill(target=Locator(), value=Secret(secret="word"))
    site.reached.clear()
    outcome = await page.perform(action, ref=ref, secrets=secrets)
    assert set(outcome.blocked_by) == {TYPED}
    assert {each.partition("?")[0] for each in outcome.blocked} == {"GET /pixel.png", "GET /innocent.txt"}
    assert asked(site) == set()
