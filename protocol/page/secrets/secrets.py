"""Secrets that are typed by name, and the sites at which each of them may be typed.

The person who gives a secret names its site. Somebody else may choose the field: the author of a replayed session, or the model
behind an agent. Neither may get the value, and a page that repeats a typed text would hand it to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Annotated, Final, NamedTuple

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import Credential, Plain
from protocol.page.actions.action import SECRET_NAME_PATTERN
from protocol.page.secrets.personal import Tokens
from protocol.page.secrets.secret_fields import is_named_secret
from protocol.page.secrets.secret_search import Search
from protocol.page.secrets.totp import Totp, parse_totp
from protocol.page.seen.observation import Element, Traits
from protocol.trust.origin import ANY, fits, origin_of, parse_pattern

Name = Annotated[str, msgspec.Meta(max_length=64, min_length=1, pattern=SECRET_NAME_PATTERN)]


Keeps = Callable[[str], bool]
"""Returns True if personal data of the page at an address is stored unchanged."""


_CODES: Final = frozenset({"current-password", "new-password", "one-time-code", "cc-number", "cc-csc"})
"""Values of ``autocomplete`` for fields whose content must not be recorded."""


def takes_no_text(traits: Traits) -> bool:
    """True if a field is for a password, a one-time code, or the number or code of a card, so that a text typed there must not be
    recorded.
    """
    told = traits.input_type == "password" or not _CODES.isdisjoint(traits.autocomplete.split())
    return told or is_named_secret(traits)


class GivenSecret(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value, and the sites at which it may be typed."""

    value: Annotated[Credential, msgspec.Meta(min_length=limits.SECRET_CHARS_MIN, max_length=limits.SECRET_CHARS_MAX)]
    origins: Annotated[tuple[Plain, ...], msgspec.Meta(max_length=limits.SECRET_ORIGINS_MAX)] = ()
    """Patterns of the origins of pages and frames; if empty, the origin at which the work begins."""
    text: bool = False
    """True if it may be typed into other fields than password fields."""
    totp: bool = False
    """True if it is the seed of one-time codes; a code is typed in its place."""

    basic: bool = False
    """True if it is ``user:password`` for HTTP basic authentication of its origins. It is never typed."""

    def __repr__(self) -> str:
        return f"GivenSecret(origins={self.origins!r}, text={self.text})"


LOGIN_BASIC: Final = "(capsule)"
"""The name of a capsule's credentials in a recording, for any origin. No secret can have this name."""


class Basic(NamedTuple):
    """The answer to a site that asks for HTTP basic authentication."""

    name: str
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Basic({self.name!r})"


class Secrets(Mapping[str, str]):
    """Secret values by name. ``value_for`` decides where one may be typed."""

    def __init__(self, given: Mapping[str, GivenSecret] | None = None, *, begins: str = "") -> None:
        """begins: an address that the giver chose; its origin applies to secrets that name none.

        Errors: ``input.invalid`` (a pattern that names no site), ``action.secret_elsewhere`` (a secret without a site),
        ``secret.totp``.
        """
        self._given = dict(given or {})
        self._totp = {name: parse_totp(secret.value) for name, secret in self._given.items() if secret.totp}
        # One list for all copies of these secrets, so that every copy redacts a code as soon as it can be typed.
        self._codes: list[tuple[str, str]] = []
        # The same for the names of those that pages were given.
        self._told: set[str] = set()
        # The same for the values of a login that is being made.
        self._login: dict[str, str] = {}
        # Shared by all copies of these secrets, because they have the same values. Only the newest search is kept.
        self._searches: dict[tuple[int, int], Search] = {}
        self._hidden: Mapping[str, str] = {}
        self._finds_hidden: tuple[Search, ...] = ()
        self._answers: Mapping[str, Basic] = {}
        self._tokens: Tokens | None = None
        self._keeps: Keeps = _nowhere
        self._origins = {name: _origins(name, secret, begins) for name, secret in self._given.items()}

    def __getitem__(self, name: str) -> str:
        """The value; for a seed, the code that was made last, if there is one."""
        given = self._given.get(name)
        if given is None:
            return self._hidden[name] if name in self._hidden else self._login[name]
        codes = (code for named, code in reversed(self._codes) if named == name)
        return next(codes, given.value)

    @property
    def has_basic(self) -> bool:
        """True if one of them is for HTTP basic authentication."""
        return bool(self._answers) or any(given.basic for given in self._given.values())

    def basic(self, origin: str) -> Basic | None:
        """The answer to ``origin`` if it asks for HTTP basic authentication; None if nothing was given for exactly this origin."""
        for name, given in self._given.items():
            if given.basic and origin and origin in self._origins[name]:
                return Basic(name, *_user_and_password(name, given))
        return self._answers.get(origin)

    def answers(self) -> Mapping[str, Basic]:
        """All answers for HTTP basic authentication, by origin; the first of several for one origin."""
        named = [origin for name, given in self._given.items() if given.basic for origin in self._origins[name]]
        return {origin: found for origin in named if (found := self.basic(origin)) is not None}

    def answering(self, answers: Mapping[str, Basic]) -> Secrets:
        """These secrets with ``answers`` of a login, by origin, which apply where no secret was given. If empty, no login
        answers.
        """
        kept = copy(self)
        kept._answers = answers
        kept.__dict__.pop("stored", None)
        return kept

    def totp(self, name: str) -> Totp | None:
        """The seed ``name``; None if it is typed itself, or was not given."""
        return self._totp.get(name)

    @property
    def told(self) -> bool:
        """True if a page was given one of them: its scripts can read it, and what its site has made of it."""
        return bool(self._told)

    def note_told(self, names: Iterable[str]) -> None:
        """A page is given those of the secrets ``names`` that there are."""
        self._told |= self._given.keys() & set(names)

    def note_code(self, name: str, code: str) -> None:
        """``code`` is typed for the seed ``name`` from now on, and redacted like a secret."""
        self._codes.append((name, code))

    def note_login(self, values: Iterable[str]) -> bool:
        """Redact ``values``, which a site has made for a login, from now on. Returns True if one of them is new.

        Errors: ``input.too_large`` (a site makes more than ``LOGIN_VALUES_MAX``, or more than ``LOGIN_VALUES_CHARS_MAX``
        characters in total; further values would be stored unredacted).
        """
        known = set(self.values())
        new = [value for value in dict.fromkeys(values) if value not in known]
        if len(self._login) + len(new) > limits.LOGIN_VALUES_MAX:
            raise MeshError(
                "input.too_large", f"the site made more than {limits.LOGIN_VALUES_MAX} values for one login"
            )
        if sum(map(len, (*self._login.values(), *new))) > limits.LOGIN_VALUES_CHARS_MAX:
            raise MeshError("input.too_large", "the site made longer values for one login than can be looked for")
        for value in new:
            self._login[f"login.{len(self._login) + 1}"] = value
        return bool(new)

    def made(self, name: str) -> bool:
        """True if ``name`` is a value of ``note_login``, which nobody can give to a replay."""
        return name in self._login

    def __iter__(self) -> Iterator[str]:
        yield from self._given
        yield from (name for name in self._hidden if name not in self._given)
        yield from (name for name in self._login if name not in self._given and name not in self._hidden)

    def __len__(self) -> int:
        return len(self._given.keys() | self._hidden.keys() | self._login.keys())

    def hiding(self, values: Mapping[str, str], search: Search | None = None) -> Secrets:
        """These secrets and the values of a login, which are redacted but can never be typed.

        search: an existing search for ``values``, because building one takes half a second for many values.
        """
        kept = copy(self)
        kept._hidden = {**self._hidden, **values}
        kept.__dict__.pop("stored", None)
        kept._finds_hidden = (*self._finds_hidden, search or Search(values))
        kept._searches = {}
        return kept

    def value_for(self, name: str, element: Element, url: str) -> str:
        """The value of the secret ``name``, for typing into ``element`` of the page or frame at ``url``.

        Checks, in order: it was given; the origin; the kind of field. Errors: ``action.secret_missing``,
        ``action.secret_elsewhere``.
        """
        self._require_for(name, url, "field")
        if name in self._totp and all(named != name for named, _ in self._codes):
            raise MeshError("action.secret_missing", f"no code of the seed “{name}” was made", name=name)
        fits_here = element.traits.input_type == "password" or (name in self._totp and takes_no_text(element.traits))
        if not fits_here and not self._given[name].text:
            raise MeshError(
                "action.secret_elsewhere", f"the secret “{name}” is for password fields, and this is a {element.role}"
            )
        return self[name]

    def value_in(self, name: str, url: str) -> str:
        """The value of the secret ``name``, for use in the address ``url``.

        An address is less private than a field: servers log it, and scripts of the page read it. So a secret for password fields
        is refused. Errors: ``action.secret_missing``, ``action.secret_elsewhere``.
        """
        self._require_for(name, url, "address")
        if not self._given[name].text or name in self._totp:
            raise MeshError(
                "action.secret_elsewhere", f"the secret “{name}” is for password fields, and this is an address"
            )
        return self[name]

    def may_stand_in(self, name: str, url: str) -> bool:
        """True if ``value_in`` gives the secret ``name`` for ``url``."""
        try:
            return bool(self.value_in(name, url))
        except MeshError:
            return False

    def _require_for(self, name: str, url: str, what: str) -> None:
        """Return if ``name`` was given for the origin of ``url``. Errors: ``action.secret_missing``,
        ``action.secret_elsewhere``.
        """
        if name not in self._given:
            raise MeshError("action.secret_missing", name=name)
        if self._given[name].basic:
            raise MeshError(
                "action.secret_elsewhere", f"the secret “{name}” is for basic authentication, and typed nowhere"
            )
        origin = origin_of(url)
        if not (origin and fits(self._origins[name], origin)):
            known = ", ".join(self._origins[name])
            raise MeshError(
                "action.secret_elsewhere",
                f"the secret “{name}” is for {known}, and the {what} is of {origin or 'no site'}",
            )

    def keyed(self, tokens: Tokens | None, keeps: Keeps | None = None) -> Secrets:
        """These secrets, and the tokens that replace personal data in stored texts.

        tokens: None to store personal data unchanged. keeps: returns True for pages whose personal data is stored unchanged.
        """
        kept = copy(self)
        kept._tokens, kept._keeps = tokens, keeps or _nowhere
        kept.__dict__.pop("stored", None)
        return kept

    def stored_at(self, url: str) -> SecretsAndTokens:
        """The redaction of texts of the page at ``url`` before they are stored."""
        return SecretsAndTokens(self, None) if self._keeps(url) else self.stored

    @cached_property
    def stored(self) -> SecretsAndTokens:
        """The redaction of texts of a page before they are stored, or compared with stored ones."""
        return SecretsAndTokens(self, self._tokens)

    @property
    def search(self) -> Search:
        """The search for all values, built once for each new code or login value: a page has thousands of lines to search."""
        known = len(self._codes), len(self._login)
        found = self._searches.get(known)
        if found is None:
            values = {name: self[name] for name in self if name in self._given or name not in self._hidden}
            found = Search(values, (*self._seeds(), *self._codes[: known[0]]), self._finds_hidden)
            self._searches.clear()
            self._searches[known] = found
        return found

    def _seeds(self) -> Iterator[tuple[str, str]]:
        """Each seed as it was given, and its base32 part alone, because an address has more around it. For ``USER:PASSWORD``, the
        password.
        """
        for name, totp in self._totp.items():
            yield name, self._given[name].value
            yield name, totp.text
        for name, given in self._given.items():
            if given.basic and len(password := _user_and_password(name, given)[1]) >= limits.SECRET_CHARS_MIN:
                yield name, password


class SecretsAndTokens(Mapping[str, str]):
    """Secrets by name with the tokens of the installation, for redacting stored texts of a page.

    Texts shown to an agent or an author are redacted with ``Secrets`` only, because they name elements by the text on the page.
    """

    def __init__(self, secrets: Secrets, tokens: Tokens | None) -> None:
        self.secrets, self.tokens = secrets, tokens

    def __getitem__(self, name: str) -> str:
        return self.secrets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.secrets)

    def __len__(self) -> int:
        return len(self.secrets)


def _nowhere(url: str) -> bool:
    return False


NO_SECRETS = Secrets()


def _origins(name: str, secret: GivenSecret, begins: str) -> tuple[str, ...]:
    if ANY in secret.origins:
        raise MeshError("input.invalid", f"the secret “{name}” is for every site: name the sites it is for")
    named = tuple(map(parse_pattern, secret.origins)) or tuple(filter(None, [origin_of(begins)]))
    if not named:
        raise MeshError(
            "action.secret_elsewhere",
            f"nobody said for which site the secret “{name}” is: --secret {name}@https://shop.example=SOURCE",
            name=name,
        )
    if secret.basic:
        _user_and_password(name, secret)
        if any("*" in origin for origin in named):
            raise MeshError(
                "input.invalid", f"the secret “{name}” for basic authentication needs each origin by its name"
            )
    return named


def refuses(challenges: Iterable[str], url: str) -> bool:
    """True if the site of ``url`` refused the answer to its challenge. challenges: ``Outcome.challenges``."""
    return f"refused {origin_of(url)}" in challenges


def asks(challenge: str) -> str:
    """Advice for a site that asked for HTTP authentication and got no answer. challenge: ``basic https://host``."""
    scheme, _, origin = challenge.partition(" ")
    if scheme == "refused":
        return f"{origin} did not take the user name and the password that were given for it"
    if scheme != "basic":
        return f"{origin} asks for {scheme} authentication, which is not supported: only basic authentication is"
    return (
        f"{origin} asks for a user name and a password (HTTP basic authentication): give both with"
        f" --secret NAME:basic@{origin}=SOURCE, where the source holds USER:PASSWORD"
    )


def _user_and_password(name: str, secret: GivenSecret) -> tuple[str, str]:
    """Split the value. Errors: ``input.invalid`` (the value has another form)."""
    user, colon, password = secret.value.partition(":")
    if not colon or not user or not secret.value.isprintable():
        raise MeshError("input.invalid", f"the secret “{name}” for basic authentication must be USER:PASSWORD")
    return user, password
