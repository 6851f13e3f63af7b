"""Live sessions and tools for their clients."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _E, _O = Blame.CALLER, Blame.ENVIRONMENT, Blame.OUTCOME

LIVE: Final[dict[str, Code]] = {
    # live sessions
    "live.not_found": Code(
        _C,
        False,
        "The caller has no live session with this id.",
        "`trailmesh live ls --all` shows those that there are; open one with `trailmesh live open`.",
    ),
    "live.ended": Code(
        _O,
        False,
        "The live session has ended; `detail.reason` says why. What was done in it is kept.",
        "Open another one: `trailmesh live open`. `trailmesh live show` names the recorded sessions.",
    ),
    "live.ambiguous": Code(
        _C,
        False,
        "The call names no live session, and its caller has several open.",
        "Name one: `--session`, or `TRAILMESH_SESSION`. `trailmesh live ls` shows them.",
    ),
    "live.stale_ref": Code(
        _O,
        True,
        "The element is gone, was not shown, or says something else than when it was shown: nothing was done.",
        "The message says what it is now. Look again (`trailmesh live table`), and use an id from there.",
    ),
    "live.busy": Code(
        _E,
        True,
        "No room for the call now: all places for browser contexts are taken or the queue for them is full, this caller has as many live sessions open as it may, or an earlier call still runs in this live session.",
        "Call again later, or close a live session that is done (`trailmesh live ls`, `trailmesh live close`). If the contexts are used up, the owner can raise `browser.contexts_max`.",
    ),
    # tools for clients of the Model Context Protocol
    "mcp.missing": Code(
        _E,
        False,
        "The package `mcp` is missing from this installation.",
        "Install it again: `python -m pip install mcp`.",
    ),
}
