"""Rules 1 to 6 of ``protocol.keys.keylog``: which event may follow which, and the state after it."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.keys.key_event import Genesis, KeyEvent, Recover, Revoke, Rotate, check_signatures, recovery_commitment
from protocol.wire.envelope import key_id


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """The time during which a key was the node's, both ends included; seconds since 1970."""

    key: bytes
    from_s: int
    until_s: int | None = None
    """None while the key is valid; less than ``from_s`` if a recovery has disowned the whole period."""


class KeyState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a log after one event."""

    periods: tuple[Period, ...]
    recovery: bytes
    by_recovery: bool
    """True if the recovery key signed this event."""
    revoked_s: int | None = None

    @property
    def key(self) -> bytes:
        return self.periods[-1].key


class KeyLogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a log, and the state after it."""

    event: KeyEvent
    state: KeyState


History = tuple[KeyLogEntry, ...]


def _first(event: KeyEvent) -> KeyState:
    """Rule 1. Errors: ``keylog.invalid``."""
    if not isinstance(event.statement, Genesis):
        raise invalid("a key log must begin with a genesis")
    if is_recovery_key(event.statement.key, event.statement.recovery):
        raise invalid("the recovery key cannot be used as a witness key")
    check_signatures(event, event.statement.key)
    return KeyState(
        periods=(Period(key=event.statement.key, from_s=event.issued_s),),
        recovery=event.statement.recovery,
        by_recovery=False,
    )


def extend(history: History, events: Sequence[KeyEvent]) -> History:
    """``history`` with ``events`` after it. Errors: ``keylog.invalid``, ``keylog.gap``, ``keylog.revoked``."""
    for event in events:
        state = _step(history, event) if history else _first(event)
        history = (*history, KeyLogEntry(event=event, state=state))
    return history


def _step(history: History, event: KeyEvent) -> KeyState:
    """The state after ``event``. Checks, in order: rules 5, 2, 6, then 3, 4 or 5 with the signatures."""
    last, statement = history[-1], event.statement
    # A revocation is final, so that a stolen key cannot bring a revoked node back.
    if last.state.revoked_s is not None:
        raise MeshError("keylog.revoked", "no event may follow a revocation", node=event.node)
    if event.node != last.event.node or isinstance(statement, Genesis):
        raise invalid("a key log can have only one genesis")
    if statement.position != len(history) or statement.previous != last.event.digest:
        raise MeshError("keylog.gap", "the event does not follow the one before it", position=event.position)
    # Periods of validity are derived from issue times; they would overlap if time went back.
    if event.issued_s < last.event.issued_s:
        raise invalid("an event must not be older than the one before it")
    signer, by_recovery = last.state.key, False
    if not isinstance(statement, Rotate):
        signer, by_recovery = statement.by, is_recovery_key(statement.by, last.state.recovery)
        # A recovery needs the recovery key; a revocation may also be signed by the current witness key.
        if not by_recovery and (isinstance(statement, Recover) or signer != last.state.key):
            raise invalid("signed by neither the recovery key nor a key that may do this")
        # A later time would let the event itself keep an earlier key valid into the future.
        if statement.since_s > event.issued_s:
            raise invalid("the time from which signatures are rejected must not be in the future")
    _check_room(event)
    check_signatures(event, signer)
    match statement:
        case Rotate():
            _check_new_key(statement.key, last.state)
            periods = _close(last.state.periods, event.issued_s)
            periods += (Period(key=statement.key, from_s=event.issued_s),)
            return KeyState(periods=periods, recovery=last.state.recovery, by_recovery=by_recovery)
        case Recover():
            _check_new_key(statement.key, last.state)
            periods = _close(last.state.periods, statement.since_s - 1)
            periods += (Period(key=statement.key, from_s=event.issued_s),)
            return KeyState(periods=periods, recovery=statement.recovery, by_recovery=by_recovery)
        case Revoke():
            return KeyState(
                periods=_close(last.state.periods, statement.since_s - 1),
                recovery=last.state.recovery,
                by_recovery=by_recovery,
                revoked_s=statement.since_s,
            )


def _check_room(event: KeyEvent) -> None:
    """Rule 6: bounded, with room left for the recovery key. Errors: ``keylog.invalid``."""
    # The last positions are kept free: otherwise a thief could fill the log with rotations and prevent the recovery.
    room = limits.KEY_EVENTS_MAX - (limits.KEY_EVENTS_RESERVED if isinstance(event.statement, Rotate) else 0)
    if event.position >= room:
        raise invalid("the log is full")


def _check_new_key(key: bytes, state: KeyState) -> None:
    """Rule 6: a key is used once, and no two share a key id. Errors: ``keylog.invalid``."""
    # Envelopes select a key by its key id, so two keys with one id would be ambiguous.
    if any(key_id(period.key) == key_id(key) for period in state.periods):
        raise invalid("a key can occur only once in a key log")
    if is_recovery_key(key, state.recovery):
        raise invalid("the recovery key cannot be used as a witness key")


def check_future(events: Sequence[KeyEvent], now_s: int | None) -> None:
    """Errors: ``keylog.invalid``."""
    if now_s is not None and any(event.issued_s > now_s + limits.CLOCK_SKEW_S for event in events):
        raise invalid("the event is from the future: compare the clocks")


def _close(periods: tuple[Period, ...], until_s: int) -> tuple[Period, ...]:
    """``periods``, none of them longer than ``until_s``."""
    return tuple(
        msgspec.structs.replace(period, until_s=until_s if period.until_s is None else min(period.until_s, until_s))
        for period in periods
    )


def covers(period: Period, moment_s: int) -> bool:
    """True if ``moment_s`` lies in ``period``, give or take the skew at its beginning."""
    if period.until_s is not None and not period.from_s <= period.until_s >= moment_s:
        return False
    # A node may sign just after a rotation with a clock that was set back a little; the skew allows for that.
    return period.from_s - limits.CLOCK_SKEW_S <= moment_s


def rank(history: History) -> bool:
    """True if the recovery key signed an event of ``history``."""
    return any(entry.state.by_recovery for entry in history)


def is_recovery_key(key: bytes, commitment: bytes) -> bool:
    """True if ``key`` (32 bytes, public) is the one to which a log committed."""
    return hmac.compare_digest(recovery_commitment(key), commitment)


def invalid(reason: str) -> MeshError:
    return MeshError("keylog.invalid", reason)
