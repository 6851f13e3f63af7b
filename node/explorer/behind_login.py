"""The participants of a search behind a login, and the origins that its browsers may contact.

Paths of a search tree are texts of pages, here of pages behind a login. Every participant reads the tree, so each one must have
``login:read`` from every other one. A node explores a branch with a login of its own: no login travels.
"""

from __future__ import annotations

from node.trust import Peers
from protocol.errors import MeshError
from protocol.messages import SearchSpec
from protocol.trust.grants import Scope
from protocol.trust.origin import common, origin_of


def check_lends(peers: Peers, spec: SearchSpec) -> None:
    """Check that the coordinator may use a login of this node, and all others may read what it shows, if the search needs one.

    Errors: those of ``Peers.require``.
    """
    if spec.login:
        peers.require(spec.coordinator, Scope.LOGIN_USE, spec.start_url)
        for node in _others(peers, spec):
            peers.require(node, Scope.LOGIN_READ, spec.start_url)


def reads(peers: Peers, node: str, spec: SearchSpec) -> bool:
    """True if the login permits ``node`` to read this node's findings in the search."""
    return not spec.login or peers.may(node, Scope.LOGIN_READ, spec.start_url)


def origins_for(peers: Peers, spec: SearchSpec) -> tuple[str, ...]:
    """Patterns of the origins that work for the coordinator may contact here, by every grant that the search relies on.

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
    """True if ``node`` lets this node use and read its login at the address, and this node lets it read."""
    theirs = all(peers.lets_us(node, scope, start_url) for scope in (Scope.LOGIN_USE, Scope.LOGIN_READ))
    return theirs and peers.may(node, Scope.LOGIN_READ, start_url)


def check_shares_login(peers: Peers, node: str, start_url: str) -> None:
    """As ``shares_login``, for a named peer. Errors: ``peer.scope``, with the command that makes the missing grant."""
    name, origin = peers.name_of(node), origin_of(start_url)
    if not peers.may(node, Scope.LOGIN_READ, start_url):
        told = f"{name} would read pages behind your login: allow it with `trailmesh node grant {name} login:read={origin}`"
        raise MeshError("peer.scope", told, node=node)
    if not shares_login(peers, node, start_url):
        told = (
            f"{name} does not lend its login: its owner allows that with `login:use={origin}` and `login:read={origin}`"
        )
        raise MeshError("peer.scope", told, node=node)
