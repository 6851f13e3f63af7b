"""Key logs under any bytes and any order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from tests.key_logs import FIRST, RECOVERY, SECOND, START_S, THIEF, key, log_of, recovered, revoked, rotated

LOG = rotated(log_of(), FIRST, SECOND, 2_000)
ENCODED = recovered(rotated(LOG, SECOND, THIEF, 2_500), key(70), 3_000).encode()


def read(data: bytes) -> KeyLog | None:
    """The log, or None when it was refused with one of the codes of logs."""
    try:
        return KeyLog.read(data)
    except MeshError as error:
        assert error.code.startswith("keylog."), error.code
        return None


@given(st.binary(max_size=2_048))
def test_any_bytes_are_a_log_or_refused_as_one(data: bytes) -> None:
    assert read(data) is None


@given(st.data())
def test_a_damaged_log_is_refused(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(ENCODED) - 1))
    flipped = ENCODED[position] ^ (1 << data.draw(st.integers(0, 7)))
    assert read(ENCODED[:position] + bytes([flipped]) + ENCODED[position + 1 :]) is None
    assert read(ENCODED[:position]) is None


@given(st.binary(max_size=1_024))
def test_any_bytes_are_an_event_or_leave_the_log_alone(data: bytes) -> None:
    try:
        assert LOG.apply(data) is LOG
    except MeshError as error:
        assert error.code.startswith("keylog.")


steps = st.lists(st.sampled_from(["rotate", "recover"]), max_size=6)


def honest(kinds: list[str], end: str) -> KeyLog:
    """A history without a contradiction."""
    log, current = log_of(), FIRST
    for number, kind in enumerate(kinds):
        new, at_s = key(300 + number), START_S + 100 * (number + 1)
        log = rotated(log, current, new, at_s) if kind == "rotate" else recovered(log, new, at_s)
        current = new
    if end:
        log = revoked(log, RECOVERY if end == "recovery" else current, START_S + 10_000)
    return log


@given(steps, st.sampled_from(["", "current", "recovery"]), st.data())
def test_an_honest_history_converges_in_any_order_of_delivery(kinds: list[str], end: str, data: st.DataObject) -> None:
    """Events come shuffled and repeated; what meets a gap is sent again."""
    whole = honest(kinds, end)
    pending = data.draw(st.permutations([*whole.events, *whole.events]))
    log = KeyLog.begin(whole.events[0])
    while pending:
        missed = []
        for raw in pending:
            try:
                log = log.apply(raw)
            except MeshError as error:
                assert error.code in ("keylog.gap", "keylog.revoked")
                if error.code == "keylog.gap":
                    missed.append(raw)
        assert len(missed) < len(pending)
        pending = missed
    assert log == whole
    assert not log.frozen


@given(steps, st.integers(0, 6), st.sampled_from(["rotate", "revoke", "both"]), st.booleans(), st.data())
def test_peers_that_were_shown_the_same_histories_believe_the_same(
    kinds: list[str], parting: int, theft: str, recover: bool, data: st.DataObject
) -> None:
    """An owner, a thief of the key of some moment, and a recovery or none: any order of meeting gives one belief."""
    parting = min(parting, len(kinds))
    owner = honest(kinds, "")
    before = KeyLog.begin(owner.events[0])
    for raw in owner.events[1 : parting + 1]:
        before = before.apply(raw)
    stolen = FIRST if parting == 0 else key(300 + parting - 1)
    histories: list[KeyLog] = [owner]
    if theft != "revoke":
        histories.append(rotated(rotated(before, stolen, THIEF, 50_000), THIEF, key(400), 50_001))
    if theft != "rotate":
        histories.append(revoked(before, stolen, 50_000))
    if recover:
        histories.append(recovered(owner, key(500), 60_000))
    orders: list[list[KeyLog]] = [data.draw(st.permutations(histories)) for _ in range(2)]
    one, other = (met(order) for order in orders)
    assert one == other
    assert KeyLog.read(one.encode()) == one
    assert one.merge(other) == other.merge(one) == one
    if recover:
        assert one == histories[-1] or one.frozen


def met(order: list[Any]) -> KeyLog:
    """What is believed after meeting every history in this order."""
    log: KeyLog = order[0]
    for history in order[1:]:
        log = log.merge(history)
    return log
