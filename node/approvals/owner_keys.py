"""The chain of owners' keys on this node: read at the start, continued by signed changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from nacl.signing import VerifyKey

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.signing import Witness
from node.verbs import Bound
from node.verbs.nodes import owner as verbs
from node.verbs.nodes.owner import Changed, ChangeParams, OwnerKey, OwnerList
from protocol.approval.owners import KIND_OWNERS, Owner, OwnerChange, OwnerEntry, Owners, owner_id
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

SUBJECT = "owners"
ProveRecovery = Callable[[str, str], Awaitable[None]]
"""Checks that one of two files holds the recovery key of this node. Errors: ``recovery.invalid``, ``input.invalid``."""


class OwnerKeys:
    """The keys of the people who own this node."""

    def __init__(
        self, witness: Witness, store: Store, clock: Clock, prove_recovery: ProveRecovery | None = None
    ) -> None:
        """prove_recovery: None if no recovery key can be checked."""
        self._witness, self._store, self._clock = witness, store, clock
        self._prove_recovery = prove_recovery or _nobody
        self._changing = asyncio.Lock()
        self.owners = Owners(node=witness.node)
        self._end_answers: Callable[[], Awaitable[int]] | None = None
        self.bound: Bound = {
            verbs.LIST: lambda params, tell: self.listed(),
            verbs.CHANGE: lambda params, tell: self.change(params),
        }

    def follow(self, end_answers: Callable[[], Awaitable[int]]) -> None:
        """Call ``end_answers`` after each revocation of a key, from now on. It returns the number of approvals that ended with the
        key.
        """
        self._end_answers = end_answers

    async def load(self) -> None:
        """Read the chain, in the order of the witness log. An entry is left out if it does not continue the chain, or if its
        signature was disowned later.

        Errors: ``store.*``.
        """
        for leaf in self._witness.entries(KIND_OWNERS, SUBJECT):
            artefact = await self._store.artefact(leaf.digest)
            if artefact is None:
                continue  # ``Witness.check_untampered`` refuses everything that relies on the chain
            try:
                opened = envelope.verify(artefact.envelope, kinds=frozenset({KIND_OWNERS}), find_key=self._find_key)
                entry = cbor.decode_as(opened.payload, OwnerEntry)
                self.owners = self.owners.follow(entry, now_s=opened.header.issued_s)
            except MeshError as error:
                log.error("a change of the owners of this node does not hold: %s", error)

    def _find_key(self, issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
        return self._witness.identity.log.find_key(key_id, issued_s) if issuer == self._witness.node else None

    def is_active(self, owner: str) -> bool:
        """True if the key with the id ``owner`` is that of an owner now."""
        return any(each.id == owner for each in self.owners.active)

    async def listed(self) -> OwnerList:
        """Every key, revoked ones too. Errors: ``store.tampered``."""
        self._witness.check_untampered()
        found = self.owners
        return OwnerList(
            owners=tuple(_shown(each) for each in found.every),
            node=found.node,
            number=found.number,
            head=found.head.hex(),
        )

    async def change(self, asked: ChangeParams) -> Changed:
        """Accept a signed change. It is stored and in the witness log when this returns.

        Errors: ``owner.*``, ``envelope.*``, ``message.invalid``, ``recovery.invalid``, ``input.invalid``, ``store.*``.
        """
        self._witness.check_untampered()
        entry = OwnerEntry(by=asked.by, change=_bytes(asked.change), signed=_bytes(asked.signed))
        async with self._changing:
            # First without effect, so that this node does not sign a change that breaks the rules.
            self.owners.follow(entry, now_s=self._clock.now_ms() // 1000)
            if asked.by == "recovery":
                await self._prove_recovery(asked.key_file, asked.words_file)
            change = cbor.decode_as(entry.change, OwnerChange)
            id = owner_id(change.key)
            self._witness.trail.about(id)
            artefact = await self._witness.artefact(KIND_OWNERS, SUBJECT, entry)
            kind = FeedKind.OWNER_ADDED if change.act == "add" else FeedKind.OWNER_REVOKED
            await self._witness.feed.along(lambda news: self._store.put_artefact(artefact, news=news), kind, id)
            self.owners = self.owners.follow(entry, now_s=artefact.issued_s)
        ended = await self._end_answers() if change.act == "revoke" and self._end_answers else 0
        owner = next(each for each in self.owners.every if each.id == id)
        return Changed(**{name: getattr(_shown(owner), name) for name in OwnerKey.__struct_fields__}, ended=ended)


async def _nobody(key_file: str, words_file: str) -> None:
    raise MeshError("recovery.invalid", "this node cannot check a recovery key")


def _shown(owner: Owner) -> OwnerKey:
    return OwnerKey(
        id=owner.id,
        name=owner.name,
        state="active" if owner.revoked_s is None else "revoked",
        class_max=owner.level_max,
        key=owner.key.hex(),
        added_ms=owner.added_s * 1000,
        by=owner.by,
        revoked_ms=(owner.revoked_s or 0) * 1000,
    )


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise MeshError("input.invalid", "a signed change is given in hexadecimal digits") from None
