"""Converts the state of a capsule into the state of a browser, and back. Parts that no browser context accepts stay in the
capsule.

A context accepts cookies, localStorage and IndexedDB, of pages and of frames whose storage is partitioned by the top site, and
sessionStorage for its first page. It accepts no storage with a key of another form. If an origin has files of a profile, its
IndexedDB is in these files.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from adapters.ports.browser import BrowserState
from node.capsules.seal.reading import state_of
from protocol import limits
from protocol.capsule.slices import Slice, same_content
from protocol.capsule.state import (
    CapsuleState,
    Cookie,
    Index,
    IndexedDatabase,
    Lost,
    ObjectStore,
    ObjectStoreRecord,
    OriginStorage,
)
from protocol.capsule.storage_key import site_on_top
from protocol.trust.origin import origin_of

_SAME_SITE: Final = {"strict": "Strict", "lax": "Lax", "none": "None"}


def to_browser(state: CapsuleState, *, now_s: int) -> BrowserState:
    """The state with which a context begins. Expired cookies are left out. Errors: ``input.too_large``."""
    stored = {
        "cookies": [_cookie(each) for each in state.cookies if not each.expires_s or each.expires_s > now_s],
        "origins": [
            _storage(each, state.slice)
            for each in state.storage
            if _is_taken(each) and (each.local or each.databases or (each.session and not each.key))
        ],
    }
    return BrowserState(
        storage=json.dumps(stored, ensure_ascii=False).encode("utf-8", "surrogatepass"), slice=state.slice
    )


def from_browser(found: BrowserState, before: CapsuleState) -> CapsuleState:
    """The state of a context at its end, with the parts of ``before`` that a context does not take.

    Errors: ``input.invalid`` if the site stored more than a capsule keeps.
    """
    held = json.loads(found.storage)
    now = state_of(held)
    # If no page of an origin was open at the end, its sessionStorage is unknown, so the old one is kept.
    seen = {each["origin"] for each in held.get("origins", ()) if "sessionStorage" in each}
    untaken = {each.origin: each.session for each in before.storage if not each.key and each.origin not in seen}
    storage = [
        msgspec.structs.replace(each, session=each.session or untaken.pop(each.origin, ())) for each in now.storage
    ]
    storage = [each for each in storage if each.local or each.session or each.databases]
    storage += [OriginStorage(origin=origin, session=session) for origin, session in untaken.items() if session]
    known = {(each.origin, each.key) for each in now.storage}
    storage += [each for each in before.storage if each.key and (each.origin, each.key) not in known]
    lost = dict.fromkeys((*before.lost, *(Lost(origin=each.origin, what=each.what) for each in found.untaken)))
    return msgspec.structs.replace(
        now,
        storage=tuple(storage),
        lost=tuple(lost)[: limits.CAPSULE_STORAGES_MAX],
        slice=found.slice or before.slice,
        basic=before.basic,
    )


def same(one: CapsuleState, other: CapsuleState) -> bool:
    """True if both hold the same, in any order."""
    if not same_content(one.slice, other.slice):
        return False
    return _sorted(one) == _sorted(other)


def _sorted(state: CapsuleState) -> CapsuleState:
    # A browser treats a cookie without the attribute as lax, and reports it as lax.
    said = [msgspec.structs.replace(each, same_site=each.same_site or "lax") for each in state.cookies]
    cookies = sorted(said, key=lambda each: (each.domain, each.path, each.name, each.partition))
    stored = sorted(state.storage, key=lambda each: (each.origin, each.key))
    storage = tuple(
        msgspec.structs.replace(each, local=tuple(sorted(each.local, key=lambda item: item.name)))
        for each in stored
        if each.local or each.session or each.databases
    )
    return CapsuleState(cookies=tuple(cookies), storage=storage)


def _cookie(cookie: Cookie) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value,
        "domain": cookie.domain,
        "path": cookie.path,
        "expires": cookie.expires_s or -1,
        "httpOnly": cookie.http_only,
        "secure": cookie.secure,
    }
    if cookie.same_site:
        made["sameSite"] = _SAME_SITE[cookie.same_site]
    if cookie.partition:
        made |= {"partitionKey": cookie.partition, "_crHasCrossSiteAncestor": cookie.cross_site}
    return made


def _is_taken(stored: OriginStorage) -> bool:
    return not stored.key or bool(site_on_top(stored.origin, stored.key))


def _storage(stored: OriginStorage, given: Slice) -> dict[str, Any]:
    made: dict[str, Any] = {
        "origin": origin_of(stored.origin) or stored.origin,
        "localStorage": [{"name": each.name, "value": each.value} for each in stored.local],
    }
    if stored.key:
        made["storageKey"] = stored.key
    elif stored.session:
        made["sessionStorage"] = [{"name": each.name, "value": each.value} for each in stored.session]
    # An origin with files still needs its entry: a document must be opened for it, so that its storage is read at the end.
    if stored.databases and (stored.key or not given.has(made["origin"])):
        made["indexedDB"] = [_database(each) for each in stored.databases]
    return made


def _database(database: IndexedDatabase) -> dict[str, Any]:
    stores = [_object_store(each) for each in database.stores]
    return {"name": database.name, "version": database.version, "stores": stores}


def _object_store(store: ObjectStore) -> dict[str, Any]:
    return {
        "name": store.name,
        **_key_path(store.path),
        "autoIncrement": store.auto,
        "indexes": [_index(each) for each in store.indexes],
        "records": [_entry(each) for each in store.entries],
    }


def _index(index: Index) -> dict[str, Any]:
    return {"name": index.name, **_key_path(index.path), "unique": index.unique, "multiEntry": index.multiple}


def _key_path(path: str) -> dict[str, Any]:
    if not path:
        return {}
    said = json.loads(path)
    return {"keyPathArray": said} if isinstance(said, list) else {"keyPath": said}


def _entry(entry: ObjectStoreRecord) -> dict[str, Any]:
    # It is not stored which of the two was written in the longer form, because a plain value has the same meaning there.
    end = "Encoded" if entry.form == "encoded" else ""
    made = {f"value{end}": json.loads(entry.value)}
    if entry.key:
        made[f"key{end}"] = json.loads(entry.key)
    return made
