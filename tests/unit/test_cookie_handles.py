"""Cookie handles on two nodes: what is offered and answered, and which attestations are accepted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from node.verbs.capsules.capsule import ConsentParams, ShowParams, TermsParams
from node.verbs.capsules.capsule_handle import OfferParams, RequestedCapsule, RequestParams
from node.verbs.capsules.capsule_upkeep import RevokeParams
from protocol import limits
from protocol.capsule import file as files
from protocol.capsule.artefacts import Consent, seal_consent
from protocol.capsule.attestation import KIND_ATTESTATION, Attestation, Attested
from protocol.capsule.handle import is_handle
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.messages import CookiesAsk, CookiesTell
from protocol.trust.grants import parse_grants
from protocol.wire import cbor, envelope
from tests.canaries import found_in
from tests.capsule_nodes import GRANTS, CapsuleNode, two
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import MemoryMesh

TRUSTING = {**GRANTS, **parse_grants([f"attest:consume={SHOP}"])}
ANNA = SigningKey(bytes([3]) * 32)
WAIT_S = 0.5
"""Longer than an offer or an answer takes that waits for nothing."""


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        found = await two(mesh, tmp_path)
        await mesh.pair(found[0].node, found[1].node, TRUSTING)
        yield found
    finally:
        for node in mesh.nodes:
            await node.stop()


async def offer(alice: CapsuleNode, bob: CapsuleNode, **more: Any) -> tuple[str, ...]:
    """Alice offers the cookies of her capsule to Bob; who may request them now."""
    return (await alice.handles.offer(OfferParams(capsule="shop", to=bob.node.name, **more))).offered


async def request(bob: CapsuleNode, alice: CapsuleNode, origin: str = SHOP) -> RequestedCapsule:
    """Bob requests the cookies of Alice's login."""
    return await bob.handles.request(RequestParams(peer=alice.node.name, origin=origin))


async def refused(waiting: Awaitable[object]) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await waiting
    return caught.value


async def grant(of: CapsuleNode, to: CapsuleNode, *texts: str) -> None:
    """``of`` grants ``to`` these scopes and no others."""
    record = of.node.peers.record(to.node.id)
    assert record is not None
    await of.node.store.put_peer(msgspec.structs.replace(record, grants=parse_grants(texts)))
    await of.node.peers.load()


async def test_a_peer_gets_the_cookies_that_it_was_offered_and_nothing_else(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    kept = await alice.capture(origins=(SHOP,), replays_max=3)
    assert await offer(alice, bob) == ("bob",)
    assert (await alice.capsules.show(ShowParams(capsule="shop"))).offered == (bob.node.id,)
    got = await request(bob, alice)
    assert (got.id, got.generation, got.tenant_name, got.attested_by) == (kept.id, 1, "alice", "alice")
    assert [(each.cookies, each.local, each.databases) for each in got.origins] == [(1, 0, 0)]
    assert got.weak == (
        "no-host-prefix: 1 of shop.example",
        "no-http-only: 1 of shop.example",
        "no-same-site: 1 of shop.example",
    )
    record = await bob.node.store.capsule(kept.id)
    assert record is not None
    state = await bob.capsules.kept.state(record)
    assert state == CapsuleState(cookies=state.cookies) and await bob.use() == CANARY
    # One login, one ledger: what Bob uses counts at Alice, and together they have three.
    row = await alice.node.store.ledger(kept.id)
    assert row is not None and row.uses == {bob.node.id: 1}
    assert [await alice.refused(), await alice.refused(), await bob.refused()] == ["", "", "capsule.replays"]
    told = await alice.exchange.revoke(RevokeParams(capsule="shop"))
    assert told.told == ("bob",) and await bob.node.store.capsules() == []


async def test_newer_cookies_are_requested_again_and_one_attestation_serves_a_generation(
    nodes: list[CapsuleNode],
) -> None:
    alice, bob = nodes
    kept = await alice.capture(origins=(SHOP,))
    await offer(alice, bob)
    first, again = await request(bob, alice), await request(bob, alice)
    assert (first.id, again.generation) == (again.id, 1)
    found = await alice.node.store.artefacts(subject=f"{kept.id}.1.cookies", kind=KIND_ATTESTATION)
    assert len(found) == 1
    record = await alice.node.store.capsule(kept.id)
    assert record is not None
    await alice.capsules.renew_state(kept.id, await alice.capsules.kept.state(record))
    assert await bob.refused() == "capsule.generation"
    assert (await request(bob, alice)).generation == 2
    assert await bob.use() == CANARY


async def test_without_an_offer_a_grant_or_trust_nothing_is_answered(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/handles.py, CookieHandles._offered.

    Every refusal before the last one is also what Bob is told who asks for what is not there.
    """
    alice, bob = nodes
    assert (await refused(request(bob, alice))).code == "capsule.not_offered"
    await alice.capture(origins=(SHOP,))
    assert (await refused(request(bob, alice))).code == "capsule.not_offered"
    await offer(alice, bob)
    assert (await refused(request(bob, alice, "https://other.example"))).code == "peer.scope"
    assert (await refused(request(bob, alice, "nothing"))).code == "input.invalid"
    assert await offer(alice, bob, withdraw=True) == ()
    assert (await refused(request(bob, alice))).code == "capsule.not_offered"
    await offer(alice, bob)
    await alice.handles.drop_peer(bob.node.id)
    assert (await refused(request(bob, alice))).code == "capsule.not_offered"
    assert await bob.node.store.capsules() == []
    assert [each.kind for each in await alice.node.store.log_leaves(0)].count("capsule") == 1


async def test_a_grant_that_was_taken_back_outweighs_the_offer(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/handles.py, CookieHandles.on_request."""
    alice, bob = nodes
    other = "https://other.example"
    await grant(alice, bob, f"capsule:import={SHOP},{other}")
    await grant(bob, alice, *(f"{scope}={SHOP},{other}" for scope in ("capsule:offer", "attest:consume")))
    await alice.capture(origins=(SHOP, other))
    await offer(alice, bob)
    # The origin that is asked for is covered still, and the capsule is for another one too.
    await grant(alice, bob, f"capsule:import={SHOP}")
    assert (await refused(request(bob, alice))).code == "peer.scope"
    assert (await refused(offer(alice, bob))).code == "peer.scope"


async def test_what_may_not_leave_is_not_offered_and_what_has_ended_is_not_told(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture(origins=(SHOP,), cross_installation=False)
    assert (await refused(offer(alice, bob))).code == "capsule.installation"
    await alice.capture(origins=(SHOP,), name="other", expires_s=3_600)
    await alice.handles.offer(OfferParams(capsule="other", to="bob"))
    alice.node.mesh.clock.ahead_ms += 3_600_000
    assert (await refused(request(bob, alice))).code == "capsule.not_offered"


async def test_an_older_login_is_answered_once_the_newest_has_ended(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    older = await alice.capture(origins=(SHOP,), expires_s=7_200)
    await offer(alice, bob)
    alice.node.mesh.clock.ahead_ms += 1_000
    newest = await alice.capture(origins=(SHOP,), name="other", expires_s=3_600)
    await alice.handles.offer(OfferParams(capsule="other", to="bob"))
    assert (await request(bob, alice)).id == newest.id
    alice.node.mesh.clock.ahead_ms += 3_600_000
    assert (await request(bob, alice)).id == older.id


async def test_an_offer_waits_for_whoever_stores_the_capsule(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/handles.py, CookieHandles.offer.

    Each stores the whole record: an offer between would undo that the capsule was exported, and to whom.
    """
    alice, bob = nodes
    kept = await alice.capture(origins=(SHOP,))
    async with alice.capsules.changing:
        offering = asyncio.create_task(offer(alice, bob))
        assert not (await asyncio.wait({offering}, timeout=WAIT_S))[0]
        await alice.exchange.left(kept.id, bob.node.id)
    assert await offering == ("bob",)
    record = await alice.node.store.capsule(kept.id)
    assert record is not None and (record.offered, record.exported) == ((bob.node.id,), (bob.node.id,))


async def test_an_offer_that_ends_while_its_answer_waits_is_not_answered(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/handles.py, CookieHandles.on_request."""
    alice, bob = nodes
    kept = await alice.capture(origins=(SHOP,))
    await offer(alice, bob)
    async with alice.capsules.changing:
        asking = asyncio.create_task(refused(request(bob, alice)))
        assert not (await asyncio.wait({asking}, timeout=WAIT_S))[0]
        record = await alice.node.store.capsule(kept.id)
        assert record is not None
        await alice.capsules.kept.note(record, offered=())
    assert (await asking).code == "capsule.not_offered"


async def test_a_peer_is_answered_only_so_often(nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: node/capsules/exchange/handles.py, CookieHandles._count."""
    monkeypatch.setattr(limits, "COOKIES_PER_HOUR_MAX", 3)
    alice, bob = nodes
    await alice.capture(origins=(SHOP,))
    await offer(alice, bob)
    for _ in range(3):
        await request(bob, alice)
    assert (await refused(request(bob, alice))).code == "peer.limit"
    alice.node.mesh.clock.ahead_ms += 3_600_000
    assert (await request(bob, alice)).generation == 1


async def test_a_consent_to_the_capsule_covers_its_cookies(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.own(ANNA)
    await alice.capture(origins=(SHOP,), consent=True, class_max=2)
    await offer(alice, bob)
    assert (await refused(request(bob, alice))).code == "capsule.consent"
    owner = bytes(ANNA.verify_key).hex()
    terms = await alice.exchange.terms(TermsParams(capsule="shop", to="bob", owner=owner))
    said = Consent(capsule=terms.capsule, terms=bytes.fromhex(terms.terms), expires_ms=terms.expires_ms)
    signed = seal_consent(said, ANNA, now_s=alice.now_ms // 1000, unique=bytes(16)).hex()
    await alice.exchange.consent(ConsentParams(capsule="shop", to="bob", owner=owner, signed=signed))
    assert (await request(bob, alice)).owner != ""


async def test_the_whole_login_is_not_replaced_by_its_cookies(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture(origins=(SHOP,))
    await bob.take(await alice.give(bob))
    await offer(alice, bob)
    assert (await refused(request(bob, alice))).code == "input.invalid"


# --- attestations ------------------------------------------------------------------------------------------------------


async def test_an_attestation_counts_exactly_if_its_signer_is_trusted_for_that(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/handles.py, CookieHandles._accept."""
    alice, bob = nodes
    other = "https://other.example"
    await grant(alice, bob, f"capsule:import={SHOP},{other}")
    await alice.capture(origins=(SHOP, other))
    await offer(alice, bob)
    for texts in ((f"capsule:offer={SHOP},{other}",), (f"capsule:offer={SHOP},{other}", f"attest:consume={SHOP}")):
        await grant(bob, alice, *texts)
        error = await refused(request(bob, alice))
        assert error.code == "peer.scope" and "attest:consume" in str(error)
        assert await bob.node.store.capsules() == []
    await grant(bob, alice, f"capsule:offer={SHOP},{other}", f"attest:consume={SHOP},{other}")
    assert (await request(bob, alice)).attested_by == "alice"


def _answers(alice: CapsuleNode, change: Callable[[CookiesTell], CookiesTell]) -> None:
    """Alice's node answers otherwise than ours would."""

    async def other(caller: str, ask: CookiesAsk) -> CookiesTell:
        return change(await alice.handles.on_request(caller, ask))

    alice.node.api.serve("capsule/cookies", other)


@pytest.mark.parametrize(
    ("how", "because"),
    [("empty", "envelope."), ("moved", "handle"), ("foreign", "issuer"), ("kinder", "found"), ("older", "handle")],
)
async def test_cookies_whose_attestation_does_not_hold_are_refused_and_warned_of(
    nodes: list[CapsuleNode], how: str, because: str
) -> None:
    """Guard: protocol/capsule/handle.py, check_handle."""
    alice, bob = nodes
    await alice.capture(origins=(SHOP,))
    await offer(alice, bob)

    def change(told: CookiesTell) -> CookiesTell:
        said = cbor.decode_as(envelope.peek(told.attestation).payload, Attestation)
        signer = bob if how == "foreign" else alice
        if how == "moved":
            said = msgspec.structs.replace(said, handle=bytes(32))
        elif how == "older":
            said = msgspec.structs.replace(said, generation=2)
        elif how == "kinder":
            said = msgspec.structs.replace(said, found=(Attested(kind="no-secure", host="shop.example", count=1),))
        sealed = b"" if how == "empty" else signer.node.identity.artefact(KIND_ATTESTATION, "x", said).envelope
        return msgspec.structs.replace(told, attestation=sealed)

    _answers(alice, change)
    error = await refused(request(bob, alice))
    assert error.code == "capsule.attestation" and error.detail["node"] == alice.node.id
    assert str(error.detail["because"]).startswith(because)
    assert await bob.node.store.capsules() == []
    (row,) = [each for each in await bob.node.store.audit_lines() if each.what == "capsule.attestation_refused"]
    assert SHOP.encode() in row.line and not found_in(row.line, {"cookie": CANARY.encode()})


async def test_an_answer_that_holds_more_than_cookies_is_refused(nodes: list[CapsuleNode]) -> None:
    """Guard: protocol/capsule/handle.py, check_handle."""
    alice, bob = nodes
    await alice.capture(origins=(SHOP,))
    await offer(alice, bob)
    whole = (await alice.give(bob)).read_bytes()
    assert not is_handle(files.open_file(files.unpack(whole), bob.node.peers.find_key).header)
    _answers(alice, lambda told: msgspec.structs.replace(told, file=whole))
    error = await refused(request(bob, alice))
    assert (error.code, error.detail["because"]) == ("capsule.attestation", "contents")


async def test_a_login_of_another_site_is_not_taken_for_the_one_that_was_requested(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    other = "https://other.example"
    for of, to in ((alice, bob), (bob, alice)):
        every = [f"{scope}={SHOP},{other}" for scope in ("capsule:import", "capsule:offer", "attest:consume")]
        await grant(of, to, *every)
    await alice.capture(origins=(SHOP,))
    await offer(alice, bob)

    async def another(caller: str, ask: CookiesAsk) -> CookiesTell:
        return await alice.handles.on_request(caller, msgspec.structs.replace(ask, origin=SHOP))

    alice.node.api.serve("capsule/cookies", another)
    assert (await refused(request(bob, alice, other))).code == "capsule.origin"


async def test_the_answer_is_sealed_to_the_key_of_the_asker_only(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture(origins=(SHOP,))
    await offer(alice, bob)
    foreign = (await alice.keys.current()).certificate
    ask = CookiesAsk(origin=SHOP, certificate=foreign)
    assert (await refused(alice.handles.on_request(bob.node.id, ask))).code == "capsule.issuer"
