"""Makes the policy of a new capsule from the parameters of its owner."""

from __future__ import annotations

from typing import Final

import msgspec

from node.capsules.seal.sealing import origins_of
from node.verbs.capsules.capsule import PolicyParams
from protocol import limits
from protocol.capsule.capsule import CapsuleHeader
from protocol.capsule.policy import TASKS, Policy, check_policy
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.trust.origin import parse_pattern, widest

_USUAL_S: Final = 7 * 86_400
"""The default lifetime of a capsule."""


_OF_EACH_STATE: Final = ("replaces", "mfa_now", "whole")
"""Parameters about the state and not about its use."""


def check_renews(given: PolicyParams, before: CapsuleHeader, now_ms: int) -> None:
    """Check that newer state keeps the policy of ``before``. Policy parameters beside it are refused, because they would have no
    effect.

    Errors: ``input.invalid``, ``capsule.expired``.
    """
    policy = before.policy
    same: dict[str, object] = {name: getattr(policy, name) for name in Policy.__struct_fields__ if hasattr(given, name)}
    same |= {"name": before.name, "no_probes": not policy.probes}
    said = msgspec.structs.replace(
        given,
        origins=widest(parse_pattern(each) for each in given.origins),
        tasks=tuple(sorted(set(given.tasks))),
    )
    usual = PolicyParams()
    for name in PolicyParams.__struct_fields__:
        value = getattr(said, name)
        if name not in _OF_EACH_STATE and value not in (getattr(usual, name), same.get(name)):
            raise MeshError(
                "input.invalid", f"--replaces keeps the name and the policy of the capsule: {name} is another"
            )
    if now_ms >= before.policy.expires_ms:
        raise MeshError("capsule.expired", "newer state does not prolong a capsule", capsule=before.id)


def policy_of(given: PolicyParams, state: CapsuleState, now_ms: int) -> Policy:
    """The policy that the parameters describe. Errors: ``input.invalid``, ``input.too_large``."""
    origins = widest(parse_pattern(each) for each in given.origins) if given.origins else origins_of(state)
    if len(origins) > limits.CAPSULE_ORIGINS_MAX:
        raise MeshError("input.too_large", f"state of {len(origins)} origins: name those that are needed with --origin")
    expires_s = given.expires_s or _USUAL_S
    if expires_s > limits.CAPSULE_DAYS_MAX * 86_400:
        raise MeshError("input.invalid", f"a capsule ends within {limits.CAPSULE_DAYS_MAX} days")
    policy = Policy(
        purpose=given.purpose,
        origins=tuple(origins),
        tasks=tuple(sorted(set(given.tasks or TASKS))),  # type: ignore[arg-type]  # each of them is a task
        class_max=given.class_max,
        replays_max=given.replays_max,
        expires_ms=now_ms + expires_s * 1000,
        fresh_s=given.fresh_s,
        mfa_s=given.mfa_s,
        cross_device=given.cross_device,
        cross_installation=given.cross_installation,
        consent=given.consent,
        probes=not given.no_probes,
    )
    try:
        return check_policy(policy)
    except MeshError as error:
        raise MeshError("input.invalid", error.message) from error
