"""Log in once, use the login on two nodes: for each way in which sites keep a login, over real sockets, stores and browsers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from adapters.ports.browser import Browser
from benchmarks.live_mesh import LiveNode, pair, serving
from benchmarks.login_uses import Way, give, grant, log_in, use, way_of
from protocol.errors import MeshError
from tests.browsers import borrowing
from tests.sites.mechanisms import NAMES, MechanismSite

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
CONFIG = "browser: {sandbox: false}\n"


@contextlib.asynccontextmanager
async def at(
    browser: Browser, name: str, directory: Path
) -> AsyncIterator[tuple[MechanismSite, Way, LiveNode, LiveNode]]:
    """A site, and two nodes."""
    site = MechanismSite(name)
    await site.start()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(site.stop)
        anna, bruno = [
            await stack.enter_async_context(serving(directory / each, each, config=CONFIG, browser=borrowing(browser)))
            for each in ("anna", "bruno")
        ]
        await pair(anna, bruno, "status")
        await grant(anna, bruno, site.origin)
        yield site, way_of(site), anna, bruno


_QUICK: Final = "database-token"
"""The others take the same way, and are for ``make field``: two nodes and two browsers each."""


@pytest.mark.parametrize(
    "name", [_QUICK, *(pytest.param(each, marks=pytest.mark.field) for each in NAMES if each != _QUICK)]
)
async def test_a_login_is_done_once_and_used_on_two_nodes(browser: Browser, name: str, tmp_path: Path) -> None:
    async with at(browser, name, tmp_path) as (_, way, anna, bruno):
        kept = await log_in(anna, way)
        await give(anna, bruno, way, tmp_path / "login.capsule")
        assert [await use(node, way) for node in (bruno, anna, bruno)] == [True] * 3
        checked = await anna.run("capsule.check", capsule=kept["id"])
        assert checked["verdict"] == ("offered" if name == "device-offer" else "portable"), checked


async def test_a_token_that_rotates_has_one_holder_and_the_work_moves_there(browser: Browser, tmp_path: Path) -> None:
    async with at(browser, "rotating", tmp_path) as (site, way, anna, bruno):
        await log_in(anna, way)
        for _ in range(2):
            assert await use(anna, way)
            assert await use(bruno, way, at="anna")
        assert site.ended == 0
        # What was given away is a copy: whoever uses the second one of both ends the login, and the site says so.
        await give(anna, bruno, way, tmp_path / "login.capsule")
        assert await use(bruno, way)
        with contextlib.suppress(MeshError):
            assert not await use(anna, way)
        assert site.ended == 1


async def test_a_login_that_is_bound_to_a_key_of_its_browser_is_not_kept(browser: Browser, tmp_path: Path) -> None:
    async with at(browser, "software-key", tmp_path) as (_, way, anna, _):
        with pytest.raises(MeshError) as caught:
            await log_in(anna, way)
        assert caught.value.code == "capsule.unproven"
        assert "key" in caught.value.message, caught.value.message
        assert (await anna.run("capsule.list"))["capsules"] == []


async def test_a_login_by_the_dialog_of_the_browser_leaves_nothing_to_keep(browser: Browser, tmp_path: Path) -> None:
    async with at(browser, "basic", tmp_path) as (_, way, anna, _):
        with pytest.raises(MeshError) as caught:
            await log_in(anna, way)
        assert caught.value.code == "browser.no_page"
        assert (await anna.run("capsule.list"))["capsules"] == []
