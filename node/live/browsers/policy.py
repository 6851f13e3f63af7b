"""The network policy of a browser context: this node's policy, restricted to the caller's origins."""

from __future__ import annotations

from node.config import PolicyConfig
from node.verbs import Caller, CallerKind, current_caller
from protocol.errors import MeshError
from protocol.risk.addresses.addresses import destructive_url
from protocol.risk.requests.destinations import THIS_MACHINE, judge_destination, literal_address, on_this_machine
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import ANY, common, fits, origin_of


def guard_for(
    policy: PolicyConfig, allow: tuple[str, ...] = (), *, within: tuple[str, ...] | None = None, begins: str = ""
) -> GuardPolicy:
    """The network policy for the current caller. ``allow`` adds requests that a person approved.

    within: the origins of the peer's grant, for work of a peer. begins: the address at which the work begins.
    Errors: ``policy.refused`` (this node's policy allows none of those), ``caller.refused`` (the caller may use none of them).
    """
    caller = current_caller()
    origins = common(policy.origins or (ANY,), (ANY,) if within is None else within)
    if not origins:  # an empty list would allow every origin
        raise MeshError("policy.refused", "this node's policy and the peer's grant have no origin in common")
    origins = common(origins, caller.origins or (ANY,))
    if not origins:
        raise MeshError("caller.refused", "this node's policy allows none of the caller's origins")
    return GuardPolicy(
        read_only=True,
        allow=(*policy.allow_requests, *allow),
        origins=() if ANY in origins else origins,
        private=_private(caller, policy, within, begins),
        sites=policy.sites,
    )


def opening(url: str) -> tuple[str, ...]:
    """The requests to allow so that a browser opens ``url``, which a person named, whatever the words of its address suggest."""
    plain = url.partition("#")[0]
    return (f"GET {plain}",) if destructive_url(plain) and "*" not in plain else ()


def may_open(policy: PolicyConfig, url: str) -> bool:
    """True if the guard of the current caller lets a browser open ``url``. A host name is not resolved."""
    try:
        guard = guard_for(policy)
    except MeshError:
        return False
    literal = literal_address(url)
    if guard.origins and not fits(guard.origins, origin_of(url)):
        return False
    return not literal or judge_destination(url, literal, guard.private) is None


def _private(caller: Caller, policy: PolicyConfig, within: tuple[str, ...] | None, begins: str) -> tuple[str, ...]:
    """Patterns of the origins that may be on this machine or in a private network.

    A grant of everything (``*``, or none) covers the public web only; a private origin must be named. An agent with the scope
    ``local`` names this machine by beginning there. A peer cannot name one; its grant decides where it may send this node, but
    never to a metadata service.
    """
    if within is not None:
        return (ANY,)
    named = tuple(pattern for pattern in (*caller.origins, *policy.origins) if pattern != ANY)
    if "local" in caller.scopes and on_this_machine(begins):
        named = (*named, THIS_MACHINE)
    return named if caller.kind is CallerKind.AGENT else (ANY, *named)
