"""What two whole nodes answer on a made day: each verb, with the answer, what was told meanwhile, and refusals with their code.

Real sockets and real stores, a browser in memory, and a clock that only the day moves. Ids, keys, hashes, ports and paths differ
between runs: each is numbered by where it first stands.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from node.api.node import Node
from node.base.plain import plain
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs import OWNER
from protocol import limits
from protocol.errors import MeshError
from tests.mesh_memory import ORIGIN, shop_site
from tests.twins.browser import MemoryBrowser
from tests.twins.clock import ManualClock
from tests.village import serve

_OF_ONE_RUN = re.compile(
    r"(?P<path>/[\w./-]*/day-\w+)|(?P<invite>tmi1\.[\w.-]+)|(?P<id>\b(?:[a-z]{2,4}-)?(?:[A-Z2-7]{7}-){2,7}[A-Z2-7]{7}\b)"
    r"|(?P<name>\b[a-z]{2,4}-[A-Z2-7]{21}\b)|(?P<port>127\.0\.0\.1:\d+)|(?P<b64>[\w+/=-]{40,})|(?P<hex>\b[0-9a-f]{16,}\b)"
    r"|(?P<short>\b[A-Z2-7]{7}\b)|(?P<digits>\bdigits\"?: ?\"\d+)|(?P<words>\bfingerprint\"?: ?\"[a-z ]+)"
    r"|(?P<then>\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d)"
    r"|(?P<took>\b\d+(?:\.\d+)? (?:ms|MiB|GiB|MB|GB|s)\b)|(?P<due>\bnext_due_ms\"?: ?\[[^\]]*\])|(?P<time>\b1[78]\d{8}(?:\d{3})?\b)"
)
_OF_A_RUN = ("schedule", "status", "manual", "search", "session", "reason")
_OF_A_SEARCH = ("search", "status", "goal", "verified", "path", "claimed_by", "reason", "session", "claims")
_TICK_MS = 10
"""By which the clock moves while something goes on: slowly, or a loaded machine would be too late."""
_BY_PACE = ("spend", "seconds", "branches", "nodes", "reassigned", "probed", "found_harmless")
_OF_THE_MACHINE = ("python", "disk")
_FILE = """\
title: The shelves
start: {origin}/
steps:
  - click: {{role: link, name: "Shelf  oak"}}
  - extract: {{as: where, role: heading, name: "Page oak"}}
  - click: {{role: link, name: "{last}"}}
"""


class Day:
    """The nodes, and what they have said."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder, list[str]()
        self.began_ms = int(time.time()) * 1000
        """Today: the keys and certificates of the nodes are."""
        self.clock = ManualClock(now_ms=self.began_ms)
        self.nodes: dict[str, Node] = {}
        self._open = AsyncExitStack()
        self._running = set[asyncio.Task[Any]]()

    async def open(self, name: str) -> None:
        """A node that serves."""
        home = self.folder / name
        init_home(
            home, name=name, listen="127.0.0.1:0", config_file=None, recovery_out=str(self.folder / f"{name}.txt")
        )
        node = await self._open.enter_async_context(open_node(home, clock=self.clock, open_browser=_browser))
        self.nodes[name] = node
        await serve(node)

    async def ask(self, name: str, verb: str, /, **params: Any) -> Any:
        """What ``verb`` gives; noted, as is a refusal."""
        told = list[Any]()
        self.clock.advance(1_000)
        try:
            given = plain(await self.nodes[name].dispatch(verb, msgspec.json.encode(params), told.append, OWNER))
        except MeshError as error:
            given = error.to_dict()
            given.pop("remedy")
        if verb == "node.doctor":
            given["checks"] = [each for each in given["checks"] if each["name"] not in _OF_THE_MACHINE]
        for key in ("version", *(_BY_PACE if "spend" in given else ())):
            given.pop(key, "")
        block = [f"{name}: {verb} {_line(params)}", *(f"  … {_line(each)}" for each in told)]
        block += [f"  {key}: {_line(value)}" for key, value in given.items() if key not in ("text", "png")]
        self.said.append("\n".join(block))
        return given

    async def close(self) -> None:
        await self._open.aclose()

    def lines(self) -> Iterator[str]:
        """What was said, the same for every run."""
        seen: dict[str, str] = {}

        def named(found: re.Match[str]) -> str:
            kind = found.lastgroup or ""
            if kind in ("port", "then"):
                return f"<{kind}>"
            if kind == "took":
                return re.sub(r"[\d.]+", "N", found[0])
            if kind == "due":
                return f"next_due_ms: {found[0].count(',') + 1}"
            if kind == "time":
                unit_ms = 1 if len(found[0]) == 13 else 1000
                return f"{(int(found[0]) * unit_ms - self.began_ms) // 1000:+} s"
            return seen.setdefault(found[0], f"<{kind} {sum(each.startswith(f'<{kind} ') for each in seen.values())}>")

        for block in self.said:
            yield from _OF_ONE_RUN.sub(named, block).splitlines()


async def _browser() -> MemoryBrowser:
    return MemoryBrowser(shop_site(fanout=3, depth=2))


def _line(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


async def _alone(day: Day) -> None:
    """One node by itself: sessions, searches, schedules, its log and its audit trail."""
    for verb in (
        "node.status",
        "node.whoami",
        "node.peers",
        "session.list",
        "explore.list",
        "schedule.list",
        "log.show",
    ):
        await day.ask("anna", verb)
    await _sessions(day)
    await _live(day)
    await _schedules(day)
    await day.ask("anna", "agent.add", name="shopper", scopes=["read", "record"], calls=5)
    await day.ask("anna", "agent.list")
    await day.ask("anna", "agent.remove", name="shopper")
    await day.ask("anna", "agent.remove", name="nobody")


async def _session(day: Day) -> None:
    done = await day.ask("anna", "session.record", actions=_FILE.format(origin=ORIGIN, last="Shelf oak elm"), name="x")
    await day.ask("anna", "session.export", session=done["id"], out=str(day.folder / "a.tmsession"))


async def _live(day: Day) -> None:
    opened = await day.ask("anna", "live.open", url=f"{ORIGIN}/", title="By hand", actions=30, ttl=900)
    session, lines = opened["session"], opened["observation"]["lines"]
    ref = next(line.partition(" ")[0] for line in lines if " link " in line)
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("click", {"ref": ref}),
        ("snapshot", {}),
        ("click", {"ref": "e999"}),
        ("table", {}),
        ("find", {"text": "link"}),
        ("snapshot", {"delta": True}),
        ("click", {"ref": "no ref"}),
        ("navigate", {"url": f"{ORIGIN}/oak"}),
        ("navigate", {"url": "file:///etc/passwd"}),
        ("act", {"action": "{extract: {as: where, role: heading, name: Page oak}}"}),
        ("act", {"action": "{dance: {}}"}),
        ("press", {"key": "Tab"}),
        ("press", {"key": "NoSuchKey"}),
        ("wait", {}),
        ("wait", {"time": 0.01}),
        ("screenshot", {}),
        ("pages", {}),
        ("pages", {"action": "new", "url": f"{ORIGIN}/elm"}),
        ("pages", {"action": "select", "index": 9}),
        ("pages", {"action": "close", "index": 1}),
        ("show", {}),
        ("navigate", {"url": f"{ORIGIN}/elm"}),
        ("close", {}),
        ("snapshot", {}),
        ("close", {}),
        ("show", {}),
    )
    for verb, params in calls:
        await day.ask("anna", f"live.{verb}", session=session, **params)
    for listed in ({}, {"all": True}, {"all": True, "limit": 1}):
        await day.ask("anna", "live.list", **listed)
    await day.ask("anna", "live.snapshot", session="liv-nothing")
    wrong_to_open: tuple[dict[str, Any], ...] = (
        {"url": "ftp://x"},
        {"actions": 0},
        {"pages": 0},
        {"profile": {"locale": "x"}},
        {"profile": {"no": "x"}},
    )
    for wrong in wrong_to_open:
        await day.ask("anna", "live.open", **({"url": f"{ORIGIN}/"} | wrong))


async def _sessions(day: Day) -> None:
    folder = day.folder
    done = await day.ask("anna", "session.record", actions=_FILE.format(origin=ORIGIN, last="Shelf oak elm"), name="x")
    recording: dict[str, Any] = {
        "title": "x",
        "steps": [{"type": "navigate", "url": f"{ORIGIN}/"}, {"type": "scroll", "y": 90}],
    }
    recording["steps"].append({"type": "click", "selectors": [["aria/Shelf  oak"]], "offsetX": 9, "offsetY": 9})
    await day.ask("anna", "session.record", actions=json.dumps(recording), name="x")
    failed = await day.ask("anna", "session.record", actions=_FILE.format(origin=ORIGIN, last="Nothing"), name="x")
    session, bundle, report = done["id"], str(folder / "a.tmsession"), str(folder / "report")
    for text in ("", "shelves", "nothing of it"):
        await day.ask("anna", "session.list", text=text)
    for which in (session, failed["detail"]["session"], "ses-AAAA", "nothing"):
        await day.ask("anna", "session.show", session=which)
    for which in (session, str(folder / "anna.txt" / "x"), str(folder / "anna.txt")):
        await day.ask("anna", "session.verify", target=which)
    for force in (False, False, True):
        await day.ask("anna", "session.export", session=session, out=bundle, force=force)
    await day.ask("anna", "session.export", session=session, out=str(folder / "anna.txt" / "x"))
    await day.ask("anna", "session.replay", session=session, out=report)
    await day.ask("anna", "session.replay", session=session, base_url="http://other.test")
    await day.ask("anna", "session.replay", session="ses-AAAA")
    for which in (bundle, report):
        await day.ask("anna", "session.verify", target=which)
    await day.ask("anna", "session.show", session=session)
    await day.ask("anna", "log.prove", target=session, out=str(folder / "proof"))
    await day.ask("anna", "session.purge", session=failed["detail"]["session"])
    await day.ask("anna", "session.purge", session=failed["detail"]["session"])
    await day.ask("anna", "session.show", session=failed["detail"]["session"])
    await day.ask("anna", "session.import", path=bundle)


async def _schedules(day: Day) -> None:
    what = {
        "goal": "find the page",
        "start": f"{ORIGIN}/",
        "until": {"url": "*/oak/elm"},
        "seconds": 1_200,
        "alone": True,
    }
    wrong_to_add: tuple[dict[str, Any], ...] = (
        {"goal": "two\nlines"},
        {"start": f"{ORIGIN}/?token=0123456789abcdef0123456789abcdef"},
        {"every_s": 1},
        {"origins": ["http://elsewhere.test"]},
        {"origins": [ORIGIN], "alone": False, "peers": ["bruno"]},
        {"notify_webhook": "http://elsewhere.test/x"},
        {"notify_webhook": "https://user:word@elsewhere.test/x"},
        {"notify_webhook": "gopher://localhost"},
        {"notify_command": ["/nowhere/at/all"]},
        {"cron": "* * *"},
        {"cron": "0 7 * * *", "every_s": 3600},
        {"timezone": "Nowhere/City"},
        {"until": {}},
        {},
    )
    for wrong in wrong_to_add:
        await day.ask("anna", "schedule.add", **({**what, **wrong} if wrong else {**what, "every_s": 0}))
    for more in (
        {
            "cron": "0 7 * * *",
            "timezone": "Europe/Berlin",
            "notify_webhook": "http://127.0.0.1:9/hook?x=1",
            "origins": [ORIGIN],
        },
        {
            "every_s": 86_400,
            "expires_s": 2_000_000_000,
            "misfire": "skip",
            "notify_command": ["/bin/true", "x"],
            "notify_on": "ended",
        },
    ):
        made = await day.ask("anna", "schedule.add", **what, **more)
        assert "schedule" in made, made
        for verb in ("pause", "show", "resume", "show"):
            await day.ask("anna", f"schedule.{verb}", schedule=made["schedule"])
    await day.ask("anna", "schedule.list")
    for _ in range(2):
        await day.ask("anna", "schedule.remove", schedule=made["schedule"])


async def _run_now(day: Day) -> None:
    """A run of a schedule; as of searches, only what came of it is noted."""
    first = len(day.said)
    schedule = (await day.ask("anna", "schedule.list"))["schedules"][0]["schedule"]
    task = asyncio.create_task(day.ask("anna", "schedule.run_now", schedule=schedule))
    while not task.done():
        day.clock.advance(_TICK_MS)
        await asyncio.sleep(0.001)
    del day.said[first:]
    shown = await day.ask("anna", "schedule.show", schedule=schedule)
    del day.said[first:]
    for ran in (task.result(), *shown["runs"]):
        day.said.append(f"a run: {_line({key: ran.get(key) for key in _OF_A_RUN})}")
    await day.ask("anna", "schedule.show", schedule="sch-nothing")


async def _together(day: Day) -> None:
    """Two nodes: invites, grants, logs, what the doctor says, distrust."""
    await day.open("bruno")
    invite = await day.ask("anna", "node.invite", grant=["peers:read"], ask=["explore"])
    await day.ask("bruno", "node.join", invite="tmi1.nothing")
    await day.ask("bruno", "node.join", invite=invite["invite"], grant=["explore"], ask=["peers:read"])
    await day.ask("bruno", "node.join", invite=invite["invite"])
    for verb in ("node.peers", "node.status", "node.doctor", "node.notices"):
        for name in ("anna", "bruno"):
            await day.ask(name, verb, **({"browser": False} if verb == "node.doctor" else {}))
    for verb, grants in (
        ("grant", ["session:read=http://shop.test"]),
        ("ungrant", ["explore"]),
        ("ungrant", ["nothing"]),
    ):
        await day.ask("bruno", f"node.{verb}", peer="anna", grants=grants)
    for grants, only in (
        ([], False),
        (["session:read=http://other.test"], False),
        (["session:read=http://third.test"], True),
    ):
        await day.ask("bruno", "node.grant", peer="anna", grants=grants, only=only)
    await day.ask("bruno", "node.ungrant", peer="anna", grants=[])
    await day.ask("bruno", "node.grant", peer="nobody", grants=["explore"])
    await day.ask("bruno", "session.import", path=str(day.folder / "a.tmsession"))
    await day.ask("bruno", "session.verify", target=str(day.folder / "a.tmsession"))
    await day.ask("anna", "log.audit_peer", peer="bruno")
    await day.ask("anna", "log.audit_peer", peer="bruno")
    for peer in ("", "bruno", "nobody"):
        await day.ask("anna", "log.show", **({"peer": peer, "out": ""} if peer else {}))
    await day.ask("anna", "log.audit")
    await day.ask("bruno", "node.rotate")
    await day.ask("anna", "node.distrust", peer="bruno", reason="it lies", notify=False)
    for verb in ("node.peers", "node.doctor", "node.notices"):
        await day.ask("anna", verb, **({"browser": False} if verb == "node.doctor" else {}))
    await day.ask("bruno", "node.doctor", browser=False)
    await day.ask("bruno", "log.audit_peer", peer="anna")
    await day.ask("anna", "node.trust", peer="bruno", notify=False)
    await day.ask("anna", "node.trust", peer="bruno")
    words = str(day.folder / "bruno.txt")
    for given in ({"key_file": words, "words_file": words}, {"key_file": str(day.folder / "anna.txt")}, {}):
        await day.ask("bruno", "node.revoke_self", **given)
    await day.ask("bruno", "node.rotate")
    await day.ask("bruno", "session.record", actions=_FILE.format(origin=ORIGIN, last="x"), name="x")
    await day.ask("bruno", "node.status")
    await day.ask("anna", "node.peers")
    await day.nodes["bruno"].rooms.ports.server.close()
    await day.ask("anna", "log.audit_peer", peer="bruno")
    await day.ask("anna", "node.doctor", browser=False)


async def _digits(day: Day) -> None:
    """Pairing by digits: agreed by both, declined by one, unknown, out of time."""
    await day.open("clara")
    await day.open("dora")
    for there, here in ((True, True), (True, False), (False, True)):
        address = asyncio.get_running_loop().create_future()

        def told(event: Any, address: Any = address) -> None:
            address.set_result(event["waiting"]["address"])

        params = msgspec.json.encode({"grant": ["explore"], "seconds": limits.PAIRING_WINDOW_S})
        waiting = asyncio.create_task(day.nodes["clara"].dispatch("node.pair_wait", params, told, OWNER))
        met = await day.ask("dora", "node.pair_begin", address=await address, ask=["explore"])
        other = plain(await waiting)
        both = asyncio.gather(
            day.ask("clara", "node.pair_confirm", meeting=other["meeting"], agreed=there),
            day.ask("dora", "node.pair_confirm", meeting=met["meeting"], agreed=here),
        )
        first = len(day.said)
        while not both.done():
            day.clock.advance(_TICK_MS)
            await asyncio.sleep(0.001)
        day.said[first:] = sorted(day.said[first:])  # either may be the first to hear
    await _met_and_forgotten(day)
    await day.ask("clara", "node.pair_wait", fingerprint="no words of a key")
    await day.ask("dora", "node.pair_confirm", meeting="nothing", agreed=True)
    await day.ask("dora", "node.pair_begin", address="https://127.0.0.1:1")
    await day.ask("clara", "node.grant", peer="dora", grants=["session:read"])


async def _search(day: Day) -> None:
    """A search whose pace depends on the machine: only what came of it is noted."""
    asked = {
        "goal": "find the page",
        "start": f"{ORIGIN}/",
        "until": {"url": "*/oak/elm"},
        "seconds": 1_200,
        "peers": [],
    }
    first, html = len(day.said), str(day.folder / "report.html")
    task = asyncio.create_task(day.ask("anna", "explore.run", **asked))
    while not task.done():
        day.clock.advance(_TICK_MS)
        await asyncio.sleep(0.001)
    search = task.result()["search"]
    for more in ({}, {"html": html}):
        await day.ask("anna", "explore.show", search=search, **more)
    del day.said[first:]
    for each in (task.result(), await day.ask("anna", "explore.show", search=search)):
        day.said.append(f"a search: {_line({key: each[key] for key in _OF_A_SEARCH})}")
    day.said.append(f"a report: {re.findall('<h[12][^>]*>([^<]*)<', await asyncio.to_thread(Path(html).read_text))}")
    await day.ask("anna", "explore.show", search=search, html=str(day.folder / "anna.txt" / "x"))
    await day.ask("anna", "explore.show", search="sea-nothing")
    for verb in ("stop", "remove", "show", "remove"):
        await day.ask("anna", f"explore.{verb}", search=search)


async def _met_and_forgotten(day: Day) -> None:
    """The nodes named each other beforehand, and then nobody says anything."""
    ids = {name: day.nodes[name].rooms.identity.node for name in ("clara", "dora")}
    address = asyncio.get_running_loop().create_future()
    params = msgspec.json.encode({"fingerprint": ids["dora"], "seconds": limits.PAIRING_WINDOW_S})
    told = lambda event: address.set_result(event["waiting"]["address"])  # noqa: E731
    waiting = asyncio.create_task(day.nodes["clara"].dispatch("node.pair_wait", params, told, OWNER))
    met = await day.ask("dora", "node.pair_begin", address=await address, fingerprint=ids["clara"])
    other = plain(await waiting)
    for _ in range(50):
        day.clock.advance(limits.PAIRING_WINDOW_S * 20)
        await asyncio.sleep(0.001)
    for name, meeting in (("dora", met), ("clara", other)):
        await day.ask(name, "node.pair_confirm", meeting=meeting["meeting"], agreed=True)


async def _trail(day: Day) -> None:
    from_s = day.began_ms // 1000
    for params in (
        {"since_s": from_s + 5, "until_s": from_s + 7},
        {"since_s": from_s + 7},
        {"until_s": from_s + 3},
        {"what": "session.record"},
        {"who": "node"},
    ):
        await day.ask("anna", "audit.list", **params)
    for params in ({}, {"who": "owner", "what": "session"}, {"who": "nobody"}, {"limit": 2}):
        await day.ask("anna", "audit.list", **params)
    await day.ask("anna", "audit.export", out=str(day.folder / "trail"))
    await day.ask("anna", "audit.verify")
    await day.ask("anna", "audit.verify", path=str(day.folder / "trail"))
    await day.ask("anna", "events.list")
    await day.ask("anna", "events.list", since=3, kind="session.recorded")


async def _spent(folder: Path, parts: Sequence[Callable[[Day], Awaitable[None]]]) -> list[str]:
    day = Day(folder)
    try:
        await day.open("anna")
        for part in parts:
            await part(day)
    finally:
        await day.close()
    return list(day.lines())


def _day(*parts: Callable[[Day], Awaitable[None]]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="day-") as folder:
        return asyncio.run(_spent(Path(os.path.realpath(folder)), parts))


def alone() -> Iterator[str]:
    """The day of one node."""
    yield from _day(_alone, _trail, _search, _run_now)


def together() -> Iterator[str]:
    """The day of several."""
    yield from _day(_session, _together, _digits)
