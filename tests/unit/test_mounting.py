"""Mounting a capsule: what work begins with, what it may do, what ends it; and what of a login is hidden or told."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from adapters.browser.state.state import read_state
from adapters.ports.browser import BrowserState
from node.capsules.logins.upkeep import _address
from node.capsules.mount import Mounting
from node.capsules.seal.browser_state import from_browser, same, to_browser
from node.config import Config
from node.health.doctor_capsules import check_capsules
from node.live.acting import Gate
from node.live.browsers import Mount, Wish, mounted
from node.rooms import Rooms
from node.verbs import Caller, CallerKind, called_by
from node.verbs.capsules.capsule import CapsuleParams, CaptureParams
from node.verbs.capsules.capsule_upkeep import RevokeParams
from protocol import limits
from protocol.capsule.flows.portability import TravelFinding, findings, logout_control, place_of, standing, verdict_of
from protocol.capsule.hidden import hidden_values
from protocol.capsule.state import CapsuleState, Cookie, Lost, OriginStorage, StorageItem
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Locator
from protocol.page.secrets.redaction import redact_text
from protocol.page.secrets.secret_search import Search
from protocol.page.secrets.secrets import NO_SECRETS, GivenSecret, Secrets
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.risk.pressing.classes import Risk
from protocol.risk.requests.requests import GuardPolicy, judge_request
from tests.capsule_nodes import CapsuleNode, two
from tests.capsules import CANARY, NOW_MS, SHOP, STATE
from tests.mesh_memory import MemoryMesh
from tests.tables import each


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        yield await two(mesh, tmp_path)
    finally:
        for node in mesh.nodes:
            await node.stop()


def wish(**changes: Any) -> Wish:
    usual: dict[str, Any] = {"task": "replay", "guard": GuardPolicy(), "start_url": f"{SHOP}/", "risk_max": 3}
    return Wish(**usual | changes)


async def code_of(node: CapsuleNode, **changes: Any) -> str:
    with pytest.raises(MeshError) as caught:
        async with mounted(Mounting(node.capsules), "shop", wish(**changes)):
            raise AssertionError("it was mounted")
    return caught.value.code


@asynccontextmanager
async def ends_with(code: str) -> AsyncIterator[None]:
    """The block, which may wait for as long as it likes, ends with ``code``."""
    with pytest.raises(MeshError) as caught:
        async with asyncio.timeout(120):
            yield
    assert caught.value.code == code


# --- mounting ------------------------------------------------------------------------------------------------------------


async def test_work_gets_the_origins_of_the_capsule_its_state_and_what_to_hide(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/mount/mounting.py, _narrowed."""
    alice, _ = nodes
    kept = await alice.capture()
    allowing = GuardPolicy(allow=(f"POST {SHOP}/orders",))
    async with mounted(Mounting(alice.capsules), "shop", wish(guard=allowing)) as mount:
        assert (mount.capsule, mount.guard.origins, mount.guard.capsule) == (kept.id, (SHOP,), True)
        assert mount.guard.class_max == 2, "nor by a yes"
        assert mount.guard.allow == (), "a capsule for reading is not widened by the configuration"
        assert judge_request("GET", "https://other.example/x.js", "script", False, None, mount.guard) == "capsule"
        assert judge_request("GET", f"{SHOP}/x.js", "script", False, None, mount.guard) is None
        assert mount.state is not None and CANARY.encode() in mount.state.storage
        assert set(mount.hidden.values()) == {f"{CANARY}-local", CANARY}
        assert CANARY not in repr(mount) and CANARY not in repr(mount.kept)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"start_url": "https://other.example/"}, "capsule.origin"),
        ({"guard": GuardPolicy(origins=("https://other.example",))}, "capsule.origin"),
        ({"approve_class": 5}, "capsule.class"),
        ({"allows": True}, "capsule.class"),
        ({"task": "live"}, "capsule.task"),
    ],
)
async def test_work_that_goes_beyond_the_policy_is_refused_and_not_counted(
    nodes: list[CapsuleNode], changes: dict[str, Any], code: str
) -> None:
    """Guard: node/capsules/mount/mounting.py, _narrowed."""
    alice, _ = nodes
    await alice.capture(tasks=("replay",))
    assert await code_of(alice, **changes) == code
    assert (await alice.capsules.listed()).capsules[0].uses == 0


async def test_an_agent_is_given_the_capsules_that_it_was_granted_for_that_work_and_no_other(
    nodes: list[CapsuleNode],
) -> None:
    """Guard: node/capsules/mount/mounting.py, Mounting._granted."""
    alice, _ = nodes
    kept = await alice.capture()
    helper = Caller(kind=CallerKind.AGENT, name="helper", scopes=frozenset({"live", "replay"}))
    with called_by(helper):
        assert await code_of(alice) == "caller.refused"
    with called_by(msgspec.structs.replace(helper, capsules=((kept.id, ("record", "replay")),))):
        async with mounted(Mounting(alice.capsules), "shop", wish()) as mount:
            assert mount.capsule == kept.id
        assert await code_of(alice, task="live") == "caller.refused"
        # What there is beside its own it does not learn: a name that nobody has is refused in the same words.
        with pytest.raises(MeshError) as missing:
            async with mounted(Mounting(alice.capsules), "other", wish()):
                raise AssertionError("it was mounted")
        other = await alice.capture(name="other")
        with pytest.raises(MeshError) as ungranted:
            async with mounted(Mounting(alice.capsules), "other", wish()):
                raise AssertionError("it was mounted")
        assert (missing.value.code, missing.value.message) == (ungranted.value.code, ungranted.value.message)
        assert other.id not in str(ungranted.value) and await code_of(alice, approve_class=5) == "capsule.class"
        for name in ("other", "shop"):
            await alice.exchange.revoke(RevokeParams(capsule=name))
        with pytest.raises(MeshError) as revoked:
            async with mounted(Mounting(alice.capsules), "other", wish()):
                raise AssertionError("it was mounted")
        assert (revoked.value.code, revoked.value.message) == (missing.value.code, missing.value.message)
        assert await code_of(alice) == "capsule.revoked", "what became of its own it is told"


async def test_work_ends_at_once_when_its_capsule_is_revoked_here_and_at_a_peer(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/mount/mounting.py, Mounting.ended."""
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    for node in nodes:
        mounting = Mounting(node.capsules, check_s=1e9)  # so that nothing but the news of it ends the work
        node.mounting = mounting  # type: ignore[attr-defined]
    async with ends_with("capsule.revoked"), mounted(bob.mounting, "shop", wish()):  # type: ignore[attr-defined]
        assert bob.mounting.running == 1  # type: ignore[attr-defined]
        async with ends_with("capsule.revoked"), mounted(alice.mounting, "shop", wish()):  # type: ignore[attr-defined]
            await alice.exchange.revoke(RevokeParams(capsule="shop"))
            await asyncio.Event().wait()
        await asyncio.Event().wait()
    assert bob.mounting.running == 0  # type: ignore[attr-defined]


async def test_work_ends_at_once_when_its_capsule_is_removed(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules.remove."""
    alice, _ = nodes
    await alice.capture()
    mounting = Mounting(alice.capsules, check_s=1e9)  # so that nothing but the removal ends the work
    async with ends_with("capsule.revoked"), mounted(mounting, "shop", wish()):
        await alice.capsules.remove(CapsuleParams(capsule="shop"))
        await asyncio.wait_for(asyncio.Event().wait(), 120)
    assert mounting.running == 0 and (await alice.capsules.listed()).capsules == ()


async def test_a_use_that_lasts_is_judged_again(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules.still."""
    alice, _ = nodes
    await alice.capture(expires_s=3_600)
    async with ends_with("capsule.expired"), mounted(Mounting(alice.capsules, check_s=0.01), "shop", wish()):
        alice.node.mesh.clock.ahead_ms += 3_600_000
        await asyncio.Event().wait()


async def test_a_copy_that_lasts_beyond_its_freshness_ends_when_its_issuer_is_silent(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture(fresh_s=3_600)
    await bob.take(await alice.give(bob))
    async with ends_with("capsule.stale"), mounted(Mounting(bob.capsules, check_s=0.01), "shop", wish()):
        await alice.node.stop()
        bob.node.mesh.clock.ahead_ms += 3_600_001
        await asyncio.Event().wait()


async def test_newer_state_is_sealed_at_the_end_but_for_copies_and_what_was_exported(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes

    async def used(node: CapsuleNode, value: str) -> int:
        async with mounted(Mounting(node.capsules), "shop", wish()) as mount:
            assert mount.kept is not None
            mount.begin_with(BrowserState(storage=mount.kept.state.storage.replace(CANARY.encode(), value.encode())))
        return (await node.capsules.listed()).capsules[0].generation

    await alice.capture()
    assert await used(alice, "newer-value-3Q") == 2
    assert await alice.use() == "newer-value-3Q"
    assert await used(alice, CANARY) == 2, "nothing has changed"
    await bob.take(await alice.give(bob))
    assert await used(bob, "never-sealed-4W") == 2
    async with mounted(Mounting(alice.capsules), "shop", wish()) as mount:
        mount.begin_with(BrowserState(storage=b'{"cookies": [], "origins": []}'))
    assert (await alice.capsules.listed()).capsules[0].generation == 2, "its copies would end with it"


async def test_a_lease_that_a_crash_left_is_given_back_at_the_next_start(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    await alice.capture()
    stack = mounted(Mounting(alice.capsules), "shop", wish())
    await stack.__aenter__()
    assert await code_of(alice) == "capsule.held"
    again = await alice.again()
    async with mounted(Mounting(again.capsules), "shop", wish()):
        pass
    await stack.__aexit__(None, None, None)


# --- what a mount changes --------------------------------------------------------------------------------------------------


async def test_no_yes_lets_an_action_above_the_class_of_the_capsule_pass() -> None:
    """Guard: node/live/acting/gate.py, Gate.admit."""
    reported: list[bool] = []

    async def report(action: object, risk: Risk, admitted: bool) -> None:
        reported.append(admitted)

    mount = Mount(guard=GuardPolicy(), capsule="cap-x", class_max=2)
    gate = mount.gate(Gate(report=report, risk_max=7, approve=lambda action, risk: True))
    with pytest.raises(MeshError) as caught:
        await gate.admit(Click(target=Locator(name="Buy")), Risk(level=5, reason="buys"))
    assert (caught.value.code, reported) == ("risk.refused", [False])
    assert "the capsule allows 2 at most" in caught.value.message
    assert await gate.admit(Click(target=Locator(name="Open")), Risk(level=2, reason="reads")) == ()


def test_what_is_hidden_is_redacted_and_can_be_typed_nowhere() -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets._require_for."""
    field = Element(ref="e1", role="textbox", traits=Traits(input_type="password"))
    given = Secrets({"password": GivenSecret(value="hunter22")}, begins=SHOP)
    hiding = given.hiding({"capsule.1": CANARY})
    assert (len(hiding), len(given), sorted(hiding)) == (2, 1, ["capsule.1", "password"])
    assert redact_text(f"{CANARY} hunter22", hiding) == "‹secret:capsule.1› ‹secret:password›"
    assert hiding.value_for("password", field, SHOP) == "hunter22"
    with pytest.raises(MeshError) as caught:
        hiding.value_for("capsule.1", field, SHOP)
    assert caught.value.code == "action.secret_missing"


async def test_what_finds_hidden_values_is_made_once_beside_the_opening_of_a_browser() -> None:
    hidden = {"capsule.1": CANARY}
    made = Search(hidden)
    finds = asyncio.create_task(asyncio.to_thread(lambda: made))
    mount = Mount(guard=GuardPolicy(), hidden=hidden, finds=finds)
    assert mount.secrets(NO_SECRETS)._finds_hidden != (made,) and not finds.done(), (
        "in time, but for a caller who waits"
    )
    await mount.ready()
    secrets = mount.secrets(Secrets({"password": GivenSecret(value="hunter22")}, begins=SHOP))
    assert secrets._finds_hidden == (made,)
    copy = secrets.keyed(None)
    assert copy.search is secrets.search, "of the same values"
    assert secrets.note_login(["r3newed-Value-77"]) and secrets._finds_hidden == (made,)
    assert copy.search is secrets.search
    told = redact_text(f"{CANARY} r3newed-Value-77 hunter22", copy)
    assert told == "‹secret:capsule.1› ‹secret:login.1› ‹secret:password›"


def test_values_that_look_like_secrets_are_hidden_and_words_are_not() -> None:
    """Guard: protocol/capsule/hidden.py, _of."""
    nested = json.dumps(
        {"user": "anna", "auth": json.dumps({"token": f"{CANARY}-deep", "n": 1}), "list": [f"{CANARY}-list"]}
    )
    state = CapsuleState(
        cookies=(
            Cookie(name="sid", value="seven-letters-only", domain="shop.example", http_only=True),
            Cookie(name="theme", value="dark", domain="shop.example"),
            Cookie(name="size", value="12345678", domain="shop.example", http_only=True),
            Cookie(name="track", value=CANARY, domain="shop.example"),
        ),
        storage=(OriginStorage(origin=SHOP, local=(StorageItem(name="state", value=nested),)),),
    )
    hidden = set(hidden_values(state).values())
    assert hidden == {"seven-letters-only", CANARY, f"{CANARY}-deep", f"{CANARY}-list"}


def test_nothing_that_a_page_stores_takes_the_place_of_its_session_among_what_is_hidden() -> None:
    """Guard: protocol/capsule/hidden.py, hidden_values."""
    decoys = tuple(StorageItem(name=str(number), value=f"{CANARY}-decoy-{number:040}") for number in range(200))
    others = (Cookie(name=f"c{each.name}", value=f"{each.value}c", domain="shop.example") for each in decoys)
    state = CapsuleState(
        cookies=(Cookie(name="sid", value=CANARY, domain="shop.example", http_only=True), *others),
        storage=(OriginStorage(origin=SHOP, local=decoys),),
    )
    hidden = hidden_values(state)
    assert CANARY in hidden.values() and len(hidden) == limits.CAPSULE_HIDDEN_MAX
    assert list(hidden.values()) == sorted(hidden.values(), key=lambda value: (-len(value), value))


def test_what_is_hidden_is_no_longer_than_can_be_looked_for() -> None:
    """Guard: protocol/capsule/hidden.py, hidden_values."""
    items = tuple(StorageItem(name=str(number), value=f"{CANARY}{number:03}" * 5_000) for number in range(100))
    cookie = Cookie(name="sid", value=CANARY, domain="shop.example", http_only=True)
    hidden = hidden_values(CapsuleState(cookies=(cookie,), storage=(OriginStorage(origin=SHOP, local=items),)))
    assert CANARY in hidden.values() and len(hidden) > 1
    assert sum(map(len, hidden.values())) <= limits.CAPSULE_HIDDEN_CHARS_MAX
    with pytest.raises(MeshError) as caught:
        Secrets().note_login("x1" * 50_000 + str(number) for number in range(6))
    assert caught.value.code == "input.too_large"


def test_a_session_that_is_a_long_number_is_hidden_and_a_short_one_is_not() -> None:
    cookies = (Cookie(name=str(len(value)), value=value, domain="shop.example", http_only=True) for value in _NUMBERS)
    assert list(hidden_values(CapsuleState(cookies=tuple(cookies))).values()) == [_NUMBERS[0]]


_NUMBERS = ("83749582374958237495", "1767225602045")
"""A session, and a time in milliseconds, which would be found everywhere."""


# --- the state of a browser ----------------------------------------------------------------------------------------------


def test_a_state_survives_the_way_through_a_browser() -> None:
    found = to_browser(STATE, now_s=NOW_MS // 1000)
    assert {cookie.name for cookie in read_state(found).cookies} == {"sid"}
    assert same(from_browser(found, STATE), STATE), "what a browser does not take is still there"
    ended = CapsuleState(cookies=(Cookie(name="a", value="b", domain="shop.example", expires_s=5),))
    assert read_state(to_browser(ended, now_s=5)).cookies == ()
    assert not same(from_browser(to_browser(ended, now_s=5), ended), ended)


# --- portability ---------------------------------------------------------------------------------------------------------


def _page(url: str = f"{SHOP}/account", *, asks: bool = False, name: str = "x", text: str = "") -> Observation:
    field = Element(ref="e1", role="textbox", traits=Traits(input_type="password" if asks else "text"))
    return Observation(url=url, title="", text=text, elements=(field, Element(ref="e2", role="link", name=name)))


@each(
    ("seen", "strangers", "shows", "expected"),
    [
        (_page(), [_page(f"{SHOP}/login", asks=True)], "", "alive"),
        (_page(asks=True), [_page(f"{SHOP}/login", asks=True)], "", "alive"),
        (_page(f"{SHOP}/login", asks=True), [_page(f"{SHOP}/login", asks=True)], "", "dead"),
        (_page(), [_page(f"{SHOP}/welcome")], "", "alive"),
        (_page(name="anna"), [_page(), _page()], "", "alive"),
        (_page(name="anna"), [_page(), _page(name="new today")], "", "unknown"),
        (_page(), [_page(), _page()], "", "unknown"),
        (_page(text="Welcome anna"), [_page()], "Welcome anna", "alive"),
        (_page(text="Welcome"), [_page(f"{SHOP}/login", asks=True)], "Welcome anna", "dead"),
    ],
)
def test_a_login_is_told_by_what_a_stranger_sees(
    seen: Observation, strangers: list[Observation], shows: str, expected: str
) -> None:
    assert standing(seen, strangers, shows)[0] == expected


def test_what_does_not_travel_is_named_without_a_value_and_comes_first() -> None:
    claims = base64.urlsafe_b64encode(b'{"cnf":{"jkt":"x"}}').decode().rstrip("=")
    token = f"eyJhbGciOiJFUzI1NiJ9.{claims}.c2ln"
    state = CapsuleState(
        cookies=(
            Cookie(name="plain", value=CANARY, domain="shop.example", secure=True, expires_s=NOW_MS // 1000 + 60),
            Cookie(name="dpop", value=token, domain="shop.example", secure=True),
            Cookie(name="old", value=CANARY, domain="shop.example", secure=True, expires_s=1),
        ),
        storage=(
            OriginStorage(origin=SHOP, session=(StorageItem(name="tab", value=CANARY),)),
            OriginStorage(origin=SHOP, key="https://top.example", local=(StorageItem(name="x", value=CANARY),)),
        ),
        lost=(Lost(origin=SHOP, what="crypto-key in db/keys"),),
    )
    found = findings(state, now_s=NOW_MS // 1000)
    assert [each.kind for each in found] == [
        "key-bound",
        "key-bound",
        "partitioned-storage",
        "ended",
        "session-storage",
        "ends-soon",
    ]
    assert [each.travels for each in found] == sorted(each.travels for each in found)
    assert CANARY.encode() not in msgspec.json.encode(found)


EVERYWHERE = (
    "Log out everywhere",
    "Sign out of all devices",
    "Log out all sessions",
    "Se déconnecter de tous les appareils",
)


@each("name", EVERYWHERE)
def test_all_devices_are_logged_out_only_where_that_is_asked_for(name: str) -> None:
    usual = Element(ref="e1", role="button", name="Log out")
    form = Element(ref="e2", role="button", name="Log out", traits=Traits(submits=True))
    others = Element(ref="e3", role="button", name="Sign out of all other devices", traits=Traits(submits=True))
    every = Element(ref="e4", role="link", name=name, url=f"{SHOP}/out")
    page = Observation(url=SHOP, title="", text="", elements=(others, every, usual, form))
    assert (logout_control(page), logout_control(page, everywhere=True)) == (form, every)
    assert [place_of(page, each) for each in (usual, form, every)] == [0, 1, 0]
    assert logout_control(msgspec.structs.replace(page, elements=(others, every))) == every
    assert logout_control(msgspec.structs.replace(page, elements=(others, usual)), everywhere=True) == usual
    assert logout_control(msgspec.structs.replace(page, elements=(others,)), everywhere=True) is None


@each("name", ["Log out", "Sign  out", "LOGOUT", "Abmelden", "Se déconnecter", "Cerrar sesión"])
def test_the_control_that_logs_out_is_found_by_its_whole_name(name: str) -> None:
    page = _page(name=name)
    control = logout_control(page)
    assert control is not None and control.name == name
    assert logout_control(_page(name=f"{name} and delete the account")) is None


async def test_a_page_to_look_at_is_kept_with_the_capsule(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    alice, _ = nodes
    await alice.capture(page=f"{SHOP}/account", shows="Welcome")
    record = await alice.capsules.kept.find("shop")
    assert (record.page, record.shows) == (f"{SHOP}/account", "Welcome")
    await alice.capture(replaces="shop", value="newer-value")
    record = await alice.capsules.kept.find("shop")
    assert (record.page, record.shows) == (f"{SHOP}/account", "Welcome"), "newer state changes nothing of that"
    assert CaptureParams(file="x").page == ""


async def test_the_doctor_tells_of_capsules_that_cannot_be_used_or_not_for_long(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    own = SimpleNamespace(node=alice.node.witness.node)
    rooms = SimpleNamespace(
        home=alice.home,
        identity=own,
        store=alice.node.store,
        sealed=SimpleNamespace(capsules=alice.capsules),
        clock=alice.node.mesh.clock,
        config=Config(),
    )

    async def told() -> list[str]:
        return [f"{each.status} {each.finding.partition(' ')[2]}" for each in await check_capsules(cast(Rooms, rooms))]

    assert [each.finding for each in await check_capsules(cast(Rooms, rooms))] == ["none"]
    await alice.capture(replays_max=1)
    assert [each.finding for each in await check_capsules(cast(Rooms, rooms))] == ["1 capsule"]
    await alice.use()
    assert await told() == ["warn was used 1 time, as often as it may be"]
    await alice.capture(name="other", expires_s=7_200)
    assert (await told())[1] == "warn expires within a day"
    alice.node.mesh.clock.ahead_ms += 7_200_000
    (_, check) = await check_capsules(cast(Rooms, rooms))
    assert check.finding.endswith("has expired") and f"--home {alice.home}" in check.remedy


def test_what_a_check_says_follows_from_what_was_seen_gravest_first() -> None:
    bound = (TravelFinding(kind="key-bound", travels=False, what="x"),)
    assert verdict_of("dead", bound, offered=True) == "dead"
    assert verdict_of("alive", bound, offered=True) == "software-bound"
    assert verdict_of("unknown", (), offered=True) == "unknown"
    assert verdict_of("alive", (), offered=True) == "offered"
    assert verdict_of("alive", (), offered=False) == "portable"


def test_where_a_look_ended_is_told_without_the_login() -> None:
    hidden = Secrets({}, begins=SHOP).hiding({"capsule.1": "anna of bergen"})
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
    assert _address(f"{SHOP}/anna%20of%20bergen/home?page=2", hidden) == f"{SHOP}/‹secret:capsule.1›/home"
    assert token not in _address(f"{SHOP}/in/{token}/home", hidden)
