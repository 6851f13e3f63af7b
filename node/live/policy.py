"""What a browser may send for a caller: the policy of this node, narrowed to the caller's origins."""

from __future__ import annotations

from node.config import PolicyConfig
from node.verbs import current_caller
from protocol.errors import MeshError
from protocol.risk.classes import GuardPolicy
from protocol.trust.origin import common


def guard_for(policy: PolicyConfig, allow: tuple[str, ...] = ()) -> GuardPolicy:
    """The network policy for whoever calls now; ``allow`` adds requests that a person approved.

    Errors: ``caller.refused`` (the caller's origins and those of the policy have nothing in common).
    """
    caller = current_caller()
    origins = policy.origins or caller.origins
    if policy.origins and caller.origins:
        origins = common(policy.origins, caller.origins)
        if not origins:  # an empty list would allow every origin
            raise MeshError("caller.refused", "the policy of this node allows none of the caller's origins")
    return GuardPolicy(read_only=True, allow=(*policy.allow_requests, *allow), origins=origins)
