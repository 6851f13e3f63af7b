"""The verb that changes the policy of a capsule."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.capsules.capsule import KeptCapsule
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Params, Verb, argument, option
from protocol import limits
from protocol.capsule.policy import Task

Choice = Literal["", "yes", "no"]


class ChangePolicyParams(Params, frozen=True, kw_only=True):
    """``capsule.policy``"""

    capsule: Annotated[
        str, argument("Id or name of the capsule.", metavar="CAPSULE", max_length=limits.CAPSULE_LABEL_CHARS_MAX)
    ]
    widen: Annotated[bool, option("Let it allow more than before. Grants under the old policy end.")] = False
    origins: Annotated[
        tuple[str, ...],
        option(
            "All origins that a browser may contact; may be given again. State of others is left out.",
            flag="--origin",
            metavar="ORIGIN",
            max_length=limits.CAPSULE_ORIGINS_MAX,
        ),
    ] = ()
    tasks: Annotated[
        tuple[Task, ...],
        option("All kinds of work it may be used for; may be given again.", flag="--task", metavar="TASK"),
    ] = ()
    purpose: Annotated[
        str,
        option("What the login is for, in one line.", metavar="TEXT", max_length=limits.CAPSULE_PURPOSE_CHARS_MAX),
    ] = ""
    class_max: Annotated[
        int | None, option("The highest risk class of requests that leave; 1 to 3 allow reads only.", metavar="N")
    ] = None
    replays_max: Annotated[
        int | None, option("How often it may be used, including earlier uses.", flag="--replays", metavar="N")
    ] = None
    expires_s: Annotated[
        int, option("When it ends, from now: `12h`, `30d`.", flag="--expires", metavar="TIME", reads="duration", ge=0)
    ] = 0
    fresh_s: Annotated[
        int | None,
        option("How long another node may use it without hearing from this one.", flag="--fresh", metavar="SECONDS"),
    ] = None
    mfa_s: Annotated[
        int | None,
        option("How old the second factor may be; 0 if none is needed.", flag="--mfa-age", metavar="SECONDS"),
    ] = None
    cross_device: Annotated[Choice, option("Whether other machines may use it.")] = ""
    cross_installation: Annotated[Choice, option("Whether other nodes may use it.")] = ""
    consent: Annotated[Choice, option("Whether an owner must sign first.")] = ""
    probes: Annotated[
        Choice, option("Whether controls may be pressed that are neither links nor certain to only read.")
    ] = ""


class ChangedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The capsule under its new policy, and the grants that ended with the old policy."""

    capsule: Annotated[KeptCapsule, shown("capsule")]
    widened: Annotated[
        tuple[str, ...], shown("allows more than before", words="{}; grants to agents and offers to peers have ended")
    ]
    """The fields in which it allows more than before; empty if it only allows less."""
    consents: Annotated[int, shown("ended", unit="consent", words="{}, given on other terms")]
    """Number of consents that have ended because they were given for other terms."""
    to_give_anew: Annotated[
        tuple[str, ...],
        shown("copies ended", words="those of {}: `trailmesh capsule export` gives them anew"),
    ]
    """Names of the peers whose copies can no longer be used; export it to them again."""


POLICY: Final = Verb(
    name="capsule.policy",
    command="capsule policy",
    takes=ChangePolicyParams,
    gives=ChangedPolicy,
    help="""Change the policy of a capsule of this node. Fields that are not named stay unchanged.

    The capsule is sealed as its next generation, so copies of peers can no longer be used: export it to them again. Consents end,
    because they were given on other terms. Uses stay counted. If the policy allows more than before, `--widen` is needed, and the
    grants of the capsule to agents and peers end until they are given again (`agent add`, `capsule offer`).

    \b
    Examples:
      trailmesh capsule policy shop --task replay --class-max 1
      trailmesh capsule policy shop --widen --expires 30d
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule, note=lambda given: {"widen": "yes" if given.widen else "no"}),
)

VERBS: Final[tuple[Verb, ...]] = (POLICY,)
