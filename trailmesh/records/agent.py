# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``agent.*`` (docs/verbs.md)."""

from __future__ import annotations

import msgspec

from trailmesh.client.record import Record


class Added(Record, frozen=True, kw_only=True):
    """The new agent and its token. The token is not shown again."""

    name: str

    state: str

    scopes: tuple[str, ...]

    origins: tuple[str, ...]
    """Origins that its browser runs may contact; empty for every public site that the configuration allows."""

    capsules: tuple[str, ...]
    """Ids of the capsules that it may use, each with the kinds of work: `cap-…=live,record`."""

    capsule_names: dict[str, str] = msgspec.field(default_factory=dict)
    """Current names of these capsules, by id; capsules that were removed have none."""

    capsules_ended: tuple[str, ...] = ()
    """Ids of the capsules that it may no longer use: removed, expired, or with a policy that was widened after the
    agent was added.
    """

    created_ms: int

    expires_ms: int

    calls: int

    calls_max: int
    """0 for no limit."""

    browser_seconds: int

    browser_seconds_max: int
    """0 for no limit."""

    running: int
    """Calls in progress."""

    token: str


class AgentList(Record, frozen=True, kw_only=True):
    """Agents, by name."""

    agents: tuple[Agent, ...]


class RemovedAgent(Record, frozen=True, kw_only=True):
    """The agent that was removed."""

    name: str

    ended: int
    """Number of its calls, browser runs and live sessions that were in progress and have been ended."""


class Agent(Record, frozen=True, kw_only=True):
    """An agent and its usage."""

    name: str

    state: str

    scopes: tuple[str, ...]

    origins: tuple[str, ...]
    """Origins that its browser runs may contact; empty for every public site that the configuration allows."""

    capsules: tuple[str, ...]
    """Ids of the capsules that it may use, each with the kinds of work: `cap-…=live,record`."""

    capsule_names: dict[str, str] = msgspec.field(default_factory=dict)
    """Current names of these capsules, by id; capsules that were removed have none."""

    capsules_ended: tuple[str, ...] = ()
    """Ids of the capsules that it may no longer use: removed, expired, or with a policy that was widened after the
    agent was added.
    """

    created_ms: int

    expires_ms: int

    calls: int

    calls_max: int
    """0 for no limit."""

    browser_seconds: int

    browser_seconds_max: int
    """0 for no limit."""

    running: int
    """Calls in progress."""
