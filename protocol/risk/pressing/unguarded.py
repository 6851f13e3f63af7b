"""Ways out that the network guard cannot judge in a browser that somebody else started."""

from __future__ import annotations

from typing import Final

from protocol.recording.records.session import ATTACHED, ATTACHED_WALLED

_WALLED: Final = (
    "the browser was started by somebody else: its pages connect through the tunnel of this node, for nothing that was not judged,"
    " but over TLS a shared worker or a page fetched ahead reaches any address of a host that a page has just read from",
    "only a script keeps WebRTC of its pages from sending datagrams, and names that they prefetch are looked up by the browser",
)
_OPEN: Final = (
    "the browser was started by somebody else, and does not connect through the tunnel of this node: it runs on another machine, or"
    " its owner chose a proxy for it. So not everything that its pages send is judged: requests of shared workers, WebSockets of"
    " workers, WebTransport, pages fetched ahead, and what Chromium sends by itself (docs/THREATS.md)",
    "the browser resolves names itself: a name can lead to a private address after it was judged",
)
_LIMITS: Final = {ATTACHED: _OPEN, ATTACHED_WALLED: _WALLED}


def limits_of(backend: str) -> tuple[str, ...]:
    """The ways out that no guard sees in a browser, in words; none if it was launched for this node alone.

    backend: that of its ``BrowserInfo``.
    """
    return _LIMITS.get(backend, ())
