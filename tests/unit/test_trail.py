"""The rows of the audit trail: what is written before an action and after it, and who it is put down to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nacl.signing import SigningKey

from adapters.audit_records import AuditLine
from node.signing.identity import Identity
from node.signing.trail import Doing, Trail
from node.verbs import AuditedPart
from protocol import audit, limits
from protocol.audit import AuditDraft, AuditOutcome
from protocol.errors import MeshError, PeerError
from protocol.page.actions.action import Click, Locator
from protocol.risk.pressing.classes import Risk
from protocol.wire.envelope import key_id
from tests.twins.clock import START_MS, ManualClock
from tests.twins.storage import MemoryStore

KEY = SigningKey(bytes([1]) * 32)


class Failing(MemoryStore):
    """A store that writes so many more rows."""

    left = 99

    async def append_audit(self, draft: AuditDraft) -> AuditLine:
        """``adapters.ports.AuditStore.append_audit``."""
        if not self.left:
            raise MeshError("store.full")
        self.left -= 1
        return await super().append_audit(draft)


@pytest.fixture
def store() -> Failing:
    return Failing()


@pytest.fixture
def trail(store: Failing) -> Trail:
    return Trail(Identity(KEY, ManualClock()), store, ManualClock())


async def rows(store: MemoryStore) -> list[dict[str, Any]]:
    """What is in each row beyond what every row has."""
    found = []
    for line in await store.audit_lines():
        row = audit.read(line.line)
        assert (row.at_ms, row.key, row.key_events) == (START_MS, key_id(bytes(KEY.verify_key)).hex(), 1)
        said = {name: getattr(row, name) for name in ("subject", "of", "risk", "approved_by", "code", "note")}
        found.append({"what": row.what, "who": row.who, "outcome": row.outcome} | {k: v for k, v in said.items() if v})
    return found


async def test_an_action_has_a_row_before_it_and_one_after_it(trail: Trail, store: Failing) -> None:
    async with trail.doing("session.record", who="owner", subject="ses-1", note={"a": "b", "c": ""}) as doing:
        assert (doing.number, doing.over, trail.who) == (1, False, "owner")
        assert len(await rows(store)) == 1
        doing.subject = "ses-2"
    assert (doing.over, trail.who) == (True, "node")
    same = {"what": "session.record", "who": "owner"}
    assert await rows(store) == [
        same | {"outcome": AuditOutcome.BEGUN, "subject": "ses-1", "note": {"a": "b"}},
        same | {"outcome": AuditOutcome.DONE, "subject": "ses-2", "of": 1},
    ]


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (MeshError("input.invalid"), AuditOutcome.FAILED, "input.invalid"),
        (PeerError("input.invalid", peer="B"), AuditOutcome.FAILED, "peer.failed"),
        (KeyError("x"), AuditOutcome.FAILED, "internal.fault"),
        (asyncio.CancelledError(), AuditOutcome.INTERRUPTED, ""),
        (KeyboardInterrupt(), AuditOutcome.INTERRUPTED, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_the_second_row_says_how_it_ended(
    trail: Trail, store: Failing, error: BaseException, outcome: AuditOutcome, code: str
) -> None:
    with pytest.raises(type(error)):
        async with trail.doing("x", who="owner", risk=3):
            raise error
    same = {"what": "x", "who": "owner", "risk": 3, "approved_by": "owner"}
    end = same | {"outcome": outcome, "of": 1} | ({"code": code} if code else {})
    assert await rows(store) == [same | {"outcome": AuditOutcome.BEGUN}, end]


async def test_an_action_whose_first_row_cannot_be_written_is_not_begun(trail: Trail, store: Failing) -> None:
    store.left = 0
    with pytest.raises(MeshError, match="full"):
        async with trail.doing("x", who="owner"):
            raise AssertionError
    assert trail.who == "node"


async def test_an_action_whose_last_row_cannot_be_written_was_done_all_the_same(trail: Trail, store: Failing) -> None:
    store.left = 1
    async with trail.doing("x", who="owner"):
        pass
    assert [row["outcome"] for row in await rows(store)] == [AuditOutcome.BEGUN]


async def test_rows_within_an_action_belong_to_it_and_to_its_caller(trail: Trail, store: Failing) -> None:
    await trail.write("before", subject="x\n", note={"n": "1"})
    async with trail.doing("outer", who="agent:anna"):
        row = await trail.write("inner")
        await asyncio.create_task(trail.write("in a task", who="peer", of=1))
        trail.about("ses-1")
        with trail.for_peer("BRUNO"):
            assert trail.who == "BRUNO"
            await trail.write("for a peer")
            trail.about("nothing is told of it")
        assert trail.who == "agent:anna"
    trail.about("nobody")
    assert (row.number, row.who) == (3, "agent:anna")
    assert [(row["what"], row["who"], row.get("of", 0), row.get("subject", "")) for row in await rows(store)] == [
        ("before", "node", 0, "x "),
        ("outer", "agent:anna", 0, ""),
        ("inner", "agent:anna", 2, ""),
        ("in a task", "peer", 1, ""),
        ("for a peer", "BRUNO", 0, ""),
        ("outer", "agent:anna", 2, "ses-1"),
    ]


async def test_of_a_verb_that_is_declared_the_row_takes_what_it_names(trail: Trail, store: Failing) -> None:
    row = AuditedPart(subject=lambda given: given["id"], risk=lambda given: 4, note=lambda given: {"why": given["why"]})
    async with trail.declared("verb", row, "owner", {"id": "ses-1", "why": "so", "secret": "s"}) as doing:
        assert isinstance(doing, Doing)
    same = {"what": "verb", "who": "owner", "subject": "ses-1", "risk": 4, "approved_by": "owner"}
    assert await rows(store) == [
        same | {"outcome": AuditOutcome.BEGUN, "note": {"why": "so"}},
        same | {"outcome": AuditOutcome.DONE, "of": 1},
    ]
    assert AuditedPart().risk({}) == 0


async def test_a_row_keeps_no_token_of_an_address_that_its_caller_gave(trail: Trail, store: Failing) -> None:
    """Half a token is not recognised: a text is cut after it is redacted. Guard: node/signing/trail.py, Trail.write."""
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLWNhbmFyeQ"
    long = "a" * (limits.AUDIT_TEXT_CHARS_MAX - 40)
    note = {"url": f"http://shop.test/in/{token}", "long": f"{long} http://shop.test/in/{token}"}
    await trail.write("live.open", subject=f"http://shop.test/?token={token}", note=note)
    (row,) = await rows(store)
    assert row["subject"] == "http://shop.test/?token=REDACTED"
    assert row["note"]["url"] == "http://shop.test/in/REDACTED"
    assert "eyJ" not in row["note"]["long"]


@pytest.mark.parametrize("admitted", [True, False])
async def test_the_gate_tells_the_class_and_the_kind_of_action_but_no_text(
    trail: Trail, store: Failing, admitted: bool
) -> None:
    risk = Risk(level=5, reason="buys")
    await trail.gate(Click(target=Locator(role="button", name="Pay 9.90")), risk, admitted)
    told: dict[str, Any] = {"what": "action", "who": "node", "risk": 5, "note": {"did": "click", "reason": "buys"}}
    verdict: dict[str, Any] = (
        {"outcome": AuditOutcome.APPROVED, "approved_by": "owner"}
        if admitted
        else {"outcome": AuditOutcome.REFUSED, "code": "risk.refused"}
    )
    assert await rows(store) == [told | verdict]


async def test_a_pairing_tells_what_was_granted_and_removed(trail: Trail, store: Failing) -> None:
    assert await trail.paired("BRUNO", "bruno", ["b", "a"], None) == "BRUNO"
    assert await trail.paired("BRUNO", "bruno", ["a", "c"], ["b", "a"]) == "BRUNO"
    async with trail.doing("node.join", who="owner") as joining:
        assert await trail.paired("CARLA", "carla", [], ()) == "owner"
        joining.over = True
        assert await trail.paired("DORA", "dora", [], None) == "DORA"
    told = [(row["who"], row.get("subject"), row.get("of", 0), row.get("note")) for row in await rows(store)]
    assert told == [
        ("BRUNO", "BRUNO", 0, {"name": "bruno", "peer": "new", "granted": "a,b"}),
        ("BRUNO", "BRUNO", 0, {"name": "bruno", "peer": "known", "granted": "c", "removed": "b"}),
        ("owner", None, 0, None),
        ("owner", "CARLA", 3, {"name": "carla", "peer": "known"}),
        ("DORA", "DORA", 3, {"name": "dora", "peer": "new"}),
        ("owner", "CARLA", 3, None),
    ]
