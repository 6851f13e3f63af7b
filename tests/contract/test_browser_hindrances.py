"""What keeps an element from being used is said as what it is, in the error of an action and of an assertion."""

from __future__ import annotations

from typing import Final

import pytest

from adapters.ports.browser import Browser, Page
from node.live.acting.driver import Driver, Gate
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Asserted, Click, Fill, Goto, Locator
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.gates import unreported
from tests.sites.pages.server import PageServer

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(90)]

_PAGE: Final = """<!doctype html><style>
@keyframes move { from { margin-left: 0 } to { margin-left: 300px } }
.box { position: relative; height: 30px } .box > * { position: absolute; inset: 0 }
</style>
<button style="display: none">Own none</button>
<section aria-label=Filters style="display: none"><button>Around none</button></section>
<button style="visibility: hidden">Own unseen</button>
<div id=pane style="visibility: hidden"><button>Around unseen</button></div>
<button style="width: 0; height: 0; padding: 0; border: 0; overflow: hidden">Own size</button>
<details><summary>More</summary><button>In details</button></details>
<button disabled>Own disabled</button>
<fieldset disabled><legend>Address</legend><button>Around disabled</button></fieldset>
<button aria-disabled=true>Own aria</button>
<div role=toolbar aria-label=Tools aria-disabled=true><button>Around aria</button></div>
<div inert id=back><p>Text</p><button>Around inert</button></div>
<div class=box><button>Under dialog</button><div role=dialog aria-label=Cookies>We use cookies</div></div>
<div class=box><button>Under veil</button><div class=veil></div></div>
<button style="pointer-events: none">Own deaf</button>
<button style="position: fixed; left: -900px">Own outside</button>
<button style="animation: move .5s infinite alternate linear">Own moving</button>
<input aria-label="Own fixed" readonly value=a>
<button style="position: absolute; left: -9999px; top: 40px">Own left</button>
<button>Free</button>"""
_WHY: Final = {
    "Own none": "it is not displayed (display: none)",
    "Around none": "the section “Filters” around it is not displayed",
    "Own unseen": "it is not visible (visibility: hidden)",
    "Around unseen": "the div#pane around it is not visible (visibility: hidden)",
    "Own size": "it has no size",
    "In details": "the details “More” around it is closed",
    "Own disabled": "it is disabled",
    "Around disabled": "the group “Address” around it is disabled",
    "Own aria": "it says that it is disabled (aria-disabled)",
    "Around aria": "the toolbar “Tools” around it says that it is disabled (aria-disabled)",
    "Around inert": "the div#back around it is inert",
    "Under dialog": "the dialog “Cookies” covers it",
    "Under veil": "the div.veil covers it",
    "Own deaf": "it takes no clicks (pointer-events: none)",
    "Own outside": "it lies outside of the window",
    "Own moving": "it does not stop moving",
    "Own fixed": "it is read only",
}


async def error_of(driver: Driver, action: Action) -> MeshError:
    with pytest.raises(MeshError) as failed:
        await driver.act(action)
    return failed.value


async def test_the_state_that_keeps_an_element_from_being_used_is_named_with_what_it_comes_from(
    page: Page, site: PageServer
) -> None:
    """Taken out: ``HINDRANCES``."""
    site.extra["/states.html"] = _PAGE
    driver = Driver(page, Gate(report=unreported, risk_max=7))
    await driver.act(Goto(url=f"{site.origin}/states.html"))
    said = {}
    for name in _WHY:
        field = name == "Own fixed"
        target = Locator(role="textbox" if field else "button", name=name)
        action: Action = (
            Fill(target=target, value="b", timeout_ms=400) if field else Click(target=target, timeout_ms=400)
        )
        said[name] = (await error_of(driver, action)).message
    assert {name: why for name, why in _WHY.items() if why not in said[name]} == {}, "\n".join(said.values())


async def test_what_a_selector_finds_and_an_assertion_lacks_is_explained_alike(page: Page, site: PageServer) -> None:
    site.extra["/states.html"] = _PAGE
    driver = Driver(page, Gate(report=unreported, risk_max=7))
    await driver.act(Goto(url=f"{site.origin}/states.html"))
    inside = Locator(selectors=("css=section button",))
    assert "section “Filters” around it is not displayed" in (await error_of(driver, Click(target=inside))).message
    whats: list[tuple[Asserted, str, str]] = [
        ("visible", "Around none", "one that cannot be seen: the section “Filters” around it is not displayed"),
        ("enabled", "Around disabled", "disabled: the group “Address” around it is disabled"),
        ("enabled", "Own disabled", "disabled: it is disabled"),
        ("visible", "Nowhere", "no such element"),
    ]
    for what, name, words in whats:
        failed = await error_of(driver, Assert(what=what, target=Locator(role="button", name=name), timeout_ms=1))
        assert words in failed.message and words in str(failed.detail["found"])


async def test_what_covers_an_element_is_told_without_the_secrets_that_it_shows(
    launched: Browser, site: PageServer
) -> None:
    site.extra["/secret.html"] = _PAGE.replace("We use cookies", "x").replace("Cookies", "for hunter2-hunter2")
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    secrets = Secrets({"word": GivenSecret(value="hunter2-hunter2", origins=(site.origin,))})
    driver = Driver(page, Gate(report=unreported, risk_max=7), secrets)
    await driver.act(Goto(url=f"{site.origin}/secret.html"))
    failed = await error_of(driver, Click(target=Locator(role="button", name="Under dialog"), timeout_ms=400))
    assert "covers it" in failed.message and "hunter2" not in failed.message + str(failed.detail)
    await page.close()


_FORM: Final = """<!doctype html><title>Edit</title><form><label>Summary <input id=summary></label>
<textarea name=content></textarea><input placeholder=""><button>Save page</button></form>"""


async def test_what_is_there_in_place_of_a_missing_element_can_be_addressed_also_without_a_name(
    page: Page, site: PageServer
) -> None:
    """Taken out: ``candidates`` in ``explained``."""
    site.extra["/edit.html"] = _FORM
    driver = Driver(page, Gate(report=unreported, risk_max=7))
    await driver.act(Goto(url=f"{site.origin}/edit.html"))
    for target in (Locator(selectors=("css=#wpTextbox1",)), Locator(role="textbox", name="Body")):
        missing = await error_of(driver, Fill(target=target, value="a"))
        assert missing.code == "action.target_missing"
        assert "{role: textbox, nth: 0}" in missing.detail["candidates"] and missing.detail["near"]
    missing = await error_of(driver, Click(target=Locator(selectors=("css=#gone",))))
    assert "{role: button, name: Save page}" in missing.message
    ambiguous = await error_of(driver, Fill(target=Locator(role="textbox"), value="a"))
    assert ambiguous.code == "action.target_ambiguous" and len(ambiguous.detail["candidates"]) == 3
