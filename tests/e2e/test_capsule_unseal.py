"""A login given out in clear logs a script of Playwright in."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest
from playwright.async_api import async_playwright

from adapters.browser.launch.settings import BrowserSettings, find_executable
from node.agents.tokens import caller_of
from tests.canaries import found_in
from tests.e2e.logins import CANARIES, KeptLogin, ask, leaks, refusal
from tests.login_site import LoginSite

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_script_of_playwright_is_logged_in_with_what_was_unsealed(
    logins: KeptLogin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = LoginSite()
    out = tmp_path / "state.json"
    async with logins.node(site, tmp_path) as node:
        added = await ask(node, "agent.add", name="shopper", scopes=["record"], capsules=["shop=record"])
        agent = caller_of(await node.agents.authenticate(added.token))
        refused = await refusal(node, "capsule.unseal", agent, capsule="shop", out=str(out))
        assert refused.code == "caller.refused" and not out.exists()
        told = await ask(node, "capsule.unseal", capsule="shop", out=str(out))
        assert stat.S_IMODE(out.stat().st_mode) == 0o600 and told.origins == (site.origin,)
        assert not found_in(msgspec.json.encode(told), CANARIES)
        lines = await node.rooms.store.audit_lines()
        assert [each.who for each in lines if each.what == "capsule.unsealed"] == ["owner"]
        async with async_playwright() as driver:
            chromium = find_executable(BrowserSettings(sandbox=False))
            browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            stranger = await (await browser.new_context()).new_page()
            await stranger.goto(f"{site.origin}/")
            assert stranger.url == f"{site.origin}/login"
            page = await (await browser.new_context(storage_state=out)).new_page()
            await page.goto(f"{site.origin}/")
            # The cookie, the token in localStorage and the key in IndexedDB, each of which the page asks for.
            await page.wait_for_function("document.title === 'Account, all here'")
            assert page.url == f"{site.origin}/"
            await browser.close()
    assert leaks(tmp_path) == ["state.json"], "the file that was asked for, and nothing else"
    assert not found_in(caplog.text.encode(), CANARIES)
