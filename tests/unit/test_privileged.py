"""Who may call what, and that every privileged action leaves its rows: a walk over all verbs and all routes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.audit_records import AuditQuery
from adapters.ports.store import Store
from node.api.node import Node
from node.api.refusal_rows import RefusalRows
from node.doors import peer_routes
from node.live.acting.driver import Gate
from node.process.setup import init_home
from node.process.wiring import open_node
from node.signing.trail import Trail
from node.verbs.caller import OWNER as THE_OWNER
from node.verbs.caller import SCOPES, Caller, CallerKind
from node.verbs.catalogue import CATALOGUE
from node.verbs.nodes.audit import Unfinished
from node.verbs.verb import ANY_SCOPE, PAGE, Verb
from protocol import audit, limits
from protocol.audit import OWNER, AuditOutcome, Row
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.messages import (
    KIND_ASSIGNMENT,
    KIND_SEARCH,
    BranchAssign,
    BranchLimits,
    BranchRevoke,
    CookiesAsk,
    Done,
    SearchClose,
    SearchOpen,
    SearchSpec,
    WorkAsk,
)
from protocol.messages import Assignment as BranchAssignment
from protocol.page.actions.action import Click, Locator
from protocol.pairing.by_invite import Paired
from protocol.recording.records.session import Profile
from protocol.risk.pressing.classes import Risk
from protocol.routes import ROUTES
from protocol.trust.grants import parse_grants
from tests.mesh_memory import NEVER, ORIGIN, MemoryNode, memory_mesh
from tests.twins.clock import ManualClock

SECRET = "canary-9f81"
GIVEN = {"password": {"value": SECRET, "origins": ["https://x.test"]}}
_CALLS: dict[str, dict[str, Any]] = {
    "node.backup": {"out": "/nowhere/x"},
    "node.rotate": {},
    "node.accept_clock": {},
    "capsule.policy": {"capsule": "nothing", "class_max": 1},
    "node.recover": {"key_file": "/nowhere", "since_s": 5},
    "node.revoke_self": {"words_file": "/nowhere"},
    "node.invite": {"grant": ["explore"]},
    "node.join": {"invite": f"tmi1.{SECRET}"},
    "node.pair_wait": {"grant": ["explore"], "fingerprint": "nobody"},
    "node.pair_begin": {"address": f"https://user:{SECRET}@127.0.0.1:1/?{SECRET}"},
    "node.pair_confirm": {"meeting": "none", "agreed": True},
    "node.grant": {"peer": "nobody", "grants": ["explore"]},
    "node.ungrant": {"peer": "nobody", "grants": ["explore"]},
    "node.knock": {"address": f"https://{SECRET}@127.0.0.1:1", "public_key": "00"},
    "node.distrust": {"peer": "nobody", "reason": "lost"},
    "node.trust": {"peer": "nobody", "notify": True},
    "agent.add": {"name": "helper", "scopes": ["read"]},
    "agent.remove": {"name": "nobody"},
    "owner.change": {"by": "first", "change": "00", "signed": "00", "words_file": f"/{SECRET}"},
    "approve.answer": {"question": "que-x", "signed": "00"},
    "ui.open": {},
    "session.record": {"actions": "", "name": "a.yaml", "secrets": GIVEN, "approve_class": 5},
    "session.export": {"session": "ses-x", "out": "/nowhere/x"},
    "session.import": {"path": "/nowhere/x"},
    "session.replay": {
        "session": "ses-x",
        "secrets": GIVEN,
        "base_url": f"https://u:{SECRET}@x.test/?token={SECRET}",
        "allow": [f"POST https://x.test/pay?key={SECRET}"],
    },
    "explore.run": {"goal": SECRET, "start": f"https://u:{SECRET}@x.test/?token={SECRET}", "until": 7},
    "explore.resume": {"search": "sea-AAAAAAAAAAAAAAAAAAAC4"},
    "explore.stop": {"search": "sea-AAAAAAAAAAAAAAAAAAAC4"},
    "explore.remove": {"search": "sea-AAAAAAAAAAAAAAAAAAAC4"},
    "schedule.add": {
        "goal": SECRET,
        "start": f"https://u:{SECRET}@x.test/?token={SECRET}",
        "until": {"title": SECRET},
        "cron": "0 6 * * *",
        "notify_webhook": f"https://hooks.test/{SECRET}",
        "notify_command": ["/bin/true", SECRET],
    },
    "schedule.run_now": {"schedule": "sch-x"},
    "schedule.pause": {"schedule": "sch-x"},
    "schedule.resume": {"schedule": "sch-x"},
    "schedule.remove": {"schedule": "sch-x"},
    "session.fork": {"session": "ses-x"},
    "task.cancel": {"task": "tas-x"},
    "task.more": {"task": "tas-x", "seconds": 9},
    "task.resume": {"task": "tas-x"},
    "session.learn": {"session": "ses-x"},
    "session.archive": {"session": "ses-x"},
    "session.unarchive": {"session": "ses-x"},
    "session.purge": {"session": "ses-x"},
    "session.answer": {"question": "x", "yes": True},
    "capsule.capture": {"file": f"/nowhere/{SECRET}"},
    "capsule.login": {"url": f"https://x.test/?token={SECRET}", "actions": SECRET, "secrets": GIVEN},
    "capsule.keep": {
        "url": f"https://x.test/?token={SECRET}",
        "storage": SECRET,
        "browser": {"backend": "launched", "name": "chromium", "version": "1"},
    },
    "capsule.work": {"peer": "nobody", "actions": SECRET},
    "capsule.consent": {"capsule": "cap-x", "owner": "00", "signed": SECRET.encode().hex()},
    "capsule.export": {"capsule": "cap-x", "to": "nobody", "out": f"/nowhere/{SECRET}"},
    "capsule.unseal": {"capsule": "cap-x", "out": f"/nowhere/{SECRET}"},
    "passkey.remove": {"passkey": "0" * 12},
    "capsule.offer": {"capsule": "cap-x", "to": "nobody"},
    "capsule.request": {"peer": "nobody", "origin": f"https://x.test/?{SECRET}"},
    "capsule.import": {"file": f"/nowhere/{SECRET}"},
    "capsule.revoke": {"capsule": "cap-x"},
    "capsule.remove": {"capsule": "cap-x"},
    "capsule.check": {"capsule": "cap-x", "page": f"https://x.test/?{SECRET}", "shows": SECRET},
    "capsule.refresh": {"capsule": "cap-x", "page": f"https://x.test/?{SECRET}", "shows": SECRET},
    "capsule.rotate": {"capsule": "cap-x"},
    "live.open": {
        "url": f"https://u:{SECRET}@x.test/?token={SECRET}",
        "secrets": GIVEN,
        "allow": [f"POST https://x.test/pay?key={SECRET}"],
        "title": SECRET,
    },
    "live.act": {"session": "liv-x", "action": f"fill: {{ref: e1, value: {SECRET}}}"},
    "live.navigate": {"session": "liv-x", "url": f"https://u:{SECRET}@x.test/?token={SECRET}"},
    "live.back": {"session": "liv-x"},
    "live.click": {"session": "liv-x", "ref": "e1", "element": "the button"},
    "live.type": {"session": "liv-x", "ref": "e1", "text": SECRET},
    "live.select": {"session": "liv-x", "ref": "e1", "values": [SECRET]},
    "live.press": {"session": "liv-x", "key": "Enter"},
    "live.wait": {"session": "liv-x", "text": SECRET},
    "live.forward": {"session": "liv-x"},
    "live.reload": {"session": "liv-x"},
    "live.hover": {"session": "liv-x", "ref": "e1", "element": "the button"},
    "live.fill": {"session": "liv-x", "fields": {"e1": SECRET}, "secret": {"e2": "password"}},
    "live.check": {"session": "liv-x", "ref": "e1"},
    "live.drag": {"session": "liv-x", "ref": "e1", "onto": "e2"},
    "live.emulate": {"session": "liv-x", "offline": "yes"},
    "live.evaluate": {"session": "liv-x", "script": SECRET},
    "live.upload": {"session": "liv-x", "ref": "e1", "files": [SECRET]},
    "live.scroll": {"session": "liv-x", "to": "down"},
    "live.extract": {"session": "liv-x", "name": "price", "ref": "e1"},
    "live.assert": {"session": "liv-x", "what": "text", "expected": SECRET},
    "live.screenshot": {"session": "liv-x"},
    "task.picture": {"task": "tas-x"},
    "live.pages": {"session": "liv-x", "action": "new", "url": f"https://u:{SECRET}@x.test/?token={SECRET}"},
    "live.close": {"session": "liv-x"},
    "log.renew": {},
    "audit.export": {"out": "/nowhere/x"},
}
"""A call of each privileged verb; whether it is done or fails is all the same to the trail."""


async def rows(store: Store, what: str = "") -> list[Row]:
    """The rows about ``what``, oldest first."""
    return [audit.read(kept.line) for kept in await store.audit_find(AuditQuery(what=what, limit=1_000))]


@contextlib.asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Node]:
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(home.parent / "r.txt"))
    async with open_node(home) as node:
        yield node


async def dispatch(node: Node, verb: str, params: dict[str, Any], caller: Caller = THE_OWNER) -> str:
    """The code with which a verb failed; empty when it was done."""
    try:
        await node.dispatch(verb, msgspec.json.encode(params), lambda event: None, caller)
    except MeshError as error:
        return error.code
    return ""


async def test_every_verb_and_every_route_says_whether_it_is_privileged(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as node:
        assert {name: verb for name, (verb, _) in node.verbs.items()} == dict(CATALOGUE)
    assert peer_routes.ROUTES.keys() == ROUTES.keys()
    assert _CALLS.keys() == {verb.name for verb in CATALOGUE.values() if verb.row is not None}


async def test_every_privileged_verb_leaves_a_row_before_it_and_one_after(tmp_path: Path) -> None:
    """Guard: node/api/node.py, Node.dispatch."""
    async with opened(tmp_path / "home") as node:
        store = node.rooms.store
        for verb, params in _CALLS.items():
            code = await dispatch(node, verb, params)
            found = await rows(store, verb)
            assert len(found) == 2, verb
            begun, ended = found
            assert (begun.who, begun.outcome, begun.of) == (OWNER, AuditOutcome.BEGUN, 0), verb
            assert (ended.who, ended.of, ended.code) == (OWNER, begun.number, code), verb
            assert ended.outcome == (AuditOutcome.FAILED if code else AuditOutcome.DONE)
        total = (await store.audit_head()).number
        assert await dispatch(node, "node.status", {}) == await dispatch(node, "session.list", {}) == ""
        assert await dispatch(node, "session.show", {"session": "ses-x"})
        assert (await store.audit_head()).number == total
        kept = b"".join(line.line for line in await store.audit_lines())
    assert SECRET.encode() not in kept
    assert b"password" in kept


async def test_a_row_says_which_key_was_current_and_which_class_was_approved(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as node:
        store, before = node.rooms.store, node.rooms.identity.public_key
        await dispatch(node, "node.rotate", {})
        begun, ended = await rows(store, "node.rotate")
        await dispatch(node, "session.record", _CALLS["session.record"])
        approved, failed = await rows(store, "session.record")
    assert begun.key != ended.key
    assert begun.key == before.hex()[: len(begun.key)]
    assert (begun.key_events, ended.key_events) == (1, 2)
    assert (approved.risk, approved.approved_by, approved.note["secrets"]) == (5, OWNER, "password")
    assert (failed.risk, failed.approved_by) == (5, OWNER), "its end says who approved it, as its beginning does"


def test_a_verb_cannot_be_declared_without_saying_whether_it_is_privileged() -> None:
    with pytest.raises(TypeError, match="row"):
        Verb(name="node.new", gives=None, help="Do something.")  # type: ignore[call-arg]


async def test_what_is_cut_off_leaves_a_beginning_or_says_that_it_was_interrupted(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as node:
        trail, store = node.rooms.witness.trail, node.rooms.store
        started = asyncio.Event()

        async def hang() -> None:
            async with trail.doing("node.join", who=OWNER):
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(hang())
        await started.wait()
        assert (await node.rooms.log.audit.verify()).unfinished == (Unfinished(row=1, what="node.join"),)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        _, ended = await rows(store, "node.join")
        assert ended.outcome == AuditOutcome.INTERRUPTED
        assert (await node.rooms.log.audit.verify()).unfinished == ()


async def test_nothing_is_done_when_its_row_cannot_be_written(tmp_path: Path) -> None:
    """Guard: node/signing/trail.py, Doing.__aenter__."""
    async with opened(tmp_path / "home") as node:
        before = node.rooms.identity.public_key

        async def full(draft: Any) -> Any:
            raise MeshError("store.full")

        node.rooms.store.append_audit = full  # type: ignore[method-assign]
        assert await dispatch(node, "node.rotate", {}) == "store.full"
        assert node.rooms.identity.public_key == before


# --- who may call what -----------------------------------------------------------------------------------------------


def agent(*scopes: str) -> Caller:
    """An agent that was granted ``scopes``."""
    return Caller(kind=CallerKind.AGENT, name="helper", scopes=frozenset(scopes))


def test_what_others_than_the_owner_may_call_has_a_scope_and_names_real_parameters() -> None:
    for verb in CATALOGUE.values():
        fields = {field.name for field in msgspec.structs.fields(verb.takes)}
        assert CallerKind.OWNER in verb.callers, verb.name
        assert (verb.callers - PAGE == {CallerKind.OWNER}) == (not verb.scope), verb.name
        assert verb.scope in ("", ANY_SCOPE, *SCOPES), verb.name
        assert verb.owner_fields <= fields, verb.name
        assert not (verb.read_only and verb.row), verb.name
        if verb.callers != {CallerKind.OWNER}:
            assert fields & {"allow", "approve_class"} <= verb.owner_fields, f"{verb.name}: approvals are the owner's"


async def test_nobody_but_the_owner_calls_what_is_the_owners(tmp_path: Path) -> None:
    """Guard: node/api/node.py, Node._asked."""
    async with opened(tmp_path / "home") as node:
        for kind in set(CallerKind) - {CallerKind.OWNER}:
            before = (await node.rooms.store.audit_head()).number
            caller = Caller(kind=kind, name="somebody", scopes=frozenset(SCOPES))
            closed = [name for name, (verb, _) in node.verbs.items() if kind not in verb.callers]
            for name in closed * 3:
                assert await dispatch(node, name, _CALLS.get(name, {}), caller) == "caller.refused", (kind, name)
            added = (await node.rooms.store.audit_head()).number - before
            most = len(closed) if kind is CallerKind.AGENT else 0
            assert added == most, "who is refused on and on cannot fill the trail"
        assert node.rooms.ports.refusals.codes["caller.refused"] > 0
        for needed in ("node.rotate", "node.grant", "node.invite", "node.distrust", "session.purge", "audit.export"):
            assert node.verbs[needed][0].callers == {CallerKind.OWNER}


async def test_an_agent_calls_only_what_its_scopes_cover(tmp_path: Path) -> None:
    """Guard: node/verbs/verb.py, Verb.admits."""
    async with opened(tmp_path / "home") as node:
        for name, (verb, _) in node.verbs.items():
            if CallerKind.AGENT not in verb.callers:
                continue
            others = agent(*(SCOPES.keys() - {verb.scope}))
            if verb.scope != ANY_SCOPE:
                assert await dispatch(node, name, _CALLS.get(name, {}), others) == "caller.refused", name
            assert await dispatch(node, name, _CALLS.get(name, {}), agent()) == "caller.refused", name
        assert await dispatch(node, "node.status", {}, agent("read")) == ""
        assert await dispatch(node, "session.list", {}, agent("read")) == ""


async def test_what_only_the_owner_may_set_is_refused_from_others_and_heard_from_the_owner(tmp_path: Path) -> None:
    """Guard: node/api/node.py, Node._asked."""
    allowed = ["POST https://x.test/pay"]
    owners: dict[str, Any] = {"allow": allowed, "approve_class": 5, "on_mismatch": "go", "inputs": {"a": "b"}}
    owners |= {"ask": True, "writes": ["none"]}
    calls = {
        **_CALLS,
        "explore.show": {"search": "sea-x"},
        "session.show": {"session": "ses-x"},
        "log.show": {"peer": "nobody"},
        "session.diff": {"first": "ses-x", "second": "ses-y"},
        "approve.show": {"question": "que-x"},
    }
    async with opened(tmp_path / "home") as node:
        for name, field in [(name, field) for name, (verb, _) in node.verbs.items() for field in verb.owner_fields]:
            verb = node.verbs[name][0]
            caller = agent(verb.scope) if verb.scope else Caller(kind=CallerKind.PAGE)
            harmless = {key: value for key, value in calls[name].items() if key not in owners}
            assert await dispatch(node, name, harmless, caller) not in ("", "caller.refused"), name
            params = {**harmless, field: owners.get(field, "/nowhere/x")}
            assert await dispatch(node, name, params, caller) == "caller.refused", (name, field)
            assert await dispatch(node, name, params) not in ("", "caller.refused"), (name, field)
        assert {"allow", "approve_class"} <= node.verbs["session.record"][0].owner_fields


async def test_what_an_agent_is_refused_is_on_the_trail_with_the_reason_and_no_parameter(tmp_path: Path) -> None:
    """Guard: node/api/node.py, Node.dispatch."""
    async with opened(tmp_path / "home") as node:
        for verb in ("node.distrust", "audit.list", "session.export", "session.replay", "session.record"):
            await dispatch(node, verb, _CALLS.get(verb, {}), agent("record"))
        for what, code, needs in [
            ("node.distrust", "caller.refused", "the owner"),
            ("audit.list", "caller.refused", "the owner"),
            ("session.export", "caller.refused", "the owner"),
            ("session.replay", "caller.refused", "the scope replay"),
            ("session.record", "caller.refused", "the owner, to set approve_class"),
        ]:
            written = [
                (row.who, row.outcome, row.code, row.note, row.subject, row.risk)
                for row in await rows(node.rooms.store, what)
            ]
            assert written == [("agent:helper", AuditOutcome.REFUSED, code, {"needs": needs}, "", 0)], what
        assert SECRET not in str(await rows(node.rooms.store))


async def test_the_next_row_says_how_often_an_agent_was_refused_since_the_last(tmp_path: Path) -> None:
    """Guard: node/api/refusal_rows.py, RefusalRows.write."""
    async with opened(tmp_path / "home") as node:
        clock = ManualClock()
        node._refusal_rows = RefusalRows(node.rooms.witness, clock)

        async def written(times: int, caller: Caller) -> list[dict[str, str]]:
            for _ in range(times):
                assert await dispatch(node, "node.rotate", {}, caller) == "caller.refused"
            return [row.note for row in await rows(node.rooms.store, "node.rotate")]

        first, more = {"needs": "the owner"}, {"needs": "the owner", "more before": "4"}
        assert await written(5, agent("read")) == [first]
        clock.advance(limits.AUDIT_REFUSAL_EVERY_S * 1_000 - 1)
        assert await written(0, agent("read")) == [first]
        clock.advance(1)
        assert await written(2, agent("read")) == [first, more]
        clock.advance(limits.AUDIT_REFUSAL_EVERY_S * 1_000)
        assert (await written(1, agent("read")))[2] == {"needs": "the owner", "more before": "1"}
        again = Caller(kind=CallerKind.AGENT, name="helper", since_ms=5)
        assert (await written(2, again))[3:] == [first], "another agent of the same name"


async def test_what_a_verb_without_rows_refuses_an_agent_itself_is_on_the_trail_too(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as node:
        verb, _ = node.verbs["session.list"]

        async def refuses(params: Any, tell: Any) -> Any:
            raise MeshError("caller.refused", "not its own")

        node.verbs["session.list"] = (verb, refuses)
        assert await dispatch(node, "session.list", {}, agent("read")) == "caller.refused"
        assert await dispatch(node, "session.list", {}) == "caller.refused"
        (row,) = await rows(node.rooms.store, "session.list")
        assert (row.who, row.outcome, row.note) == ("agent:helper", AuditOutcome.REFUSED, {})


async def test_a_trail_that_cannot_be_written_leaves_a_refusal_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path / "home") as node:

        async def full(*given: Any, **more: Any) -> Any:
            raise MeshError("store.unwritable", "no space")

        monkeypatch.setattr(node.rooms.witness.trail, "write", full)
        assert await dispatch(node, "node.rotate", {}, agent("read")) == "caller.refused"


async def test_the_row_of_a_refused_address_names_its_site_and_no_other_error_does(tmp_path: Path) -> None:
    """Guard: node/signing/trail.py, Doing.__aexit__."""
    async with opened(tmp_path / "home") as node:
        for code in ("browser.refused", "browser.navigation"):
            with pytest.raises(MeshError):
                async with node.rooms.witness.trail.doing(code, who="agent:helper"):
                    raise MeshError(code, "no", origin="http://169.254.169.254", rule="address of no site")
        ends = [(await rows(node.rooms.store, code))[1] for code in ("browser.refused", "browser.navigation")]
        assert [(row.code, row.note) for row in ends] == [
            ("browser.refused", {"origin": "http://169.254.169.254"}),
            ("browser.navigation", {}),
        ]


async def test_the_rows_of_an_agent_say_its_name_and_approve_nothing(tmp_path: Path) -> None:
    """Guard: node/api/node.py, Node.dispatch."""
    async with opened(tmp_path / "home") as node:
        params = {"actions": "", "name": "a.yaml"}
        assert await dispatch(node, "session.record", params, agent("record")) not in ("", "caller.refused")
        begun, ended = await rows(node.rooms.store, "session.record")
    assert (begun.who, ended.who) == ("agent:helper", "agent:helper")
    assert (begun.risk, begun.approved_by) == (0, "")


# --- the gate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "risk_max", "said"),
    [(3, 3, []), (4, 3, [AuditOutcome.REFUSED]), (5, 5, [AuditOutcome.APPROVED]), (3, 2, [AuditOutcome.REFUSED])],
)
async def test_the_gate_reports_what_needs_an_approval_before_it_is_done(
    tmp_path: Path, level: int, risk_max: int, said: list[AuditOutcome]
) -> None:
    async with opened(tmp_path / "home") as node:
        gate = Gate(report=node.rooms.witness.trail.gate, risk_max=risk_max)
        action = Click(target=Locator(role="button", name=SECRET))
        with contextlib.suppress(MeshError):
            await gate.admit(action, Risk(level=level, reason="says “delete”"))
        found = await rows(node.rooms.store, "action")
    assert [row.outcome for row in found] == said
    for row in found:
        assert row.risk == level
        assert row.approved_by == (OWNER if row.outcome is AuditOutcome.APPROVED else "")
        assert row.note == {"did": "click", "reason": "says “delete”"}


# --- routes ----------------------------------------------------------------------------------------------------------


async def _call(anna: MemoryNode, bruno: MemoryNode, route: str, record: msgspec.Struct) -> str:
    try:
        await anna.calls.call(bruno.id, route, record, Done)
    except MeshError as error:
        return error.code
    return ""


async def _refuses(caller: str, record: msgspec.Struct) -> Done:
    raise MeshError("work.no_login")


async def test_every_privileged_route_leaves_a_row_before_it_and_one_after() -> None:
    """Guard: node/doors/peer_routes.py, ROUTES."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = SearchSpec(
            id="sea-AAAAAAAAAAAAAAAAAAAB6",
            coordinator=anna.id,
            goal="g",
            start_url=f"{ORIGIN}/",
            condition=NEVER,
            profile=Profile(),
            participants=(anna.id, bruno.id),
            seconds=60,
            created_ms=1,
            seed=1,
        )
        lease = BranchAssignment(
            search=spec.id,
            lease="lea-AAAAAAAAAAAAAAAAAAAB6",
            branch=bytes(16),
            prefix=(),
            prefix_state=b"",
            limits=BranchLimits(iterations=1, steps=1, milliseconds=1_000),
            expires_ms=anna.mesh.clock.now_ms() + 60_000,
        )
        sealed_spec = anna.identity.artefact(KIND_SEARCH, spec.id, spec).envelope
        sealed_lease = anna.identity.artefact(KIND_ASSIGNMENT, lease.lease, lease).envelope
        calls: dict[str, tuple[msgspec.Struct, str]] = {
            "search/open": (SearchOpen(spec=sealed_spec), spec.id),
            "branch/assign": (BranchAssign(assignment=sealed_lease), lease.lease),
            "branch/revoke": (
                BranchRevoke(search=spec.id, lease="lea-AAAAAAAAAAAAAAAAAAAB6"),
                "lea-AAAAAAAAAAAAAAAAAAAB6",
            ),
            "search/close": (SearchClose(search=spec.id), spec.id),
            "work/ask": (WorkAsk(id=bytes(16), task="record"), bytes(16).hex()),
            "capsule/cookies": (CookiesAsk(origin=f"{ORIGIN}/?{SECRET}", certificate=b"c"), ""),
        }
        for route in ("work/ask", "capsule/cookies"):
            bruno.api.serve(route, _refuses)
        await anna.mesh.pair(anna, bruno, parse_grants(["explore", "login:use", "capsule:import"]))
        assert calls.keys() == {route for route, declared in peer_routes.ROUTES.items() if declared is not None}
        for route, (record, subject) in calls.items():
            code = await _call(anna, bruno, route, record)
            found = await rows(bruno.store, route)
            assert len(found) == 2, route
            begun, ended = found
            assert (begun.who, begun.subject, begun.outcome) == (anna.id, subject, AuditOutcome.BEGUN)
            assert SECRET not in str(begun)
            assert (ended.who, ended.of, ended.code) == (anna.id, begun.number, code)
        assert await rows(anna.store) == []


async def test_who_has_no_scope_leaves_no_rows_so_that_nobody_can_fill_the_trail() -> None:
    """Guard: node/doors/federation.py, FederationApi.handle."""
    async with memory_mesh("anna") as (anna,):
        bruno = await anna.mesh.add("bruno")
        await anna.mesh.pair(anna, bruno, grants={})
        assert await _call(anna, bruno, "search/close", SearchClose(search="sea-AAAAAAAAAAAAAAAAAAAB6")) == "peer.scope"
        assert await rows(bruno.store) == []


async def test_what_a_peer_starts_is_put_down_to_it() -> None:
    async with memory_mesh("anna") as (anna,):
        trail: Trail = anna.witness.trail
        async with trail.doing("branch/assign", who="PEER") as doing:
            task = asyncio.create_task(trail.gate(Click(target=Locator(role="link", name="x")), _PAY, False))
        await task
        (refused,) = await rows(anna.store, "action")
        assert (refused.who, refused.of) == ("PEER", doing.number)
        with trail.for_peer("OTHER"):
            await trail.write("peer.thing")
        await trail.write("node.thing")
        assert [row.who for row in (await rows(anna.store))[-2:]] == ["OTHER", "node"]


_PAY = Risk(level=5, reason="says “pay”")


# --- pairing ---------------------------------------------------------------------------------------------------------


def _paired(number: int, *scopes: str) -> Paired:
    key = SigningKey(number.to_bytes(32, "big"))
    log = keylog.begin(key, bytes(32), now_s=1, random=bytes(EVENT_RANDOM_BYTES))
    return Paired(
        node=log.node,
        public_key=log.key,
        log=log,
        name=f"peer {number}",
        addresses=(),
        grants=dict.fromkeys(scopes, ("*",)),
        granted_us={},
        asks={},
    )


async def test_a_pairing_says_which_scopes_it_gave_and_took(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_mesh("anna") as (anna,):
        await anna.changes.add(_paired(1, "deltas:read", "deltas:write"))
        async with anna.witness.trail.doing("node.join", who=OWNER) as doing:
            await anna.changes.add(_paired(1, "deltas:read", "branch:assign"))
        first, second = await rows(anna.store, "peer.paired")
        assert (first.who, first.note["peer"], first.note["granted"]) == (
            first.subject,
            "new",
            "deltas:read,deltas:write",
        )
        assert (second.who, second.of, doing.subject) == (OWNER, doing.number, first.subject)
        assert (second.note["granted"], second.note["removed"]) == ("branch:assign", "deltas:write")


async def test_a_node_has_no_more_peers_than_it_may_also_when_two_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: node/trust/trust_changes.py, TrustChanges._check_room."""
    monkeypatch.setattr(limits, "PEERS_MAX", 2)
    async with memory_mesh("anna") as (anna,):
        done = await asyncio.gather(*(anna.changes.add(_paired(n)) for n in range(1, 5)), return_exceptions=True)
        assert [error.code for error in done if isinstance(error, MeshError)] == ["peer.limit", "peer.limit"]
        assert len(await anna.store.peers()) == 2
        await anna.changes.add(_paired(1, "deltas:read"))  # who is a peer can pair again
        await anna.peers.load()
