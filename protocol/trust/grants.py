"""Grants: the scopes of a peer, each with the origins that it covers.

A scope that is not granted is refused, and a grant never has an empty list of origins: ``*`` alone means every origin, so
taking the last origin away takes the scope away and never widens it. Grants travel and are stored as a map from scope to
sorted patterns (``protocol.trust.origin``); people write them as ``branch:assign=https://shop.example,https://*.example``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.trust.origin import ANY, parse_pattern, widest


class Scope(enum.StrEnum):
    """A right that a peer can have here."""

    DELTAS_READ = "deltas:read"
    """Fetch this node's deltas of a search."""
    DELTAS_WRITE = "deltas:write"
    """Send its own deltas, which are merged."""
    BRANCH_ASSIGN = "branch:assign"
    """Give this node branches to explore."""
    BRANCH_ACCEPT = "branch:accept"
    """Receive branches of this node's searches, and return results."""
    SESSION_READ = "session:read"
    """Fetch recorded sessions."""
    ATTEST_CONSUME = "attest:consume"
    """Have this node believe its attestations about cookies that it gives to this node."""
    CAPSULE_OFFER = "capsule:offer"
    """Send sealed login states to this node."""
    CAPSULE_IMPORT = "capsule:import"
    """Receive sealed login states of this node."""
    LOGIN_USE = "login:use"
    """Have this node do work with its own logins, and learn the signed verdict."""
    LOGIN_READ = "login:read"
    """Fetch the sessions of that work too, with the text and the pictures of pages."""
    PEERS_READ = "peers:read"
    """See which peers this node knows."""
    STATUS = "status"
    """Ask for the status of this node. Every peer has this scope."""


GRANTABLE: Final = frozenset(Scope) - {Scope.STATUS}

PRESETS: Final[Mapping[str, frozenset[Scope]]] = MappingProxyType(
    {
        "explore": frozenset({Scope.DELTAS_READ, Scope.DELTAS_WRITE, Scope.BRANCH_ASSIGN, Scope.BRANCH_ACCEPT}),
        "audit": frozenset({Scope.SESSION_READ}),
    }
)
"""Names for the usual sets of scopes."""

Grants = Mapping[Plain, tuple[Plain, ...]]
"""Scope → patterns of origins, sorted, at least one."""


def parse_grants(texts: str | Iterable[str]) -> Grants:
    """The grants in ``texts``: ``SCOPE`` or ``SCOPE=ORIGIN,…``, several in one text separated by commas.

    A name is a scope or a preset; without origins it is for every origin. An item after a comma that has the form of an origin
    belongs to the scope before it. ``status`` is accepted and left out, as every peer has it. Errors: ``input.invalid``.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        for name, origins in _items(text):
            for scope in _scopes(name):
                found[scope] = _limited((*found.get(scope, ()), *(origins or (ANY,))))
    return dict(sorted(found.items()))


def _items(text: str) -> list[tuple[str, list[str]]]:
    items: list[tuple[str, list[str]]] = []
    for part in (part.strip() for part in text.split(",")):
        name, equals, origin = part.partition("=")
        if "://" in name or name == ANY:
            if not items or not items[-1][1]:
                raise MeshError("input.invalid", f"{part[:80]!r} is an origin without a scope before it")
            items[-1][1].append(parse_pattern(part))
        elif part:
            items.append((name.strip(), [parse_pattern(origin.strip())] if equals else []))
    return items


def _scopes(name: str) -> frozenset[str]:
    if name in PRESETS:
        return frozenset(map(str, PRESETS[name]))
    if name not in frozenset(Scope):
        known = ", ".join(sorted([*PRESETS, *GRANTABLE]))
        raise MeshError("input.invalid", f"unknown scope {name[:40]!r}; there are: {known}")
    return frozenset({name} - {Scope.STATUS.value})


def _limited(origins: Iterable[str]) -> tuple[str, ...]:
    kept = widest(origins)
    if len(kept) > limits.GRANT_ORIGINS_MAX:
        raise MeshError("input.too_large", f"a scope can have at most {limits.GRANT_ORIGINS_MAX} origins")
    return kept


def check_grants(grants: Grants) -> Grants:
    """``grants`` as a peer sent them: known scopes; at least one origin, in its one form; sorted, none within another.

    Errors: ``message.invalid``.
    """
    if not GRANTABLE.issuperset(grants):
        raise MeshError("message.invalid", "a grant names an unknown scope")
    for origins in grants.values():
        if not 1 <= len(origins) <= limits.GRANT_ORIGINS_MAX:
            raise MeshError("message.invalid", f"a grant must have 1 to {limits.GRANT_ORIGINS_MAX} origins")
        try:
            in_form = tuple(parse_pattern(origin) for origin in origins)
        except MeshError as error:
            raise MeshError("message.invalid", error.message) from error
        if not tuple(origins) == in_form == widest(in_form):
            raise MeshError(
                "message.invalid", "the origins of a grant must be canonical and sorted, and none may contain another"
            )
    return grants


def granted(before: Grants, more: Grants) -> Grants:
    """``before`` and ``more``. Errors: ``input.too_large``."""
    return dict(sorted({**before, **{name: _limited((*before.get(name, ()), *more[name])) for name in more}}.items()))


def replaced(before: Grants, only: Grants) -> Grants:
    """``before``, with the scopes of ``only`` limited to the origins in ``only``."""
    return dict(sorted({**before, **only}.items()))


def withdrawn(before: Grants, less: Grants) -> Grants:
    """``before`` without ``less``. A scope that ``less`` has for every origin is removed whole, otherwise its named origins are
    removed.

    Errors: ``input.not_found`` (none of it was granted, so a name is mistyped), ``input.invalid`` (an origin is taken from
    a scope that is for every origin).
    """
    touched = before.keys() & less.keys()
    if not touched:
        raise MeshError("input.not_found", "none of these scopes is granted")
    kept = dict(before)
    for name in touched:
        if ANY in less[name]:
            del kept[name]
            continue
        if ANY in before[name]:
            told = f"{name} is granted for every origin: withdraw it completely, or use `node grant --only`"
            raise MeshError("input.invalid", told)
        if missing := set(less[name]) - set(before[name]):
            raise MeshError("input.not_found", f"{name} is not granted for {min(missing)}")
        kept[name] = tuple(origin for origin in before[name] if origin not in less[name])
        if not kept[name]:
            del kept[name]
    return kept


def each_in_words(grants: Grants) -> list[str]:
    """Each of ``grants`` as people write it."""
    return [name if ANY in origins else f"{name}={','.join(origins)}" for name, origins in grants.items()]


def in_words(grants: Grants) -> str:
    """``grants`` as people write them, complete presets by name; without grants, the scope that every peer has."""
    folded = dict(grants)
    for name, scopes in PRESETS.items():
        origins = {tuple(grants.get(scope, ())) for scope in scopes}
        if len(scopes) > 1 and len(origins) == 1 and () not in origins:
            folded = {name: grants[min(scopes)]} | {scope: folded[scope] for scope in folded if scope not in scopes}
    return ", ".join(each_in_words(folded)) or "status only"
