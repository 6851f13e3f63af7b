"""What every backend promises of a context: what its pages share, what they do not, and where it begins and ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from adapters.ports.browser import BrowserState, Context, Page, Passkey
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Extract, Goto, Locator, Scroll
from protocol.page.seen.observation import BLANK
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.backends import NAMES, Backend, backend
from tests.sites.pages.visits import element

pytestmark = pytest.mark.asyncio(loop_scope="module")
NEW, KNOWN = ["none", "none"], ["seen=yes", "mark=left"]


@pytest_asyncio.fixture(params=NAMES, scope="module", loop_scope="module")
async def world(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    async with backend(request.param) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def context(world: Backend) -> AsyncIterator[Context]:
    world.reached.clear()
    opened = await world.browser.open(Profile(), GuardPolicy())
    yield opened
    await opened.close()


async def visited(page: Page, world: Backend) -> list[str]:
    """The cookies and the localStorage that a page finds, which then leaves both."""
    await page.perform(Goto(url=world.origin + "/visit.html"))
    return (await page.perform(Extract(name="text"))).extracted.split()


async def post(page: Page, world: Backend) -> tuple[str, ...]:
    """What is refused of a page that submits a form."""
    seen = (await page.perform(Goto(url=world.origin + "/form.html"))).observation
    return (await page.perform(Click(target=Locator()), ref=element(seen, "button", "Send").ref)).blocked


async def crashed(call: object) -> bool:
    with pytest.raises(MeshError) as caught:
        await call  # type: ignore[misc]
    return caught.value.code == "browser.crashed"


async def test_pages_of_a_context_share_cookies_and_storage_and_another_context_has_neither(
    context: Context, world: Backend
) -> None:
    one, two = await context.page(), await context.page()
    assert await visited(one, world) == NEW
    assert await visited(two, world) == KNOWN
    other = await world.browser.open(Profile(), GuardPolicy())
    assert await visited(await other.page(), world) == NEW
    await other.close()


async def test_a_new_page_is_blank_whatever_its_siblings_show(context: Context, world: Backend) -> None:
    await visited(await context.page(), world)
    assert await (await context.page()).observe() == BLANK


async def test_a_context_opened_with_state_knows_it_on_its_first_page_and_asks_the_site_for_nothing_before(
    context: Context, world: Backend
) -> None:
    await visited(await context.page(), world)
    state = await context.state()
    world.reached.clear()
    heir = await world.browser.open(Profile(), GuardPolicy(), state=state)
    assert (world.reached, heir.pages) == ([], ())
    assert await visited(await heir.page(), world) == KNOWN
    assert world.reached == ["GET /visit.html"]
    await heir.close()


async def test_the_state_of_a_context_is_read_without_asking_the_site_for_anything(
    context: Context, world: Backend
) -> None:
    page = await context.page()
    await visited(page, world)
    await page.close()
    world.reached.clear()
    stored = json.loads((await context.state()).storage)
    assert [cookie["value"] for cookie in stored["cookies"]] == ["yes"]
    assert stored["origins"] == [{"origin": world.origin, "localStorage": [{"name": "mark", "value": "left"}]}]
    assert (world.reached, context.pages) == ([], ())


async def test_the_state_of_a_fresh_context_is_empty(context: Context) -> None:
    assert json.loads((await context.state()).storage) == {"cookies": [], "origins": []}


async def test_what_offers_to_bind_a_session_to_the_device_is_noted_once(context: Context, world: Backend) -> None:
    page = await context.page()
    await page.perform(Goto(url=f"{world.origin}/bound.html"))
    offers = context.note_offers()
    await visited(page, world)
    assert offers == [], "neither what came before, nor what offers nothing"
    for _ in range(2):
        await page.perform(Goto(url=f"{world.origin}/bound.html"))
    assert offers == [world.origin]


async def test_passkeys_that_a_page_is_given_are_those_that_it_holds(context: Context) -> None:
    key = generate_private_key(SECP256R1()).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    passkey = Passkey(rp="localhost", credential=b"c" * 32, private=key, user=b"anna", count=7)
    await context.page()
    assert await context.passkeys() == ()
    await context.hold_passkeys([passkey])
    assert await context.passkeys() == (passkey,)
    assert "PRIVATE" not in repr(passkey) and key.hex()[:16] not in repr(passkey) and str(key) not in repr(passkey)


@pytest.mark.parametrize(
    "storage",
    [
        b"",
        b"swordfish",
        b"[]",
        b'{"cookies": [{"name": "swordfish"}]}',
        b'{"origins": [{"origin": "file:///etc/swordfish"}]}',
        b'{"credentials": ["swordfish"]}',
        b'{"origins": [{"origin": "https://a.example", "storageKey": "swordfish"}]}',
        b'{"origins": [{"origin": "https://a.example", "storageKey": "https://b.example/^0https://swordfish.example"}]}',
    ],
)
async def test_what_is_no_state_is_refused_without_a_word_of_it(world: Backend, storage: bytes) -> None:
    """Guard: adapters/browser/state/state.py, read_state."""
    with pytest.raises(MeshError) as caught:
        await world.browser.open(Profile(), GuardPolicy(), state=BrowserState(storage=storage))
    assert caught.value.code == "input.invalid"
    assert "swordfish" not in str(caught.value.to_dict())


async def test_a_state_shows_nothing_of_itself_and_has_a_limit() -> None:
    state = BrowserState(storage=b"swordfish")
    assert "swordfish" not in f"{state!r} {state!s} {state.__rich_repr__()}"
    with pytest.raises(MeshError) as caught:
        BrowserState(storage=bytes(limits.BROWSER_STATE_BYTES_MAX + 1))
    assert caught.value.code == "input.too_large"


async def test_the_guard_judges_every_page_and_each_reports_its_own(context: Context, world: Backend) -> None:
    """Guard: adapters/browser/page/context.py, ChromiumContext._admit."""
    one, two = await context.page(), await context.page()
    assert await post(two, world) == ("POST /send",)
    assert (await one.perform(Scroll())).blocked == ()
    assert await post(one, world) == ("POST /send",)
    assert not any(entry.startswith("POST") for entry in world.reached)


async def test_what_the_guard_allows_is_allowed_on_every_page(world: Backend) -> None:
    context = await world.browser.open(Profile(), GuardPolicy(allow=(f"POST {world.origin}/send",)))
    world.reached.clear()
    for _ in range(2):
        assert await post(await context.page(), world) == ()
    assert world.reached.count("POST /send") == 2
    await context.close()


async def test_a_window_that_a_page_opens_leads_that_page_there_and_no_other(context: Context, world: Backend) -> None:
    one, two = await context.page(), await context.page()
    await one.perform(Goto(url=world.origin + "/table.html"))
    seen = (await two.perform(Goto(url=world.origin + "/form.html"))).observation
    outcome = await two.perform(Click(target=Locator()), ref=element(seen, "link", "In a new window").ref)
    assert outcome.observation.title == "Beside"
    assert (await one.observe()).title == "A long table"
    assert context.pages == (one, two)


async def test_open_pages_are_listed_from_the_oldest_and_closing_one_leaves_the_others(
    context: Context, world: Backend
) -> None:
    one, two, three = [await context.page() for _ in range(3)]
    assert list(context.pages) == [one, two, three]
    await two.close()
    assert list(context.pages) == [one, three]
    assert await crashed(two.observe())
    assert await visited(three, world) == NEW
    assert await visited(one, world) == KNOWN


async def test_a_closed_context_has_no_pages_and_opens_none_and_closing_twice_is_once(
    context: Context, world: Backend
) -> None:
    one, two = await context.page(), await context.page()
    await visited(one, world)
    await asyncio.gather(context.close(), context.close())
    await context.close()
    assert context.pages == ()
    for call in (one.observe(), two.perform(Scroll()), context.page(), context.state()):
        assert await crashed(call)


@pytest.mark.parametrize("name", NAMES)
async def test_a_browser_that_closes_ends_its_contexts_and_says_that_it_ended(name: str) -> None:
    async with backend(name) as world:
        contexts = [await world.browser.open(Profile(), GuardPolicy()) for _ in range(2)]
        page = await contexts[0].page()
        ended = asyncio.ensure_future(world.browser.ended())
        await asyncio.sleep(0)
        assert not ended.done()
        await world.browser.close()
        await asyncio.wait_for(ended, 120)
        for call in (page.observe(), contexts[1].page(), world.browser.open(Profile(), GuardPolicy())):
            assert await crashed(call)


async def test_session_storage_stays_with_the_state_from_context_to_context(world: Backend) -> None:
    items = [{"name": "tab", "value": "given"}]
    state = {"cookies": [], "origins": [{"origin": world.origin, "sessionStorage": items}]}
    opened = await world.browser.open(Profile(), GuardPolicy(), state=BrowserState(storage=json.dumps(state).encode()))
    await visited(await opened.page(), world)
    (origin,) = json.loads((await opened.state(whole=True)).storage)["origins"]
    assert (origin["origin"], origin["sessionStorage"]) == (world.origin, items)
    (plain,) = json.loads((await opened.state()).storage)["origins"]
    assert "sessionStorage" not in plain
    await opened.close()


async def test_what_is_kept_for_a_frame_stays_with_the_state_where_no_page_shows_the_frame(world: Backend) -> None:
    kept = [{"name": "token", "value": "given"}]
    apart = {"origin": world.origin, "storageKey": f"{world.origin}/^0https://top.example", "localStorage": kept}
    given = BrowserState(storage=json.dumps({"cookies": [], "origins": [apart]}).encode())
    opened = await world.browser.open(Profile(), GuardPolicy(), state=given)
    assert await visited(await opened.page(), world) == NEW, "a page of the origin has another storage"
    held = json.loads((await opened.state(whole=True)).storage)["origins"]
    assert [each["localStorage"] for each in held if "storageKey" in each] == [kept]
    await opened.close()
