"""Recognises keys of an address that carry secrets, by their names. Pure."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = frozenset(
    [
        "apikey",
        "sid",
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "oauth",
        "authorization",
        "authentication",
        "signature",
        "secret",
        "token",
        "jwt",
        "otp",
        "credential",
        "credentials",
        "csrf",
        "xsrf",
        "hmac",
        "bearer",
        "nonce",
        "totp",
        "passcode",
    ]
)
_AMBIGUOUS: Final = frozenset(["key", "code", "session", "pass", "auth", "sig", "pin", "assertion", "ticket"])
"""Words for secrets, unless the word before them names another kind of key or code."""
_PARTS: Final = (
    "token",
    "passw",
    "secret",
    "session",
    "sessid",
    "apikey",
    "credential",
    "signature",
    "accesskey",
    "oobcode",
)
_PLAIN_KEYS: Final = frozenset(
    [
        "by",
        "order",
        "sort",
        "group",
        "primary",
        "foreign",
        "partition",
        "row",
        "cache",
        "map",
        "issue",
        "project",
        "translation",
        "i18n",
        "lookup",
        "hot",
        "field",
        "column",
        "query",
        "filter",
        "item",
        "object",
        "index",
        "data",
        "node",
        "state",
        "storage",
        "press",
        "shortcut",
        "locale",
        "message",
    ]
)
_PLAIN_CODES: Final = frozenset(
    [
        "country",
        "zip",
        "postal",
        "post",
        "area",
        "product",
        "lang",
        "language",
        "currency",
        "error",
        "status",
        "promo",
        "coupon",
        "discount",
        "campaign",
        "color",
        "colour",
        "region",
        "state",
        "airport",
        "station",
        "source",
        "item",
        "sku",
        "hs",
        "iso",
        "dial",
        "city",
        "exit",
        "response",
        "http",
        "bar",
        "qr",
        "class",
        "course",
        "subject",
        "offer",
        "char",
        "key",
        "program",
        "department",
        "location",
        "rate",
        "tax",
        "unit",
        "reason",
        "type",
    ]
)
_PLAIN: Final = {
    "key": _PLAIN_KEYS,
    "code": _PLAIN_CODES,
    "pass": frozenset({"by", "boarding", "ski", "day", "season"}),
}
_BORDER: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_NAMING: Final = frozenset(
    [
        "id",
        "ids",
        "uuid",
        "guid",
        "oid",
        "gid",
        "pid",
        "uid",
        "v",
        "ver",
        "version",
        "hash",
        "h",
        "rev",
        "revision",
        "etag",
        "commit",
        "sha",
        "sha1",
        "sha256",
        "md5",
        "digest",
        "checksum",
        "integrity",
        "ref",
        "tree",
        "blob",
        "cid",
        "etags",
        "build",
        "chunk",
        "asset",
    ]
)


def words_of(key: str) -> list[str]:
    """The words of a key, in lower case."""
    return [word.lower() for word in _BORDER.split(key) if word]


def secret_key(key: str) -> bool:
    """True if a query key of this name carries a secret. ``orderByKey`` and ``country_code`` name another kind of key or code."""
    words, lowered = words_of(key), key.lower()
    if any(part in lowered for part in _PARTS) or not _WORDS.isdisjoint(words) or lowered in _WORDS:
        return True
    for place, word in enumerate(words):
        plain = place > 0 and words[place - 1] in _PLAIN.get(word, ())
        said = word in ("key", "code") and words[place + 1 : place + 2] in (
            ["code"],
            ["press"],
            ["word"],
            ["type"],
            ["name"],
        )
        if word in _AMBIGUOUS and not plain and not said:
            return True
    return False


def naming_key(key: str) -> bool:
    """True if a query key of this name holds the id, the hash or the version of a thing."""
    words = words_of(key)
    return bool(words) and (words[-1] in _NAMING or key.lower().endswith(("id", "hash", "uuid")))
