"""Browsers, contexts and pages: how they are opened, and the one way from an action to a page.

Owns every running browser of this node, and decides how many contexts there are and who waits for one.
Never performs an action that the gate did not admit.
"""

from node.live.acting import Driver, Gate
from node.live.browsers import Browsers

__all__ = [
    "Browsers",
    "Driver",
    "Gate",
]
