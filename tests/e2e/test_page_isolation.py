"""What one page's site left in the browser is not there for the next page."""

from __future__ import annotations

import pytest
from aiohttp import web

from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy

pytestmark = pytest.mark.browser

SITE = """<title>t</title><script>
document.title = 'seen: ' + document.cookie + (localStorage.getItem('it') || '');
document.cookie = 'it=cookie; max-age=600'; localStorage.setItem('it', 'stored');
</script><p>.</p>"""


async def test_pages_share_neither_cookies_nor_stored_data() -> None:
    """Guard: adapters/browser/launch/browser.py, ChromiumBrowser._fresh."""

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=SITE, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    browser = await launcher(BrowserSettings(sandbox=False))()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        action = Goto(url=f"http://127.0.0.1:{runner.addresses[0][1]}/")
        one = await (await browser.open(Profile(), GuardPolicy())).page()
        titles = [(await one.perform(action)).observation.title for _ in range(2)]
        two = await (await browser.open(Profile(), GuardPolicy())).page()  # while the first is open, with all it holds
        titles.append((await two.perform(action)).observation.title)
        assert titles == ["seen:", "seen: it=cookiestored", "seen:"]
    finally:
        await browser.close()
        await runner.cleanup()
