"""The secret state of a capsule: cookies and storage of a login. It is encoded as CBOR, and never stored in clear."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from protocol import limits
from protocol.capsule.slices import NO_SLICE, Slice, check_slice
from protocol.errors import MeshError
from protocol.kinds import Credential, Plain
from protocol.trust.origin import origin_of
from protocol.wire import cbor

_Text = Annotated[Credential, msgspec.Meta(max_length=limits.CAPSULE_TEXT_CHARS_MAX)]
_Name = Annotated[Plain, msgspec.Meta(max_length=limits.CAPSULE_NAME_CHARS_MAX)]
_Origin = Annotated[Plain, msgspec.Meta(min_length=1, max_length=limits.ORIGIN_CHARS_MAX)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Its representation shows the type only, so that no log or traceback quotes a secret."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class Cookie(_Record, frozen=True, kw_only=True):
    """One cookie, as a browser holds it."""

    name: _Name
    value: Annotated[Credential, msgspec.Meta(max_length=limits.CAPSULE_COOKIE_CHARS_MAX)]
    domain: Annotated[Plain, msgspec.Meta(min_length=1, max_length=limits.CAPSULE_DOMAIN_CHARS_MAX)]
    """It begins with a dot if the cookie is sent to subdomains too."""
    path: _Name = "/"
    expires_s: Annotated[int, msgspec.Meta(ge=0, le=2**40)] = 0
    """Seconds since 1970; 0 for a cookie that ends with the browser."""
    http_only: bool = False
    secure: bool = False
    same_site: Literal["", "strict", "lax", "none"] = ""
    partition: Annotated[Plain, msgspec.Meta(max_length=limits.ORIGIN_CHARS_MAX)] = ""
    """The top site of a partitioned cookie; empty for an ordinary one."""
    cross_site: bool = False
    """True for a partitioned cookie if a frame of another site is between the top site and its frame."""


class StorageItem(_Record, frozen=True, kw_only=True):
    """One entry of local or session storage."""

    name: _Text
    value: _Text


class ObjectStoreRecord(_Record, frozen=True, kw_only=True):
    """One record of an object store. Key and value are JSON text, because numbers of a page need not be integers."""

    key: _Text = ""
    """Empty if the value contains the key."""
    value: _Text
    form: Literal["plain", "encoded"] = "plain"
    """``encoded``: types that JSON lacks (dates, maps, byte arrays) are written as the capture writes them."""


class Index(_Record, frozen=True, kw_only=True):
    """An index of an object store."""

    name: _Name
    path: _Text
    """Its key path, in JSON: a text or a list of texts."""
    unique: bool = False
    multiple: bool = False


class ObjectStore(_Record, frozen=True, kw_only=True):
    """An object store of a database."""

    name: _Name
    path: _Text = ""
    """Its key path, in JSON; empty if it has none."""
    auto: bool = False
    """True if the store generates its keys."""
    indexes: Annotated[tuple[Index, ...], msgspec.Meta(max_length=limits.CAPSULE_STORES_MAX)] = ()
    entries: Annotated[tuple[ObjectStoreRecord, ...], msgspec.Meta(max_length=limits.CAPSULE_ENTRIES_MAX)] = ()


class IndexedDatabase(_Record, frozen=True, kw_only=True):
    """An IndexedDB database."""

    name: _Name
    version: Annotated[int, msgspec.Meta(ge=1, le=2**53)] = 1
    stores: Annotated[tuple[ObjectStore, ...], msgspec.Meta(max_length=limits.CAPSULE_STORES_MAX)] = ()


class OriginStorage(_Record, frozen=True, kw_only=True):
    """The storage of one origin under one storage key."""

    origin: _Origin
    key: Annotated[Plain, msgspec.Meta(max_length=2 * limits.ORIGIN_CHARS_MAX)] = ""
    """The storage key of a frame whose storage is partitioned; empty for the page's own."""
    local: Annotated[tuple[StorageItem, ...], msgspec.Meta(max_length=limits.CAPSULE_ENTRIES_MAX)] = ()
    session: Annotated[tuple[StorageItem, ...], msgspec.Meta(max_length=limits.CAPSULE_ENTRIES_MAX)] = ()
    databases: Annotated[tuple[IndexedDatabase, ...], msgspec.Meta(max_length=limits.CAPSULE_STORES_MAX)] = ()


class Lost(_Record, frozen=True, kw_only=True):
    """An item that the capture could not take."""

    origin: _Origin
    what: Annotated[Plain, msgspec.Meta(max_length=limits.CAPSULE_NAME_CHARS_MAX)]
    """``blob``, ``crypto-key`` or ``cache-storage`` with its place; ``broken-text`` for text that is not Unicode."""


class BasicLogin(_Record, frozen=True, kw_only=True):
    """The credentials for one origin that asks for HTTP basic authentication."""

    origin: _Origin
    user: Annotated[Credential, msgspec.Meta(min_length=1, max_length=limits.SECRET_CHARS_MAX)]
    password: Annotated[Credential, msgspec.Meta(max_length=limits.SECRET_CHARS_MAX)]


class CapsuleState(_Record, frozen=True, kw_only=True):
    """The whole state. Its representation shows counts only."""

    cookies: Annotated[tuple[Cookie, ...], msgspec.Meta(max_length=limits.CAPSULE_COOKIES_MAX)] = ()
    storage: Annotated[tuple[OriginStorage, ...], msgspec.Meta(max_length=limits.CAPSULE_STORAGES_MAX)] = ()
    lost: Annotated[tuple[Lost, ...], msgspec.Meta(max_length=limits.CAPSULE_STORAGES_MAX)] = ()
    slice: Slice = NO_SLICE
    """Files of the browser's profile, if the owner asked for them. ``storage`` holds the part of these databases that scripts can
    read.
    """
    basic: Annotated[tuple[BasicLogin, ...], msgspec.Meta(max_length=limits.CAPSULE_ORIGINS_MAX)] = ()
    """Sorted by origin, each once."""

    def __repr__(self) -> str:
        return f"CapsuleState({len(self.cookies)} cookies, {len(self.storage)} storages)"


def encode_state(state: CapsuleState) -> bytes:
    """The bytes that are sealed. Errors: ``input.too_large``."""
    data = cbor.encode(state)
    if len(data) > limits.CAPSULE_STATE_BYTES_MAX:
        raise MeshError(
            "input.too_large", f"the state has {len(data)} bytes, {limits.CAPSULE_STATE_BYTES_MAX} are allowed"
        )
    return data


def decode_state(data: bytes) -> CapsuleState:
    """The state in ``data``. Errors: ``capsule.invalid``, which quotes nothing of it."""
    try:
        state = cbor.decode_as(
            data, CapsuleState, bytes_max=limits.CAPSULE_STATE_BYTES_MAX, items_max=limits.CAPSULE_ITEMS_MAX
        )
    except MeshError as error:
        # ``from None``: the message of the decoder may quote a key or a value of the state.
        raise MeshError("capsule.invalid", f"the sealed state cannot be read ({error.code})") from None
    check_slice(state.slice)
    _check_basic(state.basic)
    return state


def _check_basic(given: tuple[BasicLogin, ...]) -> None:
    """Check that each is for exactly one origin. Errors: ``capsule.invalid``, which quotes nothing of it."""
    named = [each.origin for each in given]
    if named != sorted(set(named)) or any(origin_of(origin) != origin or "*" in origin for origin in named):
        raise MeshError("capsule.invalid", "credentials for basic authentication are not for one origin each")
    if not all(f"{each.user}{each.password}".isprintable() and ":" not in each.user for each in given):
        raise MeshError("capsule.invalid", "credentials for basic authentication have another form")
