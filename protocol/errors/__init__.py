"""Every failure of trailmesh: one exception type, one register of codes.

A code never changes its meaning and is never reused. It stands in the file of its family; ``register`` joins them, and
``docs/errors.md`` is printed from that (``make docs``). Exit codes and the HTTP status of the control API come from a code in
``node/base/statuses.py``, the status on the peer channel in ``adapters/transport/tls/answers.py``.
"""

from protocol.errors.code import Blame, Code
from protocol.errors.mesh_error import MeshError, PeerError
from protocol.errors.pages import NOT_LOADED
from protocol.errors.register import CODES, FAMILIES

__all__ = [
    "CODES",
    "FAMILIES",
    "NOT_LOADED",
    "Blame",
    "Code",
    "MeshError",
    "PeerError",
]
