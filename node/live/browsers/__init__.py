"""Browsers within the limits of the node: the pool, the queue for places, and mounted capsules."""

from node.live.browsers.browsers import Browsers, Lent
from node.live.browsers.configured import open_browsers
from node.live.browsers.first_look import LoginShown
from node.live.browsers.metering import End
from node.live.browsers.mounted import mounted_context
from node.live.browsers.mounting import (
    NO_CAPSULES,
    CapsuleNames,
    Mount,
    NewestState,
    Wish,
    mounted,
)
from node.live.browsers.policy import guard_for, may_open, opening

__all__ = [
    "NO_CAPSULES",
    "Browsers",
    "CapsuleNames",
    "End",
    "Lent",
    "LoginShown",
    "Mount",
    "NewestState",
    "Wish",
    "guard_for",
    "may_open",
    "mounted",
    "mounted_context",
    "open_browsers",
    "opening",
]
