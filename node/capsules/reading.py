"""Reads the state of a login out of files that other programs write. No message quotes anything of a file.

Known: the storage state of Playwright, cookies as JSON (browser extensions), ``cookies.txt`` (Netscape), and a command line of
cURL.
"""

from __future__ import annotations

import http.cookiejar
import io
import json
import shlex
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from node.base import open_named
from protocol import limits
from protocol.capsule.state import (
    CapsuleState,
    Cookie,
    Database,
    Entry,
    Index,
    Item,
    ObjectStore,
    OriginStorage,
)
from protocol.errors import MeshError

_SAME_SITE: Final[Mapping[str, str]] = {
    "strict": "strict",
    "lax": "lax",
    "none": "none",
    "no_restriction": "none",
}
_COOKIE_OPTIONS: Final = ("-b", "--cookie")
_HEADER_OPTIONS: Final = ("-H", "--header")


def read_state(path: Path) -> CapsuleState:
    """The state in a file, whatever its form. Errors: ``input.no_file``, ``input.too_large``, ``input.invalid``."""
    try:
        with open_named(path) as file:  # what is no plain file has no size before it is read
            data = file.read(limits.CAPSULE_SOURCE_BYTES_MAX + 1)
        if len(data) > limits.CAPSULE_SOURCE_BYTES_MAX:
            raise MeshError("input.too_large", f"{path}: at most {limits.CAPSULE_SOURCE_BYTES_MAX} bytes are read")
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise MeshError("input.no_file", f"{path}: {error.strerror}", path=str(path)) from error
    except UnicodeDecodeError:
        raise MeshError("input.invalid", f"{path} is not text in UTF-8") from None
    try:
        return _checked(_read(text, path))
    except MeshError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # ``from None``: what these exceptions say may quote a cookie.
        raise MeshError("input.invalid", f"{path} holds no state in a known form") from None


def _read(text: str, path: Path) -> CapsuleState:
    start = text.lstrip()
    if start.startswith("{"):
        return _storage_state(json.loads(text))
    if start.startswith("["):
        return CapsuleState(cookies=tuple(_cookie(each) for each in json.loads(text)))
    if start.startswith("curl ") or start.startswith("curl\t"):
        return _curl(start)
    return CapsuleState(cookies=_cookies_txt(text, path))


def _checked(state: CapsuleState) -> CapsuleState:
    try:
        made = _in_form(state)
    except msgspec.ValidationError:
        raise MeshError("input.invalid", "a cookie or an entry of the file is longer than a browser keeps") from None
    if not made.cookies and not made.storage:
        raise MeshError("input.invalid", "the file holds no cookie and no storage")
    return made


def _in_form(state: CapsuleState) -> CapsuleState:
    """``state``, once it is within bounds. Raises ``ValueError``, also for text that is no Unicode: JSON can say such."""
    msgspec.json.encode(state)
    return msgspec.convert(msgspec.to_builtins(state), CapsuleState, strict=True)


def state_of(found: dict[str, Any]) -> CapsuleState:
    """The storage state of Playwright. Errors: ``input.invalid``, which quotes nothing of it."""
    try:
        return _in_form(_storage_state(found))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, msgspec.ValidationError):
        raise MeshError("input.invalid", "the browser holds more than a capsule keeps") from None


def _storage_state(found: dict[str, Any]) -> CapsuleState:
    if not isinstance(found.get("cookies"), list):
        raise ValueError
    return CapsuleState(
        cookies=tuple(_cookie(each) for each in found["cookies"]),
        storage=tuple(_storage(each) for each in found.get("origins", ())),
    )


def _cookie(found: dict[str, Any]) -> Cookie:
    partition = found.get("partitionKey") or ""
    cross = bool(found.get("_crHasCrossSiteAncestor"))
    if isinstance(partition, dict):
        partition, cross = partition.get("topLevelSite", ""), bool(partition.get("hasCrossSiteAncestor"))
    domain = str(found["domain"])
    if found.get("hostOnly") is True:
        domain = domain.removeprefix(".")
    expires = found.get("expires", found.get("expirationDate", found.get("expiry", 0))) or 0
    return Cookie(
        name=found["name"],
        value=found["value"],
        domain=domain,
        path=found.get("path") or "/",
        expires_s=max(0, int(expires)) if not found.get("session") else 0,
        http_only=bool(found.get("httpOnly")),
        secure=bool(found.get("secure")),
        same_site=_SAME_SITE.get(str(found.get("sameSite") or "").lower(), ""),  # type: ignore[arg-type]  # one of those
        partition=partition,
        cross_site=cross,
    )


def _storage(found: dict[str, Any]) -> OriginStorage:
    return OriginStorage(
        origin=found["origin"],
        key=found.get("storageKey", ""),
        local=tuple(Item(name=each["name"], value=each["value"]) for each in found.get("localStorage", ())),
        session=tuple(Item(name=each["name"], value=each["value"]) for each in found.get("sessionStorage", ())),
        databases=tuple(_database(each) for each in found.get("indexedDB", ())),
    )


def _database(found: dict[str, Any]) -> Database:
    return Database(name=found["name"], version=found["version"], stores=tuple(map(_object_store, found["stores"])))


def _object_store(found: dict[str, Any]) -> ObjectStore:
    return ObjectStore(
        name=found["name"],
        path=_key_path(found),
        auto=bool(found.get("autoIncrement")),
        indexes=tuple(
            Index(
                name=each["name"],
                path=_key_path(each),
                unique=bool(each.get("unique")),
                multiple=bool(each.get("multiEntry")),
            )
            for each in found.get("indexes", ())
        ),
        entries=tuple(_entry(each) for each in found.get("records", ())),
    )


def _key_path(found: dict[str, Any]) -> str:
    path = found.get("keyPathArray", found.get("keyPath"))
    return "" if path is None else json.dumps(path, ensure_ascii=False)


def _entry(found: dict[str, Any]) -> Entry:
    encoded = "valueEncoded" in found or "keyEncoded" in found
    key = found.get("keyEncoded", found.get("key"))
    value = found["valueEncoded"] if "valueEncoded" in found else found.get("value")
    if encoded and "valueEncoded" not in found:
        value = _in_full(value)
    return Entry(
        key="" if key is None else json.dumps(key, ensure_ascii=False),
        value=json.dumps(value, ensure_ascii=False),
        form="encoded" if encoded else "plain",
    )


def _in_full(value: Any) -> Any:
    """A plain value in the longer form, in which an object's own names are never taken for those of the form."""
    if isinstance(value, dict):
        return {"o": [{"k": name, "v": _in_full(each)} for name, each in value.items()], "id": 0}
    return {"a": list(map(_in_full, value)), "id": 0} if isinstance(value, list) else value


class _CookiesTxt(http.cookiejar.MozillaCookieJar):
    def read(self, text: str) -> None:
        # ``load`` would open the file a second time: a pipe is empty then, and no limit holds.
        self._really_load(io.StringIO(text, newline=None), "", ignore_discard=True, ignore_expires=True)  # type: ignore[attr-defined]


def _cookies_txt(text: str, path: Path) -> tuple[Cookie, ...]:
    jar = _CookiesTxt()
    try:
        # It warns of a defect of its own when a line surprises it, and its errors quote the line.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jar.read(text)
    except http.cookiejar.LoadError:
        raise MeshError("input.invalid", f"{path} holds no state in a known form") from None
    return tuple(
        Cookie(
            name=each.name,
            value=each.value or "",
            domain=each.domain,
            path=each.path,
            expires_s=max(0, each.expires or 0),
            http_only=each.has_nonstandard_attr("HTTPOnly"),
            secure=bool(each.secure),
        )
        for each in jar
    )


def _curl(text: str) -> CapsuleState:
    words = shlex.split(text.replace("\\\n", " "))[1:]
    url, pairs = "", []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if before in _COOKIE_OPTIONS:
            pairs.append(word)
        elif before in _HEADER_OPTIONS and word.lower().startswith("cookie:"):
            pairs.append(word.partition(":")[2])
        elif word.startswith(("http://", "https://")) and not before.startswith("-"):
            url = url or word
        elif before == "--url":
            url = word
    host = urlsplit(url).hostname
    if not host:
        raise MeshError("input.invalid", "the line of cURL names no address")
    cookies = [part.strip().partition("=") for pair in pairs for part in pair.split(";") if "=" in part]
    secure = url.startswith("https://")
    return CapsuleState(
        cookies=tuple(Cookie(name=name, value=value, domain=host, secure=secure) for name, _, value in cookies)
    )
