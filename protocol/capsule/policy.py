"""The policy of a capsule, and the one function that judges a use of it. Issuer and importer both call it."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.risk.judgement import APPROVAL_CLASS
from protocol.trust.origin import ANY, fits, parse_pattern, widest
from protocol.wire.line import LINE_PATTERN

Task = Literal["live", "record", "replay", "explore", "schedule"]
"""The kind of work that uses a capsule: a live session, a recording, a replay, a search, a scheduled run."""
TASKS: Final[tuple[str, ...]] = get_args(Task)
Time = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Pattern = Annotated[Plain, msgspec.Meta(max_length=limits.ORIGIN_CHARS_MAX)]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a capsule may be used. Every field is required, so that a reader never guesses a missing one."""

    purpose: Annotated[Plain, msgspec.Meta(max_length=limits.CAPSULE_PURPOSE_CHARS_MAX, pattern=LINE_PATTERN)]
    """The purpose of the login, in words of the person who gives it."""
    origins: Annotated[tuple[_Pattern, ...], msgspec.Meta(min_length=1, max_length=limits.CAPSULE_ORIGINS_MAX)]
    """The origins that the browser may contact while it holds the state: sorted patterns, never ``*``."""
    tasks: Annotated[tuple[Task, ...], msgspec.Meta(min_length=1, max_length=len(TASKS))]
    """Sorted, each once."""
    class_max: Annotated[int, msgspec.Meta(ge=1, le=7)]
    """The highest risk class of requests that leave the browser. Up to 3 only reads leave."""
    replays_max: Annotated[int, msgspec.Meta(ge=1, le=limits.CAPSULE_USES_MAX)]
    """How often it may be used, by all holders together."""
    expires_ms: Time
    fresh_s: Annotated[int, msgspec.Meta(ge=0, le=limits.CAPSULE_FRESH_S_MAX)]
    """How long it may be used without an answer from its issuer; with 0 each use is reported first."""
    mfa_s: Annotated[int, msgspec.Meta(ge=0, le=limits.CAPSULE_FRESH_S_MAX)]
    """The maximum age of the last second factor of the login; with 0 none is needed."""
    cross_device: bool
    """True if it may be used on another machine."""
    cross_installation: bool
    """True if another node may use it."""
    consent: bool
    """True if a person must have signed a consent."""
    probes: bool
    """True if controls other than links and certain reads may be pressed without an approval."""


class UseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a wanted use of a capsule. The judging node has found them itself, and relies on no other node's word."""

    now_ms: int
    latest_ms: int
    """The latest time at which this node saw the capsule. The present time is later, unless the clock was set back."""
    heard_ms: int
    """When its issuer last confirmed it; the present time if this node is the issuer."""
    origins: tuple[str, ...]
    """Patterns of the origins that the browser will be allowed to contact."""
    task: str
    level: int
    """The highest risk class that this use may perform."""
    uses: int
    """The number of uses before."""
    mfa_ms: int
    """When a second factor was last given for the login; 0 if that is not known."""
    same_device: bool
    """True if it was captured on this machine; False if that is not known."""
    same_installation: bool
    """True if this node captured it."""
    consent_until_ms: int
    """The end of a verified consent; 0 if there is none."""


def judge_use(policy: Policy, facts: UseFacts) -> str | None:
    """The code of the first rule that the use would break, in the order of this function; None if it may go on."""
    broken = (
        # Checked first: a person who sets the clock back could otherwise pass every rule below that reads the time.
        ("capsule.clock", facts.now_ms < facts.latest_ms - limits.CLOCK_SKEW_S * 1000),
        ("capsule.expired", facts.now_ms >= policy.expires_ms),
        ("capsule.stale", facts.now_ms > facts.heard_ms + policy.fresh_s * 1000),
        ("capsule.origin", not facts.origins or not all(fits(policy.origins, each) for each in facts.origins)),
        ("capsule.task", facts.task not in policy.tasks),
        ("capsule.class", facts.level > policy.class_max),
        ("capsule.replays", facts.uses >= policy.replays_max),
        ("capsule.mfa", policy.mfa_s > 0 and facts.now_ms > facts.mfa_ms + policy.mfa_s * 1000),
        ("capsule.installation", not (policy.cross_installation or facts.same_installation)),
        ("capsule.device", not (policy.cross_device or facts.same_device)),
        ("capsule.consent", policy.consent and facts.now_ms >= facts.consent_until_ms),
    )
    return next((code for code, is_broken in broken if is_broken), None)


def widened(new: Policy, old: Policy) -> tuple[str, ...]:
    """The fields in which ``new`` allows more than ``old``. A changed purpose counts too, because consents were given for the old
    one.
    """
    allows_more = {
        "purpose": new.purpose != old.purpose,
        "origins": not all(fits(old.origins, each) for each in new.origins),
        "tasks": not set(new.tasks) <= set(old.tasks),
        "class_max": new.class_max > old.class_max,
        "replays_max": new.replays_max > old.replays_max,
        "expires_ms": new.expires_ms > old.expires_ms,
        "fresh_s": new.fresh_s > old.fresh_s,
        "mfa_s": old.mfa_s > 0 and (new.mfa_s == 0 or new.mfa_s > old.mfa_s),
        "cross_device": new.cross_device and not old.cross_device,
        "cross_installation": new.cross_installation and not old.cross_installation,
        "consent": old.consent and not new.consent,
        "probes": new.probes and not old.probes,
    }
    assert allows_more.keys() == set(Policy.__struct_fields__)
    return tuple(name for name, more in allows_more.items() if more)


def check_policy(policy: Policy) -> Policy:
    """``policy`` as it was read: origins in their one form, sorted, none within another, never all; tasks sorted, each once.

    Errors: ``capsule.invalid``.
    """
    try:
        in_form = tuple(parse_pattern(origin) for origin in policy.origins)
    except MeshError as error:
        raise MeshError("capsule.invalid", error.message) from error
    if ANY in in_form:
        raise MeshError("capsule.invalid", "a capsule is for named origins, never for all")
    if not policy.origins == in_form == widest(in_form):
        raise MeshError("capsule.invalid", "the origins of a policy are canonical, sorted, and none contains another")
    if policy.tasks != tuple(sorted(set(policy.tasks))):
        raise MeshError("capsule.invalid", "the tasks of a policy are sorted, each once")
    return policy


def class_in_words(class_max: int) -> str:
    """The requests that ``class_max`` of a policy lets leave, in words."""
    return (
        "nothing but reads leaves"
        if class_max < APPROVAL_CLASS
        else f"requests up to class {class_max} leave once allowed"
    )


def presses_in_words(*, probes: bool) -> str:
    """The controls that ``probes`` of a policy lets be pressed, in words."""
    return "anything may be pressed" if probes else "only links and what certainly reads are pressed without a yes"
