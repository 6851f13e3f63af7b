"""How another node becomes a peer: by an invite that a person carries, or by digits that two people compare.

Owns open invites and pairing windows. Never adds a peer without the consent of a person.
"""

from node.pairing.pairing_desk import PairingDesk
from node.pairing.stored import INVITES
from node.pairing.verbs import PairingVerbs

__all__ = [
    "INVITES",
    "PairingDesk",
    "PairingVerbs",
]
