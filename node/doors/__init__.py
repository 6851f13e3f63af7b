"""The ways into a node: who may come in through each, with which credential, from where, and how often.

Every door that speaks HTTP checks a request in one order: ``Host``, ``Origin``, credential, rate, size. Then the call runs as its
caller. Never decides what a caller may do, which is declared by the verbs, and never does the work itself.
"""

from node.doors.call_times import CallTimes
from node.doors.control import ControlServer
from node.doors.door import Door, check_host
from node.doors.every import DOORS
from node.doors.federation import FederationApi
from node.doors.metrics import MetricsServer
from node.doors.programs import ProgramDoors

__all__ = [
    "DOORS",
    "CallTimes",
    "ControlServer",
    "Door",
    "FederationApi",
    "MetricsServer",
    "ProgramDoors",
    "check_host",
]
