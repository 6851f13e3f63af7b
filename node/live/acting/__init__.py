"""Performs an action: judges its risk, asks the gate, and holds requests that need a yes."""

from node.live.acting.allowance import Allowance, Waits, allowed, is_paused, is_task, out_of, take_picture, warns_at
from node.live.acting.allowing import Quiet
from node.live.acting.asking import Asks, Sought, seek
from node.live.acting.codes import NO_CODES, Codes, KeptCodes
from node.live.acting.driver import Driver, Gate, Makes
from node.live.acting.gate import unsent
from node.live.acting.login_forms import LoginForms, proposed
from node.live.acting.preparing import Prepared, judged
from node.live.acting.uploads import NO_UPLOADS, Uploads

__all__ = [
    "NO_CODES",
    "NO_UPLOADS",
    "Allowance",
    "Asks",
    "Codes",
    "Driver",
    "Gate",
    "KeptCodes",
    "LoginForms",
    "Makes",
    "Prepared",
    "Quiet",
    "Sought",
    "Uploads",
    "Waits",
    "allowed",
    "is_paused",
    "is_task",
    "judged",
    "out_of",
    "proposed",
    "seek",
    "take_picture",
    "unsent",
    "warns_at",
]
