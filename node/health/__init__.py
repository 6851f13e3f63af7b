"""The condition of this node: status, metrics, backups, and the doctor, which gives a remedy for every fault.

Owns only the format of a backup file; it reads the other rooms. Never repairs anything by itself.
"""

from node.health import doctor, metrics
from node.health.backup import BackupVerbs
from node.health.backup_file import Contents, unpack
from node.health.verbs import MeshVerbs

__all__ = [
    "BackupVerbs",
    "Contents",
    "MeshVerbs",
    "doctor",
    "metrics",
    "unpack",
]
