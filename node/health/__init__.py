"""How this node is: status, metrics, and the doctor with a remedy for each fault.

Owns nothing; it looks at the other rooms. Never repairs anything by itself.
"""

from node.health import doctor, metrics
from node.health.verbs import MeshVerbs

__all__ = [
    "MeshVerbs",
    "doctor",
    "metrics",
]
