"""The network policy of a browser context: the policy of this node, restricted to the caller's origins."""

from __future__ import annotations

from node.config import PolicyConfig
from node.verbs import current_caller
from protocol.errors import MeshError
from protocol.risk.classes import GuardPolicy
from protocol.trust.origin import ANY, common


def guard_for(policy: PolicyConfig, allow: tuple[str, ...] = (), *, within: tuple[str, ...] = (ANY,)) -> GuardPolicy:
    """The network policy for whoever calls now; ``allow`` adds requests that a person approved.

    within: origins that the work is for, as a peer's grant has them. Errors: ``policy.refused`` (the policy allows none of those),
    ``caller.refused`` (nor any of the caller's).
    """
    origins = common(policy.origins or (ANY,), within)
    if not origins:  # an empty list would allow every origin
        raise MeshError("policy.refused", "this node's policy and the peer's grant have no origin in common")
    origins = common(origins, current_caller().origins or (ANY,))
    if not origins:
        raise MeshError("caller.refused", "this node's policy allows none of the caller's origins")
    return GuardPolicy(
        read_only=True, allow=(*policy.allow_requests, *allow), origins=() if ANY in origins else origins
    )
