"""The port for a look at how a site logs in: what its page has, asks for and sets. No value of a field or a cookie is among it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from protocol.capsule.auth_flow import Signs
from protocol.recording.session import Profile
from protocol.risk.requests import GuardPolicy

ReadSigns = Callable[[Profile, GuardPolicy, str], Awaitable[Signs]]
"""Opens an address in a fresh browser, and reads the signs of a login there. Errors: ``browser.*``."""
