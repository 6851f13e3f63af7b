"""The second wall: connects a browser only to destinations that a guard has let through, and examines the sent bytes."""

from adapters.browser.wall.destinations import Attempt, Destinations
from adapters.browser.wall.headers import choosing, said
from adapters.browser.wall.proxies import NO_PROXIES, Proxies
from adapters.browser.wall.tunnel import Entries, Tunnel
from adapters.browser.wall.wall import Destination, TunnelRefusal, Wall

__all__ = [
    "NO_PROXIES",
    "Attempt",
    "Destination",
    "Destinations",
    "Entries",
    "Proxies",
    "Tunnel",
    "TunnelRefusal",
    "Wall",
    "choosing",
    "said",
]
