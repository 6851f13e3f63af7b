"""Finds the parts of a state that a login needs, by delta debugging (Zeller and Hildebrandt 2002, ddmin). Pure.

The caller shows each proposal to the site, and reports if the login still worked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from protocol.capsule.state import CapsuleState
from protocol.trust.origin import origin_of

_HALVES: Final = 2


class Part(NamedTuple):
    """A part of the state that can be left out, by its name."""

    kind: Literal["cookie", "local", "session", "database"]
    host: str
    """The domain of a cookie; of other parts the origin, with the storage key if there is one."""
    name: str
    where: str = ""
    """Path and partition of a cookie, by which cookies of one name differ."""


def parts_of(state: CapsuleState) -> dict[Part, str]:
    """All parts of ``state``, each with a text that changes with its value."""
    found = {
        Part("cookie", each.domain, each.name, f"{each.path} {each.partition}"): each.value for each in state.cookies
    }
    for stored in state.storage:
        host = f"{stored.origin} {stored.key}".rstrip()
        found |= {Part("local", host, each.name): each.value for each in stored.local}
        found |= {Part("session", host, each.name): each.value for each in stored.session}
        found |= {
            Part("database", host, each.name): msgspec.json.encode(each, order="deterministic").decode()
            for each in stored.databases
        }
    return found


def only(state: CapsuleState, kept: Iterable[Part]) -> CapsuleState:
    """``state`` with these parts alone."""
    wanted = frozenset(kept)
    storage = []
    for stored in state.storage:
        host = f"{stored.origin} {stored.key}".rstrip()
        left = msgspec.structs.replace(
            stored,
            local=tuple(each for each in stored.local if Part("local", host, each.name) in wanted),
            session=tuple(each for each in stored.session if Part("session", host, each.name) in wanted),
            databases=tuple(each for each in stored.databases if Part("database", host, each.name) in wanted),
        )
        if left.local or left.session or left.databases:
            storage.append(left)
    cookies = tuple(
        each
        for each in state.cookies
        if Part("cookie", each.domain, each.name, f"{each.path} {each.partition}") in wanted
    )
    return msgspec.structs.replace(state, cookies=cookies, storage=tuple(storage))


def shown_by(page: str, origins: Iterable[str], parts: Iterable[Part]) -> tuple[Part, ...]:
    """The ``parts`` that only the site at ``page`` is given. The page cannot show which parts other origins need.

    page: an address. origins: the patterns of the capsule.
    """
    own = origin_of(page)
    others = [urlsplit(each).hostname or "" for each in origins if each != own]
    hosts = [each.removeprefix("*.") for each in others]
    return tuple(
        part
        for part in parts
        if (part.host.partition(" ")[0] == own if part.kind != "cookie" else not _given_to(part.host, hosts))
    )


def _given_to(domain: str, hosts: Iterable[str]) -> bool:
    """True if a cookie of ``domain`` may be sent to one of ``hosts``, or to a host below one."""
    plain = domain.lstrip(".")
    return any(f".{host}".endswith(f".{plain}") or f".{plain}".endswith(f".{host}") for host in hosts)


def as_minimal(newer: CapsuleState, before: CapsuleState) -> CapsuleState:
    """``newer``, reduced to the parts in ``before``. If a part in ``before`` is gone, ``newer`` stays whole: the site may have
    renamed the part, or ended the login.
    """
    kept = parts_of(before)
    return only(newer, kept) if kept.keys() <= parts_of(newer).keys() else newer


class Halving:
    """The search for parts that can go. It tries halves of the remaining parts, then quarters, and so on."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self.kept = tuple(parts)
        """The remaining state. After each change, the login was seen to work with exactly this state."""
        self._pieces = _HALVES
        self._next = 0
        self._proposed: tuple[Part, ...] = ()

    def propose(self) -> tuple[Part, ...] | None:
        """The parts to try next; None once every remaining part was seen to be needed. Call ``tell`` afterwards."""
        if self._next >= self._pieces and not self._finer():
            return None
        size = -(-len(self.kept) // self._pieces)
        first = self._next * size
        self._proposed = (*self.kept[:first], *self.kept[first + size :])
        if len(self.kept) < _HALVES or len(self._proposed) == len(self.kept):
            return None if self._pieces >= len(self.kept) else self._skip()
        return self._proposed

    def _skip(self) -> tuple[Part, ...] | None:
        self._next = self._pieces
        return self.propose()

    def _finer(self) -> bool:
        if self._pieces >= len(self.kept):
            return False
        self._pieces, self._next = min(len(self.kept), self._pieces * 2), 0
        return True

    def tell(self, *, held: bool) -> None:
        """Take the result of the last proposal. held: True if the login worked with it."""
        if not held:
            self._next += 1
            return
        self.kept = self._proposed
        self._pieces, self._next = max(_HALVES, self._pieces - 1), 0
