"""The page of the node: who may read it, what it shows, and that no text of a page or a peer becomes markup."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

import aiohttp
import msgspec
import pytest
from click.testing import CliRunner

from node.api.node import Node
from node.base.control_file import PAGE_FILE
from node.base.files import write_private
from node.cli import main
from node.config import PageConfig
from node.doors import CallTimes
from node.doors.page import HEADERS, Pages, Wanted, listener
from node.doors.page.entry import Entry
from node.doors.page.listener import PageListener
from node.doors.page.views import VIEWS
from node.explorer import Picture
from node.explorer.showing.tree_picture import TreeNode, draw
from node.process import runtime
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs import OWNER, Caller, CallerKind
from node.verbs.catalogue import CATALOGUE
from node.verbs.nodes import audit, events
from node.verbs.sessions.session_results import SessionVerification
from node.verbs.tasks import task
from protocol import limits
from protocol.audit import Row
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Session, Step
from protocol.recording.records.verdict import Verdict
from tests.twins.browser import MemoryBrowser
from tests.twins.clock import ManualClock
from tests.unit.test_live_sessions import ORIGIN, shop
from tests.visitor import Visitor, entered

HOSTILE: Final = "\"'><script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>{{ 7*7 }}`x`\u202e"
READER: Final = Caller(kind=CallerKind.PAGE, name="a")
ROOT: Final = "/ui/0/"


@dataclass
class Read(HTMLParser):
    """The tags of a page."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Read:
    found = Read()
    found.feed(page)
    return found


def strange(page: str, root: str = ROOT) -> list[tuple[str, str, str | None]]:
    """Scripts and styles in the page, handlers, and addresses of others: no page of ours has them."""
    found: list[tuple[str, str, str | None]] = []
    for tag, attributes in read(page).tags:
        if tag in ("style", "iframe", "object", "embed", "form", "base", "meta") and attributes.get("http-equiv"):
            found.append((tag, "", None))
        for name, value in attributes.items():
            if name.startswith("on") or name == "style":
                found.append((tag, name, value))
            elif name in ("src", "href", "action", "srcset", "data") and tag != "circle":
                own = value is not None and (
                    value.startswith((root, "/ui/page.", "/ui/icon.", "/ui/enter.")) or value == "#main"
                )
                if not own:
                    found.append((tag, name, value))
        if tag == "script" and attributes.get("src") != "/ui/page.js":
            found.append((tag, "inline", None))
    return found


# --- who may read it ---------------------------------------------------------------------------------------------------


def test_a_link_can_be_used_once_and_in_time() -> None:
    """Guard: node/doors/page/entry.py, Entry.enter. Guard: node/doors/page/entry.py, Entry.caller."""
    clock = ManualClock()
    entry = Entry(clock)
    token = entry.link()
    cookie = entry.enter(token)
    assert cookie and entry.caller(cookie) is not None
    assert [entry.enter(other) for other in (token, cookie, "", "0" * 64)] == [""] * 4
    late = entry.link()
    clock.advance(limits.PAGE_LINK_S * 1_000)
    assert entry.enter(late) == ""
    clock.advance((limits.PAGE_VISIT_S - limits.PAGE_LINK_S) * 1_000)
    assert entry.caller(cookie) is None


def test_the_oldest_links_and_visits_end_when_there_are_too_many() -> None:
    entry = Entry(ManualClock())
    links = [entry.link() for _ in range(limits.PAGE_LINKS_MAX + 1)]
    assert [bool(entry.enter(token)) for token in links] == [False, *[True] * limits.PAGE_LINKS_MAX]
    cookies = [entry.enter(entry.link()) for _ in range(limits.PAGE_VISITS_MAX)]
    assert all(entry.caller(cookie) for cookie in cookies)
    first, *rest = cookies
    entry.enter(entry.link())
    assert entry.caller(first) is None and all(entry.caller(cookie) for cookie in rest)


def test_a_cookie_of_one_node_opens_no_other() -> None:
    anna, ben = Entry(ManualClock(seed=1)), Entry(ManualClock(seed=2))
    cookie = anna.enter(anna.link())
    assert anna.caller(cookie) and ben.caller(cookie) is None
    assert anna.cookie_name != ben.cookie_name and anna.place != ben.place


def test_the_page_may_call_what_only_reads_and_writes_no_file() -> None:
    """Guard: node/verbs/verb.py, Verb.admits."""
    for verb in CATALOGUE.values():
        if not verb.admits(READER):
            continue
        assert verb.read_only and verb.row is None, verb.name
        hints = get_type_hints(verb.takes, include_extras=True)
        files = {
            name
            for name, hint in hints.items()
            for meta in get_args(hint)[1:]
            if isinstance(meta, msgspec.Meta) and (meta.extra or {}).get("reads") == "path"
        }
        assert files <= verb.owner_fields, verb.name
    offered = {name for name, verb in CATALOGUE.items() if verb.admits(READER)}
    assert {view.verb.name for view in VIEWS.values()} <= offered
    assert not offered & {"approve.answer", "live.close", "live.click", "explore.stop", "ui.open", "capsule.unseal"}


def test_a_program_without_a_terminal_gets_no_link_and_starts_no_node(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["ui", "--home", str(tmp_path / "home"), "--json"])
    assert done.exit_code == 2 and msgspec.json.decode(done.output)["error"]["code"] == "caller.refused"
    assert not (tmp_path / "home").exists()


# --- what it shows -----------------------------------------------------------------------------------------------------


def filled(kind: Any, name: str = "", depth: int = 0) -> Any:
    """A value of type ``kind`` in which every text that somebody else chose is hostile."""
    if get_origin(kind) is Annotated:
        return filled(get_args(kind)[0], name, depth)
    if get_origin(kind) in (UnionType, Union):
        kinds = [each for each in get_args(kind) if each not in (NoneType, msgspec.UnsetType)]
        return filled(kinds[0], name, depth)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) in (list, tuple):
        items = [filled(get_args(kind)[0], name, depth + 1)] if depth < 6 else []
        items = [item for item in items if item is not None]
        return items if get_origin(kind) is list else tuple(items)
    if get_origin(kind) in (dict, frozenset) or "Mapping" in str(kind):
        return (
            {HOSTILE: filled(get_args(kind)[1], name, depth + 1)} if get_origin(kind) is not frozenset else frozenset()
        )
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return made(kind, depth)
    return {str: HOSTILE, bytes: b"\x89PNG", int: 1, bool: True, float: 1.5}.get(kind)


def made(kind: type[msgspec.Struct], depth: int = 0) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    values = {}
    for each in msgspec.structs.fields(kind):
        if each.name == "action":
            values[each.name] = Goto(url=HOSTILE)
        elif each.name == "profile":
            values[each.name] = (
                each.default_factory() if each.default_factory is not msgspec.NODEFAULT else hints["profile"]()
            )
        else:
            values[each.name] = filled(hints[each.name], each.name, depth + 1)
    try:
        return kind(**values)
    except ValueError:  # some of its fields exclude each other
        needed = {each.name: values[each.name] for each in msgspec.structs.fields(kind) if each.required}
        with contextlib.suppress(ValueError):
            return kind(**needed)
        return None


class Hostile:
    """Answers every verb with a result that is hostile in every field."""

    async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller) -> Any:
        assert caller == READER
        if verb == events.LIST.name:
            return events.EventListing(changes=(), last=3, oldest=1)
        if verb == "policy.explain":
            raise MeshError("input.invalid", HOSTILE)
        return made(CATALOGUE[verb].kinds[0])

    async def session(self, session_id: str) -> Session | None:
        return cast(Session, made(Session))

    async def step(self, session_id: str, number: int) -> Step | None:
        return cast(Step, made(Step))

    async def last_seen(self, session_id: str) -> Step | None:
        return cast(Step, made(Step))

    async def blob(self, digest: bytes) -> bytes:
        return f"- button {HOSTILE}".encode()

    async def verified(self, session_id: str) -> SessionVerification:
        return cast(SessionVerification, made(SessionVerification))

    async def asking(self, task_id: str, caller: Caller) -> bytes:
        return HOSTILE.encode()

    async def tree(self, search_id: str) -> Picture:
        child = TreeNode(label=HOSTILE, title=HOSTILE, visits=1, shares=((HOSTILE, 1),))
        return draw(TreeNode(label=HOSTILE, visits=2, children=(child,)), [HOSTILE])


async def test_no_text_of_a_page_or_a_peer_becomes_markup() -> None:
    """Guard: node/doors/page/html.py, environment."""
    hostile = Hostile()
    pages = Pages(HOSTILE, hostile.dispatch, hostile)
    paths: list[tuple[str, ...]] = [()]
    for view in VIEWS.values():
        paths += [(view.path,), *([(view.path, HOSTILE)] if view.about else [])]
    for path in paths:
        wanted = Wanted(path=path, root=ROOT, query={"check": "", "look": "before", "text": HOSTILE})
        given = await pages.answer(wanted, READER)
        page = given.body.decode()
        assert given.status == 200, (path, page[-400:])
        assert not strange(page), path
        found = read(page)
        assert "<script>alert(1)</script>" in "".join(found.text), path
        assert "\u202e" not in page and "49" not in "".join(found.text), path


async def test_who_turns_the_steps_of_a_session_reads_it_once_until_something_changes() -> None:
    class Told(Hostile):
        last, shown, verdict = 3, 0, Verdict.PASS

        async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller) -> Any:
            if verb == events.LIST.name:
                return events.EventListing(changes=(), last=self.last, oldest=1)
            found = await super().dispatch(verb, body, tell, caller)
            if verb != "session.show":
                return found
            self.shown += 1
            session = msgspec.structs.replace(found.session, verdict=self.verdict)
            return msgspec.structs.replace(found, session=session)

    told = Told()
    pages = Pages("anna", told.dispatch, told)
    for named, last, verdict, shown in (
        ("a", 3, Verdict.PASS, 1),
        ("a", 3, Verdict.PASS, 1),
        ("a", 4, Verdict.PASS, 2),
        ("b", 4, Verdict.OPEN, 3),
        ("b", 4, Verdict.OPEN, 4),
        ("a", 4, Verdict.PASS, 4),
    ):
        told.last, told.verdict = last, verdict
        given = await pages.answer(Wanted(path=("sessions", named), root=ROOT), READER)
        assert (given.status, told.shown) == (200, shown), (named, last)
    assert (await pages.answer(Wanted(path=("live", "a"), root=ROOT), READER)).status == 200


class Long(Hostile):
    """Answers with lists of 130 rows."""

    async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller) -> Any:
        most = msgspec.json.decode(body).get("limit", 130)
        if verb == task.LIST.name:
            rows = [msgspec.structs.replace(made(task.Task), verb=f"row {number}.") for number in range(130)]
            return task.TaskList(tasks=tuple(rows[:most]))
        if verb == audit.LIST.name:
            rows = [msgspec.structs.replace(made(Row), what=f"row {number}.") for number in range(130)]
            return msgspec.structs.replace(made(audit.AuditListing), rows=tuple(rows[-most:]))
        return await super().dispatch(verb, body, tell, caller)


async def test_a_long_list_has_pages_that_show_each_of_its_rows_once() -> None:
    long = Long()
    for path, first in (("tasks", 0), ("audit", 129)):
        seen: list[list[int]] = []
        for number in ("", "2", "3", "4", "0", "x"):
            wanted = Wanted(path=(path,), root=ROOT, query={"page": number})
            page = (await Pages("anna", long.dispatch, long).answer(wanted, READER)).body.decode()
            seen.append([int(each) for each in re.findall(r"row (\d+)\.", page)])
            assert ('rel="next"' in page) is (number not in ("3", "4")), (path, number)
        assert [len(each) for each in seen] == [60, 60, 10, 0, 60, 60]
        assert seen[0][0] == first and len({*seen[0], *seen[1], *seen[2]}) == 130


async def test_a_picture_that_is_none_is_not_served() -> None:
    """Guard: node/doors/page/steps.py, picture_type."""
    hostile = Hostile()
    for path in (("sessions", "ses-x", "steps", "1", "picture"), ("tasks", "tas-x", "picture")):
        given = await Pages("anna", hostile.dispatch, hostile).answer(Wanted(path=path, root=ROOT), READER)
        assert given.status == 404 and HOSTILE.encode() not in given.body


async def test_an_error_is_a_page_that_escapes_its_message() -> None:
    async def refuse(verb: str, body: bytes, tell: Any, caller: Caller) -> Any:
        raise MeshError("input.not_found", HOSTILE)

    hostile = Hostile()
    for path in (("sessions", HOSTILE), (HOSTILE,), ("sessions", HOSTILE, "steps", HOSTILE, "picture")):
        given = await Pages("anna", refuse, hostile).answer(Wanted(path=path, root=ROOT), READER)
        assert given.status == 404 and not strange(given.body.decode())


# --- over HTTP ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    home, site = tmp_path / "home", shop()
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))

    async def started() -> MemoryBrowser:
        return MemoryBrowser(site)

    async with open_node(home, open_browser=started) as opened:
        opened.rooms.serving.address = "https://127.0.0.1:1"
        yield opened
        await opened.page.close()


async def ask(node: Node, verb: str, **given: Any) -> Any:
    return await node.dispatch(verb, msgspec.json.encode(given), lambda event: None, OWNER)


@pytest.fixture
async def visitor(node: Node) -> AsyncIterator[Visitor]:
    link = (await ask(node, "ui.open")).link
    async with entered(link) as visitor:
        entrance, _, token = link.partition("#")
        async with visitor.client.post(entrance, data=token, headers={"Origin": visitor.host}) as answer:
            assert answer.status == 401 and "Set-Cookie" not in answer.headers
        yield visitor


async def test_a_session_is_shown_step_by_step(node: Node, visitor: Visitor) -> None:
    opened = await ask(node, "live.open", url=f"{ORIGIN}/")
    status, page, headers = await visitor.get("live")
    assert status == 200 and opened.session in page
    assert {name: headers[name] for name in HEADERS} == HEADERS
    await ask(node, "live.close", session=opened.session)
    (recorded,) = (await ask(node, "session.list")).sessions
    for path in ("", "sessions", f"sessions/{recorded.id}", f"sessions/{recorded.id}?step=1", f"live/{opened.session}"):
        status, page, _ = await visitor.get(path)
        assert status == 200 and recorded.id in page and not strange(page, visitor.root), path
    status, page, _ = await visitor.get(f"sessions/{recorded.id}?check")
    assert status == 200 and "Checked now: signed by anna" in page
    digest = (await node.rooms.store.steps(recorded.id))[0].snapshot
    (node.rooms.home / "blobs" / digest.hex()[:2] / digest.hex()).write_bytes(b"something else")
    status, page, _ = await visitor.get(f"sessions/{recorded.id}?check")
    assert status == 200 and "It does not hold: " in page and "Checked now" not in page
    status, page, _ = await visitor.get(f"sessions/{recorded.id}?step=9")
    assert status == 404 and "has no step 9" in page
    for view in VIEWS:
        assert (await visitor.get(view))[0] == 200, view


async def test_a_change_is_told_while_the_page_waits(node: Node, visitor: Visitor) -> None:
    since = msgspec.json.decode((await visitor.get("changes"))[1])["last"]
    told = (await visitor.get(f"changes?since={since}&when=now"))[1]
    assert msgspec.json.decode(told)["last"] == since, "a tab in the background holds no connection"
    opened = await ask(node, "live.open", url=f"{ORIGIN}/")
    status, told, _ = await visitor.get(f"changes?since={since}")
    assert status == 200 and msgspec.json.decode(told)["last"] > since
    await ask(node, "live.close", session=opened.session)


async def test_a_node_does_not_end_as_idle_while_somebody_reads_its_page(
    node: Node, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    for module in (runtime, listener):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(runtime, "_IDLE_LOOK_S", 0)
    ending = asyncio.create_task(runtime._without_work(node, CallTimes(), 600))
    for _ in range(5):
        await visitor.get("sessions")
        now[0] += 599
    assert not ending.done()
    await visitor.get("changes")  # a page that is left open asks for these by itself
    now[0] += 1
    await asyncio.wait_for(ending, 20)


async def test_who_has_no_cookie_of_this_node_reads_nothing(visitor: Visitor) -> None:
    for cookie in ("", f"{visitor.cookie}0", visitor.cookie.replace("=", "=0")):
        for path in ("", "sessions", "changes", "/ui/other/sessions", "/"):
            status, page, headers = await visitor.get(path, Cookie=cookie)
            assert status == 401 and "anna" not in page and "Set-Cookie" not in headers, path
            assert headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


async def test_a_page_of_another_site_and_a_rebound_name_are_refused(node: Node, visitor: Visitor) -> None:
    """Guard: node/doors/page/listener.py, PageListener._answer. Guard: node/doors/page/listener.py, PageListener._enter."""
    port = visitor.host.rpartition(":")[2]
    for host in (f"evil.example:{port}", "127.0.0.1", f"localhost.evil.example:{port}", f"127.0.0.1:{int(port) + 1}"):
        for path in ("sessions", "/ui/enter", "/ui/page.js"):
            assert (await visitor.get(path, Host=host))[0] == 421
    for name, value in (
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ):
        assert (await visitor.get("sessions", **{name: value}))[0] == 403
        link = (await ask(node, "ui.open")).link
        entrance, _, token = link.partition("#")
        headers = {"Origin": visitor.host} | {name: value}
        async with visitor.client.post(entrance, data=token, headers=headers) as answer:
            assert answer.status == 403
    async with visitor.client.post(entrance, data=token) as answer:
        assert answer.status == 403  # a form of an old web browser says no origin
    async with visitor.client.get(entrance, headers={"Sec-Fetch-Site": "cross-site"}) as answer:
        assert answer.status == 200, "a link in a terminal that is a page itself leads here"
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        url = f"{visitor.host}{visitor.root}sessions"
        async with visitor.client.request(method, url, headers={"Cookie": visitor.cookie}) as answer:
            assert answer.status == 405


def test_the_page_opens_on_another_address_only_if_the_configuration_says_so(tmp_path: Path) -> None:
    """Guard: node/doors/page/listener.py, PageListener.__init__."""
    entry, pages = Entry(ManualClock()), Pages("anna", Hostile().dispatch, Hostile())
    for host in ("0.0.0.0", "::", "192.0.2.1", "node.example"):
        with pytest.raises(MeshError, match=r"doors\.page\.public must be true"):
            PageListener(entry, pages, PageConfig(host=host), tmp_path)
        PageListener(entry, pages, PageConfig(host=host, public=True), tmp_path)
    PageListener(entry, pages, PageConfig(host="::1"), tmp_path)


async def test_the_file_that_leads_to_the_page_is_gone_once_its_link_was_used(node: Node) -> None:
    door = node.rooms.home / PAGE_FILE
    link = (await ask(node, "ui.open")).link
    write_private(door, link.encode())
    entrance, _, token = link.partition("#")
    async with aiohttp.ClientSession() as client:
        for sent, kept in (("0" * 64, True), (token, False)):
            async with client.post(entrance, data=sent, headers={"Origin": entrance.removesuffix("/ui/enter")}):
                assert door.exists() is kept
    write_private(door, b"a link that nobody has used")
    await node.page.close()
    assert not door.exists()


async def test_a_door_that_can_be_reached_takes_any_name_but_no_page_of_another_site(
    tmp_path: Path,
) -> None:
    entry, pages = Entry(ManualClock()), Pages("anna", Hostile().dispatch, Hostile())
    listener = PageListener(entry, pages, PageConfig(host="127.0.0.1", public=True), tmp_path)
    entrance = await listener.start()
    try:
        async with aiohttp.ClientSession() as client:
            for origin, status in (
                ("https://node.example", 200),
                ("http://node.example", 200),
                ("https://evil.example", 403),
            ):
                headers = {"Host": "node.example", "Origin": origin}
                async with client.post(entrance, data=entry.link(), headers=headers) as answer:
                    assert answer.status == status, origin
    finally:
        await listener.close()
