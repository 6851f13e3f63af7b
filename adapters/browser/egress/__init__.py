"""Judges the requests of a page, holds those that somebody must allow, and notes their results."""

from adapters.browser.egress.activity import Activity
from adapters.browser.egress.caused import Caused, FrameDocument
from adapters.browser.egress.deciding import Deciding
from adapters.browser.egress.judge import BrowserJudge
from adapters.browser.egress.network import NetworkGuard
from adapters.browser.egress.plain import WINDOW_WITHOUT_FILES
from adapters.browser.egress.routing import Routing
from adapters.browser.egress.windows import Windows

__all__ = [
    "WINDOW_WITHOUT_FILES",
    "Activity",
    "BrowserJudge",
    "Caused",
    "Deciding",
    "FrameDocument",
    "NetworkGuard",
    "Routing",
    "Windows",
]
