"""Reads the state of a login from files of other programs. No message quotes a file.

Formats: the storage state of Playwright, cookies as JSON (browser extensions), ``cookies.txt`` (Netscape), and a command line of
cURL. A malformed cookie is left out and reported by its place in the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from node.base.files import open_named
from node.capsules.seal.curl import words_of
from protocol import limits
from protocol.capsule.state import (
    CapsuleState,
    Cookie,
    Index,
    IndexedDatabase,
    ObjectStore,
    ObjectStoreRecord,
    OriginStorage,
    StorageItem,
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
_WITH_VALUE: Final = re.compile(
    r"-[AdeFouxXmTcw]|--(?:user-agent|data(?:-\w+)?|json|referer|form|output|user|proxy|request|cacert|cert|key|resolve|connect-to"
    r"|max-time|connect-timeout|retry|upload-file|cookie-jar|write-out)"
)
"""Options of cURL that take the next word as their value."""
_LEFT_OUT_MAX: Final = 20
_FIELDS: Final = 7
"""The fields of a line of ``cookies.txt``: domain, include subdomains, path, secure, expiry, name, value."""
_MS_FROM: Final = 10**11
"""In seconds this is the year 5138, so a time from here on is in milliseconds. From a thousand times this value on, it is in
microseconds.
"""
_OTHERS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"\s*(?:\$session\s*=|Invoke-WebRequest\b)", re.IGNORECASE), "a command of PowerShell"),
    (re.compile(r"\s*(?:await\s+)?fetch\("), "a call of fetch in JavaScript"),
    (re.compile(r'\s*\{\s*"log"\s*:'), "a HAR file"),
)
_COPY: Final = "copy the request as cURL (bash), or export the cookies as JSON or cookies.txt"


class FileRead(NamedTuple):
    """The content of a file, and the parts that were left out, by place."""

    state: CapsuleState
    left_out: tuple[str, ...]


class _Odd(Exception):
    """The reason why a cookie is left out."""


def read_state(path: Path) -> FileRead:
    """The state in a file of any known format. Errors: ``input.no_file``, ``input.too_large``, ``input.invalid``."""
    try:
        with open_named(path) as file:  # only a plain file has a size before it is read
            data = file.read(limits.CAPSULE_SOURCE_BYTES_MAX + 1)
        if len(data) > limits.CAPSULE_SOURCE_BYTES_MAX:
            raise MeshError("input.too_large", f"{path}: at most {limits.CAPSULE_SOURCE_BYTES_MAX} bytes are read")
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise MeshError("input.no_file", f"{path}: {error.strerror}", path=str(path)) from error
    except UnicodeDecodeError:
        raise MeshError("input.invalid", f"{path} is not text in UTF-8") from None
    left_out: list[str] = []
    try:
        return FileRead(_checked(_read(text, left_out), path), tuple(left_out[:_LEFT_OUT_MAX]))
    except MeshError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # ``from None``, because the messages of these exceptions may quote a cookie.
        raise MeshError("input.invalid", f"{path} holds no state in a known form") from None


def _read(text: str, left_out: list[str]) -> CapsuleState:
    start = text.lstrip()
    for form, what in _OTHERS:
        if form.match(start):
            raise MeshError("input.invalid", f"this is {what}, and is not read: {_COPY}")
    if start.startswith("{"):
        return _storage_state(json.loads(text), left_out)
    if start.startswith("["):
        return CapsuleState(cookies=_each(_cookie, json.loads(text), "cookie", left_out))
    if re.match(r"curl(?:\.exe)?\s", start):
        return _curl(start)
    lines = [(number, line) for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1) if _is_cookie_line(line)]
    if not lines or not any("\t" in line for _, line in lines):
        raise ValueError
    return CapsuleState(
        cookies=_each(_cookie_line, (line for _, line in lines), "line", left_out, [n for n, _ in lines])
    )


def _each(
    made: Callable[[Any], Cookie],
    found: Iterable[Any],
    place: str,
    left_out: list[str],
    numbers: list[int] | None = None,
) -> tuple[Cookie, ...]:
    """The cookies that ``made`` makes of ``found``; malformed ones are left out. numbers: their places, if these do not count from
    1.
    """
    kept: list[Cookie] = []
    for index, each in enumerate(found):
        try:
            one = made(each)
            msgspec.json.encode(one)  # text that is no Unicode
            kept.append(msgspec.convert(msgspec.to_builtins(one), Cookie, strict=True))
            continue
        except _Odd as odd:
            why = str(odd)
        except msgspec.ValidationError:
            why = "a browser keeps no such cookie"
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            why = "it has not the form of a cookie"
        left_out.append(f"{place} {numbers[index] if numbers else index + 1} is left out: {why}")
    return tuple(kept)


def _checked(state: CapsuleState, path: Path) -> CapsuleState:
    try:
        made = _in_form(state)
    except msgspec.ValidationError:
        raise MeshError("input.invalid", "a cookie or an entry of the file is longer than a browser keeps") from None
    if not made.cookies and not made.storage:
        raise MeshError("input.invalid", f"{path} holds no cookie and no storage in a known form")
    return made


def _in_form(state: CapsuleState) -> CapsuleState:
    """``state``, once it is within bounds. Raises ``ValueError``, also for text that is not Unicode, which JSON can contain."""
    msgspec.json.encode(state)
    return msgspec.convert(msgspec.to_builtins(state), CapsuleState, strict=True)


def state_of(found: dict[str, Any]) -> CapsuleState:
    """The storage state of Playwright. Errors: ``input.invalid``, which quotes nothing of it."""
    try:
        left_out: list[str] = []
        state = _in_form(_storage_state(found, left_out))
        if left_out:
            raise ValueError  # a browser writes no malformed cookies, and without one the login would be incomplete
        return state
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, msgspec.ValidationError):
        raise MeshError("input.invalid", "the browser holds more than a capsule keeps") from None


def _storage_state(found: dict[str, Any], left_out: list[str]) -> CapsuleState:
    if not isinstance(found.get("cookies"), list):
        raise ValueError
    return CapsuleState(
        cookies=_each(_cookie, found["cookies"], "cookie", left_out),
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
        expires_s=_seconds(expires) if not found.get("session") else 0,
        http_only=bool(found.get("httpOnly")),
        secure=bool(found.get("secure")),
        same_site=_SAME_SITE.get(str(found.get("sameSite") or "").lower(), ""),  # type: ignore[arg-type]  # one of those
        partition=partition,
        cross_site=cross,
    )


def _seconds(given: Any) -> int:
    """An expiry in seconds, from a number of seconds, milliseconds or microseconds, or from a date as text; 0 for none."""
    if isinstance(given, str) and not re.fullmatch(r"\s*[-+]?\d+(?:\.\d+)?\s*", given):
        given = _date(given)
    seconds = float(given)
    if not math.isfinite(seconds):
        raise _Odd("its time of expiry cannot be read")
    while seconds >= _MS_FROM:
        seconds /= 1000
    return max(0, int(seconds))


def _date(text: str) -> float:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text.strip())
        except (ValueError, TypeError, IndexError):
            continue
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    if text.strip().lower() in ("session", ""):
        return 0
    raise _Odd("its time of expiry cannot be read")


def _storage(found: dict[str, Any]) -> OriginStorage:
    return OriginStorage(
        origin=found["origin"],
        key=found.get("storageKey", ""),
        local=tuple(StorageItem(name=each["name"], value=each["value"]) for each in found.get("localStorage", ())),
        session=tuple(StorageItem(name=each["name"], value=each["value"]) for each in found.get("sessionStorage", ())),
        databases=tuple(_database(each) for each in found.get("indexedDB", ())),
    )


def _database(found: dict[str, Any]) -> IndexedDatabase:
    return IndexedDatabase(
        name=found["name"], version=found["version"], stores=tuple(map(_object_store, found["stores"]))
    )


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


def _entry(found: dict[str, Any]) -> ObjectStoreRecord:
    encoded = "valueEncoded" in found or "keyEncoded" in found
    key = found.get("keyEncoded", found.get("key"))
    value = found["valueEncoded"] if "valueEncoded" in found else found.get("value")
    if encoded and "valueEncoded" not in found:
        value = _in_full(value)
    return ObjectStoreRecord(
        key="" if key is None else json.dumps(key, ensure_ascii=False),
        value=json.dumps(value, ensure_ascii=False),
        form="encoded" if encoded else "plain",
    )


def _in_full(value: Any) -> Any:
    """A plain value in the longer form, in which keys of an object cannot be confused with keys of the form itself."""
    if isinstance(value, dict):
        return {"o": [{"k": name, "v": _in_full(each)} for name, each in value.items()], "id": 0}
    return {"a": list(map(_in_full, value)), "id": 0} if isinstance(value, list) else value


_HTTP_ONLY: Final = "#HttpOnly_"


def _is_cookie_line(line: str) -> bool:
    return bool(line.strip()) and (not line.lstrip().startswith("#") or line.startswith(_HTTP_ONLY))


def _cookie_line(line: str) -> Cookie:
    """A line of ``cookies.txt``. A line without a value may lack its last tab, because editors strip it and cURL accepts that."""
    fields = line.removeprefix(_HTTP_ONLY).split("\t")
    if len(fields) == _FIELDS - 1:
        fields.append("")
    if len(fields) != _FIELDS:
        raise _Odd(f"it has {len(fields)} fields between tabs, not {_FIELDS}")
    domain, below, path, secure, expires, name, value = (field.strip(" ") for field in fields)
    if not domain or not name or below.upper() not in ("TRUE", "FALSE"):
        raise _Odd("its fields are not in the order of a cookies.txt")
    plain = domain.removeprefix(".")
    return Cookie(
        name=name,
        value=value,
        domain=f".{plain}" if below.upper() == "TRUE" else plain,
        path=path or "/",
        expires_s=_seconds(expires or 0),
        http_only=line.startswith(_HTTP_ONLY),
        secure=secure.upper() == "TRUE",
    )


def _curl(text: str) -> CapsuleState:
    words = words_of(text)[1:]
    url, pairs = "", []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if before in _COOKIE_OPTIONS:
            pairs.append(word)
        elif before in _HEADER_OPTIONS:
            pairs += _of_header(word)
        elif word.startswith("-b") and len(word) > 2:
            pairs.append(word[2:])
        elif word.startswith("-H") and len(word) > 2:
            pairs += _of_header(word[2:])
        elif before == "--url" or (word.startswith(("http://", "https://")) and not _WITH_VALUE.fullmatch(before)):
            url = url or word
    host = urlsplit(url).hostname
    if not host:
        raise MeshError("input.invalid", "the line of cURL names no address")
    cookies = [part.strip().partition("=") for pair in pairs for part in pair.split(";") if "=" in part]
    secure = url.startswith("https://")
    return CapsuleState(
        cookies=tuple(Cookie(name=name, value=value, domain=host, secure=secure) for name, _, value in cookies)
    )


def _of_header(header: str) -> list[str]:
    name, _, value = header.partition(":")
    return [value] if name.strip().lower() == "cookie" else []
