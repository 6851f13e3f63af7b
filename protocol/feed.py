"""The change feed: the kinds of changes, and the ids that each kind has.

A change says what happened, when, to what, and who had it done. What it is about, it names by ids alone: each kind declares which,
and ``check_ids`` takes nothing else. So no text of a page, no address, no words of a person and no secret can stand in the feed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import msgspec

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.trust.agent_token import NAME_PATTERN

_Number = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Who = Annotated[Plain, msgspec.Meta(pattern="^[A-Za-z0-9:_.-]+$", max_length=limits.AUDIT_NAME_CHARS_MAX)]


class FeedKind(StrEnum):
    """The kind of a change. A kind never changes its meaning."""

    NODE_SERVING = "node.serving"
    NODE_STOPPED = "node.stopped"
    KEY_ROTATED = "key.rotated"
    KEY_RECOVERED = "key.recovered"
    KEY_REVOKED = "key.revoked"
    LOG_LOST = "log.lost"
    LOG_RENEWED = "log.renewed"
    AGENT_ADDED = "agent.added"
    AGENT_REMOVED = "agent.removed"
    AGENT_REFUSED = "agent.refused"
    AGENT_SPENT = "agent.spent"
    AGENT_EXPIRED = "agent.expired"
    OWNER_ADDED = "owner.added"
    OWNER_REVOKED = "owner.revoked"
    QUESTION_ASKED = "question.asked"
    QUESTION_ANSWERED = "question.answered"
    PEER_PAIRED = "peer.paired"
    PEER_GRANTS = "peer.grants"
    PEER_GRANTED_US = "peer.granted_us"
    PEER_KEYS = "peer.keys"
    PEER_FROZEN = "peer.frozen"
    PEER_UNFROZEN = "peer.unfrozen"
    PEER_LOG_DOUBTED = "peer.log_doubted"
    PEER_LOG_SHOWN = "peer.log_shown"
    PEER_WARNED_OF = "peer.warned_of"
    PEER_DISTRUSTED = "peer.distrusted"
    PEER_TRUSTED = "peer.trusted"
    SESSION_RECORDED = "session.recorded"
    SESSION_REPLAYED = "session.replayed"
    SESSION_IMPORTED = "session.imported"
    SESSION_REMOVED = "session.removed"
    SESSION_ARCHIVED = "session.archived"
    SESSION_UNARCHIVED = "session.unarchived"
    LIVE_OPENED = "live.opened"
    LIVE_ENDED = "live.ended"
    LIVE_CRASHED = "live.crashed"
    CAPSULE_KEPT = "capsule.kept"
    CAPSULE_RENEWED = "capsule.renewed"
    CAPSULE_UNSEALED = "capsule.unsealed"
    CAPSULE_REVOKED = "capsule.revoked"
    CAPSULE_REMOVED = "capsule.removed"
    SEARCH_STARTED = "search.started"
    SEARCH_ENDED = "search.ended"
    SEARCH_REMOVED = "search.removed"
    SEARCH_EXPELLED = "search.expelled"
    LEASE_GRANTED = "lease.granted"
    LEASE_ENDED = "lease.ended"
    CLAIM_VERIFIED = "claim.verified"
    CLAIM_REFUSED = "claim.refused"
    SCHEDULE_ADDED = "schedule.added"
    SCHEDULE_PAUSED = "schedule.paused"
    SCHEDULE_RESUMED = "schedule.resumed"
    SCHEDULE_REMOVED = "schedule.removed"
    RUN_STARTED = "run.started"
    RUN_DONE = "run.done"
    RUN_FAILED = "run.failed"
    RUN_INTERRUPTED = "run.interrupted"
    RUN_SKIPPED = "run.skipped"
    RUN_COALESCED = "run.coalesced"
    RUN_MISSED = "run.missed"
    TASK_QUEUED = "task.queued"
    TASK_STARTED = "task.started"
    TASK_PAUSED = "task.paused"
    TASK_RESUMED = "task.resumed"
    TASK_ENDED = "task.ended"


class About(NamedTuple):
    """The description of a kind."""

    ids: tuple[str, ...]
    """The meaning of its ids, in their order: ``node``, ``agent`` (a name), or a kind of ``protocol.ids``."""
    meaning: str


_EVERY: Final = f"{limits.FEED_REFUSAL_EVERY_S // 60} minutes"

ABOUT: Final[dict[FeedKind, About]] = {
    FeedKind.NODE_SERVING: About(("node",), "This node serves: peers and commands reach it."),
    FeedKind.NODE_STOPPED: About(("node",), "This node is stopping. A node that is killed cannot report it."),
    FeedKind.KEY_ROTATED: About(("node",), "This node signs with a new witness key."),
    FeedKind.KEY_RECOVERED: About(("node",), "This node signs with a new witness key, by its recovery key."),
    FeedKind.KEY_REVOKED: About(("node",), "This node has revoked itself."),
    FeedKind.LOG_LOST: About(
        ("node",),
        "A peer holds more of this node's witness log than the node: it was restored from a copy, and signs nothing.",
    ),
    FeedKind.LOG_RENEWED: About(
        ("node",), "This node began a new witness log, which names where the former ones ended."
    ),
    FeedKind.AGENT_ADDED: About(("agent",), "The owner made a token for an agent."),
    FeedKind.AGENT_REMOVED: About(("agent",), "The owner removed an agent; what it was doing has ended."),
    FeedKind.AGENT_REFUSED: About(
        ("agent",), f"An agent was refused what its scopes or origins do not cover; told every {_EVERY} at most."
    ),
    FeedKind.AGENT_SPENT: About(
        ("agent",), f"An agent was refused because a budget of it is used up; told every {_EVERY} at most."
    ),
    FeedKind.AGENT_EXPIRED: About(
        ("agent",), f"An agent was refused because its token has expired; told every {_EVERY} at most."
    ),
    FeedKind.OWNER_ADDED: About(("own",), "A key of an owner was added: what it signs counts as a person's answer."),
    FeedKind.OWNER_REVOKED: About(("own",), "A key of an owner was revoked, and its approvals have ended."),
    FeedKind.QUESTION_ASKED: About(
        ("que",),
        "Something that needs an approval was not done, and the owner is asked; told once for each form of it.",
    ),
    FeedKind.QUESTION_ANSWERED: About(("que",), "An owner answered a question, with a signature."),
    FeedKind.PEER_PAIRED: About(("node",), "A node became a peer, or was paired with again."),
    FeedKind.PEER_GRANTS: About(("node",), "The owner changed what a peer may do here."),
    FeedKind.PEER_GRANTED_US: About(("node",), "A peer changed what this node may do there."),
    FeedKind.PEER_KEYS: About(("node",), "A peer changed its key or revoked itself, or its key log has forked."),
    FeedKind.PEER_FROZEN: About(
        ("node",), "The scopes of a peer are suspended, because its witness log is not in order or not shown."
    ),
    FeedKind.PEER_UNFROZEN: About(("node",), "The peer shows its witness log again, and it is in order."),
    FeedKind.PEER_LOG_DOUBTED: About(
        ("node",), "A peer did not show its witness log as it should: not at all, an older state, or another history."
    ),
    FeedKind.PEER_LOG_SHOWN: About(("node",), "A peer showed its witness log in order, after it had not."),
    FeedKind.PEER_WARNED_OF: About(
        ("node", "node"),
        "The first node, a peer, gave notice that its owner distrusts the second one, or does so no longer.",
    ),
    FeedKind.PEER_DISTRUSTED: About(("node",), "The owner distrusts a peer."),
    FeedKind.PEER_TRUSTED: About(("node",), "The owner trusts a peer again."),
    FeedKind.SESSION_RECORDED: About(
        ("ses",), "A session was recorded and signed, by its owner or while a claim was checked."
    ),
    FeedKind.SESSION_REPLAYED: About(("ses", "rep"), "A session was replayed; the report says what matched."),
    FeedKind.SESSION_IMPORTED: About(("ses",), "A session was imported from a valid bundle."),
    FeedKind.SESSION_REMOVED: About(("ses",), "A session was purged."),
    FeedKind.SESSION_ARCHIVED: About(("ses",), "A session was archived: it is kept, and left out of the usual list."),
    FeedKind.SESSION_UNARCHIVED: About(("ses",), "An archived session was brought back."),
    FeedKind.LIVE_OPENED: About(("liv",), "A live session was opened; its first page is about to load."),
    FeedKind.LIVE_ENDED: About(
        ("liv",),
        "A live session has ended: closed, due, or failed, or the node was stopped or killed while it was open.",
    ),
    FeedKind.LIVE_CRASHED: About(
        ("liv",), "A live session has ended because its browser crashed; what was done is signed."
    ),
    FeedKind.CAPSULE_KEPT: About(("cap",), "A capsule was captured, or imported."),
    FeedKind.CAPSULE_RENEWED: About(
        ("cap",), "A capsule was sealed again: with newer state, a consent, or to another key."
    ),
    FeedKind.CAPSULE_UNSEALED: About(("cap",), "The owner had the login of a capsule written to a file in clear."),
    FeedKind.CAPSULE_REVOKED: About(("cap",), "A capsule was revoked, here or by its tenant."),
    FeedKind.CAPSULE_REMOVED: About(("cap",), "A capsule was removed from this node."),
    FeedKind.SEARCH_STARTED: About(("sea", "node"), "A search runs here, or runs again; the node coordinates it."),
    FeedKind.SEARCH_ENDED: About(("sea", "node"), "A search has ended here: done, failed, stopped or declined."),
    FeedKind.SEARCH_REMOVED: About(("sea",), "A search was removed."),
    FeedKind.SEARCH_EXPELLED: About(
        ("sea", "node"), "A peer was put out of a search: what it sent breaks the rules, or it is trusted no longer."
    ),
    FeedKind.LEASE_GRANTED: About(("lea", "sea", "node"), "A branch was leased to the node, by this one or to it."),
    FeedKind.LEASE_ENDED: About(
        ("lea", "sea", "node"), "The lease of the node ended: by a result, its time, or revoked."
    ),
    FeedKind.CLAIM_VERIFIED: About(
        ("lea", "sea", "node"), "The success that the node claimed was replayed here and confirmed."
    ),
    FeedKind.CLAIM_REFUSED: About(("lea", "sea", "node"), "The success that the node claimed was not confirmed."),
    FeedKind.SCHEDULE_ADDED: About(("sch",), "A schedule was added."),
    FeedKind.SCHEDULE_PAUSED: About(
        ("sch",), "A schedule was paused: by its owner, or by the node because its runs fail."
    ),
    FeedKind.SCHEDULE_RESUMED: About(("sch",), "A schedule was resumed."),
    FeedKind.SCHEDULE_REMOVED: About(("sch",), "A schedule was removed with the records of its due times."),
    FeedKind.RUN_STARTED: About(("sch", "sea"), "A run of a schedule began; it searches under this id."),
    FeedKind.RUN_DONE: About(("sch", "sea"), "A run of a schedule reached its goal."),
    FeedKind.RUN_FAILED: About(("sch", "sea"), "A run of a schedule ended without its goal, or with an error."),
    FeedKind.RUN_INTERRUPTED: About(
        ("sch", "sea"),
        "A run of a schedule was ended before its search was: by the owner, its expiry, a stop or a crash.",
    ),
    FeedKind.RUN_SKIPPED: About(
        ("sch",), "A due time of a schedule was skipped: the run before it had not ended, or no worker was free."
    ),
    FeedKind.RUN_COALESCED: About(("sch",), "Due times of a schedule passed, and a later one stands for them."),
    FeedKind.RUN_MISSED: About(("sch",), "Due times of a schedule passed, and nothing ran for them."),
    FeedKind.TASK_QUEUED: About(("tas",), "A task was asked for; it begins when it is its turn."),
    FeedKind.TASK_STARTED: About(("tas",), "A task began."),
    FeedKind.TASK_PAUSED: About(("tas",), "A task waits for a person: a site asks to prove that one is there."),
    FeedKind.TASK_RESUMED: About(("tas",), "A task goes on after it waited for a person."),
    FeedKind.TASK_ENDED: About(
        ("tas",), "A task has ended: done, failed, cancelled, or interrupted by the end of the node."
    ),
}
"""Every kind, with its ids and its meaning."""


class News(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change without its place in the feed."""

    at_ms: _Time
    kind: FeedKind
    ids: tuple[Plain, ...]
    who: _Who


class FeedChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change in the feed: its place, and the fields of ``News``."""

    number: _Number
    """Number of the change. Numbers have no gaps and never repeat."""
    at_ms: _Time
    """Time of the entry by the node's clock, in milliseconds since 1970."""
    kind: FeedKind
    ids: tuple[Plain, ...]
    """The ids, in the order that the kind declares."""
    who: _Who
    """Who had it done: ``owner``, ``node``, ``agent:`` and its name, ``schedule:`` and its id, or the id of a peer."""


def check_ids(kind: FeedKind, given: Sequence[str]) -> tuple[str, ...]:
    """``given``, once they are the ids that ``kind`` names. Errors: ``id.invalid``."""
    wanted = ABOUT[kind].ids
    if len(given) != len(wanted):
        raise MeshError("id.invalid", f"{kind.value} names {len(wanted)} ids")
    for form, text in zip(wanted, given, strict=True):
        if text != _canonical(form, text):
            raise MeshError("id.invalid", f"an id of {kind.value} is not in its canonical form")
    return tuple(given)


def _canonical(form: str, text: str) -> str:
    """``text`` as an id of this form is written. Errors: ``id.invalid``."""
    if form == "node":
        return ids.parse_node_id(text)
    if form == "agent":
        if not re.match(NAME_PATTERN, text):
            raise MeshError("id.invalid", "not the name of an agent")
        return text
    return ids.parse_id(form, text)
