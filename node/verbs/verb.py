"""The record that declares a verb: name, parameters, result, callers, audit row, help; everything except the implementation.

The command line, the control API, docs/verbs.md, the audit trail and the tools of ``trailmesh mcp`` are generated from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Final, get_args

import msgspec

from node.verbs.caller import Caller, CallerKind

Tell = Callable[[dict[str, Any]], None]
"""Sends a progress event to the caller; never blocks, and drops events that nobody reads."""

Handler = Callable[[str, Any], Awaitable[msgspec.Struct]]
"""Answers a route of the peer API: ``(node id of the caller, record) -> answer record``."""

Run = Callable[[Any, Tell], Awaitable[Any]]
"""Implements a verb: ``(params, tell) -> result``."""


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the parameters of a verb. Fields are annotated with ``option`` or ``argument``."""


class NoParams(Params, frozen=True, kw_only=True):
    """Parameters of a verb that has none."""


def option(
    text: str, *, flag: str = "", metavar: str = "", reads: str = "", says: str = "", **limits: Any
) -> msgspec.Meta:
    """A parameter that is an option of the command. text: its help and its description in schemas.

    flag: its name on the command line, by default ``--`` and the name of the field; ``-`` for a parameter without a flag, which
    only other callers can set.
    reads: how the command line parses the value, a key of ``node.cli.base.build.READERS``.
    says: its form in the words of an error, where those of its type do not help.
    limits: those of ``msgspec.Meta``: ``ge``, ``le``, ``max_length`` …
    """
    return msgspec.Meta(
        description=text, extra={"flag": flag, "metavar": metavar, "reads": reads, "says": says}, **limits
    )


def argument(text: str, *, metavar: str = "", reads: str = "", says: str = "", **limits: Any) -> msgspec.Meta:
    """A positional parameter of the command; otherwise as ``option``."""
    return msgspec.Meta(
        description=text, extra={"argument": True, "metavar": metavar, "reads": reads, "says": says}, **limits
    )


def _nothing(given: Any) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class AuditedPart:
    """The part of a call that the audit trail records for a privileged verb or route. Parameters that are not named here are not
    recorded.
    """

    subject: Callable[[Any], str] = field(default=lambda given: "")
    risk: Callable[[Any], int] = field(default=lambda given: 0)
    """The risk class that the caller has approved."""
    note: Callable[[Any], Mapping[str, str]] = field(default=_nothing)


PAGE: Final = frozenset({CallerKind.PAGE})
"""The page of the node; for verbs that only read, here, and start nothing."""
OWNER_ONLY: Final = frozenset({CallerKind.OWNER})
OWNER_AND_AGENTS: Final = frozenset({CallerKind.OWNER, CallerKind.AGENT})
ALL_WHO_WORK: Final = frozenset({CallerKind.OWNER, CallerKind.AGENT, CallerKind.SCHEDULE})


ANY_SCOPE: Final = "any"
"""The scope of a verb for which any scope suffices."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Verb:
    """One operation that a node offers."""

    name: str
    """``group.verb``."""
    takes: type[Params] = NoParams
    gives: Any
    """Type of the result, from which its schema is made; ``A | B`` if it is one of several records."""
    help: str
    """Its effect: a summary line, then further facts that a caller must know."""
    command: str = ""
    """The words of its command, such as ``session ls``; empty if it has no command of its own."""
    callers: frozenset[CallerKind] = OWNER_ONLY
    scope: str = ""
    """Scope that an agent or a schedule needs, one of ``SCOPES``, or ``ANY_SCOPE``."""
    owner_fields: frozenset[str] = frozenset()
    """Parameters that only the owner may set, mainly approvals: an agent must not approve its own actions."""
    read_only: bool = False
    """True if it changes nothing, here or on any site."""
    long: bool = False
    """True if it may take long, so that it can be begun as a task. Its result must hold no secret."""
    row: AuditedPart | None
    """Its rows in the audit trail; None for a verb that is not privileged."""
    tool: str = ""
    """Its name as a tool of ``trailmesh mcp``; empty if it is not a tool."""

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a result may have: one, or the members of a union, which has no tag field."""
        return get_args(self.gives) if isinstance(self.gives, UnionType) else (self.gives,)

    def admits(self, caller: Caller) -> bool:
        """True if ``caller`` may call the verb."""
        if caller.kind not in self.callers:
            return False
        if self.scope == ANY_SCOPE and caller.scopes:
            return True
        if caller.kind in (CallerKind.OWNER, CallerKind.PAGE):
            return True
        return bool(self.scope) and self.scope in caller.scopes

    def for_owner(self, given: Params) -> str:
        """The first of ``owner_fields`` that is set; empty if none is."""
        fields = {item.name: item for item in msgspec.structs.fields(self.takes)}
        for name in sorted(self.owner_fields):
            item = fields[name]
            default = item.default if item.default is not msgspec.NODEFAULT else item.default_factory()
            if getattr(given, name) != default:
                return name
        return ""


Bound = Mapping[Verb, Run]
"""Maps verbs to the functions of a room that implement them."""
