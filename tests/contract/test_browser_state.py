"""What a context of a real Chromium begins with: the storage of a state, written before anything of a site runs, or an error."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.browser.launch.browser import ChromiumBrowser
from adapters.browser.state import partitions, seeding
from adapters.browser.state.storage_scripts import READ
from adapters.ports.browser import BrowserState, Page, UnexportableState
from benchmarks.loop import longest_block
from protocol.errors import MeshError
from protocol.page.actions.action import Back, Goto, Wait
from protocol.page.seen.observation import BLANK
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.backends import Backend, backend
from tests.two_sites import TOKEN, TwoSites

pytestmark = pytest.mark.asyncio(loop_scope="module")
OTHER = "https://secure.example"
"""Nothing of it can be reached: its document is answered by the adapter, or by nobody."""


@pytest_asyncio.fixture(params=("launched", "attached"), scope="module", loop_scope="module")
async def world(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    async with backend(request.param) as opened:
        yield opened


def state(*origins: dict[str, Any]) -> BrowserState:
    return BrowserState(storage=json.dumps({"cookies": [], "origins": origins}).encode())


def database(name: str, *records: dict[str, Any], **more: Any) -> dict[str, Any]:
    store = {"name": "kept", "autoIncrement": False, "indexes": [], "records": list(records), **more}
    return {"name": name, "version": 3, "stores": [store]}


ENCODED = {
    "o": [
        {"k": "date", "v": {"d": "2026-11-23T19:00:00.000Z"}},
        {"k": "big", "v": {"bi": "12345678901234567890"}},
        {"k": "bytes", "v": {"ta": {"b": "AAECAwQF", "k": "ui16"}}},
        {"k": "buffer", "v": {"ab": {"b": "BwgJ"}}},
        {"k": "map", "v": {"m": [{"k": "one", "v": {"s": [1, {"v": "NaN"}], "id": 3}}], "id": 2}},
        {
            "k": "list",
            "v": {"a": [{"v": "undefined"}, {"v": "-0"}, {"v": "-Infinity"}, {"r": {"p": "a+", "f": "i"}}], "id": 4},
        },
        {"k": "itself", "v": {"ref": 1}},
    ],
    "id": 1,
}
"""As Playwright writes what JSON lacks."""


async def test_every_kind_of_value_of_every_origin_is_there_and_no_site_is_asked(world: Backend) -> None:
    """Guard: adapters/browser/state/seeding.py, seeded."""
    items = [{"name": name, "value": value} for name, value in (("__proto__", "a"), ("é\u2028'", '{"b": 1}'), ("", ""))]
    plain = {"key": 1.5, "value": {"d": "no date", "list": [None, True, "'"]}}
    path = {"keyPath": "id", "autoIncrement": True}
    index = {"name": "by", "keyPathArray": ["id", "name"], "unique": True, "multiEntry": False}
    given = [
        {
            "origin": world.origin,
            "localStorage": items,
            "indexedDB": [
                database("plain", plain, {"key": ["a", 2], "value": 0}),
                database("encoded", {"keyEncoded": {"d": "2026-11-23T19:00:00.000Z"}, "valueEncoded": ENCODED}),
            ],
        },
        {
            "origin": OTHER,
            "localStorage": [],
            "indexedDB": [database("path", {"value": {"id": 7, "name": "x"}}, indexes=[index], **path)],
        },
    ]
    world.reached.clear()
    context = await world.browser.open(Profile(), GuardPolicy(), state=state(*given))
    assert context.pages == ()
    held = json.loads((await context.state(whole=True)).storage)["origins"]
    assert world.reached == []
    await context.close()
    for origin in (*held, *given):
        origin["localStorage"].sort(key=lambda each: each["name"])
        origin["indexedDB"].sort(key=lambda each: each["name"])
    assert held == given


async def test_a_state_of_megabytes_leaves_the_loop_to_others(world: Backend) -> None:
    """In pieces: the driver encodes what it sends in the event loop."""
    items = [{"name": f"k{at}", "value": "v" * 100_000} for at in range(40)]
    stores = [{"name": "s", "autoIncrement": False, "indexes": [], "records": [{"key": "k", "value": "w" * 4_000_000}]}]
    origin = {
        "origin": world.origin,
        "localStorage": items,
        "indexedDB": [{"name": "d", "version": 1, "stores": stores}],
    }
    state = BrowserState(storage=json.dumps({"cookies": [], "origins": [origin]}).encode())
    blocks = []
    for _ in range(3):  # other work only adds to it
        with longest_block(time.thread_time) as block:
            context = await world.browser.open(Profile(), GuardPolicy(), state=state)
        try:
            kept = await context.state(whole=True)
        finally:
            await context.close()
        assert len(kept.storage) > 8_000_000
        blocks.append(block[0])
    assert min(blocks) < 0.05


async def test_the_first_page_is_blank_and_leads_nowhere_back(world: Backend) -> None:
    given = {"origin": world.origin, "localStorage": [{"name": "mark", "value": "left"}]}
    context = await world.browser.open(Profile(), GuardPolicy(), state=state(given))
    page = await context.page()
    assert (await page.observe(), len(context.pages)) == (BLANK, 1)
    for _ in range(2):
        with pytest.raises(MeshError) as caught:
            await page.perform(Back())
        assert caught.value.code == "action.not_possible"
    await page.perform(Goto(url=f"{world.origin}/form.html"))
    with pytest.raises(MeshError):
        await page.perform(Back())
    await context.close()


@pytest.mark.parametrize(
    ("named", "stored"),
    [
        ("localStorage", {"localStorage": [{"name": "swordfish", "value": "x" * 6_000_000}]}),
        ("IndexedDB", {"localStorage": [], "indexedDB": [database("swordfish", *[{"key": "k", "value": "v"}] * 2)]}),
        ("IndexedDB", {"localStorage": [], "indexedDB": [database("swordfish", {"key": {}, "value": "v"})]}),
        (
            "IndexedDB",
            {"localStorage": [], "indexedDB": [database("swordfish"), database("swordfish") | {"version": 2}]},
        ),
    ],
)
async def test_storage_that_is_not_taken_is_an_error_and_leaves_no_context(
    world: Backend, named: str, stored: dict[str, Any]
) -> None:
    """Guard: adapters/browser/state/seeding.py, _write."""
    assert isinstance(world.browser, ChromiumBrowser)
    before = world.browser.contexts
    with pytest.raises(MeshError) as caught:
        await world.browser.open(Profile(), GuardPolicy(), state=state({"origin": world.origin, **stored}))
    assert (caught.value.code, "swordfish" in str(caught.value.to_dict())) == ("browser.state", False)
    assert f"{named} of {world.origin}" in caught.value.message
    assert world.browser.contexts == before


async def test_a_page_that_crashes_while_storage_is_written_is_told_at_once(
    world: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[asyncio.Task[Any]] = []

    def crash(self: Any, event: Any) -> None:
        sent.append(asyncio.ensure_future(self._session.send("Page.crash")))

    monkeypatch.setattr(seeding._Seeding, "_navigated", crash)
    kept = {"origin": OTHER, "localStorage": [{"name": "a", "value": "1"}], "indexedDB": []}
    with pytest.raises(MeshError) as told:
        await world.browser.open(Profile(), GuardPolicy(), state=state(kept))
    assert told.value.code == "browser.crashed"
    await asyncio.gather(*sent, return_exceptions=True)


async def test_a_cookie_that_is_not_taken_is_an_error_that_quotes_nothing_of_it(world: Backend) -> None:
    assert isinstance(world.browser, ChromiumBrowser)
    before = world.browser.contexts
    cookie = {"name": "sid", "value": "sword\nfish", "domain": "127.0.0.1", "path": "/", "expires": -1}
    usual = {"httpOnly": False, "secure": False, "sameSite": "Lax"}
    held = BrowserState(storage=json.dumps({"cookies": [cookie | usual], "origins": []}).encode())
    with pytest.raises(MeshError) as caught:
        await world.browser.open(Profile(), GuardPolicy(), state=held)
    assert (caught.value.code, "sword" in str(caught.value.to_dict())) == ("browser.state", False)
    assert world.browser.contexts == before


async def seen(page: Page, url: str, text: str) -> None:
    """``url`` shows ``text``, also in its frames."""
    await page.perform(Goto(url=url))
    for _ in range(50):
        told = (await page.observe()).text
        if text in told:
            return
        await page.perform(Wait(timeout_ms=100))
    raise AssertionError(told)


async def test_what_of_a_frame_cannot_be_taken_is_named(world: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    sites = TwoSites()
    await sites.start()
    try:
        context = await world.browser.open(Profile(), GuardPolicy())
        await seen(await context.page(), f"{sites.page}/entering", "entered")
        monkeypatch.setattr(partitions, "_READ", READ.replace("CHARS_MAX", "16", 1))
        held = await context.state(whole=True)
        assert b"storageKey" not in held.storage
        assert held.untaken == (UnexportableState(origin=sites.frame, what="storage within http://127.0.0.1"),)
        await context.close()
    finally:
        await sites.stop()


async def test_what_a_frame_keeps_for_the_site_on_top_stays_with_the_state(world: Backend) -> None:
    """Guard: adapters/browser/state/partitions.py, Partitions.read."""
    sites = TwoSites()
    await sites.start()
    try:
        first = await world.browser.open(Profile(), GuardPolicy())
        page = await first.page()
        await seen(page, f"{sites.page}/", "frame knows nothing")
        await seen(page, f"{sites.page}/entering", "entered")
        await first.state(whole=True)
        await page.perform(Goto(url=f"{sites.frame}/frame"))
        kept = await first.state(whole=True)
        apart = [each for each in json.loads(kept.storage)["origins"] if "storageKey" in each]
        keys = [(each["origin"], each["storageKey"], each["localStorage"]) for each in apart]
        assert keys == [(sites.frame, sites.key, [{"name": "token", "value": TOKEN}])], "read while it was shown"
        await first.close()
        for _ in range(2):
            heir = await world.browser.open(Profile(), GuardPolicy(), state=kept)
            page = await heir.page()
            await seen(page, f"{sites.frame}/frame", "frame knows nothing")
            await seen(page, f"{sites.page}/", "frame knows cookie local base")
            kept = await heir.state(whole=True)
            await heir.close()
    finally:
        await sites.stop()
