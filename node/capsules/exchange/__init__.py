"""Capsules between nodes."""

from node.capsules.exchange.asking_work import WorkAsking
from node.capsules.exchange.exchange import CapsuleExchange
from node.capsules.exchange.handles import CookieHandles
from node.capsules.exchange.reporting import Reporting
from node.capsules.exchange.stored import WORKS
from node.capsules.exchange.work import LoginWork

__all__ = [
    "WORKS",
    "CapsuleExchange",
    "CookieHandles",
    "LoginWork",
    "Reporting",
    "WorkAsking",
]
