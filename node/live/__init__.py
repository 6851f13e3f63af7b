"""Browsers and pages: opens them, performs actions in them, and records the actions. Also live sessions.

``browsers`` provides contexts and pages from a ``pool`` of browsers, within limits and with a queue. ``acting``
finds an element, judges the risk and performs the action. ``recorder`` also makes a signed session of it; it is in this
room and not in ``sessions`` because live sessions use it too. ``live_session`` is one browser session that outlives a call,
with its ``live_pages`` and ``endings``; ``live_sessions`` are all of them. The room of sessions passes in the parser for their
steps.

Owns every running browser of this node, and the live sessions. Never performs an action that the gate did not admit.
"""

from node.live.acting.asking import Asking, Asks, Sought, seek
from node.live.acting.codes import NO_CODES, Codes, KeptCodes
from node.live.acting.driver import Driver, Gate, Makes, Prepared, judged
from node.live.acting.gate import unsent
from node.live.acting.login_forms import LoginForms, proposed
from node.live.acting.uploads import NO_UPLOADS, Uploads
from node.live.browsers.browsers import Browsers, Lent
from node.live.browsers.first_look import LoginShown
from node.live.browsers.metering import End
from node.live.browsers.mounting import CapsuleNames, Kept, Mount, Mounts, NoCapsules, Wish, mounted, mounted_context
from node.live.browsers.policy import guard_for, may_open, opening
from node.live.finding.closed import with_closed
from node.live.finding.console import Console
from node.live.finding.personal import keeping
from node.live.recording.allowing import Quiet
from node.live.recording.arrivals import Arrival
from node.live.recording.document import document_of
from node.live.recording.following import Earlier, Following, Unlike
from node.live.recording.keeping import Recording, covering_on
from node.live.recording.manifests import as_told, same_row
from node.live.recording.pictures import compacted, data_address
from node.live.recording.recorder import Recorder, record, record_actions
from node.live.recording.signer import Signer
from node.live.sessions.live_sessions import LiveSessions
from node.live.sessions.verbs import LiveVerbs

__all__ = [
    "NO_CODES",
    "NO_UPLOADS",
    "Arrival",
    "Asking",
    "Asks",
    "Browsers",
    "CapsuleNames",
    "Codes",
    "Console",
    "Driver",
    "Earlier",
    "End",
    "Following",
    "Gate",
    "Kept",
    "KeptCodes",
    "Lent",
    "LiveSessions",
    "LiveVerbs",
    "LoginForms",
    "LoginShown",
    "Makes",
    "Mount",
    "Mounts",
    "NoCapsules",
    "Prepared",
    "Quiet",
    "Recorder",
    "Recording",
    "Signer",
    "Sought",
    "Unlike",
    "Uploads",
    "Wish",
    "as_told",
    "compacted",
    "covering_on",
    "data_address",
    "document_of",
    "guard_for",
    "judged",
    "keeping",
    "may_open",
    "mounted",
    "mounted_context",
    "opening",
    "proposed",
    "record",
    "record_actions",
    "same_row",
    "seek",
    "unsent",
    "with_closed",
]
