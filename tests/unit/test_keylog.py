"""Every rule of key logs. Each docstring names the guard without which the test fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import (
    EVENT_RANDOM_BYTES,
    KIND_EVENT,
    Genesis,
    Recover,
    Revoke,
    Rotate,
    read_event,
    recovery_commitment,
    sign_event,
)
from protocol.keys.keylog import KeyLog
from protocol.wire import cbor, envelope
from tests.key_logs import (
    FIRST,
    NEXT_RECOVERY,
    OTHER_THIEF,
    RECOVERY,
    SECOND,
    START_S,
    STRANGER,
    THIEF,
    THIRD,
    fresh_random,
    key,
    log_of,
    public,
    recovered,
    revoked,
    rotated,
    valid_at,
)
from tests.tables import each

LOG = log_of()
NODE = ids.node_id(public(FIRST))


def code(act: Callable[[], object]) -> str:
    with pytest.raises(MeshError) as error:
        act()
    return error.value.code


def event(
    statement: Any, signer: SigningKey, new: SigningKey | None = None, *, at_s: int = 2_000, node: str = NODE
) -> bytes:
    return sign_event(statement, node=node, signer=signer, new=new, issued_s=at_s, random=fresh_random())


def digest(log: KeyLog) -> bytes:
    return read_event(log.events[-1]).digest


def rotation(log: KeyLog, new: SigningKey, **changes: Any) -> Rotate:
    made = Rotate(position=len(log), previous=digest(log), key=public(new))
    return msgspec.structs.replace(made, **changes)


def recovery(log: KeyLog, new: SigningKey, by: SigningKey = RECOVERY, since_s: int = 1_500) -> Recover:
    return Recover(
        position=len(log),
        previous=digest(log),
        by=public(by),
        key=public(new),
        recovery=log.recovery,
        since_s=since_s,
    )


def contradict(log: KeyLog, at: int, current: SigningKey, new: SigningKey, at_s: int = 3_000) -> bytes:
    """A rotation that parts from ``log`` before position ``at``."""
    before = log_of()
    for raw in log.events[1:at]:
        before = before.apply(raw)
    return rotated(before, current, new, at_s).events[-1]


# --- genesis ---------------------------------------------------------------------------------------------------------


def test_a_log_begins_with_a_genesis_whose_key_gives_the_node_id() -> None:
    assert (LOG.node, LOG.key, LOG.genesis_key, len(LOG)) == (NODE, public(FIRST), public(FIRST), 1)
    assert LOG.recovery == recovery_commitment(public(RECOVERY))


def test_a_genesis_about_the_node_of_another_key_is_refused() -> None:
    """Guard: node id of the genesis key in ``read_event``.

    Guard: protocol/keys/key_event.py, read_event.
    """
    statement = Genesis(key=public(FIRST), recovery=bytes(32))
    assert code(lambda: KeyLog.begin(event(statement, FIRST, node=ids.node_id(public(THIEF))))) == "keylog.invalid"


def test_a_genesis_signed_by_another_key_is_refused() -> None:
    """Guard: ``check_signatures`` in ``_first``.

    Guard: protocol/keys/key_rules.py, _first.
    """
    statement = Genesis(key=public(FIRST), recovery=bytes(32))
    assert code(lambda: KeyLog.begin(event(statement, THIEF))) == "keylog.invalid"


def test_a_log_that_begins_with_something_else_is_refused() -> None:
    """Guard: the type check of ``_first``."""
    assert code(lambda: KeyLog.begin(rotated(LOG, FIRST, SECOND, 2_000).events[-1])) == "keylog.invalid"


def test_the_recovery_key_is_never_a_witness_key() -> None:
    """Guards: ``is_recovery_key`` in ``_first`` and in ``_check_new_key``."""
    statement = Genesis(key=public(FIRST), recovery=recovery_commitment(public(FIRST)))
    assert code(lambda: KeyLog.begin(event(statement, FIRST))) == "keylog.invalid"
    assert code(lambda: rotated(LOG, FIRST, RECOVERY, 2_000)) == "keylog.invalid"


# --- rotation --------------------------------------------------------------------------------------------------------


def test_a_rotation_keeps_the_node_and_the_commitment_and_changes_the_key() -> None:
    log = rotated(LOG, FIRST, SECOND, 2_000)
    assert (log.node, log.key, log.genesis_key, log.recovery) == (NODE, public(SECOND), public(FIRST), LOG.recovery)


def test_a_rotation_signed_by_the_new_key_alone_is_refused() -> None:
    """Guard: the signer is the current key, in ``_step``.

    Guard: protocol/keys/key_rules.py, _step.
    """
    assert code(lambda: LOG.apply(event(rotation(LOG, THIEF), THIEF, THIEF))) == "keylog.invalid"


def test_a_rotation_to_a_key_that_did_not_accept_is_refused() -> None:
    """Guard: the second half of ``check_signatures``.

    Guard: protocol/keys/key_event.py, check_signatures.
    """
    assert code(lambda: LOG.apply(event(rotation(LOG, SECOND), FIRST, THIEF))) == "keylog.invalid"


def test_a_rotation_without_an_acceptance_is_refused() -> None:
    """Guard: acceptance and operation fit, in ``read_event``."""
    assert code(lambda: LOG.apply(event(rotation(LOG, SECOND), FIRST))) == "keylog.invalid"


def test_a_revocation_with_an_acceptance_is_refused() -> None:
    """Guard: acceptance and operation fit, in ``read_event``."""
    statement = Revoke(position=1, previous=digest(LOG), by=public(FIRST), since_s=1_500)
    assert code(lambda: LOG.apply(event(statement, FIRST, FIRST))) == "keylog.invalid"


def test_an_earlier_key_cannot_rotate() -> None:
    """Guard: the signer is the current key, in ``_step``."""
    log = rotated(LOG, FIRST, SECOND, 2_000)
    assert code(lambda: log.apply(event(rotation(log, THIEF), FIRST, THIEF))) == "keylog.invalid"


def test_the_recovery_key_does_not_rotate_it_recovers() -> None:
    """Guard: the signer is the current key, in ``_step``."""
    assert code(lambda: LOG.apply(event(rotation(LOG, THIEF), RECOVERY, THIEF))) == "keylog.invalid"


def test_a_rotation_cannot_name_a_recovery_commitment() -> None:
    """Guard: unknown fields are refused in a statement."""
    body = cbor.decode(cbor.encode(rotation(LOG, THIEF))) | {"recovery": recovery_commitment(public(THIEF))}
    header = envelope.EnvelopeHeader(issuer=NODE, issued_s=2_000, unique=bytes(16))
    accepted = envelope.seal(cbor.encode(body), kind="key-accept", key=THIEF, header=header)
    assert (
        code(lambda: LOG.apply(envelope.seal(accepted, kind=KIND_EVENT, key=FIRST, header=header))) == "keylog.invalid"
    )


def test_a_key_is_used_once() -> None:
    """Guard: ``_check_new_key``."""
    log = rotated(LOG, FIRST, SECOND, 2_000)
    assert code(lambda: rotated(log, SECOND, FIRST, 3_000)) == "keylog.invalid"
    assert code(lambda: rotated(log, SECOND, SECOND, 3_000)) == "keylog.invalid"
    assert code(lambda: recovered(log, FIRST, 3_000)) == "keylog.invalid"


def test_rotations_leave_room_for_the_recovery_key() -> None:
    """Guards: ``_check_room``, and the reserve in it.

    Guard: protocol/keys/key_rules.py, _check_room.
    """
    log, current, last = LOG, FIRST, limits.KEY_EVENTS_MAX - limits.KEY_EVENTS_RESERVED
    for number in range(100, 100 + last - 1):
        log, current = rotated(log, current, key(number), 2_000), key(number)
    assert len(log) == last
    assert len(log.encode()) < limits.KEY_LOG_BYTES_MAX
    assert code(lambda: rotated(log, current, SECOND, 2_000)) == "keylog.full"
    assert code(lambda: log.apply(event(rotation(log, SECOND), current, SECOND))) == "keylog.invalid"
    for number in range(200, 200 + limits.KEY_EVENTS_RESERVED):
        log = recovered(log, key(number), 2_000)
    assert len(log) == limits.KEY_EVENTS_MAX
    assert len(log.encode()) < limits.KEY_LOG_BYTES_MAX
    assert code(lambda: recovered(log, THIRD, 2_000)) == "keylog.invalid"
    assert KeyLog.read(log.encode()) == log


# --- order -----------------------------------------------------------------------------------------------------------


def test_an_event_that_is_known_changes_nothing() -> None:
    log = rotated(LOG, FIRST, SECOND, 2_000)
    assert all(log.apply(raw) is log for raw in log.events)


def test_an_event_after_a_missing_one_is_a_gap() -> None:
    """Guard: ``_before``."""
    log = rotated(rotated(LOG, FIRST, SECOND, 2_000), SECOND, THIRD, 3_000)
    assert code(lambda: LOG.apply(log.events[2])) == "keylog.gap"
    assert (
        code(lambda: KeyLog.read(cbor.encode({"version": 1, "events": [log.events[0], log.events[2]]}))) == "keylog.gap"
    )


def test_an_event_that_names_another_predecessor_is_a_gap() -> None:
    """Guards: the digest in ``_before``, and in ``_step`` for whole logs.

    Guard: protocol/keys/key_rules.py, _step.
    """
    wrong = event(rotation(LOG, SECOND, previous=bytes(32)), FIRST, SECOND)
    assert code(lambda: LOG.apply(wrong)) == "keylog.gap"
    assert code(lambda: KeyLog.read(cbor.encode({"version": 1, "events": [LOG.events[0], wrong]}))) == "keylog.gap"


def test_time_never_goes_back() -> None:
    """Guard: issue times in ``_step``."""
    early = event(rotation(LOG, SECOND), FIRST, SECOND, at_s=START_S - 1)
    assert code(lambda: LOG.apply(early)) == "keylog.invalid"


def test_an_event_made_after_the_clock_went_back_takes_the_time_of_the_one_before() -> None:
    """Guard: ``max`` in ``_next``."""
    assert rotated(LOG, FIRST, SECOND, START_S - 500).key == public(SECOND)


def test_an_event_from_the_future_is_refused() -> None:
    """Guard: ``check_future`` in ``apply`` and in ``read``."""
    log = rotated(LOG, FIRST, SECOND, 2_000)
    now_s = 2_000 - limits.CLOCK_SKEW_S
    assert LOG.apply(log.events[1], now_s=now_s) == log
    assert KeyLog.read(log.encode(), now_s=now_s) == log
    assert code(lambda: LOG.apply(log.events[1], now_s=now_s - 1)) == "keylog.invalid"
    assert code(lambda: KeyLog.read(log.encode(), now_s=now_s - 1)) == "keylog.invalid"


def test_an_event_about_another_node_is_refused() -> None:
    """Guards: node ids in ``apply``, in ``_step`` for whole logs, and in ``merge``."""
    other = log_of(THIEF)
    assert code(lambda: LOG.apply(other.events[0])) == "keylog.invalid"
    assert code(lambda: LOG.merge(other)) == "keylog.invalid"
    foreign = event(rotation(LOG, SECOND), FIRST, SECOND, node=other.node)
    assert (
        code(lambda: KeyLog.read(cbor.encode({"version": 1, "events": [LOG.events[0], foreign]}))) == "keylog.invalid"
    )


def test_an_acceptance_of_another_moment_does_not_fit() -> None:
    """Guard: issuer and time of both envelopes agree, in ``read_event``."""
    header = envelope.EnvelopeHeader(issuer=NODE, issued_s=2_000, unique=bytes(16))
    older = msgspec.structs.replace(header, issued_s=1_999)
    accepted = envelope.seal(cbor.encode(rotation(LOG, SECOND)), kind="key-accept", key=SECOND, header=older)
    assert (
        code(lambda: LOG.apply(envelope.seal(accepted, kind=KIND_EVENT, key=FIRST, header=header))) == "keylog.invalid"
    )


@each(("field", "value"), [("audience", NODE), ("expires_s", 3_000)])
def test_an_event_with_an_audience_or_an_expiry_is_refused(field: str, value: Any) -> None:
    """Guard: ``_check_header``."""
    header = envelope.EnvelopeHeader(issuer=NODE, issued_s=START_S, unique=bytes(16))
    said = cbor.encode(Genesis(key=public(FIRST), recovery=bytes(32)))
    raw = envelope.seal(said, kind=KIND_EVENT, key=FIRST, header=msgspec.structs.replace(header, **{field: value}))
    assert code(lambda: KeyLog.begin(raw)) == "keylog.invalid"


def test_an_envelope_of_another_kind_is_no_event() -> None:
    """Guard: the kind in ``_check_header``."""
    header = envelope.EnvelopeHeader(issuer=NODE, issued_s=START_S, unique=bytes(16))
    said = cbor.encode(Genesis(key=public(FIRST), recovery=bytes(32)))
    assert code(lambda: KeyLog.begin(envelope.seal(said, kind="delta", key=FIRST, header=header))) == "keylog.invalid"


# --- recovery --------------------------------------------------------------------------------------------------------


def test_the_recovery_key_names_a_new_key() -> None:
    log = recovered(LOG, SECOND, 2_000)
    assert (log.node, log.key) == (NODE, public(SECOND))


def test_a_recovery_by_any_other_key_is_refused() -> None:
    """Guards: the commitment in ``_step``, in ``recover``, and the signature.

    Guard: protocol/keys/key_rules.py, _step.
    """
    assert code(lambda: recovered(LOG, SECOND, 2_000, by=STRANGER)) == "recovery.invalid"
    for by in (STRANGER, FIRST):
        assert code(lambda by=by: LOG.apply(event(recovery(LOG, SECOND, by), by, SECOND))) == "keylog.invalid"  # type: ignore[misc]
    assert code(lambda: LOG.apply(event(recovery(LOG, SECOND), STRANGER, SECOND))) == "keylog.invalid"


def test_a_recovery_may_change_the_commitment_and_the_old_recovery_key_is_worth_nothing_then() -> None:
    """Guard: the commitment of the new state in ``_step``."""
    log = recovered(LOG, SECOND, 2_000, commitment=recovery_commitment(public(NEXT_RECOVERY)))
    assert code(lambda: log.apply(event(recovery(log, THIRD), RECOVERY, THIRD))) == "keylog.invalid"
    assert recovered(log, THIRD, 3_000, by=NEXT_RECOVERY).key == public(THIRD)


def test_a_recovery_may_follow_the_rotation_of_a_thief() -> None:
    stolen = rotated(LOG, FIRST, THIEF, 2_000)
    log = recovered(stolen, SECOND, 3_000, since_s=1_900)
    assert log.key == public(SECOND)
    assert not any(valid_at(log, public(THIEF), moment) for moment in range(1_800, 3_100, 10))
    assert valid_at(log, public(FIRST), 1_899)
    assert not valid_at(log, public(FIRST), 1_900)


@each("thief_first", [True, False])
def test_a_recovery_takes_the_place_of_what_a_thief_did_meanwhile(thief_first: bool) -> None:
    """Guard: recovery outranks in ``_weigh``, from either side.

    Guard: protocol/keys/keylog.py, KeyLog._weigh.
    """
    stolen = rotated(rotated(LOG, FIRST, THIEF, 2_000), THIEF, OTHER_THIEF, 2_100)
    owner = recovered(LOG, SECOND, 3_000)
    log = stolen.merge(owner) if thief_first else owner.merge(stolen)
    assert log == owner
    assert log.active
    assert (log.find_key(envelope.key_id(public(THIEF)), 2_050), valid_at(log, public(SECOND), 3_000)) == (None, True)


def test_one_recovery_event_alone_takes_the_place_of_a_thief_s_rotation() -> None:
    """Guard: ``_before`` looks at every position, not only at the end."""
    stolen = rotated(LOG, FIRST, THIEF, 2_000)
    log = stolen.apply(recovered(LOG, SECOND, 3_000).events[-1])
    assert (log.key, log.active) == (public(SECOND), True)
    assert log.fork is not None and log.fork.theirs == stolen.events[-1]


def test_what_a_recovery_disowns_begins_in_the_past() -> None:
    """Guard: ``since_s`` in ``_step``."""
    assert code(lambda: LOG.apply(event(recovery(LOG, SECOND, since_s=2_001), RECOVERY, SECOND))) == "keylog.invalid"


# --- revocation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signer", [FIRST, RECOVERY], ids=["current key", "recovery key"])
def test_a_revocation_ends_the_log_and_everything_since(signer: SigningKey) -> None:
    """Guards: ``revoked_s`` in ``_step``, ``check_active``, ``_close``."""
    log = revoked(LOG, signer, 2_000, since_s=1_800)
    assert (log.revoked_s, log.active) == (1_800, False)
    assert code(log.check_active) == "keylog.revoked"
    assert (valid_at(log, public(FIRST), 1_799), valid_at(log, public(FIRST), 1_800)) == (True, False)
    assert code(lambda: rotated(log, FIRST, SECOND, 3_000)) == "keylog.revoked"
    assert code(lambda: revoked(log, signer, 3_000)) == "keylog.revoked"
    assert code(lambda: log.apply(event(recovery(log, SECOND), RECOVERY, SECOND, at_s=3_000))) == "keylog.revoked"


def test_a_revocation_by_an_earlier_or_a_foreign_key_is_refused() -> None:
    """Guard: the signer of a revocation in ``_step``."""
    log = rotated(LOG, FIRST, SECOND, 2_000)
    for signer in (FIRST, STRANGER):
        assert code(lambda signer=signer: revoked(log, signer, 3_000)) == "keylog.invalid"  # type: ignore[misc]


def test_a_revocation_signed_by_another_key_than_it_names_is_refused() -> None:
    """Guard: ``check_signatures`` takes the key the rules allow."""
    statement = Revoke(position=1, previous=digest(LOG), by=public(FIRST), since_s=1_500)
    assert code(lambda: LOG.apply(event(statement, THIEF))) == "keylog.invalid"


def test_a_revocation_by_a_stolen_key_is_replaced_by_a_recovery() -> None:
    """Guard: ``recover`` goes back behind a revocation the witness key signed.

    Guard: protocol/keys/keylog.py, KeyLog._weigh.
    """
    log = recovered(revoked(LOG, FIRST, 2_000), SECOND, 3_000)
    assert (log.key, log.active) == (public(SECOND), True)


def test_a_revocation_by_the_recovery_key_is_final() -> None:
    """Guard: rank counts revocations the recovery key signed."""
    end = revoked(LOG, RECOVERY, 2_000)
    assert code(lambda: recovered(end, SECOND, 3_000)) == "keylog.revoked"
    assert not end.merge(recovered(LOG, SECOND, 3_000)).active
    assert end.merge(rotated(LOG, FIRST, THIEF, 2_500)) == end


# --- forks -----------------------------------------------------------------------------------------------------------


@each("order", [1, -1])
def test_two_rotations_of_one_position_freeze_the_log_and_are_kept_as_proof(order: int) -> None:
    """Guards: ``_weigh``, ``frozen``, ``_periods``.

    Guard: protocol/keys/keylog.py, KeyLog.frozen.
    """
    both = [rotated(LOG, FIRST, SECOND, 2_000).events[-1], rotated(LOG, FIRST, THIEF, 2_000).events[-1]][::order]
    log = LOG.apply(both[0]).apply(both[1])
    assert log.frozen
    assert log.fork == keylog.Fork(position=1, ours=both[0], theirs=both[1])
    assert code(log.check_active) == "keylog.fork"
    assert not any(
        valid_at(log, public(of), moment) for of in (FIRST, SECOND, THIEF) for moment in (1_000, 1_999, 2_000)
    )
    assert log.find_key(envelope.key_id(public(FIRST)), 1_500) is None
    assert KeyLog.read(log.encode()).fork == log.fork
    assert log.apply(both[1]) is log


def test_a_frozen_log_does_not_go_on_by_a_witness_key() -> None:
    """Guard: ``_follow``."""
    ours = rotated(LOG, FIRST, SECOND, 2_000)
    frozen = ours.apply(contradict(ours, 1, FIRST, THIEF))
    assert code(lambda: frozen.apply(rotated(ours, SECOND, THIRD, 4_000).events[-1])) == "keylog.fork"
    assert frozen.merge(rotated(ours, SECOND, THIRD, 4_000)) is frozen


@each("side", ["ours", "theirs"])
def test_the_recovery_key_thaws_a_frozen_log_by_following_either_side(side: str) -> None:
    """Guards: rank in ``frozen``; ``_before`` knows the other side too."""
    ours, theirs = rotated(LOG, FIRST, SECOND, 2_000), rotated(LOG, FIRST, THIRD, 2_000)
    frozen = ours.apply(theirs.events[-1])
    log = frozen.apply(recovered(ours if side == "ours" else theirs, key(50), 3_000).events[-1])
    assert (log.active, log.key) == (True, public(key(50)))
    assert log.fork is not None


@each("order", [1, -1])
def test_two_recoveries_that_contradict_each_other_freeze_the_log_for_good(order: int) -> None:
    """Guard: rank is compared, not only asked for, in ``frozen`` and ``_follow``."""
    one, other = [recovered(LOG, SECOND, 2_000), recovered(LOG, THIEF, 2_000)][::order]
    log = one.merge(other)
    assert log.frozen
    assert log.merge(recovered(one, THIRD, 3_000)).frozen
    assert log.merge(recovered(other, THIRD, 3_000)).frozen
    assert code(lambda: log.apply(recovered(one, THIRD, 3_000).events[-1])) == "keylog.fork"


def test_a_contradiction_behind_a_recovery_changes_nothing() -> None:
    """Guard: our rank in ``_weigh``."""
    log = recovered(rotated(LOG, FIRST, SECOND, 2_000), THIRD, 3_000)
    assert log.apply(contradict(log, 1, FIRST, THIEF)) is log


def test_another_genesis_of_the_same_key_never_takes_the_place_of_the_first() -> None:
    """Guard: rule 8 in ``_weigh`` and ``frozen``: a thief's genesis commits to the thief's recovery key.

    Guard: protocol/keys/keylog.py, KeyLog._weigh.
    """
    forged = recovered(log_of(recovery=STRANGER), THIEF, 2_000, by=STRANGER)
    log = LOG.merge(forged)
    assert (log.frozen, log.recovery, log.genesis_key) == (True, LOG.recovery, public(FIRST))
    assert KeyLog.read(log.encode()).frozen
    assert log.apply(recovered(LOG, SECOND, 3_000).events[-1]).active
    assert recovered(LOG, SECOND, 3_000).merge(forged).active


def test_an_undecided_contradiction_further_back_stays_one() -> None:
    """Guard: ``_follow`` inside ``_weigh``: what outranks a later part decides nothing about an earlier one."""
    trunk = recovered(rotated(LOG, FIRST, SECOND, 2_000), THIRD, 2_100)
    ours = rotated(trunk, THIRD, key(52), 2_200)
    frozen = ours.merge(recovered(rotated(LOG, FIRST, THIEF, 2_000), OTHER_THIEF, 2_100))
    assert frozen.frozen
    assert frozen.merge(recovered(trunk, key(51), 2_500)).frozen


def test_a_key_that_was_disowned_altogether_is_valid_at_no_moment() -> None:
    """Guard: an empty period in ``covers``: the skew at its beginning does not bring it back."""
    log = recovered(rotated(LOG, FIRST, THIEF, 2_000), SECOND, 3_000, since_s=1_990)
    assert not any(valid_at(log, public(THIEF), moment) for moment in range(1_900, 2_100))


# --- validity --------------------------------------------------------------------------------------------------------


def test_each_key_is_valid_for_its_time() -> None:
    """Guards: both bounds of ``covers``."""
    log = rotated(LOG, FIRST, SECOND, 2_000)
    early = START_S - limits.CLOCK_SKEW_S
    assert [valid_at(log, public(FIRST), at) for at in (early - 1, early, 2_000, 2_001)] == [False, True, True, False]
    assert [valid_at(log, public(SECOND), at) for at in (1_939, 1_940, 2_000, 9_999)] == [False, True, True, True]
    assert not valid_at(log, public(STRANGER), 2_000)


def test_an_artefact_of_an_earlier_key_verifies_and_one_it_signs_afterwards_does_not() -> None:
    """Guard: ``find_key`` is told when the artefact was issued.

    Guard: protocol/keys/key_rules.py, covers.
    """
    log = rotated(LOG, FIRST, SECOND, 2_000)

    def verify(signer: SigningKey, issued_s: int) -> str:
        header = envelope.EnvelopeHeader(issuer=NODE, issued_s=issued_s, unique=bytes(16))
        data = envelope.seal(b"x", kind="delta", key=signer, header=header)
        find = lambda issuer, selector, at_s: log.find_key(selector, at_s)  # noqa: E731
        return envelope.verify(data, kinds=frozenset({"delta"}), find_key=find).header.issuer

    assert verify(FIRST, 1_500) == NODE
    assert verify(SECOND, 2_500) == NODE
    assert code(lambda: verify(FIRST, 2_500)) == "envelope.key_unknown"
    assert code(lambda: verify(SECOND, 1_500)) == "envelope.key_unknown"


# --- bytes -----------------------------------------------------------------------------------------------------------


def test_a_log_is_read_back_as_it_was() -> None:
    log = recovered(rotated(LOG, FIRST, SECOND, 2_000), THIRD, 3_000)
    assert KeyLog.read(log.encode()) == log
    assert KeyLog.read(log.encode()).encode() == log.encode()


@pytest.mark.parametrize(
    "fields",
    [
        {"version": 0},
        {"events": []},
        {"events": [b""]},
        {"more": 1},
        {"parts_at": 1},
        {"parts_at": 1, "other": [LOG.events[0]]},
        {"events": [LOG.events[0]] * 2},
        {"events": [bytes(limits.KEY_EVENT_BYTES_MAX + 1)]},
        {"events": [LOG.events[0]] * (limits.KEY_EVENTS_MAX + 1)},
    ],
    ids=str,
)
def test_bytes_that_are_no_log_are_refused(fields: dict[str, Any]) -> None:
    """Guards: the checks of ``read``, in order."""
    said = {"version": 1, "events": [LOG.events[0]]} | fields
    assert code(lambda: KeyLog.read(cbor.encode(said))) == "keylog.invalid"


def test_what_a_sender_says_about_a_contradiction_is_weighed_again() -> None:
    """Guard: ``read`` weighs, so a thief's side cannot be presented as the log."""
    stolen, owner = rotated(LOG, FIRST, THIEF, 2_000), recovered(LOG, SECOND, 3_000)
    said = {"version": 1, "events": list(stolen.events), "parts_at": 1, "other": list(owner.events[1:])}
    assert KeyLog.read(cbor.encode(said)) == owner


def test_a_log_shows_no_key_in_its_text() -> None:
    assert public(FIRST).hex() not in repr(LOG)
    assert str(bytes(FIRST)) not in repr(LOG)


def test_random_bytes_make_two_events_of_one_statement_differ() -> None:
    assert len(fresh_random()) == EVENT_RANDOM_BYTES
    assert rotated(LOG, FIRST, SECOND, 2_000) != rotated(LOG, FIRST, SECOND, 2_000)
