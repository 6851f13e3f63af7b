"""The peers of this node: their identities, keys and grants, and how they are called and reached.

``peers`` answers who may do what, ``trust_changes`` alone changes it. ``calls`` sends a peer a message, ``reach`` keeps connections
open for nodes that cannot be called, ``contacts`` remembers how the last call went. ``own_keys`` changes this node's keys.
``clock_mark`` refuses old messages after a restart; ``usage`` and ``refusal_book`` count.

Owns the trust set. Also tells peers when this node's own keys change. Never trusts a node because a peer trusts it.
"""

from node.trust.calls import PATH_PREFIX, TURNED_AWAY, Calls
from node.trust.clock_mark import ClockMark
from node.trust.discover import announcement, discover
from node.trust.own_keys import OwnKeys, describe
from node.trust.peers import Peers
from node.trust.reach import Reach
from node.trust.recovery_key import RecoveryKey
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
    "RecoveryKey",
    "RefusalBook",
    "TrustChanges",
    "announcement",
    "describe",
    "discover",
]
