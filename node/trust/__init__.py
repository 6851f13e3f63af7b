"""The peers of this node: their identities, keys and grants, and how they are called and reached.

Owns the trust set. Also tells peers when this node's own keys change. Never trusts a node because a peer trusts it.
"""

from node.trust.calls import PATH_PREFIX, TURNED_AWAY, Calls
from node.trust.clock_mark import ClockMark
from node.trust.discover import announcement, discover
from node.trust.own_keys import OwnKeys, describe
from node.trust.peers import Peers
from node.trust.reach import Reach
from node.trust.refusal_book import RefusalBook
from node.trust.trust_changes import TrustChanges

__all__ = [
    "PATH_PREFIX",
    "TURNED_AWAY",
    "Calls",
    "ClockMark",
    "OwnKeys",
    "Peers",
    "Reach",
    "RefusalBook",
    "TrustChanges",
    "announcement",
    "describe",
    "discover",
]
