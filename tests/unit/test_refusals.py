"""What is refused is counted by place, code and peer, in books that cannot grow without end."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest

from adapters.transport.tls import listener
from node.doors.federation import FederationApi
from node.trust.refusal_book import RefusalBook
from protocol import ids, limits
from protocol import refusals as module
from protocol.errors import CODES, MeshError
from protocol.goal.condition import Condition
from protocol.log.merkle import PROOF_HASHES_MAX
from protocol.log.witness_log import TAG_BYTES
from protocol.messages import (
    Assignment,
    BranchAssign,
    BranchLimits,
    BranchRenew,
    BranchResult,
    BranchReturn,
    BranchRevoke,
    DeltaHave,
    DeltaPull,
    DeltaPush,
    Done,
    GrantsPush,
    KeysPush,
    LogProveAsk,
    LogSync,
    SearchClose,
    SearchOpen,
    SearchSpec,
    ShareHead,
    Spend,
    StatusAsk,
    WorkAsk,
)
from protocol.recording.records.session import Profile
from protocol.refusals import OTHERS, Refusals
from protocol.routes import ROUTES
from protocol.trust.grants import GRANTABLE
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.virtual_time


def test_a_refusal_is_counted_where_it_was_with_its_code_and_of_whom() -> None:
    refusals = Refusals()
    refusals.count("quota", node="A")
    refusals.count("tls_version")
    refusals.count("deltas/push", node="A", code="peer.scope")
    assert refusals.by_place == {
        ("quota", "peer.limit"): 1,
        ("tls_version", "peer.protocol"): 1,
        ("deltas/push", "peer.scope"): 1,
    }
    assert refusals.by_peer == {("A", "peer.limit"): 1, ("A", "peer.scope"): 1}
    assert refusals.reasons == {"quota": 1, "tls_version": 1, "deltas/push": 1}
    assert refusals.codes == {"peer.limit": 1, "peer.protocol": 1, "peer.scope": 1}


def test_peers_beyond_the_first_ones_are_counted_together() -> None:
    """Guard: protocol/refusals.py, Refusals.count."""
    refusals = Refusals()
    for number in range(limits.REFUSALS_PEERS_MAX + 10):
        refusals.count("quota", node=str(number))
    refusals.count("quota", node="0")
    assert len(refusals.by_peer) == limits.REFUSALS_PEERS_MAX + 1
    assert refusals.by_peer[OTHERS, "peer.limit"] == 10
    assert refusals.by_peer["0", "peer.limit"] == 2


def test_every_reason_of_the_transport_stands_for_a_code() -> None:
    said = set()
    for path in Path(listener.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                first = node.args[0]
                if (
                    node.func.attr in ("count", "refuse")
                    and isinstance(first, ast.Constant)
                    and str(first.value).isidentifier()
                ):
                    said.add(first.value)
    assert {"quota", "body_size", "revoked", "connections_total"} <= said
    assert said <= module._CODES.keys()
    assert set(module._CODES.values()) <= CODES.keys()


async def _book(store: MemoryStore) -> tuple[Refusals, RefusalBook]:
    refusals = Refusals()
    book = RefusalBook(refusals, store, ManualClock())
    await book.load()
    return refusals, book


async def test_counts_go_on_after_a_restart() -> None:
    """Guard: node/trust/refusal_book.py, RefusalBook.load."""
    store = MemoryStore()
    refusals, book = await _book(store)
    refusals.count("quota", node="A")
    refusals.count("http")
    await book.keep()
    again, later = await _book(store)
    assert (again.by_place, again.by_peer) == (refusals.by_place, refusals.by_peer)
    assert later.since_ms == book.since_ms
    again.count("http")
    await later.keep()
    third, _ = await _book(store)
    assert third.by_place["http", "peer.protocol"] == 2


async def test_nothing_is_written_while_nothing_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    refusals, book = await _book(store)
    await book.keep()
    assert await store.get_meta("refusals") is None
    for _ in range(1_000):
        refusals.count("log/checkpoint", node="ABCDEFG-REST", code="envelope.signature")
    await book.keep()
    await book.keep()
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == "refused on the peer channel: 1000 times envelope.signature at log/checkpoint (to ABCDEFG)"


async def test_the_largest_books_fit_the_store_and_are_read_again() -> None:
    store = MemoryStore()
    refusals, book = await _book(store)
    for code in CODES:
        for number in range(limits.REFUSALS_PEERS_MAX + 2):
            refusals.count("route", node=ids.node_id(number.to_bytes(32, "big")), code=code)
        for at in (*module._CODES, *ROUTES):
            refusals.count(at, code=code)
    await book.keep()
    again, _ = await _book(store)
    assert (again.by_place, again.by_peer) == (refusals.by_place, refusals.by_peer)


async def test_counts_that_cannot_be_read_are_begun_anew() -> None:
    store = MemoryStore()
    await store.put_meta("refusals", b"\xff")
    refusals, _ = await _book(store)
    assert refusals.by_place == {}


# --- at the door of the peer API -------------------------------------------------------------------------------------


async def _refused(anna: MemoryNode, bruno: MemoryNode, route: str, record: msgspec.Struct, answer: type = Done) -> str:
    try:
        await anna.calls.call(bruno.id, route, record, answer)
    except MeshError as error:
        return error.code
    return ""


def _api(node: MemoryNode) -> tuple[FederationApi, Refusals]:
    refusals = Refusals()
    node.api._refusals = refusals
    return node.api, refusals


async def test_what_the_peer_api_refuses_is_counted_by_route_code_and_peer() -> None:
    async with memory_mesh("anna") as (anna,):
        bruno = await anna.mesh.add("bruno")
        await anna.mesh.pair(anna, bruno, grants={"deltas:write": ("*",)})
        api, refusals = _api(bruno)
        assert (
            await _refused(anna, bruno, "search/close", SearchClose(search="sea-AAAAAAAAAAAAAAAAAAAC4")) == "peer.scope"
        )
        assert await _refused(
            anna, bruno, "deltas/push", DeltaPush(search="sea-AAAAAAAAAAAAAAAAAAAC4", deltas=()), DeltaHave
        )
        body = anna.identity.message(Done(), audience=bruno.id, path="/peer/v1/status")
        for route, said in (("none/such", body), ("log/prove", body), ("log/prove", b"x" * 5_000)):
            try:
                await api.handle(anna.id, route, said)
            except MeshError:
                continue
            raise AssertionError(route)
        await bruno.stop()
    assert refusals.by_place == {
        ("search/close", "peer.scope"): 1,
        ("deltas/push", "input.not_found"): 1,
        ("route", "input.not_found"): 1,
        ("log/prove", "envelope.signature"): 1,
        ("log/prove", "input.too_large"): 1,
    }
    assert sum(count for (node, _), count in refusals.by_peer.items() if node == anna.id) == 5


async def test_a_message_that_comes_twice_is_counted_as_replayed() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        api, refusals = _api(bruno)
        record = BranchRevoke(search="sea-AAAAAAAAAAAAAAAAAAAC4", lease="lea-AAAAAAAAAAAAAAAAAAAFW")
        body = anna.identity.message(record, audience=bruno.id, path="/peer/v1/branch/revoke")
        for _ in range(3):
            try:
                await api.handle(anna.id, "branch/revoke", body)
            except MeshError as error:
                assert error.code in ("input.not_found", "envelope.replayed")
    assert refusals.by_peer[anna.id, "envelope.replayed"] == 2


def _largest(anna: MemoryNode, bruno: MemoryNode) -> dict[str, msgspec.Struct]:
    """As much as this program says over each route whose bound is not the common one."""
    path = tuple(bytes(limits.CHUNK_VALUE_BYTES_MAX) for _ in range(limits.TREE_DEPTH_MAX))
    words = "x" * limits.GOAL_CHARS_MAX
    spec = SearchSpec(
        id="sea-AAAAAAAAAAAAAAAAAAAIQ",
        coordinator=anna.id,
        goal=words,
        start_url="u" * limits.URL_CHARS_MAX,
        condition=Condition(any=tuple(Condition(url=words, title=words, text=words) for _ in range(31))),
        profile=Profile(),
        participants=(anna.id, bruno.id, *(anna.id for _ in range(limits.SEARCH_PARTICIPANTS_MAX - 2))),
        seconds=1,
        created_ms=1,
        seed=2**53,
    )
    assignment = Assignment(
        search=spec.id,
        lease="lea-AAAAAAAAAAAAAAAAAAAGU",
        branch=bytes(16),
        prefix=path,
        prefix_state=bytes(16),
        limits=BranchLimits(iterations=1, steps=1, milliseconds=1_000),
        expires_ms=2**53,
    )
    result = BranchResult(
        search=spec.id,
        lease="lea-AAAAAAAAAAAAAAAAAAAGU",
        branch=bytes(16),
        outcome="claim",
        spend=Spend(),
        claim=path,
        error="e" * 64,
    )
    note = bytes(limits.NOTE_BYTES_MAX)
    sync = LogSync(
        head=note,
        opening=bytes(2 * limits.NOTE_BYTES_MAX),
        hashes=tuple(bytes(32) for _ in range(PROOF_HASHES_MAX)),
        openings=(bytes(limits.NOTE_BYTES_MAX),)
        * limits.LOG_OPENINGS_SHOWN_MAX,  # of nine notes with one signature each
        former_hashes=tuple(bytes(32) for _ in range(PROOF_HASHES_MAX)),
        yours=note,
        later=note,
        tags=tuple(bytes(TAG_BYTES) for _ in range(limits.PEERS_MAX)),
        notes=(note,) * limits.LOG_GOSSIP_NOTES_MAX,
        proofs=(bytes(limits.LOG_PROOF_BYTES_MAX),) * limits.LOG_GOSSIP_PROOFS_MAX,
    )
    head = ShareHead(writer="w" * 80, epoch=limits.EPOCH_MAX, seq=limits.EPOCH_DELTAS_MAX, digest=bytes(32))
    heads = (head,) * limits.SEARCH_PARTICIPANTS_MAX
    sealed = anna.identity.artefact
    origins = tuple(f"https://{n:02}{'o' * (limits.ORIGIN_CHARS_MAX - 10)}" for n in range(limits.GRANT_ORIGINS_MAX))
    return {
        "grants/push": GrantsPush(grants=dict.fromkeys(GRANTABLE, origins)),
        "keys/push": KeysPush(log=bytes(limits.KEY_LOG_BYTES_MAX)),
        "search/open": SearchOpen(spec=sealed("search", spec.id, spec).envelope),
        "branch/assign": BranchAssign(assignment=sealed("assignment", "l", assignment).envelope),
        "branch/return": BranchReturn(search=spec.id, result=sealed("result", "l", result).envelope),
        "branch/renew": BranchRenew(search=spec.id, lease="lea-AAAAAAAAAAAAAAAAAAAGU", spend=Spend()),
        "log/checkpoint": sync,
        "deltas/pull": DeltaPull(search=spec.id, epoch=1, after_seq=1, heads=heads),
        "work/ask": WorkAsk(id=bytes(16), task="record", actions="x" * limits.WORK_BYTES_MAX, session="s" * 64),
    }


async def test_the_largest_message_over_a_route_fits_the_bound_of_that_route() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        largest = _largest(anna, bruno)
        small = {"status": StatusAsk(), "log/prove": LogProveAsk(digest=bytes(32))}
        for route, record in {**largest, **small}.items():
            body = anna.identity.message(record, audience=bruno.id, path=f"/peer/v1/{route}")
            assert len(body) <= ROUTES[route].bytes_max <= limits.PEER_BODY_BYTES_MAX, route
    larger = {route for route, known in ROUTES.items() if known.bytes_max > limits.MESSAGE_BYTES_MAX}
    assert larger - {"deltas/push", "deltas/proof"} <= largest.keys()
