"""The interfaces of a node: the peer API for other nodes, the control API for its owner, and the metrics port.

Every call passes here: its caller is authenticated and its rights are checked, and a privileged call gets its audit rows,
before a room sees it. The metrics port asks for no authentication.
Never does the work itself.
"""

from node.api.control import ControlServer
from node.api.metrics_server import MetricsServer
from node.api.node import Node

__all__ = [
    "ControlServer",
    "MetricsServer",
    "Node",
]
