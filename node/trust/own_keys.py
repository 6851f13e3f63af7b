"""Changes this node's keys: rotation, recovery, self-revocation. Also describes them for people.

A change of key is stored before any peer is told. The order is chosen so that after a crash at any point the node can still
start: store both keys, then the key log that says which is current, then tell the peers, then change the channel, then store
the new key alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from nacl.signing import SigningKey

from adapters.ports.clock import Clock
from adapters.ports.keys import KeyStore
from node.base.files import write_private
from node.base.tasks import to_its_end
from node.signing import Identity, check_recovery_file, contents, identity
from node.trust.calls import Calls
from node.trust.recovery_key import RecoveryKey
from node.verbs import Bound, Handler, NoParams
from node.verbs.nodes import keys as verbs
from node.verbs.nodes.keys import ChangedKey, RecoveredKey, RecoverParams, RevokedKey, RevokeParams
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.keys import keylog, recovery
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.keys.keylog import KeyLog
from protocol.messages import Done, KeysAsk, KeysPush, KeysTell
from protocol.wire.clocks import apart_in_words

log = logging.getLogger(__name__)


Rewrap = Callable[[Sequence[SigningKey]], Awaitable[None]]


async def _nothing_more(under: Sequence[SigningKey]) -> None:
    """The default ``rewrap``, for a node that encrypts nothing else under the witness key."""


class Keyed(Protocol):
    """A part of the channel that authenticates this node with its key."""

    def rekey(self, key: SigningKey) -> None:
        """Use another key of the same node."""


class OwnKeys:
    """Changes the key of a node, one change at a time."""

    def __init__(
        self,
        home: Path,
        own: Identity,
        keys: KeyStore,
        clock: Clock,
        calls: Calls,
        channel: Sequence[Keyed],
        recovery_key: RecoveryKey,
        end_pairing: Callable[[], Awaitable[None]],
        end_work: Callable[[], Awaitable[None]],
        rewrap: Rewrap = _nothing_more,
    ) -> None:
        """channel: the parts that must use the new key. rewrap: encrypts files again that lie under the witness key: under both
        keys during the change, then under the new one.

        end_pairing: withdraws invites, which name the old key.
        end_work: ends work that would otherwise go on signing after a self-revocation.
        """
        self._home, self._own, self._keys, self._clock, self._calls = home, own, keys, clock, calls
        self._channel, self._recovery, self._end_work = tuple(channel), recovery_key, end_work
        self._rewrap = rewrap
        self._end_pairing = end_pairing
        self._changing = asyncio.Lock()
        self.bound: Bound = {
            verbs.ROTATE: self.rotate,
            verbs.RECOVER: self.recover,
            verbs.REVOKE_SELF: self.revoke,
        }
        self.routes: dict[str, Handler] = {"keys/push": self.on_push, "keys/pull": self.on_pull}

    # --- what peers ask ----------------------------------------------------------------------------------------------

    async def on_push(self, caller: str, push: KeysPush) -> Done:
        """A peer shows a key log: its own, or that of another peer of ours. Errors: ``keylog.*``, ``peer.unknown``."""
        await self._calls.changes.adopt(push.log)
        return Done()

    async def on_pull(self, caller: str, ask: KeysAsk) -> KeysTell:
        """A peer that does not know our current key asks for our key log."""
        return KeysTell(log=self._own.log.encode())

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def rotate(self, params: NoParams | None = None, tell: Any = None) -> ChangedKey:
        """Replace the witness key; the current key signs the change.

        Errors: ``keylog.full``, ``keylog.revoked``, ``peer.clock``, ``key.clock``, ``store.*``, ``key.*``.
        """
        async with self._changing:
            self._own.check_active()
            # Before a key is made, because a key that begins in the future would lock this node out.
            await self._check_clock()
            from_s = self._from_s()
            new = SigningKey(self._clock.random(identity.SEED_BYTES))
            changed = keylog.rotate(self._own.log, self._own.key, new, now_s=from_s, random=self._random())
            return ChangedKey(**await to_its_end(self._change(changed, new, FeedKind.KEY_ROTATED)))

    async def recover(self, params: RecoverParams, tell: Any = None) -> RecoveredKey:
        """Replace the witness key; the recovery key signs the change, and the current key is not needed.

        Errors: ``recovery.invalid``, ``input.invalid``, ``keylog.revoked`` (the recovery key had revoked), ``store.*``, ``key.*``.
        """
        async with self._changing:
            signer = await self._recovery.read(params.key_file, params.words_file)
            new = SigningKey(self._clock.random(identity.SEED_BYTES))
            next_seed = self._clock.random(recovery.SEED_BYTES) if params.recovery_out else b""
            now_s = self._now_s()
            changed = keylog.recover(
                self._own.log,
                signer,
                new,
                since_s=_since(params.since_s, self._own.log, now_s),
                now_s=now_s,
                random=self._random(),
                commitment=recovery.commitment(next_seed) if next_seed else b"",
            )
            if next_seed:
                # Before the change: otherwise a failed write would leave a node whose new recovery key nobody has.
                written = await asyncio.to_thread(self._write_recovery, params.recovery_out, next_seed)
            found = await to_its_end(self._change(changed, new, FeedKind.KEY_RECOVERED))
            if next_seed:
                await asyncio.to_thread(contents.mark, self._home, self._own.node, store=True, recovery=written)
            return RecoveredKey(**found, recovery_file=params.recovery_out)

    async def revoke(self, params: RevokeParams, tell: Any = None) -> RevokedKey:
        """Revoke this node, and tell every reachable peer.

        Errors: ``recovery.invalid``, ``input.invalid``, ``keylog.revoked``, ``store.*``.
        """
        async with self._changing:
            signer = self._own.key
            if params.key_file or params.words_file:
                signer = await self._recovery.read(params.key_file, params.words_file)
            now_s = self._now_s()
            since_s = _since(params.since_s, self._own.log, now_s)
            changed = keylog.revoke(self._own.log, signer, since_s=since_s, now_s=now_s, random=self._random())
            await asyncio.to_thread(identity.write_log, self._home, changed)
            # The key stays, to sign the message that tells it; peers believe nothing else of it.
            self._own.become(changed, self._own.key)
            log.warning("this node has revoked itself")
            await self._calls.peers.feed.tell(FeedKind.KEY_REVOKED, self._own.node)
            told, missed = await self._calls.push_keys(changed)
            await self._end_work()
            return RevokedKey(**self._result(told, missed), revoked_s=changed.revoked_s)

    # --- changing ----------------------------------------------------------------------------------------------------

    # An interrupted command must not stop this half-way: no peer accepts a node that is between two keys.

    async def _change(self, changed: KeyLog, new: SigningKey, kind: FeedKind) -> dict[str, Any]:
        old = self._own.key
        with self._own.ending(changed.since_s):
            await asyncio.to_thread(self._keys.save, [bytes(old), bytes(new)])
            await self._rewrap([old, new])
            await asyncio.to_thread(identity.write_log, self._home, changed)
            # The old key has ended, so peers reject anything that it signs from here on. They still know it, so they are told
            # under it. Each drops the connection once it has understood, so only a call under the new key shows whether it has.
            self._own.become(changed, new)
        await self._calls.peers.feed.tell(kind, self._own.node)
        await self._calls.push_keys(changed)
        self._own.speak()
        for end in self._channel:
            end.rekey(new)
        await self._end_pairing()
        # Last, and in this order: after an earlier crash both keys still exist, so all files can be opened.
        await self._rewrap([new])
        await asyncio.to_thread(self._keys.save, [bytes(new)])
        told, missed = await self._calls.ask_all()
        log.info("this node has a new witness key: %d peers have received it, %d have not yet", len(told), len(missed))
        return self._result(told, missed)

    def _result(self, told: list[str], missed: list[str]) -> dict[str, Any]:
        return {
            "node": self._own.node,
            "short": ids.short(self._own.node),
            "public_key": self._own.public_key.hex(),
            "events": len(self._own.log),
            "told": told,
            "not_told": missed,
        }

    async def _check_clock(self) -> None:
        """Refuse if our clock is ahead of the clocks of all peers that reported theirs. They would reject a key that begins
        in the future until that time, and the previous key is no longer valid. Errors: ``peer.clock``.
        """
        if not self._calls.clocks_apart_ms():
            await self._calls.ask_all()
        apart_ms = self._calls.clocks_apart_ms()
        if apart_ms and max(apart_ms) < -limits.CLOCK_SKEW_S * 1000:
            words = apart_in_words("this node", -max(apart_ms)).replace(" ours", " those of its peers")
            raise MeshError("peer.clock", f"{words}: peers would not accept a new key until then")

    def _from_s(self) -> int:
        """The earliest time at which a new key may begin: not before the latest artefact that the present key signed.

        A key's signatures are not accepted after its end. If the clock was ahead when something was signed, and the key ended
        now, no peer would ever accept what was signed. A peer accepts an event that is ahead by the skew at most.
        Errors: ``key.clock``.
        """
        now_s, latest_s = self._now_s(), self._own.latest_s
        # If ours is behind the clock of every peer, a time that is ahead of ours need not be ahead of theirs.
        behind_s = max(0, min(self._calls.clocks_apart_ms(), default=0)) // 1000
        if latest_s > now_s + behind_s + limits.CLOCK_SKEW_S:
            until = f"{datetime.fromtimestamp(latest_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
            raise MeshError(
                "key.clock", f"this node has signed artefacts that are dated up to {until}", latest_s=latest_s
            )
        return max(now_s, latest_s)

    def _write_recovery(self, given: str, seed: bytes) -> str:
        """Write the recovery key to a file. Returns its path. Errors: ``input.invalid``."""
        path = check_recovery_file(self._home, given)
        try:
            write_private(path, recovery.render(self._own.node, seed).encode())
        except OSError as error:
            raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}") from error
        return str(path)

    def _now_s(self) -> int:
        return self._clock.now_ms() // 1000

    def _random(self) -> bytes:
        return self._clock.random(EVENT_RANDOM_BYTES)


def _since(given_s: int, known: KeyLog, now_s: int) -> int:
    """The time from which signatures of the lost key are rejected; without one given, now. Errors: ``input.invalid``."""
    if given_s > now_s:
        raise MeshError("input.invalid", "--since must not be in the future")
    if given_s and given_s < known.born_s:
        born = datetime.fromtimestamp(known.born_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        told = f"this node was made at {born} UTC, and --since is before that: give that time or a later one"
        raise MeshError("input.invalid", told, field="since", born_s=known.born_s)
    return given_s or now_s


def describe(home: Path, form: str, words: Callable[[bytes], str]) -> dict[str, Any]:
    """Describe the keys in ``home``: the id and words that people compare, and the state of the key log. Needs no passphrase.

    form: how the witness key is kept. words: a digest as words. Errors: ``node.not_initialised``, ``store.corrupt``.
    """
    known = identity.read_log(home)
    return {
        "node": known.node,
        "short": ids.short(known.node),
        "fingerprint": words(recovery.fingerprint(known.node)),
        "public_key": known.key.hex(),
        "events": len(known),
        "revoked_s": known.revoked_s,
        "key_form": form,
    }
