"""The keys of the people who own a node: a chain of changes, each signed by who vouches for it.

A change is an artefact of the node too: around it stands the signature of the witness key, and it is in the witness log. Its rules:

1. It names this node, the number of changes before it, and the digest of the one before.
2. The first one adds a key, and is signed by that key. There is no second first one, also when every key has been revoked.
3. Later ones are signed by an active owner who may approve every class (by any owner, to revoke its own key), or vouched for by
   the node because it was shown its recovery key. Then an added key signs its own addition, and a revocation has no further
   signature.
4. A key is used once. A name belongs to one active key.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final, Literal

import msgspec
from nacl.signing import SigningKey, VerifyKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.trust.agent_token import NAME_PATTERN
from protocol.wire import cbor, envelope

KIND_CHANGE: Final = "owner-change"
"""Kind of the envelope that an owner signs."""
KIND_OWNERS: Final = "owners"
"""Kind of the artefact of the node around it."""
LEVEL_MAX: Final = 7
_DOMAIN: Final = b"trailmesh-owner-v1\x00"

By = Literal["first", "owner", "recovery"]
Name = Annotated[Plain, msgspec.Meta(pattern=NAME_PATTERN)]
Key = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class OwnerChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key is added or revoked."""

    node: ids.NodeId
    number: Annotated[int, msgspec.Meta(ge=0, lt=limits.OWNER_CHANGES_MAX)]
    """How many changes there were before."""
    previous: Annotated[bytes, msgspec.Meta(max_length=32)]
    """SHA-256 of the entry before; empty for the first."""
    act: Literal["add", "revoke"]
    name: Name
    key: Key
    level_max: Annotated[int, msgspec.Meta(ge=4, le=LEVEL_MAX)] = LEVEL_MAX
    """The highest class that its owner may approve."""


class OwnerEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change with its signature: the payload of an artefact of the node."""

    by: By
    change: bytes
    """``OwnerChange``, encoded."""
    signed: bytes = b""
    """An envelope over the same bytes, by who vouches; empty for a revocation with the recovery key."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """One key."""

    id: str
    name: str
    key: bytes
    level_max: int
    added_s: int
    by: str
    """``first``, ``recovery``, or the id of the owner who vouched."""
    revoked_s: int | None = None


def owner_id(public_key: bytes) -> str:
    """The id of an owner's key (32 bytes, public)."""
    return ids.make_id("own", hashlib.sha256(_DOMAIN + public_key).digest()[: ids.ID_RANDOM_BYTES])


class Owners(msgspec.Struct, frozen=True, kw_only=True):
    """The owners of a node after some changes. Immutable: ``follow`` gives the next."""

    node: str
    every: tuple[Owner, ...] = ()
    """Revoked ones too, in the order in which they were added."""
    number: int = 0
    head: bytes = b""

    @property
    def active(self) -> tuple[Owner, ...]:
        """Those whose approvals count."""
        return tuple(each for each in self.every if each.revoked_s is None)

    def named(self, name: str) -> Owner:
        """The active owner with this name or id. Errors: ``owner.unknown``."""
        found = next((each for each in self.active if name in (each.name, each.id)), None)
        if found is None:
            raise MeshError(
                "owner.unknown", f"no owner {name[:64]}" if self.active else "this node knows no owner's key"
            )
        return found

    def require(self, id: str, level: int) -> Owner:
        """The active owner with this id. Errors: ``owner.refused`` if there is none, or it may not approve ``level``."""
        found = next((each for each in self.active if each.id == id), None)
        if found is None:
            raise MeshError("owner.refused", "it was signed by no active key of an owner of this node")
        if level > found.level_max:
            raise MeshError("owner.refused", f"{found.name} may approve classes up to {found.level_max}, not {level}")
        return found

    def find_key(self, issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
        """``envelope.KeyFinder``: the key of an active owner."""
        found = next((each for each in self.active if each.id == issuer), None)
        return VerifyKey(found.key) if found and envelope.key_id(found.key) == key_id else None

    def change(self, act: Literal["add", "revoke"], name: str, key: bytes, level_max: int = LEVEL_MAX) -> OwnerChange:
        """The next change, not signed yet."""
        return OwnerChange(
            node=self.node, number=self.number, previous=self.head, act=act, name=name, key=key, level_max=level_max
        )

    def follow(self, entry: OwnerEntry, *, now_s: int) -> Owners:
        """The owners after ``entry``, once the rules of this module hold.

        now_s: when it was made, seconds since 1970. ``recovery`` must have been proven to the caller. Errors: ``owner.change``,
        ``envelope.*``, ``message.invalid``.
        """
        change = cbor.decode_as(entry.change, OwnerChange, bytes_max=limits.APPROVAL_BYTES_MAX)
        if (change.node, change.number, change.previous) != (self.node, self.number, self.head):
            raise _invalid("it does not continue the owners of this node: they have changed meanwhile")
        if (entry.by == "first") != (self.number == 0):
            raise _invalid("only the first key vouches for itself")
        by = self._voucher(entry, change)
        head = hashlib.sha256(cbor.encode(entry)).digest()
        every = self._added(change, by, now_s) if change.act == "add" else self._revoked(change, now_s)
        return Owners(node=self.node, every=every, number=self.number + 1, head=head)

    def _voucher(self, entry: OwnerEntry, change: OwnerChange) -> str:
        """Who vouches for the change, once its signature is checked."""
        if entry.by == "recovery" and change.act == "revoke":
            if entry.signed:
                raise _invalid("a revocation with the recovery key has no further signature")
            return "recovery"
        if entry.by == "first" and change.act != "add":
            raise _invalid("the first change adds a key")

        def own(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
            fits = issuer == owner_id(change.key) and envelope.key_id(change.key) == key_id
            return VerifyKey(change.key) if fits else None

        find_key = self.find_key if entry.by == "owner" else own
        opened = envelope.verify(
            entry.signed, kinds=frozenset({KIND_CHANGE}), find_key=find_key, bytes_max=limits.APPROVAL_BYTES_MAX
        )
        if opened.payload != entry.change:
            raise _invalid("another change was signed")
        if entry.by != "owner":
            return entry.by
        leaves = change.act == "revoke" and opened.header.issuer == owner_id(change.key)
        self.require(opened.header.issuer, 0 if leaves else LEVEL_MAX)
        return opened.header.issuer

    def _added(self, change: OwnerChange, by: str, now_s: int) -> tuple[Owner, ...]:
        if any(each.key == change.key for each in self.every):
            raise _invalid("the key was used before: make a new one")
        if any(each.name == change.name for each in self.active):
            raise _invalid(f"there is an owner {change.name} already: choose another name, or revoke that key first")
        if len(self.active) >= limits.OWNERS_MAX:
            raise _invalid(f"there are {limits.OWNERS_MAX} owners already")
        if by == "first" and change.level_max != LEVEL_MAX:
            raise _invalid("the first owner may approve every class: somebody has to vouch for the others")
        added = Owner(
            id=owner_id(change.key),
            name=change.name,
            key=change.key,
            level_max=change.level_max,
            added_s=now_s,
            by=by,
        )
        return (*self.every, added)

    def _revoked(self, change: OwnerChange, now_s: int) -> tuple[Owner, ...]:
        if not any(each.key == change.key and each.name == change.name for each in self.active):
            raise _invalid("no active owner has this name and key")
        return tuple(
            msgspec.structs.replace(each, revoked_s=now_s)
            if each.key == change.key and each.revoked_s is None
            else each
            for each in self.every
        )


def _invalid(reason: str) -> MeshError:
    return MeshError("owner.change", reason)


def sign_change(change: OwnerChange, key: SigningKey, *, now_s: int, unique: bytes) -> bytes:
    """``change`` signed by an owner's key. unique: 16 random bytes."""
    header = envelope.EnvelopeHeader(issuer=owner_id(bytes(key.verify_key)), issued_s=now_s, unique=unique)
    return envelope.seal(cbor.encode(change), kind=KIND_CHANGE, key=key, header=header)
