"""Redaction of a recording before it is stored: tokens in addresses, and the values of secrets.

Redaction is idempotent and leaves all other text exactly as it is, so that a replay can compare redacted text with redacted
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote, unquote, unquote_plus

import msgspec

from protocol.page.actions.action import (
    WITHHELD,
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
from protocol.page.secrets.secret_keys import naming_key, secret_key
from protocol.page.secrets.secret_search import PLACEHOLDER, Search
from protocol.page.secrets.secrets import Secrets, SecretsAndTokens
from protocol.page.secrets.token_looks import WEB_TOKEN, is_key, looks_generated, names_a_thing, score
from protocol.page.seen.observation import truncate

REDACTED: Final = WITHHELD
_PARTS: Final = re.compile(r"^([^:/?#]+:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$", re.DOTALL)
"""RFC 3986, appendix B: divides any text, and never fails."""
_PATH_PARAMETER: Final = re.compile(r";([A-Za-z]*)=[^/;]*")
_TELLING: Final = re.compile(
    r"(?:(?:password|passwd|account|email|mail|user)[-_]?)?(?:reset|invite|invites|invitation|verify|verification|confirm"
    r"|confirmation|activate|activation|magic|magic[-_]?link|token|tokens|session|sessions|unsubscribe|signin|login|auth|oauth"
    r"|accept|recover|recovery|set[-_]?password)",
    re.IGNORECASE,
)
"""Segments of a path behind which a token stands."""
_CODE_SEGMENT: Final = re.compile(r"otp|code|2fa|mfa|verify[-_]?code", re.IGNORECASE)
_ASSET: Final = re.compile(
    r"\.(?:js|mjs|css|map|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|mp4|webm|json|wasm|html?)$", re.IGNORECASE
)
_HEX_TOKEN: Final = re.compile(r"[0-9a-fA-F]{20,}")
_CODE_CHARS_MIN: Final = 4
_TOLD_CHARS_MIN: Final = 8
"""What is shorter is no token behind a segment that tells of one."""
_LONG_CHARS: Final = 48
"""Under a key for ids, only what is longer than ids are is looked at."""
_PART_CHARS_MAX: Final = 16_384


def looks_like_token(text: str) -> bool:
    """Whether ``text`` looks generated, whatever its key and place: a web token, a key of a known vendor, or by its looks."""
    return is_key(text) or looks_generated(text)


def redact_url(url: str) -> str:
    """``url`` without user info, values of secret-bearing keys, and a fragment that looks like a token."""
    parts = _PARTS.match(url)
    assert parts is not None, "the pattern matches every text"
    scheme, authority, path, query, fragment = (part or "" for part in parts.groups())
    if "@" in authority:
        # rpartition: a password may itself contain an @.
        authority = "//" + authority.rpartition("@")[2]
    return scheme + authority + _redact_path(path) + _redact_pairs(query) + _redact_fragment(fragment)


def _redact_path(path: str) -> str:
    """``path`` without web tokens, session ids as parameters, and segments that look like a token by themselves or where they
    stand. One that is far too long to be looked through is replaced as a whole.
    """
    if len(path) > _PART_CHARS_MAX:
        return f"/{REDACTED}"
    path = WEB_TOKEN.sub(rf"\1{REDACTED}", _PATH_PARAMETER.sub(_redact_parameter, path))
    segments = path.split("/")
    # A reset link may hold an id between the word and the token.
    before = zip(["", "", *segments], ["", *segments], segments, strict=False)
    return "/".join(REDACTED if _is_token_segment(one, (first, second)) else one for first, second, one in before)


def _is_token_segment(segment: str, before: tuple[str, str]) -> bool:
    if len(segment) < _CODE_CHARS_MIN or segment == REDACTED or PLACEHOLDER.search(segment):
        return False
    plain = unquote(segment)
    if _CODE_SEGMENT.fullmatch(before[1]) and plain.isdigit():
        return True
    if len(plain) < _TOLD_CHARS_MIN or _ASSET.search(plain):
        return is_key(plain)
    if looks_like_token(plain):
        return True
    mixed = any(map(str.isdigit, plain)) and any(map(str.isalpha, plain))
    told = any(map(_TELLING.fullmatch, before))
    return told and (names_a_thing(plain) or (mixed and score(plain) > 0))


def _redact_parameter(match: re.Match[str]) -> str:
    """``;jsessionid=…`` and its kin; the test on the name stands outside of the pattern, which stays linear."""
    return f";{match[1]}={REDACTED}" if "sess" in match[1].lower() else match[0]


def _redact_pairs(query: str) -> str:
    """A query with its ``?``, the values of secret keys replaced; order and the rest unchanged.

    One that is far too long to be looked through is replaced as a whole.
    """
    if len(query) > _PART_CHARS_MAX:
        return query[0] + REDACTED
    head, body = query[:1], query[1:]
    return head + "&".join(_redact_pair(pair) for pair in body.split("&"))


def _redact_pair(pair: str) -> str:
    key, _, value = pair.partition("=")
    if not value:
        return REDACTED if looks_like_token(unquote_plus(key)) or _is_hex_token(key) else pair
    if PLACEHOLDER.fullmatch(value):
        return pair  # the name of a secret is none, and says which one a replay needs
    name, plain = unquote_plus(key), unquote_plus(value)
    if secret_key(name) or is_key(plain):
        return f"{key}={REDACTED}"
    # Ids and hashes name things, under a key that says so; under any other, a hash is most often a session.
    naming = naming_key(name)
    looks = not (naming and len(plain) < _LONG_CHARS) and not _ASSET.search(plain) and looks_generated(plain)
    return f"{key}={REDACTED}" if looks or (not naming and _is_hex_token(plain)) else pair


def _is_hex_token(text: str) -> bool:
    return bool(_HEX_TOKEN.fullmatch(text)) and not text.isdigit()


def _redact_fragment(fragment: str) -> str:
    if len(fragment) > _PART_CHARS_MAX:
        return f"#{REDACTED}"
    if "=" in fragment:
        # ``#access_token=…`` and ``#/route?code=…`` are queries in disguise.
        route, mark, query = fragment[1:].rpartition("?")
        return f"#{_redact_path(route)}{mark}{_redact_pairs('?' + query)[1:]}"
    if "/" in fragment:
        return f"#{_redact_path(fragment[1:])}"
    return f"#{REDACTED}" if looks_like_token(fragment) or _is_hex_token(fragment[1:]) else fragment


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

    secrets: values by name; ``SecretsAndTokens`` also replaces personal data. Where several overlap, the longest gives its
    name to all of
    it. Line ends stay where they are.
    """
    tokens = None
    if isinstance(secrets, SecretsAndTokens):
        tokens, secrets = secrets.tokens, secrets.secrets
    if secrets and text:
        search = secrets.search if isinstance(secrets, Secrets) else Search(secrets)
        text = search.replace(text, placeholder)
    # Afterwards: a secret may be an e-mail address.
    return tokens.replace(text) if tokens else text


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
    tokens = None
    if isinstance(secrets, SecretsAndTokens):
        tokens, secrets = secrets.tokens, secrets.secrets
    told = plain[:kept] + redact_text(plain[kept:], secrets)
    # Personal data leaves the path in any case: nobody chooses what it is.
    return told[: parts.start(3)] + tokens.replace(told[parts.start(3) :]) if tokens else told


def redact_snapshot(text: str, secrets: Mapping[str, str]) -> str:
    """The text of a page as it is recorded, at most ``SNAPSHOT_BYTES_MAX``."""
    return truncate(redact_text(text, secrets))


def redact_action(action: Action, secrets: Mapping[str, str]) -> Action:
    """``action`` as it is recorded: addresses, typed text and names without secrets."""
    match action:
        case Goto(url=url):
            return msgspec.structs.replace(action, url=redact_address(url, secrets))
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
        case Select(option=text, also=also):
            action = msgspec.structs.replace(action, option=change(text), also=tuple(map(change, also)))
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
