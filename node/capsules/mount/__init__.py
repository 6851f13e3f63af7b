"""Opens sealed logins for work, and gives them out."""

from node.capsules.mount.mounting import Mounting
from node.capsules.mount.unsealing import Unsealing

__all__ = [
    "Mounting",
    "Unsealing",
]
