"""What a key log answers exactly: its keys, its proof of a contradiction, what two logs make together, what it refuses and why."""

from __future__ import annotations

from typing import Any

import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys import recovery
from protocol.keys.key_event import KIND_EVENT, Revoke, Rotate, read_event, recovery_commitment, sign_event
from protocol.keys.keylog import Fork, KeyLog
from protocol.wire import cbor, envelope
from tests.key_logs import (
    FIRST,
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

LOG = log_of()
NODE = ids.node_id(public(FIRST))
OURS = rotated(LOG, FIRST, SECOND, 2_000)
STOLEN = rotated(LOG, FIRST, THIEF, 2_000)
FROZEN = OURS.merge(STOLEN)


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message, caught.value.detail


def rotation(position: int) -> bytes:
    """A rotation after the genesis of ``LOG`` that says it stands at ``position``."""
    statement = Rotate(position=position, previous=read_event(LOG.events[0]).digest, key=public(SECOND))
    return sign_event(statement, node=NODE, signer=FIRST, new=SECOND, issued_s=2_000, random=fresh_random())


def sealed(payload: bytes, kind: str = KIND_EVENT) -> bytes:
    header = envelope.EnvelopeHeader(issuer=NODE, issued_s=2_000, unique=bytes(16))
    return envelope.seal(payload, kind=kind, key=FIRST, header=header)


# --- single events ---------------------------------------------------------------------------------------------------


def test_an_event_knows_its_position_and_a_genesis_has_the_first() -> None:
    later = recovered(OURS, THIRD, 3_000)
    assert [read_event(raw).position for raw in later.events] == [0, 1, 2]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (sealed(b"\xa0", "delta"), "an envelope of kind key-event is expected"),
        (sealed(sealed(b"\xa0", "delta")), "an envelope of kind key-accept is expected"),
        (sealed(cbor.encode({str(number): 0 for number in range(10, 26)})), "more than 32 items"),
        (sealed(cbor.encode({"op": []})), "Expected `str`, got `list` - at `$.op`"),
        (sealed(cbor.encode({"op": [0]})), "deeper than 1"),
        (bytes(limits.KEY_EVENT_BYTES_MAX), "not a COSE_Sign1 structure"),
        (bytes(limits.KEY_EVENT_BYTES_MAX + 1), "1025 bytes where 1024 are allowed"),
    ],
    ids=["kind", "kind inside", "items", "depth", "deeper", "largest", "too large"],
)
def test_an_event_out_of_form_is_refused_with_the_first_thing_that_is_wrong(raw: bytes, message: str) -> None:
    assert refusal(read_event, raw)[:2] == ("keylog.invalid", message)


def test_an_event_at_another_position_than_its_predecessor_s_next_is_a_gap() -> None:
    """Guards: ``_before`` for one event, ``_step`` for a whole log."""
    code, _, detail = refusal(LOG.apply, rotation(2))
    assert (code, detail) == ("keylog.gap", {"position": 2, "known": 1})
    whole = cbor.encode({"version": 1, "events": [LOG.events[0], rotation(2)]})
    code, message, detail = refusal(KeyLog.read, whole)
    assert (code, message, detail) == (
        "keylog.gap",
        "the event does not follow the one before it",
        {"position": 2},
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(2 * limits.KEY_LOG_BYTES_MAX), "form: trailing bytes"),
        (bytes(2 * limits.KEY_LOG_BYTES_MAX + 1), "form: 131073 bytes where 131072 are allowed"),
        (cbor.encode({"version": 1, "events": [[b""]]}), "form: deeper than 2"),
        (cbor.encode({"version": 1, "events": [0] * 251}), "form: Expected `array` of length <= 64 - at `$.events`"),
        (cbor.encode({"version": 1, "events": [0] * 252}), "form: more than 256 items"),
        (cbor.encode({"version": 0, "events": [LOG.events[0]]}), "form: it does not say which version it is of"),
        (cbor.encode({"version": 1, "events": []}), "an empty log, or no other history"),
        (cbor.encode({"version": 1, "events": [LOG.events[0]], "parts_at": 1}), "an empty log, or no other history"),
        (
            cbor.encode({"version": 1, "events": [LOG.events[0]], "parts_at": 1, "other": [rotation(1)]}),
            "the other history branches off outside the log",
        ),
    ],
    ids=["largest", "too large", "depth", "items", "too many items", "version", "empty", "no other", "outside"],
)
def test_bytes_that_are_no_log_are_refused_with_the_first_thing_that_is_wrong(data: bytes, message: str) -> None:
    assert refusal(KeyLog.read, data)[:2] == ("keylog.invalid", message)


# --- what it is asked ------------------------------------------------------------------------------------------------


def test_a_log_names_the_keys_that_were_its_own_and_when_they_began() -> None:
    """A key that was disowned from its first moment on was never its own; one that had a single second was."""
    log = recovered(rotated(OURS, SECOND, THIEF, 2_500), THIRD, 3_000, since_s=2_500)
    assert log.keys == (public(FIRST), public(SECOND), public(THIRD))
    assert log.keys_ever == (public(FIRST), public(SECOND), public(THIEF), public(THIRD))
    assert (log.born_s, log.since_s, LOG.since_s) == (START_S, 3_000, START_S)
    short = rotated(LOG, FIRST, SECOND, START_S)
    assert short.keys == (public(FIRST), public(SECOND))
    assert [valid_at(short, public(FIRST), at) for at in (START_S, START_S + 1)] == [True, False]
    assert FROZEN.keys_ever == (public(FIRST), public(SECOND), public(THIEF))


def test_a_later_event_makes_no_earlier_key_valid_again() -> None:
    """Guard: ``_close`` only ever ends a period sooner."""
    log = rotated(OURS, SECOND, THIRD, 3_000)
    for later in (log, recovered(log, key(50), 4_000), revoked(log, THIRD, 4_000)):
        assert [valid_at(later, public(FIRST), at) for at in (2_000, 2_001, 3_000)] == [True, False, False]
        assert [valid_at(later, public(SECOND), at) for at in (3_000, 3_001)] == [True, False]


def test_only_a_revocation_that_the_recovery_key_signed_is_one_by_the_recovery_key() -> None:
    logs = (LOG, recovered(LOG, SECOND, 2_000), revoked(LOG, FIRST, 2_000), revoked(LOG, RECOVERY, 2_000))
    assert [log.revoked_by_recovery for log in logs] == [False, False, False, True]
    assert [log.revoked_s for log in logs] == [None, None, 2_000, 2_000]
    assert [log.active for log in logs] == [True, True, False, False]
    assert refusal(logs[3].check_active)[0::2] == ("keylog.revoked", {"node": NODE, "since_s": 2_000})


def test_a_frozen_log_is_not_active_and_has_no_head() -> None:
    assert (FROZEN.frozen, FROZEN.active, FROZEN.head) == (True, False, bytes(32))
    assert refusal(FROZEN.check_active)[0::2] == ("keylog.fork", {"node": NODE})
    assert (LOG.frozen, LOG.fork, LOG.head) == (False, None, read_event(LOG.events[0]).digest)


def test_logs_are_equal_by_node_and_head_and_equal_to_nothing_else() -> None:
    again = KeyLog.read(LOG.encode())
    assert again == LOG
    assert {again, LOG, OURS} == {LOG, OURS}
    assert len({LOG, OURS, FROZEN}) == 3
    assert LOG != NODE
    assert NODE != LOG


# --- two histories ---------------------------------------------------------------------------------------------------


def test_a_history_that_is_known_is_the_very_same_log() -> None:
    for log in (LOG, OURS, FROZEN):
        assert log.merge(KeyLog.read(log.encode())) is log
    assert OURS.merge(LOG) is OURS


def test_another_genesis_freezes_the_log_and_is_its_proof() -> None:
    forged = log_of(recovery=STRANGER)
    log = LOG.apply(forged.events[0])
    assert (log.frozen, log.recovery) == (True, recovery_commitment(public(RECOVERY)))
    assert log.fork == Fork(position=0, ours=LOG.events[0], theirs=forged.events[0])


def test_a_log_learns_of_a_contradiction_from_one_that_knows_it() -> None:
    """Guard: both histories of the other log are weighed, in ``merge``."""
    for log in (LOG, OURS, STOLEN):
        assert log.merge(FROZEN).frozen


def test_a_frozen_log_that_is_shown_more_of_its_own_side_stays_as_it_was_without_an_error() -> None:
    longer = STOLEN.merge(rotated(OURS, SECOND, THIRD, 3_000))
    assert (longer.frozen, longer.key) == (True, public(THIEF))
    assert FROZEN.merge(longer) is FROZEN


def test_a_third_history_does_not_replace_the_proof() -> None:
    """Guard: a frozen log keeps its first contradiction, in ``_weigh``."""
    third = rotated(LOG, FIRST, THIRD, 2_000)
    assert FROZEN.apply(third.events[-1]) is FROZEN
    assert FROZEN.merge(third) is FROZEN


def test_a_recovery_that_thaws_a_log_is_proved_against_the_side_that_it_replaces() -> None:
    thawed = FROZEN.merge(recovered(LOG, THIRD, 3_000))
    assert (thawed.active, thawed.key) == (True, public(THIRD))
    assert thawed.fork == Fork(position=1, ours=thawed.events[1], theirs=OURS.events[1])


def test_a_decided_contradiction_gives_way_to_a_later_one() -> None:
    """Only an undecided one at an earlier position remains the proof."""
    thawed = FROZEN.merge(recovered(LOG, THIRD, 3_000))
    ours, theirs = rotated(thawed, THIRD, key(60), 4_000), recovered(thawed, key(61), 5_000)
    later = ours.merge(theirs)
    assert (later.active, later.key) == (True, public(key(61)))
    assert later.fork == Fork(position=2, ours=theirs.events[2], theirs=ours.events[2])


# --- making ----------------------------------------------------------------------------------------------------------


def test_a_recovery_and_a_revocation_never_reach_into_the_future() -> None:
    assert recovered(LOG, SECOND, 2_000, since_s=9_000).keys == (public(FIRST), public(SECOND))
    assert revoked(LOG, FIRST, 2_000, since_s=9_000).revoked_s == 2_000
    assert revoked(LOG, FIRST, 2_000, since_s=1_500).revoked_s == 1_500


def test_a_recovery_keeps_the_commitment_unless_it_is_given_another() -> None:
    other = recovery_commitment(public(STRANGER))
    assert recovered(LOG, SECOND, 2_000).recovery == LOG.recovery
    assert recovered(LOG, SECOND, 2_000, commitment=other).recovery == other


def test_events_after_a_clock_was_set_back_have_the_time_of_the_one_before() -> None:
    for log in (rotated(OURS, SECOND, THIRD, 1), recovered(OURS, THIRD, 1), revoked(OURS, SECOND, 1)):
        assert read_event(log.events[-1]).issued_s == 2_000


def test_a_statement_says_who_signed_and_what_it_follows() -> None:
    statement = read_event(revoked(OURS, RECOVERY, 3_000, since_s=2_900).events[-1]).statement
    before = read_event(OURS.events[-1]).digest
    assert statement == Revoke(position=2, previous=before, by=public(RECOVERY), since_s=2_900)


def test_a_recovery_file_may_have_other_lines_up_to_its_greatest_size() -> None:
    seed = bytes(range(32))
    text = recovery.render(NODE, seed)
    filled = text + "x" * (limits.RECOVERY_FILE_CHARS_MAX - len(text))
    assert recovery.parse(filled, NODE) == seed
    assert refusal(recovery.parse, filled + "x", NODE)[1] == "the file is too long for a recovery file"
    other = ids.node_id(public(SECOND))
    assert refusal(recovery.parse, recovery.render(other, seed), NODE)[2] == {"node": other}
    assert recovery.commitment(seed) == recovery_commitment(public(SigningKey(seed)))
