"""The declaration of a verb: everything about it but the work.

The command line, the control API, docs/verbs.md, the audit trail and the tools of ``trailmesh mcp`` are made from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Final, get_args

import msgspec

from node.verbs.caller import Caller, CallerKind

Tell = Callable[[dict[str, Any]], None]
"""Hands progress to whoever asked; never blocks, drops what nobody reads."""

Handler = Callable[[str, Any], Awaitable[msgspec.Struct]]
"""Answers a route of the peer API: ``(node id of the caller, record) -> answer record``."""

Run = Callable[[Any, Tell], Awaitable[Any]]
"""Does the work of a verb: ``(params, tell) -> result``."""


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a verb takes. Fields are annotated with ``option`` or ``argument``."""


class NoParams(Params, frozen=True, kw_only=True):
    """A verb that takes nothing."""


def option(text: str, *, flag: str = "", metavar: str = "", reads: str = "", **limits: Any) -> msgspec.Meta:
    """A parameter that is an option of the command. text: its help and its description in schemas.

    flag: its name on the command line, ``--like-the-field`` by default, ``-`` for none: other callers give it, commands do not.
    reads: how the command line gets the value from what was typed, a key of ``node.cli.build.READERS``.
    limits: those of ``msgspec.Meta``: ``ge``, ``le``, ``max_length`` …
    """
    return msgspec.Meta(description=text, extra={"flag": flag, "metavar": metavar, "reads": reads}, **limits)


def argument(text: str, *, metavar: str = "", reads: str = "", **limits: Any) -> msgspec.Meta:
    """A parameter that stands in the command without a name; otherwise as ``option``."""
    return msgspec.Meta(description=text, extra={"argument": True, "metavar": metavar, "reads": reads}, **limits)


def _nothing(given: Any) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the audit trail says of a privileged verb or route; of its parameters nothing but what is named here."""

    subject: Callable[[Any], str] = field(default=lambda given: "")
    risk: Callable[[Any], int] = field(default=lambda given: 0)
    """The risk class its caller has approved."""
    note: Callable[[Any], Mapping[str, str]] = field(default=_nothing)


OWNER_ONLY: Final = frozenset({CallerKind.OWNER})
OWNER_AND_AGENTS: Final = frozenset({CallerKind.OWNER, CallerKind.AGENT})
ALL_WHO_WORK: Final = frozenset({CallerKind.OWNER, CallerKind.AGENT, CallerKind.SCHEDULE})


ANY_SCOPE: Final = "any"
"""For a verb that needs a scope, whichever."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Verb:
    """One thing a node can be asked."""

    name: str
    """``group.verb``."""
    takes: type[Params] = NoParams
    gives: Any
    """Type of the result, from which its schema is made; ``A | B`` where it may be one of several records."""
    help: str
    """What it does: the first line by itself, then what a caller must know."""
    command: str = ""
    """The words of its command, ``session ls``; empty if no single command stands for it."""
    callers: frozenset[CallerKind] = OWNER_ONLY
    scope: str = ""
    """Which of ``SCOPES`` an agent or a schedule needs for it, or ``ANY_SCOPE``."""
    owner_fields: frozenset[str] = frozenset()
    """Parameters that only the owner may set: approvals, above all. An agent cannot approve what it does itself."""
    read_only: bool = False
    """Whether it changes nothing, here or on any site."""
    row: Row | None
    """Its rows on the audit trail; None for a verb that is not privileged."""
    tool: str = ""
    """Its name as a tool of ``trailmesh mcp``; empty if it is none."""

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types a result may have: the only one, or those of a union, which no tag tells apart."""
        return get_args(self.gives) if isinstance(self.gives, UnionType) else (self.gives,)

    def admits(self, caller: Caller) -> bool:
        """Whether ``caller`` may call it at all."""
        if caller.kind not in self.callers:
            return False
        if self.scope == ANY_SCOPE and caller.scopes:
            return True
        return caller.kind is CallerKind.OWNER or (bool(self.scope) and self.scope in caller.scopes)

    def for_owner(self, given: Params) -> str:
        """The first of ``owner_fields`` that was set; empty if none was."""
        fields = {item.name: item for item in msgspec.structs.fields(self.takes)}
        for name in sorted(self.owner_fields):
            item = fields[name]
            default = item.default if item.default is not msgspec.NODEFAULT else item.default_factory()
            if getattr(given, name) != default:
                return name
        return ""


Bound = Mapping[Verb, Run]
"""Verbs and the functions of a room that do their work."""
