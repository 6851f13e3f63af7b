"""Who takes part in a search behind a login, and where its browsers may go.

Paths of a search tree are text of pages, here of pages that a login shows. Every participant reads the tree, so each one must have
``login:read`` from each other one. A branch is explored by a node with a login of its own: no login travels.
"""

from __future__ import annotations

from node.trust import Peers
from protocol.errors import MeshError
from protocol.messages import SearchSpec
from protocol.trust.grants import Scope
from protocol.trust.origin import common, origin_of


def check_lends(peers: Peers, spec: SearchSpec) -> None:
    """Check that the coordinator may use a login of this node, and everybody else read what it shows, if the search needs one.

    Errors: those of ``Peers.require``.
    """
    if spec.login:
        peers.require(spec.coordinator, Scope.LOGIN_USE, spec.start_url)
        for node in _others(peers, spec):
            peers.require(node, Scope.LOGIN_READ, spec.start_url)


def reads(peers: Peers, node: str, spec: SearchSpec) -> bool:
    """Whether ``node`` may read what this node finds in the search, as far as a login goes."""
    return not spec.login or peers.may(node, Scope.LOGIN_READ, spec.start_url)


def origins_for(peers: Peers, spec: SearchSpec) -> tuple[str, ...]:
    """Patterns of the origins that work for the coordinator of the search may contact here: those of every grant it rests on.

    Errors: those of ``Peers.require``.
    """

    def granted(node: str, scope: Scope) -> tuple[str, ...]:
        return tuple(peers.require(node, scope, spec.start_url).grants[scope])

    within = granted(spec.coordinator, Scope.BRANCH_ASSIGN)
    if spec.login:
        within = common(within, granted(spec.coordinator, Scope.LOGIN_USE))
        for node in _others(peers, spec):
            within = common(within, granted(node, Scope.LOGIN_READ))
    return within


def _others(peers: Peers, spec: SearchSpec) -> list[str]:
    return [node for node in spec.participants if node != peers.me]


def shares_login(peers: Peers, node: str, start_url: str) -> bool:
    """Whether ``node`` lets this node use and read its login at the address, and this node lets it read."""
    theirs = all(peers.lets_us(node, scope, start_url) for scope in (Scope.LOGIN_USE, Scope.LOGIN_READ))
    return theirs and peers.may(node, Scope.LOGIN_READ, start_url)


def check_shares_login(peers: Peers, node: str, start_url: str) -> None:
    """As ``shares_login``, for a peer that was named. Errors: ``peer.scope``, with the command that grants what is missing."""
    name, origin = peers.name_of(node), origin_of(start_url)
    if not peers.may(node, Scope.LOGIN_READ, start_url):
        told = f"{name} would read pages behind your login: allow it with `trailmesh node grant {name} login:read={origin}`"
        raise MeshError("peer.scope", told, node=node)
    if not shares_login(peers, node, start_url):
        told = (
            f"{name} does not lend its login: its owner allows that with `login:use={origin}` and `login:read={origin}`"
        )
        raise MeshError("peer.scope", told, node=node)
