"""The verbs of witness logs: what is shown of a log, what is proved and how, and what an audit says."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.cosigned_records import COSIGNED
from node.log.verbs import Logs
from node.verbs.nodes.log import PeerAudit, ShownCosignature, ShownLog
from node.verbs.nodes.node import PeerLog
from protocol import ids
from protocol.errors import MeshError
from protocol.log import log_proof
from protocol.messages import LogProveAsk, LogProven
from protocol.recording.records.bundle import KIND, write_bundle
from protocol.recording.records.session import Session
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.session_samples import SESSION_ID, sample_manifest, sample_session, sample_steps
from tests.unit.test_log_exchange import TwoFaced, code_of
from tests.unit.test_log_standing import room


@pytest.fixture
async def two() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno") as nodes:
        yield nodes


async def refusal(call: object) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await call  # type: ignore[misc]
    return caught.value


async def lie(liar: TwoFaced, to: MemoryNode) -> None:
    """Show ``to`` two histories."""
    for signed in (2, 4):
        await liar.show(to, signed=signed)
        try:
            await to.log_exchange.sync(liar.node.id)
        except MeshError as error:
            assert error.code == "log.equivocation"
    assert to.log_exchange.peer_logs.proof(liar.node.id)


def logs(node: MemoryNode) -> Logs:
    return room(node)


# --- show ------------------------------------------------------------------------------------------------------------


async def test_the_own_log_is_shown_with_the_cosignatures_of_peers(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await anna.witness.artefact("delta", "sea-1", b"x")
    await anna.log_exchange.sync(bruno.id)
    now = anna.witness.log
    (cosigned,) = await anna.store.rows(COSIGNED).find()
    assert await logs(anna).show("", "") == ShownLog(
        log=f"trailmesh/{anna.id}/0",
        node=anna.id,
        name="anna",
        size=2,
        root=now.checkpoint.root.hex(),
        checkpoint=now.signed.encode().decode(),
        cosignatures=(ShownCosignature(node=bruno.id, name="bruno", size=2, time_s=cosigned.time_s),),
        rollback=False,
    )
    await anna.witness.renew()
    shown = await logs(anna).show("", "")
    assert (shown.log, shown.size, shown.cosignatures) == (f"trailmesh/{anna.id}/1", 1, ())
    anna.witness._lost.append(now.signed.encode())
    assert (await logs(anna).show("", "")).rollback
    assert logs(anna).status()["log_rollback"] is True


async def test_of_a_peer_what_is_held_is_shown(two: list[MemoryNode], tmp_path: Path) -> None:
    anna, bruno = two
    assert await logs(anna).show("bruno", "") == ShownLog(log="", node=bruno.id, name="bruno")
    nothing = PeerLog(number=None, size=0, shown="", since_ms=0, current_ms=0, renewed_ms=0, restored=False, trouble="")
    assert logs(anna).describe(bruno.id) == nothing
    await bruno.witness.artefact("delta", "sea-1", b"x")
    await anna.log_exchange.sync(bruno.id)
    held = anna.log_exchange.peer_logs.held(bruno.id)
    assert held is not None
    assert await logs(anna).show("bruno", "") == ShownLog(
        log=f"trailmesh/{bruno.id}/0",
        node=bruno.id,
        name="bruno",
        size=2,
        root=held[0].root.hex(),
        checkpoint=held[1].encode().decode(),
    )
    described = logs(anna).describe(bruno.id)
    assert (described.number, described.size, described.shown, described.trouble) == (0, 2, "current", "")
    assert described.since_ms == anna.log_exchange.peer_logs.watch.of(bruno.id).since_ms > 0
    assert described.current_ms >= described.since_ms
    error = await refusal(logs(anna).show("bruno", str(tmp_path / "proof")))
    assert (error.code, error.message) == (
        "input.not_found",
        "bruno has not signed two histories as far as this node knows",
    )
    assert (await refusal(logs(anna).show("carla", ""))).code == "input.not_found"


async def test_a_proof_of_two_histories_is_written_for_others(two: list[MemoryNode], tmp_path: Path) -> None:
    anna, bruno = two
    await lie(TwoFaced(bruno), anna)
    out = tmp_path / "proof.json"
    shown = await logs(anna).show("bruno", str(out))
    assert (shown.frozen, shown.out, shown.size) == ("log.equivocation", str(out), 3)
    assert out.read_bytes() == anna.log_exchange.peer_logs.proof(bruno.id)
    assert log_proof.check(log_proof.decode(out.read_bytes())).node == bruno.id
    assert logs(anna).status() == {
        "log": f"trailmesh/{anna.id}/0",
        "log_size": anna.witness.log.checkpoint.size,
        "log_rollback": False,
        "peers_frozen": 1,
        "peers_silent": 0,
    }
    (tmp_path / "file").touch()
    error = await refusal(logs(anna).show("bruno", str(tmp_path / "file" / "below")))
    assert (error.code, "cannot be written" in error.message) == ("input.invalid", True)
    await anna.changes.distrust(bruno.id, "")
    anna.log_exchange.peer_logs.forget(bruno.id)
    assert await logs(anna).show("bruno", "") == ShownLog(
        log="", node=bruno.id, name="bruno", frozen="log.equivocation"
    ), "of whoever it once paired with"


# --- prove -----------------------------------------------------------------------------------------------------------


async def recorded(node: MemoryNode) -> Session:
    """A session of ``node``, signed."""
    steps, blobs = sample_steps()
    session = msgspec.structs.replace(sample_session(steps), node=node.id)
    manifest = sample_manifest(steps, blobs)
    signed = await node.witness.artefact(KIND, session.id, hashlib.sha256(manifest).digest())
    await node.store.commit_session(session, [signed])
    return session


async def test_an_artefact_is_proved_by_session_or_by_digest(two: list[MemoryNode], tmp_path: Path) -> None:
    anna, _ = two
    await recorded(anna)
    (signed,) = await anna.store.artefacts(subject=SESSION_ID)
    out = tmp_path / "proof"
    for target in (SESSION_ID, SESSION_ID.replace("ses", "SES"), signed.digest.hex(), signed.digest.hex().upper()):
        found = await logs(anna).prove(target, str(out))
        assert (found.proof.digest, found.proof.index, found.finding.node, found.out) == (
            signed.digest,
            1,
            anna.id,
            str(out),
        )
        assert log_proof.decode(out.read_bytes()) == found.proof
        out.unlink()
    assert (await logs(anna).prove(signed.digest.hex(), "")).out == ""
    assert not out.exists()
    assert await code_of(logs(anna).prove("00" * 32, "")) == "log.not_logged"
    assert await code_of(logs(anna).prove(ids.make_id("ses", bytes(13)), "")) == "input.not_found"
    for neither in ("0" * 63, "g" * 64, "0" * 65):
        error = await refusal(logs(anna).prove(neither, ""))
        assert (error.code, error.message) == (
            "input.no_file",
            f"{neither} cannot be read: No such file or directory",
        )
        assert error.detail == {"path": neither}


async def test_a_bundle_is_proved_by_its_signer(two: list[MemoryNode], tmp_path: Path) -> None:
    anna, bruno = two
    steps, blobs = sample_steps()
    manifest = sample_manifest(steps, blobs).replace(sample_session(steps).node.encode(), bruno.id.encode())
    signed = await bruno.witness.artefact(KIND, SESSION_ID, hashlib.sha256(manifest).digest())
    path = tmp_path / "mugs.tmsession"
    with path.open("wb") as file:
        write_bundle(file, signature=signed.envelope, manifest=manifest, steps=steps, read_blob=blobs.__getitem__)
    found = await logs(anna).prove(str(path), "")
    assert (found.proof.digest, found.finding.node) == (signed.digest, bruno.id)


@pytest.mark.parametrize("wrong", ["digest", "signer", "kind"])
async def test_a_proof_of_a_peer_must_be_of_what_was_asked(two: list[MemoryNode], wrong: str) -> None:
    anna, bruno = two
    made = await bruno.witness.artefact("session", "ses-1", b"x")
    other = await bruno.witness.artefact("session", "ses-2", b"y")
    await anna.store.put_artefact(made)
    assert (await logs(anna).prove(made.digest.hex(), "")).proof.signer.node == bruno.id
    proof = await bruno.witness.prove(other.digest if wrong == "digest" else made.digest)
    if wrong == "signer":
        proof = msgspec.structs.replace(proof, signer=msgspec.structs.replace(proof.signer, node=anna.id))
    data = log_proof.encode(proof)
    if wrong == "kind":
        await lie(TwoFaced(bruno), anna)
        data = anna.log_exchange.peer_logs.proof(bruno.id)
        anna.peers._frozen.clear()

    async def told(caller: str, ask: LogProveAsk) -> LogProven:
        return LogProven(proof=data)

    bruno.api.serve("log/prove", told)
    error = await refusal(logs(anna).prove(made.digest.hex(), ""))
    assert (error.code, error.message) == ("peer.protocol", "the peer's proof is about something else")
    with pytest.raises(MeshError) as caught:
        await anna.log_exchange.demand(bruno.id, made.digest)
    assert (caught.value.code, caught.value.message) == ("log.invalid", "the peer's proof is about something else")


# --- audit and renew -------------------------------------------------------------------------------------------------


async def test_an_audit_of_a_peer_tells_what_it_held_before_and_now(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await bruno.witness.artefact("delta", "sea-1", b"x")
    first = await logs(anna).audit_peer("bruno")
    assert first == PeerAudit(
        sound=True,
        node=bruno.id,
        standing="current",
        code="",
        log=f"trailmesh/{bruno.id}/0",
        size=2,
        root=bruno.witness.log.checkpoint.root.hex(),
        size_before=0,
        seen_ms=anna.log_exchange.peer_logs.watch.current_ms[bruno.id],
        renewed_ms=0,
        restored=False,
        name="bruno",
    )
    await bruno.witness.artefact("delta", "sea-1", b"y")
    second = await logs(anna).audit_peer("bruno")
    assert (second.size_before, second.size) == (2, 3)
    await bruno.witness.renew()
    third = await logs(anna).audit_peer("bruno")
    assert (third.size_before, third.size, third.log) == (0, 1, f"trailmesh/{bruno.id}/1")
    assert third.renewed_ms == anna.log_exchange.peer_logs.watch.of(bruno.id).renewed_ms > 0
    await bruno.stop()
    away = await logs(anna).audit_peer("bruno")
    assert (away.sound, away.standing, away.code, away.size, away.size_before) == (
        False,
        "unreachable",
        "peer.unreachable",
        1,
        1,
    )


async def test_an_audit_of_a_peer_fails_when_the_trouble_is_here(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await anna.log_exchange.sync(bruno.id)
    wrong = anna.witness.log.signed.encode()
    anna.witness._lost.append(wrong)

    async def rollback(caller: str, ask: object) -> msgspec.Struct:
        raise MeshError("log.rollback")

    bruno.api.serve("log/checkpoint", rollback)
    assert await code_of(logs(anna).audit_peer("bruno")) == "log.rollback"
    anna.witness._lost.clear()
    found = await logs(anna).audit_peer("bruno")
    assert (found.sound, found.code, found.standing) == (False, "log.rollback", "silent")
    bruno.server.trust({})
    assert await code_of(logs(anna).audit_peer("bruno")) == "peer.refused_us"
    assert await code_of(logs(anna).audit_peer("carla")) == "input.not_found"


async def test_a_renewed_log_is_cosigned_at_once_and_the_audit_covers_both(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await anna.witness.artefact("delta", "sea-1", b"x")
    await anna.log_exchange.sync(bruno.id)
    shown = await logs(anna).renew()
    assert (shown.log, shown.size) == (f"trailmesh/{anna.id}/1", 1)
    assert [(each.name, each.size) for each in shown.cosignatures] == [("bruno", 1)]
    held = bruno.log_exchange.peer_logs.held(anna.id)
    assert held is not None
    assert held[0].number == 1
    found = await logs(anna).audit()
    assert (found.sound, [each.size for each in found.logs], found.not_kept) == (True, [2, 1], {"delta": 1})


async def test_an_audit_asks_every_peer_first(two: list[MemoryNode]) -> None:
    anna, bruno = two
    assert anna.log_exchange.peer_logs.held(bruno.id) is None
    assert (await logs(anna).audit()).sound
    assert anna.log_exchange.peer_logs.held(bruno.id) is not None


def test_each_verb_has_its_handler(two: list[MemoryNode]) -> None:
    assert sorted(verb.name for verb in logs(two[0]).bound) == [
        "log.audit",
        "log.audit_peer",
        "log.prove",
        "log.renew",
        "log.show",
    ]
