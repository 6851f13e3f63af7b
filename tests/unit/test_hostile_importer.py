"""What whoever holds a capsule of another node may try with its store, its files, its clock and its reports; and each rule of a
policy on each side."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from node.verbs.capsules.capsule import CapsuleParams, ShowParams
from node.verbs.capsules.capsule_upkeep import RevokeParams
from protocol import ids
from protocol.capsule import file as files
from protocol.capsule.artefacts import KIND_USE, Use
from protocol.capsule.capsule import KIND_CAPSULE, Capsule, CapsuleHeader, SealedPayload, read_header
from protocol.errors import MeshError
from protocol.log import log_proof
from protocol.messages import CapsuleUsed
from protocol.wire import cbor, envelope
from tests.capsule_nodes import GRANTS, CapsuleNode, code_of, two
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import MemoryMesh

ANNA = SigningKey(bytes([3]) * 32)


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        yield await two(mesh, tmp_path)
    finally:
        for node in mesh.nodes:
            await node.stop()


async def given(alice: CapsuleNode, bob: CapsuleNode, **rules: Any) -> str:
    """Id of a capsule that Alice has captured and Bob has imported."""
    kept = await alice.capture(**rules)
    await bob.take(await alice.give(bob))
    return kept.id


async def counted(alice: CapsuleNode) -> int:
    """How many uses the issuer has counted."""
    return (await alice.capsules.show(ShowParams(capsule="shop"))).uses


def pass_ms(node: CapsuleNode, milliseconds: int) -> None:
    node.node.mesh.clock.ahead_ms += milliseconds


def store_of(node: CapsuleNode) -> tuple[dict[str, Any], dict[str, Any]]:
    """The capsules and the ledger on the disk of a node, as a copy."""
    store = node.node.store
    return copy.deepcopy(store._capsules), copy.deepcopy(store._rows)


def put_back(node: CapsuleNode, copied: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Put a copy into the place of what is there."""
    node.node.store._capsules, node.node.store._rows = copy.deepcopy(copied)


# --- capsules that were changed --------------------------------------------------------------------------------------


def _altered(sealed: SealedPayload, **changes: Any) -> SealedPayload:
    """``sealed`` under a header with another policy."""
    header = read_header(sealed.header)
    made = msgspec.structs.replace(header, policy=msgspec.structs.replace(header.policy, **changes))
    return msgspec.structs.replace(sealed, header=cbor.encode(made))


def _resigned(node: CapsuleNode, sealed: SealedPayload) -> bytes:
    return node.node.identity.artefact(KIND_CAPSULE, "x", sealed).envelope


@pytest.mark.parametrize("changes", [{"replays_max": 1_000}, {"class_max": 7}, {"origins": ("https://*.example",)}])
async def test_an_altered_policy_is_refused_in_the_file_and_in_the_store(
    nodes: list[CapsuleNode], tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Guard: protocol/capsule/capsule.py, open_capsule."""
    alice, bob = nodes
    await alice.capture(replays_max=1)
    file = files.unpack((await alice.give(bob)).read_bytes())
    good = cbor.decode_as(envelope.peek(file.envelope).payload, SealedPayload)
    altered = _altered(good, **changes)
    # Alice's signature around other bytes, and Bob's own around them.
    moved = file.envelope.replace(good.header, altered.header)
    assert moved != file.envelope
    path = tmp_path / "altered.capsule"
    for forged, code in ((moved, None), (_resigned(bob, altered), "capsule.issuer")):
        path.write_bytes(files.pack(msgspec.structs.replace(file, envelope=forged)))
        found = await code_of(bob.take(path))
        assert found == code or (code is None and found.startswith(("envelope.", "cbor.", "log.")))
    path.write_bytes(files.pack(file))
    await bob.take(path)
    record = await bob.node.store.capsule(read_header(good.header).id)
    assert record is not None
    stored = store_of(bob)
    own = msgspec.structs.replace(record, envelope=_resigned(bob, altered))
    await bob.node.store.put_capsule(own, file.stream, expires_ms=2**50)
    assert await bob.refused(record.id) == "capsule.issuer"
    put_back(bob, stored)
    assert await bob.refused(record.id) == ""
    assert await bob.refused(record.id) == "capsule.replays"


async def test_a_consent_that_was_cut_out_of_the_file_is_missed(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    """Guard: node/capsules/exchange/exchange.py, CapsuleExchange.take_in."""
    alice, bob = nodes
    await alice.capture()
    file = files.unpack((await alice.give(bob)).read_bytes())
    good = cbor.decode_as(envelope.peek(file.envelope).payload, SealedPayload)
    # By Alice's own node, as if it left out what its policy demands.
    asks = _altered(good, consent=True)
    signed = await alice.node.witness.artefact(KIND_CAPSULE, "x", asks)
    proof = await _proof(alice, signed.envelope)
    path = tmp_path / "stripped.capsule"
    path.write_bytes(files.pack(msgspec.structs.replace(file, envelope=signed.envelope, proof=proof)))
    assert await code_of(bob.take(path)) == "capsule.consent"
    assert await bob.node.store.capsules() == []


async def _proof(node: CapsuleNode, sealed: bytes) -> bytes:
    capsule = Capsule(header=_any_header(sealed), sealed=_sealed(sealed), envelope=sealed)
    return log_proof.encode(await node.node.witness.prove(capsule.digest))


def _sealed(data: bytes) -> SealedPayload:
    return cbor.decode_as(envelope.peek(data).payload, SealedPayload)


def _any_header(data: bytes) -> CapsuleHeader:
    return read_header(_sealed(data).header)


# --- counts ----------------------------------------------------------------------------------------------------------


async def test_an_importer_counts_down_across_restarts(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await given(alice, bob, replays_max=3)
    for left in (2, 1, 0):
        assert await bob.refused() == ""
        bob = await bob.again()
        assert await counted(alice) == 3 - left
    assert await bob.refused() == "capsule.replays"


async def test_a_store_that_was_put_back_gives_no_use_more(nodes: list[CapsuleNode]) -> None:
    """Guard: adapters/capsule_records.py, merged."""
    alice, bob = nodes
    await given(alice, bob, replays_max=2)
    before = store_of(bob)
    assert [await bob.refused(), await bob.refused()] == ["", ""]
    put_back(bob, before)
    bob = await bob.again()
    assert await bob.refused() == "capsule.replays", "its own witness log has its uses"
    put_back(bob, before)  # and one that does not ask it
    found = [await bob.refused() for _ in range(3)]
    assert found == ["capsule.counted", "capsule.counted", "capsule.replays"]
    assert await counted(alice) == 2


async def test_after_a_restore_the_count_goes_on_where_the_issuers_is(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await given(alice, bob, replays_max=4)
    before = store_of(bob)
    assert [await bob.refused(), await bob.refused()] == ["", ""]
    put_back(bob, before)
    assert [await bob.refused() for _ in range(5)] == [
        "capsule.counted",
        "capsule.counted",
        "",
        "",
        "capsule.replays",
    ]
    assert await counted(alice) == 4


async def test_copies_of_a_data_directory_have_no_more_uses_together(nodes: list[CapsuleNode]) -> None:
    """Guard: adapters/capsule_records.py, merged."""
    alice, bob = nodes
    await given(alice, bob, replays_max=3)
    copies = [store_of(bob), store_of(bob)]
    good = 0
    for turn in range(10):
        put_back(bob, copies[turn % 2])
        good += await bob.refused() == ""
        copies[turn % 2] = store_of(bob)
    assert good == await counted(alice) == 3


async def test_a_row_of_the_ledger_that_was_deleted_resets_nothing(nodes: list[CapsuleNode]) -> None:
    """Guard: adapters/capsule_records.py, merged."""
    alice, bob = nodes
    kept = await alice.capture(replays_max=1)
    file = await alice.give(bob)
    await bob.take(file)
    assert await bob.refused() == ""
    bob.node.store._rows.clear()
    assert await bob.refused() == "input.not_found"
    # Imported once more, its own count is that of its witness log. Where that is gone too, its issuer's is not.
    await bob.take(file)
    assert await bob.refused() == "capsule.replays"
    bob.node.store._rows.clear()
    bob.node.witness._entries.clear()
    await bob.take(file)
    assert await bob.refused() == "capsule.counted"
    assert await bob.refused() == "capsule.replays"
    row = await alice.node.store.ledger(kept.id)
    assert row is not None and row.used == 1


async def test_copies_on_two_nodes_share_one_count(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    alice, bob = nodes
    mesh = alice.node.mesh
    node = await mesh.add("carol")
    await mesh.pair(alice.node, node, GRANTS)
    carol = await CapsuleNode(node, tmp_path / "carol").load()
    await given(alice, bob, replays_max=3)
    await carol.take(await alice.give(carol, file="carol.capsule"))
    # The export to Carol was the second sealing of the same generation: Bob's copy still holds.
    assert [await bob.refused(), await carol.refused(), await alice.refused()] == ["", "", ""]
    assert [await each.refused() for each in (bob, carol, alice)] == ["capsule.replays"] * 3


# --- time and generations --------------------------------------------------------------------------------------------


async def test_a_clock_set_back_on_the_importer_revives_nothing(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await given(alice, bob, expires_s=3_600, fresh_s=86_400)
    await alice.node.stop()
    pass_ms(bob, 3_500_000)
    assert await bob.refused() == ""
    pass_ms(bob, 200_000)
    assert await bob.refused() == "capsule.expired"
    pass_ms(bob, -3_000_000)
    assert await bob.refused() == "capsule.clock"
    assert await (await bob.again()).refused() == "capsule.clock"


async def test_an_importer_with_a_clock_of_its_own_is_judged_by_that_of_the_issuer(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await given(alice, bob, expires_s=3_600)
    pass_ms(alice, 3_700_000)
    assert await _reported(alice, bob) == "capsule.expired"


async def test_state_that_was_rolled_back_to_an_older_generation_is_refused(nodes: list[CapsuleNode]) -> None:
    """Guard: adapters/capsule_records.py, with_use.
    Guard: node/capsules/exchange/exchange.py, CapsuleExchange.on_use.
    """
    alice, bob = nodes
    await given(alice, bob)
    older = store_of(bob)
    await alice.capture(replaces="shop", value="newer")
    await bob.take(await alice.give(bob, file="newer.capsule"))
    assert await bob.use() == "newer"
    newer = store_of(bob)
    put_back(bob, (older[0], newer[1]))
    assert await bob.refused() == "capsule.generation"
    # With its ledger too: then its issuer says so.
    await alice.capture(replaces="shop", value="newest")
    put_back(bob, (newer[0], newer[1]))
    assert await bob.refused() == "capsule.generation"


# --- reports ---------------------------------------------------------------------------------------------------------


def _signed(bob: CapsuleNode, alice: CapsuleNode, capsule: str, **changes: Any) -> bytes:
    usual: dict[str, Any] = {
        "capsule": capsule,
        "tenant": alice.node.id,
        "node": bob.node.id,
        "generation": 1,
        "number": 1,
        "task": "replay",
        "at_ms": bob.now_ms,
    }
    return bob.node.identity.artefact(KIND_USE, capsule, Use(**usual | changes)).envelope


async def _reported(alice: CapsuleNode, bob: CapsuleNode, **changes: Any) -> str:
    """The code with which Alice refuses a use that Bob reports without having judged it himself."""
    capsule = (await alice.node.store.capsules())[0].id
    try:
        await alice.exchange.on_use(bob.node.id, CapsuleUsed(use=_signed(bob, alice, capsule, **changes)))
    except MeshError as error:
        return error.code
    return ""


async def test_a_receipt_of_a_use_counts_once_and_for_nobody_else(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    """Guard: adapters/capsule_records.py, merged.
    Guard: node/capsules/exchange/exchange.py, CapsuleExchange.on_use.
    """
    alice, bob = nodes
    kept = await given(alice, bob, replays_max=3)
    node = await alice.node.mesh.add("carol")
    await alice.node.mesh.pair(alice.node, node, GRANTS)
    carol = await CapsuleNode(node, tmp_path / "carol").load()
    await carol.take(await alice.give(carol, file="carol.capsule"))
    first, second = (_signed(bob, alice, kept, number=number) for number in (1, 2))

    async def told(caller: CapsuleNode, use: bytes) -> str:
        try:
            await alice.exchange.on_use(caller.node.id, CapsuleUsed(use=use))
        except MeshError as error:
            return error.code
        return ""

    # The same one again is a repeated call, or a use that lasts.
    assert [await told(bob, first), await told(bob, first), await counted(alice)] == ["", "", 1]
    assert await told(carol, first) == "input.not_found"
    assert [await told(bob, second), await told(bob, first), await counted(alice)] == ["", "capsule.counted", 2]
    # Another use under the number of one that was counted.
    assert await told(bob, _signed(bob, alice, kept, number=2, task="live")) == "capsule.counted"
    assert await told(bob, _signed(carol, alice, kept, node=bob.node.id)) == "capsule.issuer"
    assert await told(bob, _signed(bob, alice, kept, tenant=bob.node.id)) == "input.not_found"
    assert await counted(alice) == 2


async def test_only_who_had_a_revoked_capsule_can_tell_it_from_one_that_never_was(
    nodes: list[CapsuleNode], tmp_path: Path
) -> None:
    """Guard: node/capsules/exchange/exchange.py, CapsuleExchange.on_use."""
    alice, bob = nodes
    kept = await given(alice, bob)
    node = await alice.node.mesh.add("carol")
    await alice.node.mesh.pair(alice.node, node, GRANTS)
    carol = await CapsuleNode(node, tmp_path / "carol").load()
    await alice.exchange.revoke(_revocation())
    codes, never = [], ids.make_id("cap", bytes(ids.ID_RANDOM_BYTES))
    for caller, capsule in ((bob, kept), (carol, kept), (carol, never)):
        with pytest.raises(MeshError) as caught:
            await alice.exchange.on_use(caller.node.id, CapsuleUsed(use=_signed(caller, alice, capsule)))
        codes.append((caught.value.code, caught.value.message))
    assert [code for code, _ in codes] == ["capsule.revoked", "input.not_found", "input.not_found"]
    assert codes[1] == codes[2]


async def test_a_holder_that_reports_to_nobody_has_the_capsule_for_the_freshness_window_only(
    nodes: list[CapsuleNode],
) -> None:
    alice, bob = nodes
    kept = await given(alice, bob, fresh_s=3_600)
    await bob.node.stop()  # deaf to the revocation

    async def silent(capsule: object, use: bytes) -> bool:
        return False

    await alice.exchange.revoke(_revocation())
    await bob.node.start()
    bob = await CapsuleNode(bob.node, bob.home, report=silent).load()
    pass_ms(bob, 3_000_000)
    assert await bob.refused(kept) == ""
    pass_ms(bob, 700_000)
    assert await bob.refused(kept) == "capsule.stale"
    # The capsule taken out and imported again is heard of no later than it was sealed.
    file = bob.home.parent / "shop.capsule"
    await bob.capsules.remove(CapsuleParams(capsule=kept))
    await bob.take(file)
    assert await bob.refused(kept) == "capsule.stale"


def _revocation() -> Any:
    return RevokeParams(capsule="shop")


# --- each rule, on each side -----------------------------------------------------------------------------------------

Breaks = Callable[[CapsuleNode, CapsuleNode], Awaitable[None]]


async def _nothing(alice: CapsuleNode, bob: CapsuleNode) -> None:
    pass


async def _an_hour_passes(alice: CapsuleNode, bob: CapsuleNode) -> None:
    pass_ms(alice, 3_700_000)


async def _a_use(alice: CapsuleNode, bob: CapsuleNode) -> None:
    assert await alice.refused() == ""


async def _the_issuer_is_silent(alice: CapsuleNode, bob: CapsuleNode) -> None:
    await alice.node.stop()
    pass_ms(bob, 70_000)


RULES: list[tuple[str, dict[str, Any], dict[str, Any], Breaks, dict[str, str]]] = [
    # what is broken, the policy, what is wanted, what happens before; the code at its issuer, at a holder, and to a report
    (
        "origins",
        {},
        {"origins": ("https://evil.example",)},
        _nothing,
        {"own": "capsule.origin", "held": "capsule.origin"},
    ),
    ("tasks", {"tasks": ("live",)}, {}, _nothing, dict.fromkeys(("own", "held", "told"), "capsule.task")),
    ("class", {}, {"level": 3}, _nothing, {"own": "capsule.class", "held": "capsule.class"}),
    ("replays", {"replays_max": 1}, {}, _a_use, dict.fromkeys(("own", "held", "told"), "capsule.replays")),
    ("expiry", {"expires_s": 3_600}, {}, _an_hour_passes, dict.fromkeys(("own", "held", "told"), "capsule.expired")),
    ("freshness", {"fresh_s": 60}, {}, _the_issuer_is_silent, {"held": "capsule.stale"}),
    (
        "second factor",
        {"mfa_s": 3_600, "mfa_now": True},
        {},
        _an_hour_passes,
        dict.fromkeys(("own", "held", "told"), "capsule.mfa"),
    ),
    ("device", {"cross_device": False}, {}, _nothing, {"held": "capsule.device"}),
    ("installation", {"cross_installation": False}, {}, _nothing, {"given": "capsule.installation"}),
    ("consent", {"consent": True}, {}, _nothing, {"own": "capsule.consent", "given": "capsule.consent"}),
]


@pytest.mark.parametrize(
    ("rules", "wanted", "before", "codes"), [each[1:] for each in RULES], ids=[e[0] for e in RULES]
)
async def test_each_rule_of_a_policy_refuses_on_each_side_with_its_own_code(
    tmp_path: Path, rules: dict[str, Any], wanted: dict[str, Any], before: Breaks, codes: dict[str, str]
) -> None:
    """Guard: node/capsules/exchange/exchange.py, CapsuleExchange.on_use."""
    mesh = MemoryMesh()
    try:
        alice, bob = await two(mesh, tmp_path, machines=("m1", "m2"))
        await alice.capture(purpose="to read the orders", **rules)
        if "given" in codes:
            assert await code_of(alice.give(bob)) == codes["given"]
        else:
            taken = await bob.take(await alice.give(bob))
            assert taken.policy.purpose == "to read the orders", "shown to whoever holds it"
        await before(alice, bob)
        if "own" in codes:
            assert await alice.refused(**wanted) == codes["own"]
        if "held" in codes:
            assert await bob.refused(**wanted) == codes["held"]
        if "told" in codes:
            assert await _reported(alice, bob, number=5) == codes["told"]
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_policy_that_is_kept_lets_the_same_uses_through(tmp_path: Path) -> None:
    """Without this, a use that is refused for another reason would pass as one that broke its rule."""
    mesh = MemoryMesh()
    try:
        alice, bob = await two(mesh, tmp_path, machines=("m1", "m2"))
        kept = await given(alice, bob, tasks=("replay",), mfa_s=3_600, mfa_now=True, expires_s=3_600)
        assert [await alice.use(), await bob.use(kept)] == [CANARY, CANARY]
        assert await _reported(alice, bob, number=5) == ""
        assert await bob.refused(origins=(SHOP,)) == "capsule.counted", "its issuer was told of a fifth use"
    finally:
        for node in mesh.nodes:
            await node.stop()
