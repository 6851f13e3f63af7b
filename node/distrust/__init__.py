"""The end of trust: cleans up when an owner distrusts a peer or a peer revokes itself, and exchanges notices about it.

Owns notices. A notice from a peer is advice; it never changes which peers this node trusts.
"""

from node.distrust.distrust import Distrust
from node.distrust.notices import Notices

__all__ = [
    "Distrust",
    "Notices",
]
