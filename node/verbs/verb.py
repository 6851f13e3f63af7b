"""The form of a verb, which a command calls, and of a route, which a peer calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

Tell = Callable[[dict[str, Any]], None]
"""Hands progress to whoever asked; never blocks, drops what nobody reads."""


Handler = Callable[[str, Any], Awaitable[msgspec.Struct]]
"""Answers a route of the peer API: ``(node id of the caller, record) -> answer record``."""


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a verb takes."""


class NoParams(Params, frozen=True, kw_only=True):
    """A verb that takes nothing."""


class Verb(NamedTuple):
    """One thing a command can ask of a node."""

    params: type[Params]
    run: Callable[[Any, Tell], Awaitable[Any]]
    """Takes ``params`` and ``Tell``; the result is plain, or made of structs."""


Verbs = Mapping[str, Verb]
"""By name, ``group.verb``."""
