"""Verbs for agents: programs that call this node with a token of their own."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.caller import SCOPES
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, PAGE, AuditedPart, NoParams, Params, Verb, argument, option
from protocol import limits
from protocol.trust.agent_token import NAME_PATTERN

Scope = Literal["read", "record", "replay", "live", "explore", "local"]
"""One of ``SCOPES``."""
AGENT_TASKS: Final = ("explore", "live", "record", "replay")
"""The kinds of work for which an agent can be granted a capsule."""
State = Literal["valid", "expired", "used up"]

# --- parameters ------------------------------------------------------------------------------------------------------

_DAY_S: Final = 86_400


class AddParams(Params, frozen=True, kw_only=True):
    """``agent.add``"""

    name: Annotated[
        str,
        argument(
            "Name of the agent: lower-case letters, digits and -, starting with a letter, at most 32 characters.",
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
            "An origin that its browser runs may contact, and no other: https://host or https://*.domain. Repeat for more."
            "  [default: every public site that the configuration allows; private and loopback addresses must be named]",
            flag="--origin",
            metavar="ORIGIN",
            max_length=limits.GRANT_ORIGINS_MAX,
        ),
    ] = ()
    capsules: Annotated[
        tuple[str, ...],
        option(
            "A capsule whose login it may begin its work with, by name or id, and for which kinds of work: shop, or"
            " shop=record,replay (docs/capsules.md). Repeat for more.",
            flag="--capsule",
            metavar="CAPSULE[=WORK]",
            max_length=limits.AGENT_CAPSULES_MAX,
        ),
    ] = ()
    expires_s: Annotated[
        int,
        option(
            f"How long its token is valid: 90m, 12h or 30d, at most {limits.AGENT_DAYS_MAX}d."
            f"  [default: {limits.AGENT_DAYS_USUAL}d]",
            flag="--expires",
            metavar="TIME",
            reads="duration",
            ge=0,
            le=limits.AGENT_DAYS_MAX * _DAY_S,
        ),
    ] = 0
    calls: Annotated[
        int,
        option("How many calls it may make in total; 0 for no limit.", metavar="N", ge=0, le=limits.AGENT_CALLS_MAX),
    ] = 0
    browser_seconds: Annotated[
        int,
        option(
            "Total browser time of all its runs; 0 for no limit.",
            metavar="N",
            ge=0,
            le=limits.AGENT_BROWSER_SECONDS_MAX,
        ),
    ] = 0


class NameParams(Params, frozen=True, kw_only=True):
    """``agent.remove``"""

    name: Annotated[str, argument("Name of the agent.", metavar="NAME", max_length=limits.AGENT_TOKEN_CHARS_MAX)]


# --- results ---------------------------------------------------------------------------------------------------------


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent and its usage."""

    name: Annotated[str, shown("name", column=True)]
    state: Annotated[State, shown("state", column=True)]
    scopes: Annotated[tuple[str, ...], shown("scopes", as_="prose", column=True)]
    origins: Annotated[tuple[str, ...], shown("origins", as_="prose", column=True, empty="public sites")]
    """Origins that its browser runs may contact; empty for every public site that the configuration allows."""
    capsules: Annotated[tuple[str, ...], shown("logins", as_="prose", column=True)]
    """Ids of the capsules that it may use, each with the kinds of work: ``cap-…=live,record``."""
    capsule_names: Annotated[dict[str, str], shown("names of logins", into="capsules", words=" ({})")] = {}
    """Current names of these capsules, by id; capsules that were removed have none."""
    capsules_ended: Annotated[tuple[str, ...], shown("ended logins", into="capsules", words=" [ended: {}]")] = ()
    """Ids of the capsules that it may no longer use: removed, expired, or with a policy that was widened after the agent was
    added.
    """
    created_ms: Annotated[int, shown("added", as_="time", unit="ms")]
    expires_ms: Annotated[int, shown("until", as_="time", unit="ms", column=True)]
    calls: Annotated[int, shown("calls", column=True)]
    calls_max: Annotated[int, shown("at most", into="calls", words=" of {}")]
    """0 for no limit."""
    browser_seconds: Annotated[int, shown("browser s", column=True)]
    browser_seconds_max: Annotated[int, shown("at most", into="browser_seconds", words=" of {}")]
    """0 for no limit."""
    running: Annotated[int, shown("running", column=True)]
    """Calls in progress."""


class Added(Agent, frozen=True, kw_only=True):
    """The new agent and its token. The token is not shown again."""

    token: Annotated[str, shown("token", as_="bare")]

    def __repr__(self) -> str:
        return f"Added(name={self.name!r})"


class AgentList(msgspec.Struct, frozen=True, kw_only=True):
    """Agents, by name."""

    agents: Annotated[tuple[Agent, ...], shown("agents", empty="no agents: `trailmesh agent add --help`")]


class RemovedAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that was removed."""

    name: Annotated[str, shown("removed")]
    ended: Annotated[int, shown("ended", words="{} of its calls, browser runs and live sessions")]
    """Number of its calls, browser runs and live sessions that were in progress and have been ended."""


# --- the verbs -------------------------------------------------------------------------------------------------------

ADD: Final = Verb(
    name="agent.add",
    command="agent add",
    takes=AddParams,
    gives=Added,
    help="""Create an agent and print its token.

    The token lets a program call this node without the owner's rights. It is printed once, on standard output; the node stores
    only its SHA-256. Give it to the agent as a file (docs/agents.md). An agent can never approve its own actions: only the
    owner can set --allow and --approve-class.

    \b
    Examples:
      (umask 077; trailmesh agent add shopper --scope record --origin https://shop.example > shopper.token)
      trailmesh --token-file shopper.token session record buy.yaml
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(
        subject=lambda given: given.name,
        note=lambda given: {
            "scopes": ",".join(given.scopes),
            "origins": ",".join(given.origins),
            "capsules": " ".join(given.capsules),
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
    help="List agents with their scopes, expiry and usage.",
    callers=OWNER_ONLY | PAGE,
    read_only=True,
    row=None,
)
REMOVE: Final = Verb(
    name="agent.remove",
    command="agent rm",
    takes=NameParams,
    gives=RemovedAgent,
    help="""Remove an agent: its token becomes invalid at once, and its calls, browser runs and live sessions are ended.

    Its sessions, searches and rows of the audit trail are kept under its name.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.name),
)

VERBS: Final[tuple[Verb, ...]] = (ADD, LIST, REMOVE)
