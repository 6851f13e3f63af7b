"""The condition of this node: status, metrics, and the doctor, which gives a remedy for every fault it finds.

Owns no data; it reads the other rooms. Never repairs anything by itself.
"""

from node.health import doctor, metrics
from node.health.verbs import MeshVerbs

__all__ = [
    "MeshVerbs",
    "doctor",
    "metrics",
]
