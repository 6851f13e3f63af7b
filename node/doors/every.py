"""All doors, in the order of docs/doors.md."""

from __future__ import annotations

from typing import Final

from node.doors import control, federation, http_door, metrics
from node.doors.door import Door
from node.doors.page import listener

DOORS: Final[tuple[Door, ...]] = (*control.DOORS, http_door.DOOR, listener.DOOR, federation.DOOR, metrics.DOOR)
