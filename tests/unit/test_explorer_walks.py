"""How a page is led along a search tree by the shortest way: from where it stands, by an address, or from the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.ports.browser import ActionOutcome
from node.explorer.sharing.visit import WalkStep
from node.explorer.working.walker import Walker
from node.live.acting import Gate
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Locator
from protocol.page.secrets.secrets import NO_SECRETS, GivenSecret, Secrets
from protocol.page.seen.observation import Element
from protocol.risk.pressing.classes import Risk
from protocol.risk.requests.requests import GuardPolicy
from protocol.search.entry import encode_action, node_key
from tests.mesh_memory import ORIGIN
from tests.twins.browser import Control, Document, Effect, MemoryPage, MemorySite
from tests.twins.clock import ManualClock

STEP_MS = 100
LINKS = {
    "/": ("/a", "/b"),
    "/a": ("/a/x",),
    "/b": ("/b/y", "/b/z"),
    "/a/x": (),
    "/b/y": (),
    "/b/z": ("/b/z/q",),
    "/b/z/q": (),
}
"""The site of these tests: where each page leads to. Each link is called as the page behind it."""


class TimedPage(MemoryPage):
    """A page on which every action takes its time."""

    clock: ManualClock

    async def perform(self, action: Action, **more: Any) -> ActionOutcome:
        """``adapters.ports.Page.perform``."""
        self.clock.advance(STEP_MS)
        return await super().perform(action, **more)


def link(url: str, name: str = "", **more: Any) -> Control:
    return Control(element=Element(ref="", role="link", name=name or url, url=url), **more)


def site_of(links: Mapping[str, tuple[str, ...]] | None = None) -> MemorySite:
    documents = {
        ORIGIN + path: Document(title=f"Page {path}", controls=tuple(link(url) for url in below))
        for path, below in (links or LINKS).items()
    }
    return MemorySite(documents)


def click(name: str) -> Click:
    return Click(target=Locator(role="link", name=name))


def keys_of(root: bytes, *names: str) -> list[bytes]:
    keys = [root]
    for name in names:
        keys.append(node_key(keys[-1], encode_action(click(name))))
    return keys[1:]


async def no_report(action: Action, risk: Risk, admitted: bool) -> None:
    """Nobody is told of risks here."""


def timed_page(site: MemorySite, clock: ManualClock) -> TimedPage:
    page = TimedPage(site, GuardPolicy())
    page.clock = clock
    return page


# --- ways ------------------------------------------------------------------------------------------------------------


class Walk:
    """A walker over the site, and what it took each time."""

    def __init__(self, site: MemorySite) -> None:
        self.site = site
        self.page = timed_page(site, ManualClock())
        self.counted = 0
        self.walker = Walker(self.page, f"{ORIGIN}/", Gate(report=no_report, wall=GuardPolicy()), self._count)

    def _count(self) -> None:
        self.counted += 1

    def steps(self, *names: str) -> list[WalkStep]:
        """The steps over these links from the start page."""
        keys = keys_of(b"root", *names)
        return [WalkStep(key=key, action=click(name)) for key, name in zip(keys, names, strict=True)]

    async def to(self, *names: str) -> tuple[str, list[str], int]:
        """Go there: path of the page that is reached, what the site was asked for, how many steps were counted."""
        before, self.counted = len(self.site.reached), 0
        page = await self.walker.reach(self.steps(*names))
        return page.url.removeprefix(ORIGIN), [line[4:] for line in self.site.reached[before:]], self.counted


async def test_a_walk_goes_on_from_where_it_stands() -> None:
    walk = Walk(site_of())
    assert await walk.to() == ("/", ["/"], 1)
    assert await walk.to() == ("/", [], 0)
    assert await walk.to("/b") == ("/b", ["/b"], 1)
    assert await walk.to("/b", "/b/z", "/b/z/q") == ("/b/z/q", ["/b/z", "/b/z/q"], 2)
    assert await walk.to("/b", "/b/z", "/b/z/q") == ("/b/z/q", [], 0)


async def test_a_page_that_was_seen_is_opened_by_its_address_the_nearest_to_the_end_of_the_way() -> None:
    walk = Walk(site_of())
    await walk.to("/b", "/b/z", "/b/z/q")
    await walk.to("/a")
    assert await walk.to("/b", "/b/z", "/b/z/q") == ("/b/z/q", ["/b/z/q"], 1)
    assert await walk.to("/b", "/b/y") == ("/b/y", ["/b", "/b/y"], 2)
    assert await walk.to("/a", "/a/x") == ("/a/x", ["/a", "/a/x"], 2)
    assert await walk.to("/a") == ("/a", ["/a"], 1), "it goes back by the address too, and once more"


async def test_an_address_that_shows_another_page_is_opened_once_and_then_the_way_is_walked() -> None:
    walk = Walk(site_of())
    await walk.to("/b", "/b/z")
    walk.site.documents[f"{ORIGIN}/b/z"] = Document(title="Sign in", controls=(link("/b/z/q"), link("/login")))
    await walk.to("/a")
    assert await walk.to("/b", "/b/z", "/b/z/q") == ("/b/z/q", ["/b/z", "/b", "/b/z", "/b/z/q"], 4)
    await walk.to("/a")
    walk.site.reached.clear()
    assert await walk.to("/b", "/b/z") == ("/b/z", ["/b", "/b/z"], 2), "that address is not tried again"


async def test_an_address_that_does_not_open_any_more_costs_one_step_and_a_lost_browser_ends_the_walk() -> None:
    walk = Walk(site_of())
    await walk.to("/a", "/a/x")
    del walk.site.documents[f"{ORIGIN}/a"]
    walk.site.redirects[f"{ORIGIN}/a"] = "http://gone.test/"
    await walk.to("/b")
    with pytest.raises(MeshError) as broken:
        await walk.to("/a")
    assert (broken.value.code, walk.counted) == ("browser.navigation", 3), "its address, the start page, the link"
    with pytest.raises(MeshError):
        await walk.to("/a")
    assert walk.counted == 2, "only the start page and the link"
    await walk.to("/b")
    walk.page.crash()
    with pytest.raises(MeshError) as crashed:
        await walk.to("/a", "/a/x")
    assert (crashed.value.code, walk.counted) == ("browser.crashed", 1)


async def test_after_a_failed_step_nobody_knows_where_the_page_stands() -> None:
    walk = Walk(site_of())
    await walk.to("/b")
    with pytest.raises(MeshError):
        await walk.to("/b", "/b/z", "/nowhere")
    assert walk.walker.forget() == 2, "two steps were there"
    assert await walk.to("/b", "/b/z") == ("/b/z", ["/b/z"], 1)
    with pytest.raises(MeshError):
        await walk.walker.advance(WalkStep(key=b"x", action=click("/nowhere")))
    assert await walk.to("/b", "/b/z") == ("/b/z", ["/b/z"], 1)
    walk.walker.forget()
    assert await walk.to("/b", "/b/z") == ("/b/z", ["/b/z"], 1)


async def test_a_click_that_leaves_the_address_as_it_was_gives_no_address_to_open() -> None:
    site = site_of()
    button = Control(element=Element(ref="", role="link", name="more"))
    site.documents[f"{ORIGIN}/a"] = Document(title="A", controls=(button, link("/a/x")))
    walk = Walk(site)
    assert await walk.to("/a", "more") == ("/a", ["/", "/a"], 3)
    await walk.to("/b")
    assert await walk.to("/a", "more") == ("/a", ["/a"], 2), "the page before it is opened and the click done again"


# --- addresses of links, and what was refused --------------------------------------------------------------------------


def pressing(
    site: MemorySite, addresses: Mapping[bytes, str] | None = None, secrets: Secrets = NO_SECRETS
) -> tuple[Walker, list[str]]:
    """A walker of a search, before whose pages the guard stands, and what it notes of refused writes."""
    gate, told = Gate(report=no_report, wall=GuardPolicy(), chooses=True), list[str]()
    page = timed_page(site, ManualClock())
    walker = Walker(page, f"{ORIGIN}/", gate, lambda: None, secrets, addresses=addresses, would_send=told)
    return walker, told


def button(name: str, **effect: Any) -> Control:
    return Control(element=Element(ref="", role="button", name=name), effect=Effect(**effect))


def pressed(parent: bytes, name: str, role: str = "button") -> WalkStep:
    action = Click(target=Locator(role=role, name=name))
    return WalkStep(key=node_key(parent, encode_action(action)), action=action)


async def test_a_link_that_was_seen_is_followed_by_its_address_and_pressed_where_that_is_wanted() -> None:
    site = site_of()
    keys = keys_of(b"root", "/b", "/b/z")
    steps = [WalkStep(key=key, action=click(name)) for key, name in zip(keys, ("/b", "/b/z"), strict=True)]
    walker, _ = pressing(site, {keys[1]: f"{ORIGIN}/b/z"})
    assert (await walker.reach(steps)).url == f"{ORIGIN}/b/z"
    assert (site.reached, walker.was_pressed(steps)) == (["GET /b/z"], False)
    assert (await walker.press(steps)).url == f"{ORIGIN}/b/z"
    assert (site.reached[1:], walker.was_pressed(steps)) == (["GET /", "GET /b", "GET /b/z"], True)


async def test_an_action_that_only_wants_to_change_something_is_noted_and_its_page_opened_anew() -> None:
    """Guard: node/explorer/working/walker.py, Walker._confirmed."""
    site = site_of()
    site.documents[f"{ORIGIN}/"] = Document(
        title="Page /", controls=(button("Zorp", fetch=(("POST", "/rows"),)), link("/a"))
    )
    walker, told = pressing(site)
    step = pressed(b"root", "Zorp")
    with pytest.raises(MeshError) as refused:
        await walker.reach([step])
    assert (refused.value.code, told) == ("risk.refused", ["POST /rows, by click button “Zorp”"])
    await walker.reach([])
    assert site.reached == ["GET /", "GET /"], "what the page shows since is not believed"


async def test_what_an_action_would_have_sent_is_told_without_secrets_and_tokens() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
    site, secrets = site_of(), Secrets({"pin": GivenSecret(value="hunter2", origins=(ORIGIN,))})
    sends = (("POST", "/r/hunter2"), ("POST", f"/reset/{token}"))
    site.documents[f"{ORIGIN}/"] = Document(title="Page /", controls=(button("Zorp hunter2", fetch=sends),))
    walker, told = pressing(site, secrets=secrets)
    with pytest.raises(MeshError) as refused:
        await walker.reach([pressed(b"root", "Zorp hunter2")])
    assert len(told) == 1 and told[0].startswith("POST /r/‹secret:pin›, POST /reset/")
    assert told[0].endswith("by click button “Zorp ‹secret:pin›”")
    assert not any(each in text for each in ("hunter2", token) for text in (told[0], refused.value.message))


async def test_what_opened_beside_a_refused_write_is_a_page_and_unconfirmed_until_it_is_opened_anew() -> None:
    """Guard: node/explorer/working/walker.py, Walker._confirmed."""
    site = site_of()
    menu = button("Menu", fetch=(("POST", "/seen"),), shows=(link("/a"), link("/b")))
    site.documents[f"{ORIGIN}/"] = Document(title="Page /", controls=(menu,))
    walker, told = pressing(site)
    opened = pressed(b"root", "Menu")
    seen = await walker.reach([opened])
    assert [item.name for item in seen.elements] == ["Menu", "/a", "/b"]
    assert (walker.unconfirmed, len(told)) == (True, 1)
    below = pressed(opened.key, "/a", "link")
    assert (await walker.reach([opened, below])).url == f"{ORIGIN}/a"
    assert not walker.unconfirmed
    assert site.reached == ["GET /", "GET /a", "GET /a"], "once by the press, and anew by its address"
