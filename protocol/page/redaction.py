"""Redaction of a recording before it is stored: tokens in addresses, and the values of secrets.

Redaction is idempotent and leaves all other text exactly as it is, so that a replay can compare redacted text with redacted
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote, unquote_plus

import msgspec

from protocol.page.action import (
    Action,
    Assert,
    Drag,
    Fill,
    Goto,
    Locator,
    Secret,
    Select,
    Upload,
    Wait,
    Within,
    target_of,
    with_target,
)
from protocol.page.observation import truncate
from protocol.page.secret_search import PLACEHOLDER, Search
from protocol.page.secrets import Secrets

REDACTED: Final = "REDACTED"
_PARTS: Final = re.compile(r"^([^:/?#]+:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$", re.DOTALL)
"""RFC 3986, appendix B: divides any text, and never fails."""
_SECRET_WORDS: Final = frozenset(
    [
        "key",
        "apikey",
        "code",
        "session",
        "sid",
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "pass",
        "auth",
        "oauth",
        "authorization",
        "authentication",
        "sig",
        "signature",
        "secret",
        "token",
        "jwt",
        "otp",
        "pin",
        "credential",
        "credentials",
        "csrf",
        "xsrf",
        "assertion",
        "ticket",
        "hmac",
        "bearer",
    ]
)
_SECRET_PARTS: Final = (
    "token",
    "passw",
    "secret",
    "session",
    "sessid",
    "apikey",
    "credential",
    "signature",
    "accesskey",
)
_WORD_BORDER: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_JWT: Final = re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")
_PATH_PARAMETER: Final = re.compile(r";([A-Za-z]*)=[^/;]*")
_TOKEN_CHARS_MIN: Final = 20
_TOKEN: Final = re.compile(rf"[A-Za-z0-9_~+=.-]{{{_TOKEN_CHARS_MIN},}}")
_QUERY_CHARS_MAX: Final = 16_384


def secret_key(key: str) -> bool:
    """Whether a query key of this name carries a secret."""
    lowered = key.lower()
    words = {word.lower() for word in _WORD_BORDER.split(key)}
    return bool(words & _SECRET_WORDS) or lowered in _SECRET_WORDS or any(part in lowered for part in _SECRET_PARTS)


def looks_like_token(text: str) -> bool:
    """Whether ``text`` looks generated: long, without spaces, letters and digits mixed, or a signed web token."""
    if _JWT.search(text):
        return True
    return any(
        any(char.isdigit() for char in word)
        and any(char.isalpha() for char in word)
        and max(map(len, re.split(r"[-_.]", word))) >= _TOKEN_CHARS_MIN
        for word in _TOKEN.findall(text)
    )


def redact_url(url: str) -> str:
    """``url`` without user info, values of secret-bearing keys, and a fragment that looks like a token."""
    parts = _PARTS.match(url)
    assert parts is not None, "the pattern matches every text"
    scheme, authority, path, query, fragment = (part or "" for part in parts.groups())
    if "@" in authority:
        # rpartition: a password may itself contain an @.
        authority = "//" + authority.rpartition("@")[2]
    path = _JWT.sub(REDACTED, _PATH_PARAMETER.sub(_redact_parameter, path))
    return scheme + authority + path + _redact_pairs(query) + _redact_fragment(fragment)


def _redact_parameter(match: re.Match[str]) -> str:
    """``;jsessionid=…`` and its kin; the test on the name stands outside of the pattern, which stays linear."""
    return f";{match[1]}={REDACTED}" if "sess" in match[1].lower() else match[0]


def _redact_pairs(query: str) -> str:
    """A query with its ``?``, the values of secret keys replaced; order and the rest unchanged.

    One that is far too long to be looked through is replaced as a whole.
    """
    if len(query) > _QUERY_CHARS_MAX:
        return query[0] + REDACTED
    head, body = query[:1], query[1:]
    return head + "&".join(_redact_pair(pair) for pair in body.split("&"))


def _redact_pair(pair: str) -> str:
    key, _, value = pair.partition("=")
    if not value:
        return REDACTED if looks_like_token(key) else pair
    if PLACEHOLDER.fullmatch(value):
        return pair  # the name of a secret is none, and says which one a replay needs
    return f"{key}={REDACTED}" if secret_key(unquote_plus(key)) or _JWT.search(value) else pair


def _redact_fragment(fragment: str) -> str:
    if len(fragment) > _QUERY_CHARS_MAX:
        return f"#{REDACTED}"
    if "=" in fragment:
        # ``#access_token=…`` and ``#/route?code=…`` are queries in disguise.
        route, mark, query = fragment[1:].rpartition("?")
        return f"#{route}{mark}{_redact_pairs('?' + query)[1:]}"
    return f"#{REDACTED}" if looks_like_token(fragment) else fragment


def placeholder(name: str) -> str:
    """The text that replaces the value of the secret ``name``."""
    return f"‹secret:{name}›"


def reveal_address(url: str, secrets: Secrets) -> str:
    """``url`` with the secrets that it names, percent-encoded.

    Errors: ``action.secret_missing``, ``action.secret_elsewhere`` (one of them is not for addresses of this origin).
    """
    return PLACEHOLDER.sub(lambda found: quote(secrets.value_in(found[1], url), safe=""), url)


def is_incomplete(url: str) -> bool:
    """Whether a recorded address lacks what was redacted in it, so that opening it opens something else."""
    return REDACTED in url


def redact_text(text: str, secrets: Mapping[str, str]) -> str:
    """``text`` with every given secret value replaced by its placeholder, also in the forms of ``secret_search``.

    secrets: values by name. Where several overlap, the longest gives its name to all of it. Line ends stay where they are.
    """
    if not secrets or not text:
        return text
    search = secrets.search if isinstance(secrets, Secrets) else Search(secrets)
    return search.replace(text, placeholder)


def reveal_text(text: str, secrets: Mapping[str, str]) -> str:
    """``text`` with placeholders replaced by the values: what a replay looks for on its page."""
    for name, value in secrets.items():
        text = text.replace(placeholder(name), value)
    return text


def redact_address(url: str, secrets: Mapping[str, str], *, with_path: bool = True) -> str:
    """An address as it is recorded: both redactions; values of secrets not in scheme and host, which say where it was.

    with_path: whether they are redacted in the path. Not so of an agent: it could call secret what would tell of its deeds.
    """
    plain = redact_url(url)
    parts = _PARTS.match(plain)
    assert parts is not None, "the pattern matches every text"
    kept = parts.start(3) if with_path else parts.end(3)
    return plain[:kept] + redact_text(plain[kept:], secrets)


def redact_snapshot(text: str, secrets: Mapping[str, str]) -> str:
    """The text of a page as it is recorded, at most ``SNAPSHOT_BYTES_MAX``."""
    return truncate(redact_text(text, secrets))


def redact_action(action: Action, secrets: Mapping[str, str]) -> Action:
    """``action`` as it is recorded: addresses, typed text and names without secrets."""
    match action:
        case Goto(url=url):
            return Goto(url=redact_address(url, secrets))
        case _:
            return _map_texts(action, lambda text: redact_text(text, secrets)) if secrets else action


def reveal_action(action: Action, secrets: Mapping[str, str]) -> Action:
    """A recorded action as it is performed again: placeholders in names give way to the values.

    In what it types only ``Secret`` stands for a value, since where that is typed is checked. A placeholder that is all of the
    text becomes one; any other stays as it is.
    """
    if not secrets:
        return action
    revealed = _map_texts(action, lambda text: reveal_text(text, secrets))
    if isinstance(action, Fill) and isinstance(revealed, Fill):
        named = next((name for name in secrets if action.value == placeholder(name)), None)
        value = action.value if named is None else Secret(secret=named)
        return msgspec.structs.replace(revealed, value=value)
    return revealed


def without_value(action: Action) -> Action:
    """``action`` without the text it types: what is kept of one that was refused or failed."""
    match action:
        case Fill(value=str()):
            return msgspec.structs.replace(action, value=REDACTED)
        case _:
            return action


def secrets_named(action: Action) -> tuple[str, ...]:
    """The names of the secrets an action needs."""
    match action:
        case Fill(value=Secret(secret=name)):
            return (name,)
        case Goto(url=url):
            return tuple(PLACEHOLDER.findall(url))
        case _:
            return ()


def _map_texts(action: Action, change: Callable[[str], str]) -> Action:
    """``action`` with ``change`` applied to what it types, chooses or waits for, and to the texts of its locator."""
    match action:
        case Fill(value=str(text)):
            action = msgspec.structs.replace(action, value=change(text))
        case Select(option=text):
            action = msgspec.structs.replace(action, option=change(text))
        case Upload(files=files):
            action = msgspec.structs.replace(action, files=tuple(change(name) for name in files))
        case Wait(text=text, address=address, response=response):
            changed = {"text": change(text), "address": change(address), "response": change(response)}
            action = msgspec.structs.replace(action, **changed)
        case Assert(expected=text, row=row, column=column, items=items):
            texts = {"expected": change(text), "row": change(row), "column": change(column)}
            action = msgspec.structs.replace(action, **texts, items=tuple(change(item) for item in items))
        case _:
            pass
    target = target_of(action)
    if target is None:
        return action
    if isinstance(action, Drag):
        action = msgspec.structs.replace(action, onto=_map_locator(action.onto, change))
    return with_target(action, _map_locator(target, change))


def _map_locator(locator: Locator, change: Callable[[str], str]) -> Locator:
    return msgspec.structs.replace(
        locator,
        name=change(locator.name),
        selectors=tuple(change(selector) for selector in locator.selectors),
        within=_map_within(locator.within, change),
    )


def _map_within(within: Within | None, change: Callable[[str], str]) -> Within | None:
    if within is None:
        return None
    selectors = tuple(change(selector) for selector in within.selectors)
    return msgspec.structs.replace(within, name=change(within.name), text=change(within.text), selectors=selectors)
