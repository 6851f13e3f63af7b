"""The peers of this node: who they are, under which keys, what they may do here, and how they are called and reached.

Owns the trust set, and the change of this node's own keys as peers learn of it. Never trusts a node because a peer does.
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
