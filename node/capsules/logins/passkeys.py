"""The passkeys that this node has registered for itself: kept like its sealing keys, and used by its own logins only.

Each is in a file of its own, encrypted under the witness key, and in no backup, bundle or capsule. A site treats a copied passkey
as a clone, and anybody who has it can log in. Another node registers its own passkey.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl.signing import SigningKey

from adapters.ports.browser import Passkey
from adapters.ports.clock import Clock
from node.base.files import write_private
from node.capsules.seal.sealing_keys import Wrap, destroy
from node.signing import Witness
from node.verbs import Bound, Tell
from node.verbs.capsules import capsule_passkey as verbs
from node.verbs.capsules.capsule_passkey import PasskeyList, PasskeyParams, RemovedPasskey, ShownPasskey
from protocol import limits
from protocol.errors import MeshError
from protocol.store_faults import store_code
from protocol.trust.origin import origin_of
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

DIRECTORY: Final = "passkeys"
_SUFFIX: Final = ".passkey"
_AT_REST: Final = b"trailmesh: passkey at rest"
_NONCE_BYTES: Final = 12
_FILE_BYTES_MAX: Final = 64 * limits.KIB
_ID_CHARS: Final = 12
_AHEAD: Final = 32
"""Uses that are counted before the browser gets a passkey: after a crash its count must not be lower than the one that the site
saw.
"""


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a passkey file."""

    wraps: tuple[Wrap, ...]
    """The passkey, encrypted under the witness key. There are two while that key changes, so that a crash loses nothing."""


class _Kept(Passkey, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passkey, with the notes of this node about it."""

    made_ms: int = 0
    """0 for a passkey stored before this field existed."""
    used_ms: int = 0
    """The time at which a page last used it; 0 for never."""
    proven: bool = False
    """True if a login with it was seen to work."""


class Passkeys:
    """The passkeys of this node."""

    def __init__(self, home: Path, witness: Witness, clock: Clock) -> None:
        self._directory, self._witness, self._clock = home / DIRECTORY, witness, clock
        self._one = asyncio.Lock()
        self._between: tuple[SigningKey, ...] = ()
        """While the witness key changes, both keys: a file written meanwhile must open with either."""
        self.bound: Bound = {
            verbs.LIST: lambda params, tell: self.listed(),
            verbs.REMOVE: lambda params, tell: self.remove(params),
        }

    async def listed(self) -> PasskeyList:
        """Every passkey that can be opened, in the order of sites. Errors: ``store.*``."""
        async with self._one:
            found = await asyncio.to_thread(self._all)
        return PasskeyList(
            passkeys=tuple(map(_shown, sorted(found, key=lambda each: (each.rp, each.made_ms, _id_of(each)))))
        )

    async def remove(self, given: PasskeyParams) -> RemovedPasskey:
        """Destroy the file of a passkey. The site would still accept the passkey, but nobody has it. Errors: ``input.not_found``,
        ``store.*``.
        """
        async with self._one:
            found = [
                each for each in await asyncio.to_thread(self._all) if _id_of(each) == given.passkey.strip().lower()
            ]
            if not found:
                raise MeshError("input.not_found", f"no passkey {given.passkey[:40]!r}: `trailmesh capsule passkey ls`")
            await asyncio.to_thread(destroy, self._directory / _name_of(found[0]))
        return RemovedPasskey(id=_id_of(found[0]), site=found[0].rp)

    async def lend(self, url: str) -> tuple[Passkey, ...]:
        """The passkeys for the site of ``url``. Their counts are stored ``_AHEAD`` uses higher. Errors: ``capsule.no_passkey``,
        ``store.*``.
        """
        async with self._one:
            found = [each for each in await asyncio.to_thread(self._all) if _is_of(each.rp, url)]
            if not found:
                raise MeshError("capsule.no_passkey", f"there is none for {origin_of(url)}")
            for each in found:
                counted = msgspec.structs.replace(each, count=each.count + _AHEAD)
                await asyncio.to_thread(self._write, counted, self._under)
        return tuple(_plain(each) for each in found)

    async def keep(self, held: Sequence[Passkey]) -> None:
        """Store the passkeys that a browser holds now. A new one is unproven. A count never goes back.

        Errors: ``store.*``, ``input.too_large``.
        """
        async with self._one:
            known = {each.credential: each for each in await asyncio.to_thread(self._all)}
            fresh = [each for each in held if each.credential not in known]
            if len(known) + len(fresh) > limits.PASSKEYS_MAX:
                raise MeshError("input.too_large", f"a node keeps at most {limits.PASSKEYS_MAX} passkeys")
            for each in held:
                before = known.get(each.credential)
                if before is not None and before.count >= each.count:
                    continue
                kept = before or _Kept(**msgspec.structs.asdict(each), made_ms=self._clock.now_ms())
                kept = msgspec.structs.replace(kept, count=each.count)
                await asyncio.to_thread(self._write, kept, self._under)

    async def note(self, credentials: Collection[bytes], **known: object) -> None:
        """Note facts about passkeys: fields of ``_Kept``. Unknown passkeys are passed over. Errors: ``store.*``."""
        async with self._one:
            for each in await asyncio.to_thread(self._all):
                if each.credential in credentials:
                    noted = msgspec.structs.replace(each, **known)
                    await asyncio.to_thread(self._write, noted, self._under)

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._clock.now_ms()

    async def rewrap(self, under: Sequence[SigningKey]) -> None:
        """Encrypt the files under these keys: under both while the witness key changes, then under the new one.

        Errors: ``store.*``.
        """
        async with self._one:
            self._between = tuple(under) if len(under) > 1 else ()
            for each in await asyncio.to_thread(self._all, tuple(under)):
                await asyncio.to_thread(self._write, each, under)

    @property
    def _under(self) -> tuple[SigningKey, ...]:
        """The keys under which a file is written now."""
        return self._between or (self._witness.identity.key,)

    def _all(self, under: Sequence[SigningKey] = ()) -> list[_Kept]:
        """Every passkey that can be read. A file that cannot be opened is skipped, and left for its owner."""
        found = []
        for path in sorted(self._directory.glob(f"*{_SUFFIX}")):
            try:
                found.append(self._read(path, under or self._under))
            except MeshError as error:
                log.error("a passkey cannot be used: %s", error)
        return found

    def _read(self, path: Path, under: Sequence[SigningKey]) -> _Kept:
        try:
            with path.open("rb") as opened:
                file = cbor.decode_as(opened.read(_FILE_BYTES_MAX + 1), _File, bytes_max=_FILE_BYTES_MAX)
        except OSError as error:
            raise MeshError(store_code(error.errno), f"{path} cannot be read: {error.strerror}") from error
        except MeshError as error:
            raise MeshError("store.corrupt", f"{path}: {error.code}") from error
        for key in under:
            wrap = next((each for each in file.wraps if each.by == _id(key)), None)
            if wrap is None:
                continue
            try:
                plain = ChaCha20Poly1305(_at_rest(key)).decrypt(wrap.nonce, wrap.sealed, path.name.encode())
            except InvalidTag:
                raise MeshError("store.corrupt", f"{path} was changed") from None
            return cbor.decode_as(plain, _Kept, bytes_max=_FILE_BYTES_MAX)
        raise MeshError("store.corrupt", f"{path} is encrypted under another witness key")

    def _write(self, key: _Kept, under: Sequence[SigningKey]) -> None:
        name = _name_of(key)
        wraps = []
        for witness_key in under:
            nonce = self._clock.random(_NONCE_BYTES)
            # The encryption authenticates the name of the file, so that one file cannot take the place of another.
            sealed = ChaCha20Poly1305(_at_rest(witness_key)).encrypt(nonce, cbor.encode(key), name.encode())
            wraps.append(Wrap(by=_id(witness_key), nonce=nonce, sealed=sealed))
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            write_private(self._directory / name, cbor.encode(_File(wraps=tuple(wraps))))
        except OSError as error:
            raise MeshError(store_code(error.errno), f"{self._directory}: {error.strerror}") from error


class Heard:
    """Stores the passkeys that the pages of one flow make and use, at once, because later steps may fail."""

    def __init__(self, passkeys: Passkeys, tell: Tell) -> None:
        self._passkeys, self._tell = passkeys, tell
        self._writes: list[asyncio.Task[None]] = []
        self.used: set[bytes] = set()
        """Credentials that a page has used."""

    def hear(self, key: Passkey, made: bool) -> None:
        """A ``HearPasskey``."""
        if not made:
            self.used.add(key.credential)
        self._writes.append(asyncio.create_task(self._keep(key, made)))

    async def _keep(self, key: Passkey, made: bool) -> None:
        await self._passkeys.keep([key])
        if made:
            self._tell({"note": "a passkey was made, and is kept: `trailmesh capsule passkey ls`"})
        else:
            await self._passkeys.note({key.credential}, used_ms=self._passkeys.now_ms())

    async def kept(self) -> None:
        """Wait until everything is on the disk. Errors: those of ``Passkeys.keep``."""
        while self._writes:
            await asyncio.shield(self._writes[0])
            del self._writes[0]


def _name_of(key: Passkey) -> str:
    """The name of its file."""
    return f"{hashlib.sha256(key.credential).hexdigest()[:32]}{_SUFFIX}"


def _id_of(key: Passkey) -> str:
    """The id that people see."""
    return _name_of(key)[:_ID_CHARS]


def _plain(key: _Kept) -> Passkey:
    """The passkey without the notes of this node."""
    return Passkey(**{name: getattr(key, name) for name in Passkey.__struct_fields__})


def _shown(key: _Kept) -> ShownPasskey:
    return ShownPasskey(
        id=_id_of(key), site=key.rp, account=key.name, made_ms=key.made_ms, used_ms=key.used_ms, proven=key.proven
    )


def _is_of(rp: str, url: str) -> bool:
    """True if a browser at ``url`` would use a passkey of the site ``rp``."""
    host = origin_of(url).partition("://")[2].rpartition("@")[2]
    host = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    return bool(rp) and (host == rp or host.endswith(f".{rp}"))


def _id(key: SigningKey) -> bytes:
    return envelope.key_id(bytes(key.verify_key))


def _at_rest(key: SigningKey) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_AT_REST).derive(bytes(key))
