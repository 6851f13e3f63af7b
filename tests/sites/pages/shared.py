"""A page that the tests of a file use one after the other: a context of its own takes twice as long as most of them."""

from __future__ import annotations

from adapters.browser.page.closing import blank
from adapters.browser.page.context import ChromiumContext
from adapters.browser.page.page import ChromiumPage
from adapters.ports.browser import Browser, Context, Page
from protocol.errors import MeshError
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy


class SharedPage:
    """A page of ``browser`` under the guard, and another one in its place once a test has closed it or opened windows."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._context: Context | None = None
        self._page: Page | None = None

    async def blank(self) -> Page:
        """The page. It shows nothing, and nothing was refused to it yet."""
        if self._page is None:
            self._context = await self._browser.open(Profile(), GuardPolicy())
            self._page = await self._context.page()
        return self._page

    async def leave(self) -> None:
        """Go to a blank page, so that nothing of the last test goes on; without cookies."""
        page, context = self._page, self._context
        alone = isinstance(context, ChromiumContext) and context.pages == (page,) and not context.windows
        if not (alone and isinstance(page, ChromiumPage) and await _left(page)):
            await self.close()

    async def close(self) -> None:
        """Close the page with its context."""
        context, self._context, self._page = self._context, None, None
        if context is not None:
            await context.close()


async def _left(page: ChromiumPage) -> bool:
    """True once the page is blank and has told of all that was refused to it."""
    shown = page.watched_by(lambda shown, _: shown)
    await blank(shown)
    await shown.context.clear_cookies()
    try:
        page.blocked()
        return (await page.observe()).url == "about:blank"
    except MeshError:
        return False
