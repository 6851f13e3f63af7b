"""Opening a page made up by a test, and finding what is on it."""

from __future__ import annotations

from adapters.ports.browser import Page
from protocol.page.actions.action import Goto
from protocol.page.seen.observation import Element, Observation
from tests.sites.pages.server import PageServer


async def shown(page: Page, site: PageServer, html: str) -> Observation:
    """The page ``html``, served and opened."""
    site.extra["/shown.html"] = html
    return (await page.perform(Goto(url=site.origin + "/shown.html"))).observation


def element(observation: Observation, role: str, name: str) -> Element:
    """The first one of that role and name."""
    return next(item for item in observation.elements if (item.role, item.name) == (role, name))
