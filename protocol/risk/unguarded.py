"""What the network guard cannot judge in a browser that somebody else started."""

from __future__ import annotations

_ATTACHED = (
    "the browser was started by somebody else, so not everything that its pages send is judged: requests of shared workers,"
    " WebSockets of workers, WebTransport and WebRTC, pages fetched ahead, and what Chromium sends by itself (docs/THREATS.md)",
    "the browser resolves names itself: a name can lead to a private address after it was judged",
)


def limits_of(backend: str) -> tuple[str, ...]:
    """The ways out of the pages of a browser that no guard sees, in words; none if it was launched for this node alone.

    backend: that of its ``BrowserInfo``.
    """
    return _ATTACHED if backend == "attached" else ()
