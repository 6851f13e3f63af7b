"""The verbs of agents: programs that work with this node under a token of their own."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.caller import SCOPES
from node.verbs.verb import OWNER_ONLY, NoParams, Params, Row, Verb, argument, option
from protocol import limits
from protocol.trust.agent_token import NAME_PATTERN

Scope = Literal["read", "record", "replay", "live", "explore"]
"""One of ``SCOPES``."""
State = Literal["live", "expired", "used up"]

# --- what they take --------------------------------------------------------------------------------------------------

_DAY_S: Final = 86_400


class AddParams(Params, frozen=True, kw_only=True):
    """``agent.add``"""

    name: Annotated[
        str,
        argument(
            "What the agent is called: small letters, digits and -, a letter first, 32 at most.",
            metavar="NAME",
            pattern=NAME_PATTERN,
        ),
    ]
    scopes: Annotated[
        tuple[Scope, ...],
        option(
            f"What it may do: {', '.join(SCOPES)}. Repeat for more.",
            flag="--scope",
            metavar="SCOPE",
            min_length=1,
            max_length=len(SCOPES),
        ),
    ]
    origins: Annotated[
        tuple[str, ...],
        option(
            "The only origins that its browser runs may contact: https://host or https://*.domain. Repeat for more.  [default: all"
            " that the configuration allows]",
            flag="--origin",
            metavar="ORIGIN",
            max_length=limits.GRANT_ORIGINS_MAX,
        ),
    ] = ()
    expires_s: Annotated[
        int,
        option(
            f"When its token ends, from now: 90m, 12h or 30d, at most {limits.AGENT_DAYS_MAX}d."
            f"  [default: {limits.AGENT_DAYS_USUAL}d]",
            flag="--expires",
            metavar="TIME",
            reads="duration",
            ge=0,
            le=limits.AGENT_DAYS_MAX * _DAY_S,
        ),
    ] = 0
    calls: Annotated[
        int, option("How many calls it may make; 0 for any number.", metavar="N", ge=0, le=limits.AGENT_CALLS_MAX)
    ] = 0
    browser_seconds: Annotated[
        int,
        option(
            "How long it may use a browser, all its runs together; 0 for any time.",
            metavar="N",
            ge=0,
            le=limits.AGENT_BROWSER_SECONDS_MAX,
        ),
    ] = 0


class NameParams(Params, frozen=True, kw_only=True):
    """``agent.remove``"""

    name: Annotated[str, argument("What the agent is called.", metavar="NAME", max_length=limits.AGENT_TOKEN_CHARS_MAX)]


# --- what they give --------------------------------------------------------------------------------------------------


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, and what it has used."""

    name: str
    state: State
    scopes: tuple[str, ...]
    origins: tuple[str, ...]
    """The only origins that its browser runs may contact; empty for all that the configuration allows."""
    created_ms: int
    expires_ms: int
    calls: int
    calls_max: int
    """0 for any number."""
    browser_seconds: int
    browser_seconds_max: int
    """0 for any time."""
    running: int
    """Calls that it is making now."""


class Added(Agent, frozen=True, kw_only=True):
    """The agent that was made, with its token, which is shown this once."""

    token: str

    def __repr__(self) -> str:
        return f"Added(name={self.name!r})"


class AgentList(msgspec.Struct, frozen=True, kw_only=True):
    """Agents, by name."""

    agents: tuple[Agent, ...]


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that was removed."""

    name: str
    ended: int
    """Calls, browser runs and live sessions of it that were going on, and were ended."""


# --- the verbs -------------------------------------------------------------------------------------------------------

ADD: Final = Verb(
    name="agent.add",
    command="agent add",
    takes=AddParams,
    gives=Added,
    help="""Make a token for a program, so that it can work with this node without being its owner.

    The token is printed once, on standard output; the node keeps its SHA-256 only. Give it to the agent as a file
    (docs/agents.md). An agent can never approve what it does: --allow and --approve-class are the owner's.

    \b
    Examples:
      (umask 077; trailmesh agent add shopper --scope record --origin https://shop.example > shopper.token)
      trailmesh --token-file shopper.token session record buy.yaml
    """,
    callers=OWNER_ONLY,
    row=Row(
        subject=lambda given: given.name,
        note=lambda given: {
            "scopes": ",".join(given.scopes),
            "origins": ",".join(given.origins),
            "expires_s": str(given.expires_s or limits.AGENT_DAYS_USUAL * _DAY_S),
            "calls": str(given.calls or ""),
            "browser_seconds": str(given.browser_seconds or ""),
        },
    ),
)
LIST: Final = Verb(
    name="agent.list",
    command="agent ls",
    takes=NoParams,
    gives=AgentList,
    help="List agents: what each may do, until when, and what it has used.",
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)
REMOVE: Final = Verb(
    name="agent.remove",
    command="agent rm",
    takes=NameParams,
    gives=Removed,
    help="""Remove an agent: its token is worth nothing from now on, and what it is doing is ended.

    What it has done stays, under its name: sessions, searches, rows of the audit trail.
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.name),
)

VERBS: Final[tuple[Verb, ...]] = (ADD, LIST, REMOVE)
