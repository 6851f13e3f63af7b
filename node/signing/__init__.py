"""The identity of this node and everything it signs: key log, witness key, witness log, rows of the audit trail, and the change
feed.

Owns the key log and the witness log of this node, and the numbered sequence of its changes. Every artefact of the node is signed
here. Never verifies what other nodes signed. The feed only informs: nothing in the node acts because of a row. A failed row never
stops the work that it reports, unless it is written in one transaction with its data.
"""

from node.signing import contents, identity
from node.signing.feed import Feed
from node.signing.identity import KEY_FILE, LOG_FILE, Identity, artefact_record
from node.signing.log_check import audit_own
from node.signing.manifests import signed_manifest
from node.signing.recovery_file import check_recovery_file, default_recovery_file
from node.signing.trail import Doing, Trail
from node.signing.witness import Witness, open_opening

__all__ = [
    "KEY_FILE",
    "LOG_FILE",
    "Doing",
    "Feed",
    "Identity",
    "Trail",
    "Witness",
    "artefact_record",
    "audit_own",
    "check_recovery_file",
    "contents",
    "default_recovery_file",
    "identity",
    "open_opening",
    "signed_manifest",
]
