"""Browsers and pages: how they are opened, the one way from an action to a page, and the recorder of what was done there.

``browsers`` hands out contexts and pages from a ``pool`` of browsers, and decides how many there are and who waits. ``acting``
finds an element, judges the risk and performs. ``recorder`` does the same and makes a signed session of it; it stands here,
below the room of sessions, because live sessions record too. ``live_session`` is one browser session that outlives a call,
``live_sessions`` all of them. Their steps are read as those of action files are, by a function that the room of sessions hands
in.

Owns every running browser of this node, and the live sessions. Never performs an action that the gate did not admit.
"""

from node.live.acting import Driver, Gate
from node.live.arrivals import Arrival
from node.live.browsers import Browsers
from node.live.live_sessions import LiveSessions
from node.live.policy import guard_for
from node.live.recorder import Recorder, Recording, Signer, record, record_actions
from node.live.verbs import LiveVerbs

__all__ = [
    "Arrival",
    "Browsers",
    "Driver",
    "Gate",
    "LiveSessions",
    "LiveVerbs",
    "Recorder",
    "Recording",
    "Signer",
    "guard_for",
    "record",
    "record_actions",
]
