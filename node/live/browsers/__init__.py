"""Browsers within the limits of the node: the pool, the queue for places, and mounted capsules."""

from node.live.browsers.browsers import Browsers, Lent
from node.live.browsers.first_look import LoginShown
from node.live.browsers.metering import UNMETERED, End, Metering
from node.live.browsers.mounted import mounted_context
from node.live.browsers.mounting import (
    NO_CAPSULES,
    CapsuleNames,
    Mount,
    Mounts,
    NewestState,
    NoCapsules,
    Wish,
    mounted,
    no_capsules,
)
from node.live.browsers.policy import guard_for, may_open, opening

__all__ = [
    "NO_CAPSULES",
    "UNMETERED",
    "Browsers",
    "CapsuleNames",
    "End",
    "Lent",
    "LoginShown",
    "Metering",
    "Mount",
    "Mounts",
    "NewestState",
    "NoCapsules",
    "Wish",
    "guard_for",
    "may_open",
    "mounted",
    "mounted_context",
    "no_capsules",
    "opening",
]
