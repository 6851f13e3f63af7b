"""Browsers and pages: how they are opened, and the one way from an action to a page.

Owns every running browser of this node. Never performs an action that the gate did not admit.
"""

from node.live.acting import Driver, Gate
from node.live.browsers import Browsers
from node.live.policy import guard_for

__all__ = [
    "Browsers",
    "Driver",
    "Gate",
    "guard_for",
]
