"""The room of capsules, on two nodes: capturing, using, giving away, and everything a hostile importer tries."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.capsule_records import LedgerRecord
from adapters.storage.files.records import pack, unpack
from node.api.clock import ClockVerbs
from node.approvals import Approvals
from node.capsules.mount import Mounting
from node.capsules.seal import Repolicy, Wanted, ahead
from node.verbs import OWNER, Caller, CallerKind, called_by
from node.verbs.capsules.capsule import CapsuleParams, ConsentParams, ExportParams, ShowParams, TermsParams
from node.verbs.capsules.capsule_handle import OfferParams
from node.verbs.capsules.capsule_policy import ChangePolicyParams
from node.verbs.capsules.capsule_upkeep import RevokeParams
from node.verbs.nodes.agent import AGENT_TASKS
from node.verbs.nodes.clock import AcceptedClock
from node.verbs.nodes.owner import ChangeParams
from protocol import limits
from protocol.approval.owners import sign_change
from protocol.capsule import file as files
from protocol.capsule.artefacts import Consent, seal_consent
from protocol.capsule.capsule import KIND_CAPSULE, SealedPayload
from protocol.capsule.state import CapsuleState, Cookie
from protocol.clock import KIND_CLOCK
from protocol.errors import MeshError
from protocol.log import witness_log
from protocol.wire import cbor, envelope
from tests.canaries import found_in
from tests.capsule_nodes import GRANTS, CapsuleNode, code_of, two
from tests.capsules import CANARY, DAY_MS, SHOP
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


def pass_ms(node: CapsuleNode, milliseconds: int) -> None:
    node.node.mesh.clock.ahead_ms += milliseconds


# --- capturing -----------------------------------------------------------------------------------------------------------


async def test_a_login_is_captured_shown_without_values_and_used(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    kept = await alice.capture(origins=(SHOP,))
    shown = await alice.capsules.show(ShowParams(capsule="shop", names=True))
    assert [(each.kind, each.name, each.bytes) for each in shown.holds] == [
        ("cookie", "sid", len(CANARY)),
        ("local", "token", len(CANARY) + 6),
    ]
    told = msgspec.json.encode([kept, shown, await alice.capsules.listed()])
    assert CANARY.encode() not in told
    assert await alice.use() == CANARY
    assert (await alice.capsules.show(ShowParams(capsule=kept.id))).uses == 1


async def test_state_of_other_origins_is_left_out(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    assert await code_of(alice.capture(origins=("https://other.example",))) == "input.invalid"
    kept = await alice.capture(origins=("https://*.example",))
    assert kept.left_out == 0 and [each.origin for each in kept.origins] == [SHOP]


async def test_nothing_of_the_state_is_on_the_disk(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    await alice.use()
    await bob.use()
    assert leaks(tmp_path) == []


def leaks(directory: Path) -> list[str]:
    """The files that hold the canary in some form. There is a sealing key and an export among those that were looked at."""
    every = [path for path in directory.rglob("*") if path.is_file()]
    assert {".key", ".capsule"} <= {path.suffix for path in every}
    return [path.name for path in every if found_in(path.read_bytes(), {"cookie": CANARY.encode()})]


async def test_every_capsule_use_key_and_revocation_is_in_the_witness_log(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    await alice.capture()
    await alice.use()
    await alice.exchange.revoke(RevokeParams(capsule="shop"))
    leaves = await alice.node.store.log_leaves(0)
    assert [leaf.kind for leaf in leaves][1:] == [
        "cookie-attestation",
        "capsule-contents",
        "sealing-key",
        "capsule",
        "capsule-use",
        "capsule-revocation",
    ]


async def test_newer_state_replaces_the_older_one_for_good(nodes: list[CapsuleNode]) -> None:
    """Guard: adapters/capsule_records.py, entered."""
    alice, bob = nodes
    kept = await alice.capture()
    old = await alice.give(bob)
    newer = await alice.capture(replaces="shop", value="newer")
    assert (newer.id, newer.generation) == (kept.id, 2)
    assert await alice.use() == "newer"
    await bob.take(await alice.give(bob, file="new.capsule"))
    assert await code_of(bob.take(old)) == "capsule.generation"


async def test_newer_state_comes_without_a_policy_of_its_own_and_prolongs_nothing(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    await alice.capture(expires_s=3_600)
    for other in ({"expires_s": 7_200}, {"class_max": 3}, {"name": "other"}, {"tasks": ("record",)}):
        assert await code_of(alice.capture(replaces="shop", **other)) == "input.invalid"
    pass_ms(alice, 3_600_000)
    assert await code_of(alice.capture(replaces="shop")) == "capsule.expired"


async def test_a_name_means_one_capsule_and_is_free_again_once_that_has_expired(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    first = await alice.capture(expires_s=3_600)
    assert await code_of(alice.capture(value="second")) == "input.invalid"
    unnamed = [(await alice.capture(name="")).name for _ in range(2)]
    assert unnamed == ["shop.example", "shop.example-2"]
    pass_ms(alice, 3_600_000)
    assert (await alice.capture(value="second")).id != first.id
    assert await alice.use("shop") == "second"
    assert {each.ended for each in (await alice.capsules.listed()).capsules if each.name == "shop"} == {"expired", ""}


async def test_a_grant_that_is_lacking_here_is_told_as_a_command(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    alice, _ = nodes
    await alice.capture(origins=("https://other.example", SHOP))
    command = f"`trailmesh node grant bob capsule:import=https://other.example,{SHOP}`"
    with pytest.raises(MeshError, match=re.escape(command)):
        await alice.exchange.export(ExportParams(capsule="shop", to="bob", out=str(tmp_path / "out")))


async def test_what_a_browser_held_at_its_close_is_the_next_generation(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    kept = await alice.capture()
    cookies = tuple(Cookie(name="sid", value=name, domain=name) for name in ("shop.example", "evil.example"))
    await alice.capsules.renew_state(kept.id, CapsuleState(cookies=cookies))
    shown = await alice.capsules.show(ShowParams(capsule=kept.id, names=True))
    assert (shown.generation, [each.host for each in shown.holds]) == (2, ["shop.example"])


# --- using -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "wanted", "code"),
    [
        ({}, {"origins": ("https://evil.example",)}, "capsule.origin"),
        ({"tasks": ("live",)}, {}, "capsule.task"),
        ({}, {"level": 3}, "capsule.class"),
        ({"mfa_s": 60}, {}, "capsule.mfa"),
        ({"consent": True}, {}, "capsule.consent"),
    ],
    ids=str,
)
async def test_each_rule_refuses_a_use_by_its_own_node(
    nodes: list[CapsuleNode], rules: dict[str, Any], wanted: dict[str, Any], code: str
) -> None:
    alice, _ = nodes
    await alice.capture(**rules)
    assert await alice.refused(**wanted) == code
    assert (await alice.capsules.show(ShowParams(capsule="shop"))).uses == 0


async def test_uses_are_counted_to_their_limit_across_restarts(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    await alice.capture(replays_max=2)
    await alice.use()
    alice = await alice.again()
    await alice.use()
    alice = await alice.again()
    assert await alice.refused() == "capsule.replays"


async def test_a_capsule_ends_and_a_clock_that_was_set_back_does_not_revive_it(nodes: list[CapsuleNode]) -> None:
    """Guard: protocol/capsule/policy.py, judge_use."""
    alice, _ = nodes
    await alice.capture(expires_s=3_600)
    pass_ms(alice, 1_800_000)
    await alice.use()
    pass_ms(alice, 1_800_000)
    assert await alice.refused() == "capsule.expired"
    pass_ms(alice, -2_000_000)
    assert await alice.refused() == "capsule.clock"


async def test_one_use_at_a_time(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    await alice.capture()
    wanted = Wanted(origins=(SHOP,), task="live", level=1, holder="first", seconds=60, work="liv-ABC")
    async with alice.capsules.using("shop", wanted):
        since_ms = alice.now_ms
        with pytest.raises(MeshError) as held:
            await alice.use()
        assert (held.value.code, held.value.detail["by"]) == ("capsule.held", "owner (liv-ABC)")
        assert abs(held.value.detail["since_ms"] - since_ms) < 60_000
        assert "in use by owner (liv-ABC) since " in held.value.message
        for name, told in (("shopper", False), ("owner", False)):
            with called_by(Caller(kind=CallerKind.AGENT, name=name)), pytest.raises(MeshError) as seen:
                await alice.use()
            assert ("by" in seen.value.detail, "liv-ABC" in seen.value.message) == (told, told)
    assert await alice.refused() == ""


async def test_a_node_that_cannot_sign_uses_nothing(nodes: list[CapsuleNode]) -> None:
    """A copy of a store whose peers hold a later log.

    Guard: node/capsules/seal/capsules.py, Capsules.using.
    """
    alice, _ = nodes
    await alice.capture()
    end = alice.node.witness.log.checkpoint
    later = msgspec.structs.replace(end, size=end.size + 5, root=bytes(32))
    signed = witness_log.sign(later, alice.node.identity.key)
    assert await code_of(alice.node.witness.compare(later, signed)) == "log.rollback"
    assert await alice.refused() == "log.rollback"
    pass_ms(alice, 1_000)
    await alice.node.witness.renew()
    assert await alice.refused() == "capsule.copied"
    await alice.capture(name="fresh")
    assert await alice.refused("fresh") == ""


# --- giving away -------------------------------------------------------------------------------------------------------


async def test_a_peer_uses_what_it_was_given_and_the_issuer_counts(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/exchange.py, CapsuleExchange.on_use."""
    alice, bob = nodes
    await alice.capture(replays_max=2)
    await bob.take(await alice.give(bob))
    assert await bob.use() == CANARY
    assert (await alice.capsules.show(ShowParams(capsule="shop"))).uses == 1
    assert await alice.use() == CANARY
    assert await bob.refused() == "capsule.replays"


async def test_an_old_copy_of_the_file_resets_no_count(nodes: list[CapsuleNode]) -> None:
    """Guard: adapters/capsule_records.py, merged."""
    alice, bob = nodes
    kept = await alice.capture(replays_max=1)
    file = await alice.give(bob)
    await bob.take(file)
    await bob.use()
    await bob.capsules.remove(CapsuleParams(capsule=kept.id))
    bob = await bob.again()
    await bob.take(file)
    assert await bob.refused() == "capsule.replays"


async def test_offline_a_capsule_lives_no_longer_than_its_freshness_window(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules._reported."""
    alice, bob = nodes
    await alice.capture(fresh_s=3_600)
    await bob.take(await alice.give(bob))
    await alice.node.stop()
    pass_ms(bob, 3_000_000)
    assert await bob.refused() == ""
    pass_ms(bob, 700_000)
    assert await bob.refused() == "capsule.stale"


async def test_a_capsule_without_a_window_is_used_only_while_its_issuer_answers(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture(fresh_s=0)
    await bob.take(await alice.give(bob))
    assert await bob.refused() == ""
    await alice.node.stop()
    assert await bob.refused() == "capsule.stale"


async def test_a_revocation_reaches_its_holder_at_once(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    kept = await alice.capture()
    file = await alice.give(bob)
    await bob.take(file)
    closed: list[str] = []

    async def close(capsule_id: str) -> None:
        closed.append(capsule_id)

    bob.capsules.endings.follow(close)
    told = await alice.exchange.revoke(RevokeParams(capsule="shop"))
    assert (told.told, told.not_told, closed) == (("bob",), (), [kept.id])
    for node in nodes:
        assert [await node.refused(text) for text in (kept.id, "shop")] == ["capsule.revoked"] * 2
    await alice.capture()
    assert await alice.refused("shop") == "", "the name is free again"
    assert await code_of(bob.take(file)) == "capsule.revoked"


async def test_a_holder_that_was_not_reached_learns_of_the_revocation_when_it_wants_to_use(
    nodes: list[CapsuleNode],
) -> None:
    alice, bob = nodes
    kept = await alice.capture()
    await bob.take(await alice.give(bob))
    await bob.node.stop()
    assert (await alice.exchange.revoke(RevokeParams(capsule="shop"))).not_told == ("bob",)
    bob = await bob.again()
    assert [await bob.refused(text) for text in (kept.id, kept.id, "shop")] == ["capsule.revoked"] * 3


async def test_a_tenant_that_removed_the_capsule_or_withdrew_the_grant_refuses_its_use(
    nodes: list[CapsuleNode],
) -> None:
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    record = alice.node.peers.record(bob.node.id)
    assert record is not None
    await alice.node.store.put_peer(msgspec.structs.replace(record, grants={}))
    await alice.node.peers.load()
    assert await bob.refused() == "peer.scope"
    await alice.node.store.put_peer(record)
    await alice.node.peers.load()
    assert await bob.refused() == ""
    await alice.capsules.remove(CapsuleParams(capsule="shop"))
    assert await bob.refused() == "input.not_found"


async def test_only_the_node_that_captured_it_gives_changes_or_revokes_a_capsule(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    assert await code_of(bob.give(alice)) == "capsule.issuer"
    assert await code_of(bob.exchange.revoke(RevokeParams(capsule="shop"))) == "capsule.issuer"
    assert await code_of(bob.capture(replaces="shop")) == "capsule.issuer"


@pytest.mark.parametrize(
    ("rules", "machines", "code"),
    [
        ({"cross_installation": False}, ("m1", "m1"), "capsule.installation"),
        ({"cross_device": False}, ("m1", "m2"), "capsule.device"),
        ({"cross_device": False}, ("", ""), "capsule.device"),
        ({"cross_device": False}, ("m1", "m1"), ""),
        ({"consent": True}, ("m1", "m1"), "capsule.consent"),
    ],
    ids=str,
)
async def test_what_may_not_leave_is_refused_at_export_or_at_use(
    tmp_path: Path, rules: dict[str, Any], machines: tuple[str, str], code: str
) -> None:
    mesh = MemoryMesh()
    try:
        alice, bob = await two(mesh, tmp_path, machines=machines)
        await alice.capture(**rules)
        try:
            await bob.take(await alice.give(bob))
        except MeshError as error:
            assert error.code == code
        else:
            assert await bob.refused() == code
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_peer_without_the_grant_gets_and_gives_nothing(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/exchange.py, CapsuleExchange.check_granted."""
    alice, bob = nodes
    await alice.capture(origins=(SHOP,))
    file = await alice.give(bob)
    record = bob.node.peers.record(alice.node.id)
    assert record is not None
    await bob.node.store.put_peer(msgspec.structs.replace(record, grants={"capsule:offer": ("https://other.example",)}))
    await bob.node.peers.load()
    assert await code_of(bob.take(file)) == "peer.scope"
    record = alice.node.peers.record(bob.node.id)
    assert record is not None
    await alice.node.store.put_peer(msgspec.structs.replace(record, grants={}))
    await alice.node.peers.load()
    assert await code_of(alice.give(bob)) == "peer.scope"


async def test_the_copy_of_a_third_node_opens_nothing(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    alice, bob = nodes
    await alice.capture()
    file = await alice.give(bob)
    carol_node = await alice.node.mesh.add("carol")
    await alice.node.mesh.pair(alice.node, carol_node, GRANTS)
    carol = await CapsuleNode(carol_node, tmp_path / "carol").load()
    assert await code_of(carol.take(file)) == "capsule.recipient"


async def test_a_file_that_was_changed_is_refused(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    alice, bob = nodes
    await alice.capture()
    good = files.unpack((await alice.give(bob)).read_bytes())
    raw = cbor.decode_as(envelope.peek(good.envelope).payload, SealedPayload)
    forged = bob.node.identity.artefact(KIND_CAPSULE, "x", raw).envelope
    other = await alice.capture(name="other")
    proof = files.unpack((await alice.give(bob, other.id, file="other.capsule")).read_bytes()).proof
    changed = {
        "capsule.issuer": msgspec.structs.replace(good, envelope=forged),
        "capsule.truncated": msgspec.structs.replace(good, stream=good.stream[:-1]),
        "capsule.stream": msgspec.structs.replace(good, stream=good.stream[:-1] + bytes([good.stream[-1] ^ 1])),
        "log.invalid": msgspec.structs.replace(good, proof=proof),
        "envelope.signature": msgspec.structs.replace(
            good, envelope=good.envelope[:-1] + bytes([good.envelope[-1] ^ 1])
        ),
    }
    for code, file in changed.items():
        path = tmp_path / "changed.capsule"
        path.write_bytes(files.pack(file))
        assert await code_of(bob.take(path)) == code
    path.write_bytes(b"TMCAPSUL")
    assert await code_of(bob.take(path)) == "capsule.truncated"
    assert await bob.node.store.capsules() == []


# --- consent -----------------------------------------------------------------------------------------------------------


async def _consent(alice: CapsuleNode, to: str = "", **changes: Any) -> None:
    owner = bytes(ANNA.verify_key).hex()
    asked = await alice.exchange.terms(TermsParams(capsule="shop", to=to, owner=owner))
    said: dict[str, Any] = {
        "capsule": asked.capsule,
        "terms": bytes.fromhex(asked.terms),
        "expires_ms": asked.expires_ms,
    }
    key = changes.pop("key", ANNA)
    signed = seal_consent(Consent(**said | changes), key, now_s=alice.now_ms // 1000, unique=bytes(16))
    await alice.exchange.consent(ConsentParams(capsule="shop", to=to, owner=owner, signed=signed.hex()))


async def test_a_capsule_that_needs_consent_is_used_and_given_only_with_it(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.own(ANNA)
    await alice.capture(consent=True)
    assert await alice.refused() == "capsule.consent"
    await _consent(alice)
    assert await alice.use() == CANARY
    # A consent to uses here is none to an export.
    assert await code_of(alice.give(bob)) == "capsule.consent"
    await _consent(alice, to="bob")
    kept = await bob.take(await alice.give(bob))
    assert kept.owner and await bob.use() == CANARY
    # Newer state needs no new one.
    await alice.capture(replaces="shop", value="newer")
    assert await alice.use() == "newer"


async def test_a_consent_of_nobody_or_to_something_else_is_refused(nodes: list[CapsuleNode]) -> None:
    """Guard: protocol/capsule/artefacts.py, consent_until_ms."""
    alice, _ = nodes
    await alice.capture(consent=True)
    assert await code_of(_consent(alice)) == "owner.refused"
    await alice.own(ANNA)
    assert await code_of(_consent(alice, terms=bytes(32))) == "capsule.consent"
    assert await code_of(_consent(alice, key=SigningKey(bytes(32)))) == "capsule.consent"
    assert await code_of(_consent(alice, expires_ms=alice.now_ms - 1)) == "capsule.consent"
    assert await alice.refused() == "capsule.consent"


async def test_the_consent_of_an_owner_whose_key_was_revoked_is_over(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/kept.py, Kept.consent_until_ms."""
    alice, bob = nodes
    await alice.own(ANNA)
    await alice.capture(consent=True)
    await _consent(alice)
    await _consent(alice, to="bob")
    await bob.take(await alice.give(bob))
    other = SigningKey(bytes([9]) * 32)
    for act, name, key, by in (("add", "ben", other, ANNA), ("revoke", "anna", ANNA, other)):
        change = alice.owners.owners.change(act, name, bytes(key.verify_key))  # type: ignore[arg-type]
        signed = sign_change(change, by, now_s=alice.now_ms // 1000, unique=bytes(16))
        await alice.owners.change(ChangeParams(by="owner", change=cbor.encode(change).hex(), signed=signed.hex()))
    assert await alice.refused() == "capsule.consent"
    assert await bob.refused() == "capsule.consent"
    assert await code_of(alice.give(bob)) == "capsule.consent"


# --- sealing keys --------------------------------------------------------------------------------------------------------


async def test_a_sealing_key_is_renewed_in_time_and_destroyed_when_it_ends(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/sealing_keys.py, SealingKeys.sweep."""
    alice, bob = nodes
    await alice.capture(expires_s=90 * 86_400)
    await bob.take(await alice.give(bob))
    first = {path.name for path in (bob.home / "sealing").iterdir()}
    pass_ms(alice, 20 * DAY_MS)
    bob, alice = await bob.again(), await alice.again()
    await bob.keys.current()
    assert await bob.use() == CANARY
    pass_ms(alice, 11 * DAY_MS)
    bob, alice = await bob.again(), await alice.again()
    assert await bob.refused() == "capsule.key_ended"
    left = {path.name for path in (bob.home / "sealing").iterdir()}
    assert left and not left & first
    # Its own capsules were sealed to the next key.
    assert await alice.use() == CANARY
    await bob.take(await alice.give(bob))
    assert await bob.use() == CANARY


async def test_a_sealing_key_opens_only_under_the_witness_key_of_its_node(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/sealing_keys.py, SealingKeys._write."""
    alice, bob = nodes
    await alice.capture()
    shutil.rmtree(bob.home / "sealing", ignore_errors=True)
    shutil.copytree(alice.home / "sealing", bob.home / "sealing")
    stolen = await bob.again()
    assert not stolen.keys._keys
    seed = bytes(alice.node.identity.key)
    for path in (alice.home / "sealing").iterdir():
        assert path.stat().st_mode & 0o077 == 0 and seed not in path.read_bytes()
        for key in alice.keys._keys.values():
            assert key.private.private_bytes_raw() not in path.read_bytes()


async def test_sealing_keys_follow_the_witness_key(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    await alice.capture()
    old, new = alice.node.identity.key, SigningKey(bytes([77]) * 32)
    alice.keys.rewrap([old, new])
    assert await (await alice.again()).use() == CANARY
    alice.keys.rewrap([new])
    assert await (await alice.again()).refused() == "capsule.key_ended"


async def test_an_export_that_cannot_be_written_is_an_error(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    alice, _ = nodes
    await alice.capture()
    given = ExportParams(capsule="shop", to="bob", out=str(tmp_path))
    assert await code_of(alice.exchange.export(given)) == "input.invalid"
    assert limits.CAPSULE_FILE_BYTES_MAX > limits.CAPSULE_STATE_BYTES_MAX


# --- an edited store -----------------------------------------------------------------------------------------------------


async def test_uses_are_counted_by_the_witness_log_where_the_row_of_the_ledger_is_gone_or_edited(
    nodes: list[CapsuleNode],
) -> None:
    """Guard: node/capsules/seal/kept.py, Kept.recount."""
    alice, _ = nodes
    kept = await alice.capture(replays_max=2)
    await alice.use()
    await alice.use()
    stored = alice.node.store
    whole = stored._rows[kept.id]
    fewer = pack(msgspec.structs.replace(unpack(whole, LedgerRecord), uses={}))
    for row in ({}, {kept.id: fewer}):
        stored._rows = dict(row)
        alice = await alice.again()
        assert await alice.refused() == "capsule.replays"
        assert (await alice.capsules.show(ShowParams(capsule="shop"))).uses == 2


async def test_a_revoked_capsule_that_is_put_back_stays_revoked(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules.using."""
    alice, _ = nodes
    await alice.capture()
    stored = alice.node.store
    kept = dict(stored._capsules)
    await alice.exchange.revoke(RevokeParams(capsule="shop"))
    stored._capsules, stored._rows = kept, {}
    alice = await alice.again()
    assert await alice.refused() == "capsule.revoked"


# --- a clock that was ahead ----------------------------------------------------------------------------------------------


async def accept(node: CapsuleNode) -> AcceptedClock:
    """The owner of the node says that its clock is right now."""
    parts = node.node
    approvals = Approvals(parts.witness, parts.store, parts.mesh.clock, node.owners)
    rooms = SimpleNamespace(
        clock=parts.mesh.clock,
        witness=parts.witness,
        store=parts.store,
        identity=parts.witness.identity,
        sealed=SimpleNamespace(capsules=node.capsules),
        approvals=approvals,
    )
    return await ClockVerbs(cast(Any, rooms)).accept()


async def test_a_clock_that_was_ahead_can_be_accepted_and_gives_nothing_back(nodes: list[CapsuleNode]) -> None:
    """Guard: protocol/clock.py, over_at."""
    alice, _ = nodes
    assert await code_of(accept(alice)) == "input.invalid", "nothing to accept"
    whole = await alice.capture(name="whole", expires_s=30 * 86_400, replays_max=3)
    short = await alice.capture(name="short", expires_s=86_400)
    factor = await alice.capture(name="factor", expires_s=30 * 86_400, mfa_s=3_600, mfa_now=True)
    for name in ("whole", "short", "factor"):
        await alice.use(name)
    pass_ms(alice, 10 * DAY_MS)  # it jumps ahead …
    assert [await alice.refused(name) for name in ("whole", "short", "factor")] == [
        "",
        "capsule.expired",
        "capsule.mfa",
    ]
    late = await alice.capture(name="late")
    pass_ms(alice, -10 * DAY_MS)  # … and is set right
    every = ("whole", "short", "factor", "late")
    assert [await alice.refused(name) for name in every] == ["capsule.clock"] * 4
    told = {each.id: each.why == "" for each in await ahead(alice.capsules.kept, alice.now_ms)}
    assert told == {whole.id: True, short.id: False, factor.id: False, late.id: False}
    found = await accept(alice)
    assert found.capsules == (whole.id,)
    assert 0 <= 10 * DAY_MS - (found.from_ms - found.to_ms) < DAY_MS
    assert {each.id: each.why for each in found.blocked} == {
        short.id: "it had expired",
        factor.id: "its second factor was too old",
        late.id: "it was sealed while the clock was ahead",
    }
    (kept,) = await alice.node.store.artefacts(kind=KIND_CLOCK)
    assert await alice.node.store.log_leaf(kept.digest), "in the witness log"
    assert await alice.use("whole") == CANARY
    assert await alice.refused("whole") == "capsule.replays", "three, with those before"
    assert [await alice.refused(name) for name in every[1:]] == ["capsule.clock"] * 3


async def test_what_was_refused_as_expired_stays_so_with_the_clock_set_back(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules.using."""
    alice, _ = nodes
    await alice.capture(expires_s=3_600)
    pass_ms(alice, 1_800_000)
    await alice.use()
    pass_ms(alice, 1_800_000)
    assert await alice.refused() == "capsule.expired"
    for back_ms in (600_000, 2_000_000):
        pass_ms(alice, -back_ms)
        assert await alice.refused() == "capsule.clock"
        assert (await accept(alice)).capsules == ()
        assert await alice.refused() == "capsule.clock"
        pass_ms(alice, back_ms)


async def test_a_capsule_of_a_peer_is_asked_for_once_the_clock_was_accepted(nodes: list[CapsuleNode]) -> None:
    """Guard: adapters/capsule_records.py, set_back."""
    alice, bob = nodes
    await alice.capture(fresh_s=20 * 86_400, expires_s=30 * 86_400)
    await bob.take(await alice.give(bob))
    pass_ms(bob, 10 * DAY_MS)
    await bob.use()
    pass_ms(bob, -10 * DAY_MS)
    await alice.node.stop()
    assert len((await accept(bob)).capsules) == 1
    assert await bob.refused() == "capsule.stale"


# --- another policy --------------------------------------------------------------------------------------------------------


async def test_a_narrower_policy_is_the_next_generation_and_ends_copies_and_consents(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.own(ANNA)
    kept = await alice.capture(replays_max=5)
    await _consent(alice)
    await bob.take(await alice.give(bob))
    assert [await alice.refused(), await bob.refused()] == ["", ""]
    changed = await Repolicy(alice.capsules).change(
        ChangePolicyParams(capsule="shop", tasks=("replay",), class_max=1, replays_max=4)
    )
    assert (changed.widened, changed.to_give_anew) == ((), ("bob",))
    assert (changed.consents, changed.capsule.generation, changed.capsule.uses) == (1, kept.generation + 1, 2)
    assert await bob.refused() == "capsule.generation"
    assert [await alice.refused(level=2), await alice.refused(level=1, task="live")] == [
        "capsule.class",
        "capsule.task",
    ]
    assert await alice.use(level=1) == CANARY
    assert await alice.refused(level=1) == "capsule.replays", "counts stay"
    await bob.take(await alice.give(bob, file="again.capsule"))
    assert await bob.refused(level=1) == "capsule.replays"


async def test_an_agent_lists_the_logins_that_it_was_granted_and_nothing_of_them(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules.granted."""
    alice, _ = nodes
    kept = await alice.capture(consent=False)
    mine = Caller(kind=CallerKind.AGENT, name="shopper", capsules=((kept.id, ("replay",)),), since_ms=alice.now_ms)
    none = msgspec.structs.replace(mine, capsules=())
    before = msgspec.structs.replace(mine, since_ms=-1)
    for caller, work in ((mine, ("replay",)), (OWNER, AGENT_TASKS)):
        (one,) = (await alice.capsules.granted(caller)).capsules
        assert (one.id, one.name, one.work, one.origins) == (kept.id, "shop", work, (SHOP,))
        assert set(one.__struct_fields__) == {"id", "name", "origins", "work", "expires_ms"}
    for caller in (none, before):
        assert (await alice.capsules.granted(caller)).capsules == (), "not granted, or no longer"


async def test_a_wider_policy_says_so_and_ends_consents_grants_and_offers(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/mount/mounting.py, Mounting._granted. Guard: node/capsules/seal/repolicy.py, Repolicy.change."""
    alice, _ = nodes
    await alice.own(ANNA)
    kept = await alice.capture(class_max=2, consent=True)
    await _consent(alice)
    assert await alice.refused() == ""
    await alice.handles.offer(OfferParams(capsule="shop", to="bob"))
    agent = Caller(kind=CallerKind.AGENT, name="shopper", capsules=((kept.id, ("replay",)),), since_ms=alice.now_ms)
    mounting = Mounting(alice.capsules)
    with called_by(agent):
        assert (await mounting._granted("shop", "replay")).id == kept.id
    assert await alice.capsules.kept.grants(kept.id, agent.since_ms)
    pass_ms(alice, 1_000)
    changing = Repolicy(alice.capsules)
    with pytest.raises(MeshError) as refused:
        await changing.change(ChangePolicyParams(capsule="shop", class_max=4))
    assert (refused.value.code, refused.value.detail["fields"]) == ("input.invalid", ["class_max"])
    changed = await changing.change(ChangePolicyParams(capsule="shop", class_max=4, widen=True))
    assert (changed.widened, changed.consents) == (("class_max",), 1)
    assert await alice.refused() == "capsule.consent"
    with called_by(agent), pytest.raises(MeshError) as outdated:
        await mounting._granted("shop", "replay")
    assert outdated.value.code == "caller.refused"
    assert not await alice.capsules.kept.grants(kept.id, agent.since_ms)
    record = await alice.node.store.capsule(kept.id)
    assert record is not None and record.offered == ()
    # Back to the old policy: the consent of then does not come back.
    await changing.change(ChangePolicyParams(capsule="shop", class_max=2))
    assert await alice.refused() == "capsule.consent"
    await _consent(alice)
    assert await alice.refused() == ""
    with called_by(msgspec.structs.replace(agent, since_ms=alice.now_ms)):
        assert (await mounting._granted("shop", "replay")).id == kept.id
