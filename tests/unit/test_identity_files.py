"""The files of a node's identity: what is written, what is refused, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from nacl.signing import SigningKey

from adapters.keys.file import MemoryKeyStore
from node.signing import identity
from node.signing.identity import KEY_FILE, LOG_FILE, Identity
from node.signing.manifests import signed_manifest
from node.signing.recovery_file import check_recovery_file, default_recovery_file
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys import recovery
from protocol.messages import StatusAsk
from protocol.recording.records.bundle import KIND
from protocol.wire import envelope
from tests.key_logs import FIRST, SECOND, START_S, log_of, revoked, rotated
from tests.session_samples import SESSION_ID, sample_session, sample_steps
from tests.twins.clock import START_MS, ManualClock
from tests.twins.storage import MemoryStore

SEED = bytes(range(32))


class FullKeys(MemoryKeyStore):
    """A key store that takes nothing."""

    def save(self, seeds: object) -> None:
        """``adapters.ports.KeyStore.save``."""
        raise MeshError("store.full")


def refusal(call: object, *arguments: object) -> MeshError:
    assert callable(call)
    with pytest.raises(MeshError) as caught:
        call(*arguments)
    return caught.value


def made(home: Path) -> tuple[Identity, MemoryKeyStore]:
    """A stored identity."""
    own, keys = identity.create(ManualClock(), recovery.commitment(SEED)), MemoryKeyStore()
    identity.keep(home, own, keys)
    return own, keys


def test_an_identity_that_is_stored_is_loaded_again(tmp_path: Path) -> None:
    own, keys = made(tmp_path)
    assert (own.log.born_s, keys.load()) == (START_MS // 1000, (bytes(own.key),))
    again = identity.load(tmp_path, ManualClock(), keys)
    assert (again.node, again.public_key, again.genesis_key) == (own.node, own.public_key, own.public_key)
    assert again.log.encode() == own.log.encode()
    keys.save([bytes(SECOND), bytes(own.key)])
    assert identity.load(tmp_path, ManualClock(), keys).key == own.key, "the log says which of two is current"
    keys.save([bytes(SECOND)])
    error = refusal(identity.load, tmp_path, ManualClock(), keys)
    assert (error.code, error.detail) == ("store.corrupt", {"home": str(tmp_path)})


def test_two_identities_differ_and_a_log_says_which_recovery_key_was_meant(tmp_path: Path) -> None:
    one, other = [identity.create(ManualClock(seed=seed), recovery.commitment(SEED)) for seed in (1, 2)]
    assert one.node != other.node
    assert one.log.encode() != other.log.encode()


def test_a_home_holds_one_node(tmp_path: Path) -> None:
    identity.check_vacant(tmp_path)
    own, keys = made(tmp_path)
    error = refusal(identity.keep, tmp_path, own, keys)
    assert error.code == "node.already_initialised"
    assert error.message == (
        f"{tmp_path} holds a node whose witness key is missing: `trailmesh node recover` recovers it"
    )
    (tmp_path / KEY_FILE).touch(0o600)
    error = refusal(identity.keep, tmp_path, own, keys)
    assert (error.message, error.detail) == (f"{tmp_path} already contains a node", {"home": str(tmp_path)})
    assert identity.key_is_private(tmp_path)
    for mode in (0o640, 0o604, 0o610):
        (tmp_path / KEY_FILE).chmod(mode)
        assert not identity.key_is_private(tmp_path)


def test_a_key_that_cannot_be_stored_leaves_no_log(tmp_path: Path) -> None:
    own = identity.create(ManualClock(), recovery.commitment(SEED))
    assert refusal(identity.keep, tmp_path, own, FullKeys()).code == "store.full"
    identity.check_vacant(tmp_path)


def test_a_key_log_is_missing_or_broken_or_cannot_be_written(tmp_path: Path) -> None:
    error = refusal(identity.read_log, tmp_path)
    assert (error.code, error.message) == ("node.not_initialised", f"no key log in {tmp_path}")
    (tmp_path / LOG_FILE).write_bytes(b"x")
    assert refusal(identity.read_log, tmp_path).code == "store.corrupt"
    (tmp_path / LOG_FILE).unlink()
    (tmp_path / LOG_FILE).mkdir()
    error = refusal(identity.read_log, tmp_path)
    assert (error.code, "cannot be read" in error.message) == ("store.corrupt", True)
    assert "cannot be written" in refusal(identity.write_log, tmp_path, log_of()).message


def test_without_its_key_a_node_signs_nothing_until_it_is_recovered(tmp_path: Path) -> None:
    own, _ = made(tmp_path)
    lost = identity.without_key(tmp_path, ManualClock())
    assert lost.node == own.node
    error = refusal(lost.check_active)
    assert (error.code, error.message, error.detail) == (
        "node.not_initialised",
        "the witness key is lost",
        {"node": own.node},
    )
    lost.become(own.log, own.key)
    lost.check_active()


def test_a_node_that_revoked_itself_says_since_when() -> None:
    own = Identity(FIRST, ManualClock(), log_of())
    own.check_active()
    assert own.end == ""
    own.become(revoked(log_of(), FIRST, START_S + 100), FIRST)
    error = refusal(own.check_active)
    assert own.end == "this node revoked itself on 1970-01-01 00:18:20 UTC"
    assert (error.code, error.message) == ("keylog.revoked", f"{own.end}: signatures after that time are rejected")
    assert error.detail == {"node": own.node, "since_s": START_S + 100}


def test_a_node_whose_log_has_forked_signs_nothing() -> None:
    one, other = (rotated(log_of(), FIRST, new, 2_000) for new in (SECOND, SigningKey(SEED)))
    own = Identity(FIRST, ManualClock(), one.merge(other), lost=True)
    own._lost = False
    assert refusal(own.check_active).code == "keylog.fork"


def test_a_message_is_for_one_reader_one_path_and_a_short_time() -> None:
    own = Identity(FIRST, ManualClock())
    body = own.message(StatusAsk(), audience="BRUNO", path="/peer/v1/status")
    header = envelope.peek(body).header
    assert (header.issuer, header.audience, header.issued_s) == (own.node, "BRUNO", START_MS // 1000)
    assert header.expires_s == START_MS // 1000 + limits.MESSAGE_LIFETIME_S
    other = envelope.peek(own.message(StatusAsk(), audience="BRUNO", path="/peer/v1/status")).header
    assert other.unique != header.unique


def test_artefacts_are_dated_no_later_than_the_end_of_their_key() -> None:
    clock = ManualClock()
    own = Identity(FIRST, clock)
    now_s = START_MS // 1000
    assert own.latest_s == 0
    assert own.artefact("delta", "sea-1", b"x").issued_s == now_s == own.latest_s
    clock.advance(9_000)
    with pytest.raises(ZeroDivisionError), own.ending(now_s + 5):
        assert own.artefact("delta", "sea-1", b"x").issued_s == now_s + 5 == own.latest_s
        raise ZeroDivisionError
    made = own.artefact("delta", "sea-1", StatusAsk())
    assert (made.issued_s, made.kind, made.subject, made.issuer) == (now_s + 9, "delta", "sea-1", own.node)
    own.latest_s = now_s + 99
    own.artefact("delta", "sea-1", b"x")
    assert own.latest_s == now_s + 99


def test_an_identity_without_a_log_cannot_be_recovered() -> None:
    one, other = (Identity(FIRST, ManualClock(seed=seed)) for seed in (1, 2))
    assert one.log.encode() == other.log.encode()
    assert repr(one) == f"Identity({ids.short(one.node)})"


# --- the recovery key, and what signs a session ----------------------------------------------------------------------


def test_the_recovery_key_is_kept_beside_the_data_directory_and_nothing_is_overwritten(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    node = ids.node_id(bytes(32))
    offered = default_recovery_file(home, node)
    assert offered == str(tmp_path / f"home-recovery-{ids.short(node)}.txt")
    assert check_recovery_file(home, offered) == Path(offered)
    (tmp_path / "link").symlink_to(home)
    for inside in (home / "r.txt", home / "deep" / "r.txt", tmp_path / "link" / "r.txt", home):
        error = refusal(check_recovery_file, home, str(inside))
        assert (error.code, "must not be stored in the data directory" in error.message) == ("input.invalid", True)
    Path(offered).touch()
    error = refusal(check_recovery_file, home, offered)
    assert (error.code, error.message) == ("input.invalid", f"{offered} exists already")


async def test_the_manifest_of_a_session_is_found_once_it_is_signed() -> None:
    store, (steps, _) = MemoryStore(), sample_steps()
    with pytest.raises(MeshError) as caught:
        await signed_manifest(store, "x" * 200)
    assert (caught.value.code, caught.value.message) == ("input.not_found", f"no session {'x' * 80}")
    assert caught.value.detail == {"id": "x" * 80}
    await store.put_session(sample_session(steps))
    with pytest.raises(MeshError) as caught:
        await signed_manifest(store, SESSION_ID)
    assert (caught.value.code, caught.value.detail) == ("session.not_committed", {"id": SESSION_ID})
    signed = Identity(FIRST, ManualClock()).artefact(KIND, SESSION_ID, bytes(32))
    await store.put_artefact(signed)
    assert await signed_manifest(store, SESSION_ID) == (signed, bytes(32))
