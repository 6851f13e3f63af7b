"""A call of a verb at its node: what is checked in which order, what is counted, and what a defect becomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from node import __version__
from node.api.node import Node
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs import OWNER, Caller, CallerKind, current_caller
from node.verbs.caller import NODE, called_by
from node.verbs.rows import allowed, approved, driven, where
from protocol.errors import MeshError
from protocol.messages import PROTOCOL_VERSION, Done, GrantsPush, StatusAsk, StatusTell
from tests.tables import each

EMPTY = {"sessions": [], "text": "", "archived": False, "names": {}}
HELPER = Caller(kind=CallerKind.AGENT, name="helper", scopes=frozenset({"read", "record"}))


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    async with open_node(home) as opened:
        yield opened


async def refused(node: Node, verb: str, body: bytes = b"{}", caller: Caller = OWNER) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await node.dispatch(verb, body, lambda event: None, caller)
    return caught.value


async def test_a_call_is_checked_in_order_and_each_refusal_counted(node: Node) -> None:
    error = await refused(node, "x" * 70, b"{")
    assert (error.code, error.message) == ("input.invalid", f"no verb {'x' * 64}")
    error = await refused(node, "node.rotate", b"{", HELPER)
    assert (error.code, error.message) == ("caller.refused", "node.rotate is only for the owner of the node")
    assert error.detail == {"caller": "agent:helper", "scope": ""}
    error = await refused(node, "explore.run", b"{", HELPER)
    assert (error.message, error.detail["scope"]) == ("explore.run needs the scope explore", "explore")
    error = await refused(node, "session.record", b'{"actions": "", "name": "a", "approve_class": 5, "no": 1}', HELPER)
    assert (error.code, "no" in error.message) == ("input.invalid", True)
    error = await refused(node, "session.record", b'{"actions": "", "name": "a", "approve_class": 5}', HELPER)
    assert (error.code, error.message, error.detail) == (
        "caller.refused",
        "only the owner may set `approve_class` of session.record",
        {"caller": "agent:helper", "field": "approve_class"},
    )
    for body in (b"[" * 100_000, b'{"limit": "' + b"x" * 400 + b'"}', b'{"' + b"k" * 400 + b'": 1}'):
        error = await refused(node, "session.list", body)
        assert error.code == "input.invalid" and len(error.message) <= 200
    unknown = (await refused(node, "session.list", b'{"' + b"k" * 400 + b'": 1}')).message
    assert unknown == f"unknown field `{'k' * 64}`; known: archived, limit, text"
    refusals = node.rooms.ports.refusals
    assert (refusals.codes["input.invalid"], refusals.codes["caller.refused"]) == (6, 3)
    assert dict(refusals.by_peer) == {
        ("agent:helper", "caller.refused"): 3,
        ("agent:helper", "input.invalid"): 1,
    }
    assert {place for place, _ in refusals.by_place} == {"control"}


async def test_a_verb_runs_as_its_caller_and_a_defect_of_it_says_nothing_but_its_kind(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    callers: list[Caller] = []
    ends: list[Exception] = []

    async def run(params: Any, tell: Any) -> Any:
        callers.append(current_caller())
        if ends:
            raise ends.pop(0)
        return EMPTY

    async def rows() -> int:
        return len(await node.rooms.store.audit_lines())

    for name, added in (("session.list", 0), ("session.record", 2)):
        verb, _ = node.verbs[name]
        ends[:] = [MeshError("input.not_found", "no"), ValueError("hunter2")]
        node.verbs[name] = (verb, run)
        body = b"{}" if name == "session.list" else b'{"actions": "", "name": "a"}'
        before = await rows()
        assert (await refused(node, name, body, HELPER)).code == "input.not_found"
        assert await rows() == before + added
        error = await refused(node, name, body, HELPER)
        assert (error.code, error.message) == ("internal.fault", f"ValueError in {name}")
        assert f"defect: ValueError in {name}; the report is {node.rooms.home}" in caplog.text
        assert "hunter2" not in caplog.text
        ends[:] = [ValueError("hunter2")]
        report = Path((await refused(node, name, body)).detail["report"])
        text = await asyncio.to_thread(report.read_text)
        assert report.parent == node.rooms.home / "faults" and "hunter2" not in text
    assert await node.dispatch("session.list", b"{}", lambda event: None, HELPER) == EMPTY
    assert callers == [HELPER, HELPER, OWNER] * 2 + [HELPER] and current_caller() == OWNER
    assert node.rooms.ports.refusals.codes["input.not_found"] == 0, "its own errors are no refusals"


async def test_a_peer_is_told_the_state_of_this_node_and_what_it_says_of_our_grants_is_kept(node: Node) -> None:
    rooms = node.rooms
    heard: list[Any] = []

    async def hears(caller: str, grants: Any) -> None:
        heard.append((caller, grants))

    grants = {"session:read": ("*",)}
    peers: Any = SimpleNamespace(find=lambda caller: SimpleNamespace(grants=grants))
    node.rooms = replace(rooms, trust=replace(rooms.trust, peers=peers))
    told = await node._on_status("PEER", StatusAsk())
    node.rooms = rooms
    assert 0 <= rooms.clock.now_ms() - told.now_ms < 60_000
    assert told == StatusTell(
        node=rooms.identity.node,
        name="anna",
        version=__version__,
        protocol=PROTOCOL_VERSION,
        now_ms=told.now_ms,
        grants=grants,
    )
    rooms.trust.changes.heard_grants = hears  # type: ignore[method-assign,assignment]
    assert await node._on_grants("PEER", GrantsPush(grants=grants)) == Done()
    assert heard == [("PEER", grants)]
    assert rooms.browsers.metering is node.agents


# --- callers ---------------------------------------------------------------------------------------------------------


def test_a_caller_is_written_in_one_way() -> None:
    kinds = {
        CallerKind.OWNER: "owner",
        CallerKind.NODE: "node",
        CallerKind.PEER: "N",
        CallerKind.AGENT: "agent:N",
        CallerKind.SCHEDULE: "schedule:N",
        CallerKind.APPROVER: "approver:N",
        CallerKind.PAGE: "page:N",
    }
    assert {kind: str(Caller(kind=kind, name="N")) for kind in CallerKind} == kinds


@each(
    ("caller", "whose", "at_ms", "owns"),
    [
        (OWNER, "agent:x", 5, True),
        (NODE, "agent:x", 5, True),
        (Caller(kind=CallerKind.AGENT, name="x", since_ms=5), "agent:x", 5, True),
        (Caller(kind=CallerKind.AGENT, name="x", since_ms=5), "agent:x", 4, False),
        (Caller(kind=CallerKind.AGENT, name="x", since_ms=5), "agent:x", None, True),
        (Caller(kind=CallerKind.AGENT, name="x", since_ms=5), "agent:y", 9, False),
        (Caller(kind=CallerKind.AGENT, name="x", since_ms=5), "agent:y", None, False),
        (Caller(kind=CallerKind.PEER, name="N"), "owner", 9, False),
    ],
)
def test_what_was_begun_belongs_to_who_began_it_under_its_name_and_to_the_owner(
    caller: Caller, whose: str, at_ms: int | None, owns: bool
) -> None:
    assert caller.owns(whose, at_ms) is owns


def test_who_calls_is_set_within_a_block_and_as_before_after_it() -> None:
    with called_by(HELPER):
        with pytest.raises(ValueError, match="x"), called_by(NODE):
            assert current_caller() == NODE
            raise ValueError("x")
        assert current_caller() == HELPER
    assert current_caller() == OWNER


# --- rows ------------------------------------------------------------------------------------------------------------


@each(
    ("url", "shown"),
    [
        ("https://Shop.Example:8443/A/b?token=1#x", "https://shop.example:8443/A/b"),
        ("https://shop.example", "https://shop.example"),
        ("https://user:word@shop.example/", "an address that cannot be read"),
        ("https://[::1/", "an address that cannot be read"),
    ],
)
def test_an_address_is_recorded_without_what_may_be_secret(url: str, shown: str) -> None:
    assert where(url) == shown


class Given(msgspec.Struct):
    """Parameters of a run."""

    allow: tuple[str, ...] = ()
    secrets: dict[str, str] = {}
    approve_class: int = 0


def test_a_run_is_recorded_with_its_approvals_and_the_names_of_its_secrets() -> None:
    given = Given(
        allow=("POST https://A.example/x?y=1", "PUT  https://b.example/*"), secrets={"b": "hunter2", "a": "hunter3"}
    )
    assert driven(given) == {"allow": "POST https://a.example/x, PUT https://b.example/*", "secrets": "a, b"}
    assert (driven(Given()), allowed(())) == ({"allow": "", "secrets": ""}, "")
    assert [approved(Given(approve_class=number)) for number in (-1, 0, 1, 7, 8)] == [0, 0, 1, 7, 7]
