"""Checks the connection to each peer in both directions."""

from __future__ import annotations

from shlex import quote

from node.config import CONFIG_FILE
from node.health.remedies import CLOCKS, SAME_VERSION, for_peer
from node.rooms import Rooms
from node.verbs.nodes.node import CheckResult
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import PROTOCOL_VERSION, EchoAsk, EchoTell, StatusAsk, StatusTell
from protocol.trust.grants import in_words
from protocol.wire.clocks import apart_in_words

_AGREE_MS = 2_000
"""Smaller differences between clocks are not reported."""
_RENEWAL_TOLD_MS = 7 * 86_400_000
"""How long after a peer opened a new log the doctor reports it."""


async def check_peer(rooms: Rooms, peer: str, name: str) -> list[CheckResult]:
    """Check the connection to the peer; then, if the peer answers and this node runs, the connection back."""
    outward = await _outward(rooms, peer, f"peer {name}"[:32], name)
    shown = _log(rooms, peer, name)
    if rooms.trust.calls.contacts.of(peer).error or outward.status == "fault" or not rooms.serving:
        return [outward, *shown]
    return [outward, await _inward(rooms, peer, f"{name} → here"[:32], name), *shown]


def _log(rooms: Rooms, peer: str, name: str) -> list[CheckResult]:
    """Report a log that the peer does not show, or has opened recently; empty if all is in order."""
    watch, title = rooms.log.logs.watch, f"log of {name}"[:32]
    remedy = f"trailmesh log audit --peer {quote(name)} --home {quote(str(rooms.home))}"
    if trouble := watch.in_words(peer):
        return [CheckResult(name=title, status="warn", finding=trouble, remedy=remedy)]
    known = watch.of(peer)
    if not known.renewed_ms or rooms.clock.now_ms() - known.renewed_ms > _RENEWAL_TOLD_MS:
        return []
    lost = ", because entries were lost: ask its owner" if known.restored else ""
    return [CheckResult(name=title, status="warn", finding=f"it has opened a new log{lost}", remedy=remedy)]


async def _outward(rooms: Rooms, peer: str, title: str, name: str) -> CheckResult:
    started_ms = rooms.clock.now_ms()
    try:
        answer = await rooms.trust.calls.call(peer, "status", StatusAsk(), StatusTell)
    except MeshError as error:
        return CheckResult(
            name=title,
            status="warn"
            if error.code == "peer.unreachable"
            else "fault",  # a peer that is down is no fault of this node
            finding=f"{_why(rooms, peer, error)} [{error.shown.code}]",
            remedy=for_peer(rooms, name, error),
        )
    ended_ms = rooms.clock.now_ms()
    apart_ms = answer.now_ms - (started_ms + ended_ms) // 2
    rooms.trust.calls.contacts.compare_clocks(peer, apart_ms)
    if abs(apart_ms) > limits.CLOCK_SKEW_S * 1000:
        finding = f"{apart_in_words(name, apart_ms)}: messages are refused"
        return CheckResult(name=title, status="fault", finding=finding, remedy=CLOCKS)
    if answer.protocol != PROTOCOL_VERSION:
        finding, remedy = f"speaks protocol {answer.protocol}", SAME_VERSION
        return CheckResult(name=title, status="warn", finding=finding, remedy=remedy)
    over = _over(rooms.trust.reach.report(peer).way)
    took = f"answers in {ended_ms - started_ms} ms {over}; we may do there: {in_words(answer.grants)}"
    if abs(apart_ms) < _AGREE_MS:
        return CheckResult(name=title, status="ok", finding=f"{took}; clocks agree")
    return CheckResult(name=title, status="warn", finding=f"{took}; {apart_in_words(name, apart_ms)}", remedy=CLOCKS)


async def _inward(rooms: Rooms, peer: str, title: str, name: str) -> CheckResult:
    try:
        told = await rooms.trust.calls.call(peer, "reach/echo", EchoAsk(), EchoTell)
    except MeshError as error:
        if error.code == "input.not_found":
            finding = "cannot be asked to call back"
            return CheckResult(name=title, status="warn", finding=finding, remedy=SAME_VERSION)
        remedy = for_peer(rooms, name, error)
        return CheckResult(
            name=title, status="fault", finding=f"{error.shown.message} [{error.shown.code}]", remedy=remedy
        )
    if told.reached:
        way = "the connection this node keeps open" if told.way == "held" else told.way
        return CheckResult(name=title, status="ok", finding=f"reaches this node in {told.milliseconds} ms over {way}")
    finding = f"does not reach this node: {told.message} [{told.code}]"
    return CheckResult(name=title, status="fault", finding=finding, remedy=inward_remedy(rooms, name, told.code))


def _over(way: str) -> str:
    return "over a connection it keeps open" if way == "held" else f"at {way}"


def _why(rooms: Rooms, peer: str, error: MeshError) -> str:
    """The error, and the time of the next attempt if this node keeps the connection open."""
    hold = rooms.trust.reach.holds.get(peer)
    if hold is None or hold.state != "waiting":
        return error.shown.message
    wait_s = max(0, hold.next_try_ms - rooms.clock.now_ms()) // 1000
    return f"{error.shown.message}; {hold.failures} consecutive failures, next attempt in {wait_s} s"


def inward_remedy(rooms: Rooms, name: str, code: str) -> str:
    """Remedy for ``code``, which the peer ``name`` reported when it called back."""
    if code in ("peer.clock", "envelope.time"):
        return CLOCKS
    if code == "peer.unreachable" and rooms.config.listen.reach == "direct":
        config = quote(str(rooms.home / CONFIG_FILE))
        return f"sed -i 's/reach: direct/reach: both/' {config} and restart `trailmesh node serve`"
    return f"on the machine of {quote(name)}: trailmesh node doctor"  # the fault is on the peer's machine
