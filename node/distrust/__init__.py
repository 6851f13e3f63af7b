"""The end of trust: everything that ends when an owner distrusts a peer or a peer revokes itself, and notices about it.

Owns notices. A notice of a peer is advice; it never changes whom this node trusts.
"""

from node.distrust.distrust import Distrust
from node.distrust.notices import Notices

__all__ = [
    "Distrust",
    "Notices",
]
