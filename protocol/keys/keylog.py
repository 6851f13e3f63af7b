"""The key log of a node: which witness keys were its own, and when.

The rules, in the order they are applied:

1. A log begins with one genesis; its key gives the node id, and it commits to the hash of a recovery key that stays offline.
2. Every further event stands at the next position and names the hash of the event before. Times never go back.
3. A rotation is signed by the current key and by the new one. It cannot change the recovery commitment.
4. A recovery is signed by the recovery key and by the new key. It may change the commitment. It names a time from which
   signatures of earlier keys are no longer valid.
5. A revocation is signed by the current key or by the recovery key. Nothing follows it.
6. A key is used once in a log, and a log is bounded; its last positions are not for rotations.
7. Two histories that diverge are compared from the first event that differs. If the recovery key signed in one of them only,
   that one is the log, and the other is kept as proof. Otherwise the log is *frozen*: none of its keys is valid, both histories
   are kept as proof, and only the recovery key can end the freeze. If it signed in both, nothing can.
8. Another genesis never replaces the first one, whoever signed after it.

So after a theft the owner signs one recovery, using any copy of the log. If the thief rotated or revoked the key meanwhile, the
recovery replaces the thief's events by rule 7. If the owner's copy already contains the thief's rotation, the recovery may also
follow that rotation. The result does not depend on the order in which histories arrive: nodes that received the same histories
agree.

A ``KeyLog`` is immutable: every change makes a new one, so no decision is based on a partial change.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from nacl.signing import SigningKey, VerifyKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys.key_event import HASH_BYTES, Genesis, Recover, Revoke, Rotate, read_event, sign_event
from protocol.keys.key_rules import History, KeyState, check_future, covers, extend, invalid, is_recovery_key, rank
from protocol.keys.key_rules import Period as Period
from protocol.wire import cbor, formats
from protocol.wire.envelope import key_id as key_id_of

_Raw = Annotated[bytes, msgspec.Meta(max_length=limits.KEY_EVENT_BYTES_MAX)]
_Raws = Annotated[tuple[_Raw, ...], msgspec.Meta(max_length=limits.KEY_EVENTS_MAX)]
_ITEMS_MAX: Final = 4 * limits.KEY_EVENTS_MAX


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """Proof that a log was contradicted: two signed events that name the same predecessor."""

    position: int
    ours: bytes
    """The event the log holds there."""
    theirs: bytes
    """The event that contradicts it."""


class _Log(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A log as bytes."""

    version: int
    events: _Raws
    parts_at: int = 0
    """Where the other history begins."""
    other: _Raws = ()


class KeyLog:
    """The key log of one node; see the rules of this module."""

    def __init__(self, history: History, parts_at: int = 0, other: History = ()) -> None:
        """Made by ``begin``, ``read`` and ``apply``."""
        assert history
        self._history = history
        self._parts_at = parts_at
        self._other = other

    @classmethod
    def begin(cls, genesis: bytes) -> KeyLog:
        """The log of one event (rule 1). Errors: ``keylog.invalid``."""
        return cls(extend((), [read_event(genesis)]))

    @classmethod
    def read(cls, data: bytes, *, now_s: int | None = None) -> KeyLog:
        """The log that ``encode`` turned into ``data``.

        now_s: seconds since 1970, to refuse events from the future; None for a log of our own store.
        Checks, in order: strict form and bounds; every event, as by ``apply``; the other history, if there is one.
        Errors: ``keylog.invalid``, ``keylog.gap``, ``keylog.revoked``, ``format.*``.
        """
        try:
            value = cbor.decode(data, bytes_max=2 * limits.KEY_LOG_BYTES_MAX, items_max=_ITEMS_MAX, depth_max=2)
            formats.check_field("key-log", value)
            said = cbor.convert(value, _Log)
        except MeshError as error:
            raise formats.unless_version(error, invalid(f"form: {error.message}")) from error
        if not said.events or (said.parts_at and not said.other):
            raise invalid("an empty log, or no other history")
        events = [read_event(raw) for raw in (*said.events, *said.other)]
        check_future(events, now_s)
        count = len(said.events)
        log = cls(extend((), events[:count]))
        if not 0 <= said.parts_at < count:
            raise invalid("the other history branches off outside the log")
        # Decide between the two histories again, so that the sender cannot choose which one counts.
        return log._weigh(extend(log._history[: said.parts_at], events[count:]))

    # --- asking ------------------------------------------------------------------------------------------------------

    @property
    def node(self) -> str:
        """The node id, which is that of the genesis key."""
        return self._history[0].event.node

    @property
    def genesis_key(self) -> bytes:
        """The key the node began with, 32 bytes."""
        return self._history[0].state.key

    @property
    def key(self) -> bytes:
        """The current witness key, 32 bytes. ``check_active`` says if it is valid."""
        return self._state.key

    @property
    def keys(self) -> tuple[bytes, ...]:
        """Every key that was the node's at some time and was not disowned completely, the current one last."""
        kept = [
            period.key for period in self._state.periods if period.until_s is None or period.until_s >= period.from_s
        ]
        return tuple(dict.fromkeys(kept))

    @property
    def keys_ever(self) -> tuple[bytes, ...]:
        """Every key that an event made the node's, including those that a recovery has disowned completely."""
        entries = (*self._history, *self._other)
        return tuple(dict.fromkeys(entry.state.key for entry in entries))

    @property
    def born_s(self) -> int:
        """When the node was made, seconds since 1970."""
        return self._history[0].event.issued_s

    @property
    def since_s(self) -> int:
        """The time from which the current key is the node's, seconds since 1970."""
        return self._state.periods[-1].from_s

    @property
    def recovery(self) -> bytes:
        """The hash of the recovery key, as committed to now."""
        return self._state.recovery

    @property
    def events(self) -> tuple[bytes, ...]:
        """The events, by position."""
        return tuple(entry.event.raw for entry in self._history)

    @property
    def head(self) -> bytes:
        """The digest of the last event, 32 bytes; zeros while the log is frozen. Logs of one node with one head are equal."""
        return bytes(HASH_BYTES) if self.frozen else self._history[-1].event.digest

    @property
    def revoked_s(self) -> int | None:
        """The time from which the node is revoked, seconds since 1970; None if it is not."""
        return self._state.revoked_s

    @property
    def revoked_by_recovery(self) -> bool:
        """True if the recovery key revoked the node, which is final."""
        return self.revoked_s is not None and self._state.by_recovery

    @property
    def frozen(self) -> bool:
        """True if two histories diverge and the recovery key has not decided between them (rule 7)."""
        if not self._other:
            return False
        theirs = rank(self._other) if self._parts_at else False  # rule 8
        return rank(self._history[self._parts_at :]) <= theirs

    @property
    def fork(self) -> Fork | None:
        """The proof of the last contradiction, decided or not; None if there was none."""
        if not self._other:
            return None
        ours, theirs = self._history[self._parts_at].event, self._other[0].event
        return Fork(position=self._parts_at, ours=ours.raw, theirs=theirs.raw)

    @property
    def active(self) -> bool:
        """True if the log is neither frozen nor revoked."""
        return not self.frozen and self.revoked_s is None

    def check_active(self) -> None:
        """Errors: ``keylog.fork``, ``keylog.revoked``."""
        if self.frozen:
            raise MeshError("keylog.fork", node=self.node)
        if self.revoked_s is not None:
            raise MeshError("keylog.revoked", node=self.node, since_s=self.revoked_s)

    def find_key(self, key_id: bytes, issued_s: int) -> VerifyKey | None:
        """The key ``key_id`` selects, if it was the node's at ``issued_s``, give or take the skew at its beginning.

        None for every key while the log is frozen, and from the revocation on.
        """
        for period in self._periods():
            if key_id_of(period.key) == key_id and covers(period, issued_s):
                return VerifyKey(period.key)
        return None

    def encode(self) -> bytes:
        """The log as bytes, for the store and for peers."""
        other = tuple(entry.event.raw for entry in self._other)
        return cbor.encode(
            _Log(version=formats.version_of("key-log"), events=self.events, parts_at=self._parts_at, other=other)
        )

    def _periods(self) -> tuple[Period, ...]:
        return () if self.frozen else self._state.periods

    @property
    def _state(self) -> KeyState:
        return self._history[-1].state

    def __len__(self) -> int:
        return len(self._history)

    def __eq__(self, other: object) -> bool:
        """Logs are equal if they accept the same keys: both have the same history, or both are frozen and accept none."""
        if not isinstance(other, KeyLog):
            return NotImplemented
        return self._belief == other._belief

    def __hash__(self) -> int:
        return hash(self._belief)

    @property
    def _belief(self) -> tuple[str, bytes]:
        return self.node, self.head

    def __repr__(self) -> str:
        state = "frozen" if self.frozen else "revoked" if self.revoked_s is not None else "active"
        return f"KeyLog({ids.short(self.node)}, {len(self)} events, {state})"

    # --- learning ----------------------------------------------------------------------------------------------------

    def apply(self, raw: bytes, *, now_s: int | None = None) -> KeyLog:
        """The log after the event ``raw``; this log itself if it has the event already, or if a recovery outranks it.

        Checks, in order: form of the event; about this node; not from the future; not known; its predecessor is known;
        nothing follows a revocation; time, room and signatures (rules 2 to 6); the weighing of rule 7. An event that
        contradicts the log makes it frozen; ask ``frozen``.
        Errors: ``keylog.invalid``, ``keylog.gap``, ``keylog.revoked``, ``keylog.fork`` (the log is frozen already).
        """
        event = read_event(raw)
        if event.node != self.node:
            raise invalid("the event is about another node")
        check_future([event], now_s)
        if any(entry.event.digest == event.digest for entry in (*self._history, *self._other)):
            return self
        if isinstance(event.statement, Genesis):
            return self._weigh(extend((), [event]))
        return self._weigh(extend(self._before(event.statement), [event]))

    def merge(self, other: KeyLog) -> KeyLog:
        """This log after it has applied every history of ``other``.

        Unlike ``apply`` it raises nothing about forks: ask ``frozen``. Errors: ``keylog.invalid`` (of another node).
        """
        if other.node != self.node:
            raise invalid("the log is of another node")
        # Both histories of the other log are compared: each may contradict ours at a different position.
        merged = self._weigh(other._history, quiet=True)
        return merged._weigh(other._history[: other._parts_at] + other._other, quiet=True)

    def _before(self, statement: Rotate | Recover | Revoke) -> History:
        """The known history the event follows. Errors: ``keylog.gap``."""
        # The event may continue either history: a recovery can follow the contradicting one.
        for history in (self._history, self._history[: self._parts_at] + self._other):
            if statement.position <= len(history):
                before = history[: statement.position]
                if before[-1].event.digest == statement.previous:
                    return before
        raise MeshError(
            "keylog.gap",
            f"event {statement.position} follows one that is not known here",
            position=statement.position,
            known=len(self),
        )

    def _weigh(self, theirs: History, *, quiet: bool = False) -> KeyLog:
        """Rules 7 and 8: this history against ``theirs``. Errors: ``keylog.fork``, unless ``quiet``."""
        ours = self._history
        # The first position at which the two histories differ; None if one is the beginning of the other.
        parting = next(
            (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a.event.digest != b.event.digest), None
        )
        if parting is None:
            return self if len(theirs) <= len(ours) else self._follow(theirs, quiet)
        our_rank = rank(ours[parting:])
        their_rank = rank(theirs[parting:]) if parting else False  # rule 8
        # A thief can sign with a stolen witness key, but not with the recovery key. So a history that it signed wins.
        if their_rank and not our_rank:
            if self.frozen and self._parts_at < parting:
                return self._follow(theirs, quiet)  # an undecided contradiction at an earlier position remains
            return KeyLog(theirs, parting, ours[parting:])
        if (our_rank and not their_rank) or self.frozen:
            return self
        # Neither outranks the other. The log keeps both, so that it is frozen and the proof can be shown.
        return KeyLog(ours, parting, theirs[parting:])

    def _follow(self, longer: History, quiet: bool) -> KeyLog:
        """The same history with more events. A frozen log accepts only events that end the freeze."""
        followed = KeyLog(longer, self._parts_at, self._other)
        if not followed.frozen:
            return followed
        if quiet:
            return self
        raise MeshError("keylog.fork", "the log is frozen: only the recovery key can continue it", node=self.node)


# --- making ----------------------------------------------------------------------------------------------------------


def begin(key: SigningKey, recovery: bytes, *, now_s: int, random: bytes) -> KeyLog:
    """A new log. recovery: ``recovery_commitment`` of its recovery key. random: ``EVENT_RANDOM_BYTES`` random bytes."""
    public_key = bytes(key.verify_key)
    genesis = Genesis(key=public_key, recovery=recovery)
    node = ids.node_id(public_key)
    return KeyLog.begin(sign_event(genesis, node=node, signer=key, new=None, issued_s=now_s, random=random))


def rotate(log: KeyLog, current: SigningKey, new: SigningKey, *, now_s: int, random: bytes) -> KeyLog:
    """``log`` with ``new`` in the place of ``current``. Errors: ``keylog.full``, and those of ``KeyLog.apply``."""
    if len(log) >= limits.KEY_EVENTS_MAX - limits.KEY_EVENTS_RESERVED:
        raise MeshError("keylog.full")
    position, previous, issued_s = _next(log, now_s)
    statement = Rotate(position=position, previous=previous, key=bytes(new.verify_key))
    return log.apply(sign_event(statement, node=log.node, signer=current, new=new, issued_s=issued_s, random=random))


def recover(
    log: KeyLog,
    recovery: SigningKey,
    new: SigningKey,
    *,
    since_s: int,
    now_s: int,
    random: bytes,
    commitment: bytes = b"",
) -> KeyLog:
    """``log`` with ``new`` as its key, by the recovery key. commitment: the next one; empty keeps it.

    A revocation by a witness key is replaced, not followed: whoever stole that key may have signed it.
    Errors: ``recovery.invalid`` (not the recovery key of this log), and those of ``KeyLog.apply``.
    """
    by = bytes(recovery.verify_key)
    if not is_recovery_key(by, log.recovery):
        raise MeshError("recovery.invalid", "this is the recovery key of another node, or an earlier one of this node")
    base = log
    if log.revoked_s is not None and not log.revoked_by_recovery:
        base = KeyLog(log._history[:-1])
    position, previous, issued_s = _next(base, now_s)
    statement = Recover(
        position=position,
        previous=previous,
        by=by,
        key=bytes(new.verify_key),
        recovery=commitment or log.recovery,
        since_s=min(since_s, issued_s),
    )
    return log.apply(sign_event(statement, node=log.node, signer=recovery, new=new, issued_s=issued_s, random=random))


def revoke(log: KeyLog, signer: SigningKey, *, since_s: int, now_s: int, random: bytes) -> KeyLog:
    """``log`` with its end. signer: the current key or the recovery key. Errors: those of ``KeyLog.apply``."""
    position, previous, issued_s = _next(log, now_s)
    by = bytes(signer.verify_key)
    statement = Revoke(position=position, previous=previous, by=by, since_s=min(since_s, issued_s))
    return log.apply(sign_event(statement, node=log.node, signer=signer, new=None, issued_s=issued_s, random=random))


def _next(log: KeyLog, now_s: int) -> tuple[int, bytes, int]:
    """Position, predecessor and time of the next event; the time never goes back (rule 2), whatever the clock does."""
    last = log._history[-1].event
    return len(log), last.digest, max(now_s, last.issued_s)
