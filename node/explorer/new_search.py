"""Checks a caller's request for a search and builds the specification that every participant reads."""

from __future__ import annotations

from node.explorer.behind_login import check_shares_login, shares_login
from node.trust import Peers
from node.verbs import current_caller
from protocol.errors import MeshError
from protocol.messages import SearchSpec
from protocol.page.secrets.redaction import holds_token
from protocol.page.seen.web_address import require_plain
from protocol.trust.grants import Scope
from protocol.wire import cbor
from protocol.wire.line import one_line


def check_told(goal: str, start_url: str) -> None:
    """Check the texts that every peer of a search receives. Errors: ``input.invalid``."""
    require_plain(start_url)
    if holds_token(start_url):
        told = "every peer in a search receives the start address, and this one contains something that looks like a secret"
        raise MeshError("input.invalid", told)
    if one_line(goal) != goal:
        raise MeshError("input.invalid", "a goal must be one line without control characters")


def participants(peers: Peers, names: list[str] | None, start_url: str, *, login: bool = False) -> list[str]:
    """The peers to take part. names: None takes every peer that lets us assign branches there.

    login: the search is behind a login, so each explores with its own. Errors: ``input.not_found``, ``caller.refused``,
    ``peer.scope``.
    """
    names = _alone(names)
    if names is None:
        able = [record.node for record in peers.records() if peers.acts(record.node)]
        able = [node for node in able if node not in peers.frozen]
        able = [node for node in able if peers.lets_us(node, Scope.BRANCH_ASSIGN, start_url)]
        return [node for node in able if not login or shares_login(peers, node, start_url)]
    named = list(dict.fromkeys(peers.find(name).node for name in names))
    for node in named if login else ():
        check_shares_login(peers, node, start_url)
    return named


def _alone(peers: list[str] | None) -> list[str] | None:
    """``peers``; no peers for a caller with limited origins, and by default for an agent.

    Peers cannot enforce the origins. And they work in browsers of their own, whose time counts in no budget, so an agent must
    name its peers. Errors: ``caller.refused``.
    """
    caller = current_caller()
    if caller.origins and peers:
        raise MeshError("caller.refused", "peers cannot enforce your origins: search without them")
    return [] if peers is None and caller.alone else peers


def checked(spec: SearchSpec) -> SearchSpec:
    """``spec``, decoded as every participant will read it. Errors: ``input.invalid``."""
    try:
        return cbor.decode_as(cbor.encode(spec), SearchSpec)
    except MeshError as error:
        raise MeshError("input.invalid", error.message) from error
