"""Checks the state of a browser context (Playwright's ``storage_state``) before a browser loads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec

from adapters.ports.browser import BrowserState, UnexportableState
from protocol import limits
from protocol.capsule.storage_key import site_on_top
from protocol.errors import MeshError
from protocol.page.seen.web_address import require_web

_BROKEN: Final = "broken-text"


class _Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    value: str


class _Index(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    keyPath: str | msgspec.UnsetType = msgspec.UNSET
    keyPathArray: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    unique: bool
    multiEntry: bool


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: Any = msgspec.UNSET
    keyEncoded: Any = msgspec.UNSET
    value: Any = msgspec.UNSET
    valueEncoded: Any = msgspec.UNSET


class _Store(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    keyPath: str | msgspec.UnsetType = msgspec.UNSET
    keyPathArray: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    autoIncrement: bool
    indexes: tuple[_Index, ...]
    records: tuple[_Record, ...]


class _Database(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: int
    stores: tuple[_Store, ...]


class _Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    origin: str
    localStorage: tuple[_Item, ...] = ()
    indexedDB: tuple[_Database, ...] | msgspec.UnsetType = msgspec.UNSET
    sessionStorage: tuple[_Item, ...] | msgspec.UnsetType = msgspec.UNSET
    """Our field: Playwright has none for it."""
    storageKey: str = ""
    """Our field: the key of storage that is partitioned by the site on top; empty for that of pages."""


class _Cookie(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    value: str
    domain: str
    path: str
    expires: float = -1
    httpOnly: bool = False
    secure: bool = False
    sameSite: Literal["Strict", "Lax", "None"] = "Lax"
    partitionKey: str = ""
    crossSite: bool | msgspec.UnsetType = msgspec.field(name="_crHasCrossSiteAncestor", default=msgspec.UNSET)


class StoredState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decoded JSON of a ``BrowserState``. Unknown fields are refused: they would be lost without notice."""

    cookies: Annotated[tuple[_Cookie, ...], msgspec.Meta(max_length=limits.BROWSER_STATE_COOKIES_MAX)] = ()
    origins: Annotated[tuple[_Origin, ...], msgspec.Meta(max_length=limits.BROWSER_STATE_ORIGINS_MAX)] = ()

    def __repr__(self) -> str:
        return f"Stored({len(self.cookies)} cookies, {len(self.origins)} origins)"


def read_state(state: BrowserState) -> StoredState:
    """The content of ``state``, except IndexedDB in the files of its slice.

    Errors: ``input.invalid``, which reveals none of its values.
    """
    try:
        stored = msgspec.json.decode(state.storage, type=StoredState)
        for origin in stored.origins:
            require_web(origin.origin)
            if origin.storageKey and not site_on_top(origin.origin, origin.storageKey):
                raise MeshError("input.invalid")
    except (msgspec.MsgspecError, UnicodeError, MeshError):
        raise MeshError("input.invalid", "this is not the state of a browser context") from None
    given = {each.origin for each in state.slice.folders}
    origins = tuple(
        each if each.storageKey or each.origin not in given else msgspec.structs.replace(each, indexedDB=msgspec.UNSET)
        for each in stored.origins
    )
    return msgspec.structs.replace(stored, origins=origins)


def plain_state(stored: StoredState) -> Any:
    """``stored`` as Playwright takes it. ``storageKey`` is kept only for partitioned storage."""
    made = msgspec.to_builtins(stored)
    for origin in made["origins"]:
        origin.pop("sessionStorage", None)
        if not origin["storageKey"]:
            del origin["storageKey"]
    return made


def of_tabs(stored: StoredState) -> dict[str, dict[str, str]]:
    """The initial sessionStorage, by origin."""
    return {
        each.origin: {item.name: item.value for item in each.sessionStorage}
        for each in stored.origins
        if each.sessionStorage and not each.storageKey
    }


def write_state(
    stored: Any,
    tabs: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    untaken: tuple[UnexportableState, ...] = (),
    apart: Iterable[Mapping[str, Any]] = (),
) -> BrowserState:
    """The state, built from Playwright's state, sessionStorage by origin, the parts missing from both, and partitioned storage
    with its ``storageKey``.

    A page can store text that is no Unicode (half of a surrogate pair), which no format can carry: such entries are left out,
    and named. Errors: ``input.too_large``.
    """
    origins = {each["origin"]: dict(each) for each in stored["origins"]}
    for origin, items in tabs.items():
        found = origins.setdefault(origin, {"origin": origin, "localStorage": []})
        found["sessionStorage"] = [{"name": name, "value": value} for name, value in items.items()]
    every = [*origins.values(), *(dict(each) for each in apart)]
    broken = tuple(UnexportableState(origin=each["origin"], what=_BROKEN) for each in every if _without_broken(each))
    storage = msgspec.json.encode({**stored, "origins": every})
    return BrowserState(storage=storage, untaken=(*untaken, *broken))


def _without_broken(origin: dict[str, Any]) -> bool:
    """Remove entries that cannot be encoded. True if there was any."""
    if _encodes(origin):
        return False
    for kind in ("localStorage", "sessionStorage", "indexedDB"):
        if kind in origin:
            origin[kind] = [each for each in origin[kind] if _encodes(each)]
    return True


def _encodes(found: Any) -> bool:
    try:
        msgspec.json.encode(found)
    except UnicodeEncodeError:
        return False
    return True
