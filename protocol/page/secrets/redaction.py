"""Redaction of a recording before it is stored: tokens in addresses, and the values of secrets.

Redaction is idempotent and leaves all other text unchanged, so that a replay can compare redacted texts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar
from urllib.parse import quote, unquote, unquote_plus

import msgspec

from protocol.kinds import TextKind, mapped
from protocol.page.actions.action import WITHHELD, Action, Fill, Goto, Secret
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.secrets.secret_keys import naming_key, secret_key
from protocol.page.secrets.secret_search import PLACEHOLDER, Search
from protocol.page.secrets.secrets import Secrets, SecretsAndTokens
from protocol.page.secrets.token_looks import WEB_TOKEN, is_key, looks_generated, names_a_thing, score
from protocol.page.seen.names import together
from protocol.page.seen.observation import truncate

T = TypeVar("T")

REDACTED: Final = WITHHELD
_PARTS: Final = re.compile(r"^([^:/?#]+:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$", re.DOTALL)
"""RFC 3986, appendix B: it divides any text and never fails."""
_PATH_PARAMETER: Final = re.compile(r";([A-Za-z]*)=[^/;]*")
_TELLING: Final = re.compile(
    r"(?:(?:password|passwd|account|email|mail|user)[-_]?)?(?:reset|invite|invites|invitation|verify|verification|confirm"
    r"|confirmation|activate|activation|magic|magic[-_]?link|token|tokens|session|sessions|unsubscribe|signin|login|auth|oauth"
    r"|accept|recover|recovery|set[-_]?password)",
    re.IGNORECASE,
)
"""Path segments after which a token follows."""
_CODE_SEGMENT: Final = re.compile(r"otp|code|2fa|mfa|verify[-_]?code", re.IGNORECASE)
_ASSET: Final = re.compile(
    r"\.(?:js|mjs|css|map|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|mp4|webm|json|wasm|html?)$", re.IGNORECASE
)
_HEX_TOKEN: Final = re.compile(r"[0-9a-fA-F]{20,}")
_WEB_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>()]+")
_CODE_CHARS_MIN: Final = 4
_TOLD_CHARS_MIN: Final = 8
"""A shorter text after such a segment is no token."""
_LONG_CHARS: Final = 48
"""Under a key for ids, only a text longer than usual ids is examined."""
_PART_CHARS_MAX: Final = 16_384


def looks_like_token(text: str) -> bool:
    """True if ``text`` looks generated regardless of its key and place: a web token, a key of a known vendor, or random
    characters.
    """
    return is_key(text) or looks_generated(text)


def redact_url(url: str) -> str:
    """``url`` without user info, without the values of keys for secrets, and without a fragment that looks like a token."""
    parts = _PARTS.match(url)
    assert parts is not None, "the pattern matches every text"
    scheme, authority, path, query, fragment = (part or "" for part in parts.groups())
    if "@" in authority:
        # rpartition: a password may contain an @.
        authority = "//" + authority.rpartition("@")[2]
    return scheme + authority + _redact_path(path) + _redact_pairs(query) + _redact_fragment(fragment)


def _redact_path(path: str) -> str:
    """``path`` without web tokens, session ids in parameters, and segments that look like a token by themselves or in their place.

    A path that is too long to be examined is replaced as a whole.
    """
    if len(path) > _PART_CHARS_MAX:
        return f"/{REDACTED}"
    path = WEB_TOKEN.sub(rf"\1{REDACTED}", _PATH_PARAMETER.sub(_redact_parameter, path))
    segments = path.split("/")
    # A reset link may contain an id between the word and the token.
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
    """Redact ``;jsessionid=…`` and similar parameters. The name is tested outside of the pattern, so the pattern stays linear."""
    return f";{match[1]}={REDACTED}" if "sess" in match[1].lower() else match[0]


def _redact_pairs(query: str) -> str:
    """A query with its ``?``, in which the values of secret keys are replaced; the rest is unchanged.

    A query that is too long to be examined is replaced as a whole.
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
        return pair  # the name of a secret is not secret, and tells which secret a replay needs
    name, plain = unquote_plus(key), unquote_plus(value)
    if secret_key(name) or is_key(plain):
        return f"{key}={REDACTED}"
    # Under a key for ids or hashes, such a value names a thing; under any other key, a hash is usually a session id.
    naming = naming_key(name)
    looks = not (naming and len(plain) < _LONG_CHARS) and not _ASSET.search(plain) and looks_generated(plain)
    return f"{key}={REDACTED}" if looks or (not naming and _is_hex_token(plain)) else pair


def _is_hex_token(text: str) -> bool:
    return bool(_HEX_TOKEN.fullmatch(text)) and not text.isdigit()


def _redact_fragment(fragment: str) -> str:
    if len(fragment) > _PART_CHARS_MAX:
        return f"#{REDACTED}"
    if "=" in fragment:
        # ``#access_token=…`` and ``#/route?code=…`` have the form of a query.
        route, mark, query = fragment[1:].rpartition("?")
        return f"#{_redact_path(route)}{mark}{_redact_pairs('?' + query)[1:]}"
    if "/" in fragment:
        return f"#{_redact_path(fragment[1:])}"
    return f"#{REDACTED}" if looks_like_token(fragment) or _is_hex_token(fragment[1:]) else fragment


def placeholder(name: str) -> str:
    """The text that replaces the value of the secret ``name``."""
    return f"‹secret:{name}›"


def reveal_address(url: str, secrets: Secrets) -> str:
    """``url`` with the values of the secrets that it names, percent-encoded.

    Errors: ``action.secret_missing``, ``action.secret_elsewhere`` (one of them is not for addresses of this origin).
    """
    return PLACEHOLDER.sub(lambda found: quote(secrets.value_in(found[1], url), safe=""), url)


def is_incomplete(url: str) -> bool:
    """True if redaction removed a part of a recorded address, so that opening it opens another page."""
    return REDACTED in url


def redact_text(text: str, secrets: Mapping[str, str]) -> str:
    """``text`` with every given secret value replaced by its placeholder, in all forms that ``secret_search`` finds.

    secrets: values by name; ``SecretsAndTokens`` also replaces personal data. If several values overlap, the longest one gives its
    name to the whole place. Line ends stay.
    """
    tokens = None
    if isinstance(secrets, SecretsAndTokens):
        tokens, secrets = secrets.tokens, secrets.secrets
    if secrets and text:
        search = secrets.search if isinstance(secrets, Secrets) else Search(secrets)
        text = search.replace(text, placeholder)
    # After the secrets, because a secret may be an e-mail address.
    return tokens.replace(text) if tokens else text


def says_secret(text: str, secrets: Mapping[str, str]) -> bool:
    """True if one of ``secrets`` stands in ``text``, in any form that is searched for."""
    return redact_text(text, secrets) != text


def holds_token(url: str) -> bool:
    """True if an address holds user info, or something that looks like a token."""
    return redact_url(url) != url


def reveal_text(text: str, secrets: Mapping[str, str]) -> str:
    """``text`` with placeholders replaced by the values: the text that a replay looks for on its page."""
    for name, value in secrets.items():
        text = text.replace(placeholder(name), value)
    return text


def redact_address(url: str, secrets: Mapping[str, str], *, with_path: bool = True) -> str:
    """An address in recorded form: redacted as an address and by the secret values, except in scheme and host.

    with_path: redact secret values in the path too. False for an agent, which could otherwise hide its actions by declaring parts
    of addresses as secrets.
    """
    plain = redact_url(url)
    parts = _PARTS.match(plain)
    assert parts is not None, "the pattern matches every text"
    kept = parts.start(3) if with_path else parts.end(3)
    tokens = None
    if isinstance(secrets, SecretsAndTokens):
        tokens, secrets = secrets.tokens, secrets.secrets
    told = plain[:kept] + redact_text(plain[kept:], secrets)
    # Personal data is always removed from the path, because nobody chooses it.
    return told[: parts.start(3)] + tokens.replace(told[parts.start(3) :]) if tokens else told


def redact_snapshot(text: str, secrets: Mapping[str, str]) -> str:
    """The text of a page in recorded form, at most ``SNAPSHOT_BYTES_MAX`` long."""
    return truncate(redact_text(text, secrets))


class Redaction:
    """Redacts the texts of a record according to their kinds."""

    def __init__(
        self,
        secrets: Mapping[str, str],
        *,
        stored_at: Callable[[str], Mapping[str, str]] | None = None,
        with_path: bool = True,
        page: Mapping[str, str] | None = None,
    ) -> None:
        """secrets: redacted from texts of an author. stored_at: returns the secrets to redact from texts of the page at an
        address; without it, ``page`` or the secrets are used. with_path: as for ``redact_address``.
        """
        self._secrets = secrets
        self._page = secrets if page is None else page
        self._stored_at = stored_at
        self._with_path = with_path

    def at(self, home: str) -> Redaction:
        """The redaction of a record about the page at ``home``."""
        if self._stored_at is None:
            return self
        return Redaction(
            self._secrets, stored_at=self._stored_at, with_path=self._with_path, page=self._stored_at(home)
        )

    def text(self, kind: TextKind, text: str, most: int | None) -> str:
        """``text`` redacted, and shortened if redaction has made it too long."""
        said = self._by_kind(kind, text)
        if most is None or len(said) <= most:
            return said
        # Two long addresses of requests that begin alike must stay different.
        return cut_apart(said, most) if kind in (TextKind.HOME, TextKind.SENT) else said[:most]

    def texts(self, kind: TextKind, texts: tuple[str, ...]) -> tuple[str, ...]:
        """``texts`` redacted together, because a secret may be spread over several of them."""
        return together(texts, lambda text: self._by_kind(kind, text))

    def _by_kind(self, kind: TextKind, text: str) -> str:
        match kind:
            case TextKind.AUTHOR_TEXT:
                return redact_text(text, self._secrets)
            case TextKind.AUTHOR_ADDRESS:
                return redact_address(text, self._secrets, with_path=self._with_path)
            case TextKind.PAGE_TEXT | TextKind.SENT:
                return redact_text(text, self._page)
            case TextKind.PAGE_ADDRESS | TextKind.HOME:
                return redact_address(text, self._page, with_path=self._with_path)
            case TextKind.REQUEST:
                return redact_address(text, self._page)
            case TextKind.WORDS:
                return redact_console(text, getattr(self._secrets, "stored", self._secrets))
            case TextKind.CREDENTIAL:
                return REDACTED
            case TextKind.PLAIN | TextKind.DONE:
                return text


def redacted(record: T, redaction: Redaction) -> T:
    """``record`` with every text redacted according to its kind; the same object if nothing had to be redacted.

    record: a record, a tuple of records, or None.
    """
    return mapped(record, redaction)


def redact_console(said: str, secrets: Mapping[str, str]) -> str:
    """A console error in stored form: without secrets, also in its addresses, and without tokens in those."""
    # Errors contain addresses of requests more often than texts of pages do.
    return redact_text(_WEB_ADDRESS.sub(lambda found: redact_address(found[0], secrets), said), secrets)


def cut_apart(text: str, most: int) -> str:
    """``text``, or its beginning with the digest of the whole: two long texts that begin alike stay different."""
    return text if len(text) <= most else f"{text[: most - 72]}#{hashlib.sha256(text.encode()).hexdigest()}"


class _Revealing:
    """Replaces names of secrets by their values in texts of an author."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = secrets

    def at(self, home: str) -> _Revealing:
        return self

    def text(self, kind: TextKind, text: str, most: int | None) -> str:
        return reveal_text(text, self._secrets) if kind is TextKind.AUTHOR_TEXT else text

    def texts(self, kind: TextKind, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.text(kind, text, None) for text in texts)


def reveal_action(action: Action, secrets: Mapping[str, str]) -> Action:
    """A recorded action in the form that a replay performs: placeholders in names are replaced by the values.

    In a typed text only a ``Secret`` stands for a value, because its field is checked before typing. A text that is just a
    placeholder becomes a ``Secret``; any other placeholder stays.
    """
    if not secrets:
        return action
    revealed = mapped(action, _Revealing(secrets))
    if isinstance(action, Fill) and isinstance(revealed, Fill):
        named = next((name for name in secrets if action.value == placeholder(name)), None)
        value = action.value if named is None else Secret(secret=named)
        return msgspec.structs.replace(revealed, value=value)
    return revealed


def reveal_answer(answer: DialogAnswer | None, secrets: Mapping[str, str]) -> DialogAnswer | None:
    """A stored ``answer`` with secret values in its text, for comparison with a dialog. The text to enter is not revealed, because
    only a checked field may receive a secret.
    """
    return answer if answer is None else msgspec.structs.replace(answer, text=reveal_text(answer.text, secrets))


def without_value(action: Action) -> Action:
    """``action`` without the text it types: the stored form of an action that was refused or failed."""
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
