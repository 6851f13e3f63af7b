"""Browsers and pages: how they are opened, the one way from an action to a page, and the recorder of what was done there.

Owns every running browser of this node. Never performs an action that the gate did not admit.
"""

from node.live.acting import Driver, Gate
from node.live.arrivals import Arrival
from node.live.browsers import Browsers
from node.live.recorder import Recorder, Recording, Signer, record, record_actions

__all__ = [
    "Arrival",
    "Browsers",
    "Driver",
    "Gate",
    "Recorder",
    "Recording",
    "Signer",
    "record",
    "record_actions",
]
