"""A replay sends at most and at least what its recording lists, once, in its step: one recorded write, and how a page departs."""

from __future__ import annotations

import http.server
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from adapters.ports.browser import Browser, Page
from node.live.acting.driver import Gate
from node.live.acting.uploads import Uploads
from node.live.recording.recorder import Recorder
from node.live.recording.run import record, record_actions
from node.sessions.replaying.replayer import replay
from node.sessions.shared.replay_plan import ReplayPlan, ReplayResult
from protocol.approval.forms import RequestForm, request_words
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Click, Goto, Locator, Upload
from protocol.recording.records.session import Profile
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule
from tests.e2e.test_record_replay import Node, loaded, planned
from tests.gates import unreported

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

_PAGE = """<title>Notes</title><h1>{title}</h1><ul>{rows}</ul><script>
const write = (url, fields, more) => fetch(url, {{method: "POST", body: new URLSearchParams(fields), ...more}});
{script}
</script>"""
_ROW = "<li>{name} <button onclick=\"send('{id}')\">Keep</button></li>"
_SEND = "function send(id) {{ {body} }}"
_USUAL = 'write("/notes/" + id + "?page=1", {op: "keep", note: "n"})'


class _Notes(http.server.BaseHTTPRequestHandler):
    """One list of notes, each with a button that keeps it. The class attributes say how the page is at the moment."""

    body: ClassVar[str] = _USUAL
    more: ClassVar[str] = ""
    title: ClassVar[str] = "Notes"
    rows: ClassVar[dict[str, str]] = {"7": "Milk", "8": "Tea"}
    got: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        rows = "".join(_ROW.format(name=name, id=number) for number, name in self.rows.items())
        script = _SEND.format(body="BODY").replace("BODY", self.body) + self.more
        page = _PAGE.format(title=self.title, rows=rows, script="SCRIPT").replace("SCRIPT", script).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.got.append(self.path)
        self.send_response(204)
        self.end_headers()

    do_DELETE = do_PUT = do_POST

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


@contextmanager
def _notes() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Notes) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _as_it_is(**changes: Any) -> Iterator[None]:
    before = {name: getattr(_Notes, name) for name in changes}
    for name, value in changes.items():
        setattr(_Notes, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(_Notes, name, value)


@asynccontextmanager
async def _page(browser: Browser, policy: GuardPolicy) -> AsyncIterator[Page]:
    context = await browser.open(Profile(), policy)
    try:
        yield await context.page()
    finally:
        await context.close()


async def _recorded(
    node: Node,
    browser: Browser,
    url: str,
    *actions: Action,
    allow: str = "POST",
    below: str = "/**",
    risk_max: int = 7,
    **changes: Any,
) -> Recorder:
    policy = GuardPolicy(allow=(f"{allow} {url}{below}",) if allow else ())
    gate = Gate(report=unreported, risk_max=risk_max, wall=policy)
    async with (
        _page(browser, policy) as page,
        record(node.store, page, node.clock, node.witness, planned(url, browser, gate=gate, **changes)) as recorder,
    ):
        await record_actions(recorder, (Goto(url=f"{url}/"), *actions))
    return recorder


async def _replayed(
    node: Node, browser: Browser, session: str, *, sites: tuple[SiteRule, ...] = (), **changes: Any
) -> ReplayResult:
    wall, policy = GuardPolicy(), GuardPolicy(sites=sites)
    plan = ReplayPlan(
        browser=browser.info, gate=Gate(report=unreported, wall=wall), by_manifest=True, level="performed"
    )
    async with _page(browser, policy) as page:
        return await replay(
            await loaded(node, session),
            node.store,
            page,
            node.clock,
            node.witness,
            msgspec.structs.replace(plan, **changes),
        )


def _keep(nth: int | None = None) -> Click:
    return Click(target=Locator(role="button", name="Keep", nth=nth))


async def test_what_leaves_in_a_replay_is_exactly_what_the_recording_lists(browser: Browser, node: Node) -> None:
    """Guard: adapters/browser/egress/sending.py, Sending.lists. Guard: adapters/browser/egress/sending.py, Sending.judged.

    Each row: how the page is in the replay, what arrives, and what the replay says of it.
    """
    own = _USUAL.replace('" + id + "', "7")
    timed = f"{own}; setInterval(() => {own}, 200)"
    usual, twice = "/notes/7?page=1", f"{_USUAL}; {_USUAL}"
    table: tuple[tuple[str, dict[str, str | dict[str, str]], list[str], str], ...] = (
        ("as it was", {}, [usual], "pass"),
        ("another name of a field", {"body": _USUAL.replace("note:", "text:")}, [], "would send"),
        ("a field more", {"body": _USUAL.replace("note:", "x: 1, note:")}, [], "would send"),
        ("another value of a field", {"body": _USUAL.replace('"n"', '"m"')}, [usual], "pass"),
        ("another value that chooses", {"body": _USUAL.replace('"keep"', '"drop"')}, [], "would send"),
        ("another address", {"body": _USUAL.replace("/notes/", "/notes/x/")}, [], "would send"),
        ("another query", {"body": _USUAL.replace("page=1", "page=2")}, [], "would send"),
        ("another method", {"body": f'{_USUAL[:-1]}, {{method: "DELETE"}})'}, [], "would send"),
        (
            "a header that overrides",
            {"body": f'{_USUAL[:-1]}, {{headers: {{"X-HTTP-Method-Override": "DELETE"}}}})'},
            [],
            "would",
        ),
        ("a header that chooses", {"body": f'{_USUAL[:-1]}, {{headers: {{"Next-Action": "a1"}}}})'}, [], "would send"),
        (
            "another body",
            {"body": 'fetch("/notes/7?page=1", {method: "POST", body: "op=keep&note=n"})'},
            [],
            "would send",
        ),
        ("twice", {"body": twice}, [usual], "would send"),
        ("nothing", {"body": ""}, [], "it sent 0 of 1 requests"),
        ("one more while it loads", {"more": 'write("/seen", {at: 1})'}, [usual], "pass"),
        ("a beacon while it loads", {"more": 'navigator.sendBeacon("/seen", "1")'}, [usual], "pass"),
        ("one by a timer", {"more": 'write("/ping", {}); setInterval(() => write("/ping", {}), 200)'}, [usual], "pass"),
        ("the listed one by a timer alone", {"body": "", "more": timed}, [], "it sent 0 of 1 requests"),
        ("late", {"body": f"setTimeout(() => {_USUAL}, 300)"}, [usual], "pass"),
        ("the same row with another id", {"rows": {"12": "Milk", "8": "Tea"}}, ["/notes/12?page=1"], "pass"),
    )
    with _notes() as url:
        session = (await _recorded(node, browser, url, _keep(0))).session
        assert session.verdict is Verdict.PASS
        for name, changes, arrives, says in table:
            _Notes.got.clear()
            with _as_it_is(**changes):
                done = await _replayed(node, browser, session.id)
            said = " ".join((done.report.verdict, done.report.reason, *(found.met for found in done.differences)))
            assert (name, _Notes.got) == (name, arrives)
            assert says in said, (name, said)


async def test_what_the_page_sends_beside_its_steps_decides_nothing(browser: Browser, node: Node) -> None:
    """What the recording was refused too, what one address takes while the page loads, and what the policy lets be sent."""
    counts = 'navigator.sendBeacon("/count", "1")'
    rpc, seen = 'write("/notes/rpc", {op: "keep", note: id})', 'write("/notes/rpc", {op: "seen", at: 1});'
    table = (
        (f"{_USUAL}; {counts}", "", f"{_USUAL}; {counts}", ["/notes/7?page=1"], "pass"),
        (
            f"{_USUAL}; {counts}",
            "",
            f"{_USUAL}; {counts.replace('/count', '/tell')}",
            ["/notes/7?page=1"],
            "would send",
        ),
        (rpc, seen, rpc, ["/notes/rpc"], "pass"),
    )
    with _notes() as url:
        for body, more, later, arrives, says in table:
            with _as_it_is(body=body, more=more):
                session = (await _recorded(node, browser, url, _keep(0), below="/notes/**")).session
                assert session.verdict is Verdict.PASS
                _Notes.got.clear()
                with _as_it_is(body=later):
                    done = await _replayed(node, browser, session.id)
            said = " ".join((done.report.verdict, *(found.met for found in done.differences)))
            assert (later, _Notes.got) == (later, arrives)
            assert says in said, (later, said)
        # The owner's policy names what the page sends by itself, and widens no list.
        session = (await _recorded(node, browser, url, _keep(0))).session
        sites = (SiteRule(site=url, why="it reads by POST", post=("POST /**",)),)
        for body, arrives in ((_USUAL, ["/seen", "/notes/7?page=1"]), (_USUAL.replace("note:", "text:"), ["/seen"])):
            _Notes.got.clear()
            with _as_it_is(body=body, more='write("/seen", {at: 1});'):
                await _replayed(node, browser, session.id, sites=sites)
            assert _Notes.got == arrives


async def test_nothing_leaves_that_is_not_both_named_and_of_an_approved_class(browser: Browser, node: Node) -> None:
    """Guard: adapters/browser/egress/sending.py, Sending.not_enough."""
    deletes = 'fetch("/notes/" + id, {method: "DELETE"})'
    table: tuple[tuple[str, str, int, list[str]], ...] = (
        (_USUAL, "", 7, []),
        (_USUAL, "POST", 4, ["/notes/7?page=1"]),
        (deletes, "", 7, []),
        (deletes, "DELETE", 6, []),
        (deletes, "DELETE", 7, ["/notes/7"]),
    )
    with _notes() as url:
        for body, allow, risk_max, arrives in table:
            _Notes.got.clear()
            with _as_it_is(body=body):
                await _recorded(node, browser, url, _keep(0), allow=allow, risk_max=risk_max, goes_on=True)
            assert (body, allow, risk_max, _Notes.got) == (body, allow, risk_max, arrives)


async def test_at_a_terminal_a_yes_sends_what_the_step_wanted_to_send_once_and_the_step_has_passed(
    browser: Browser, node: Node
) -> None:
    counts = (
        'presses.n = (presses.n || 0) + 1; write("/notes/" + id, {op: "keep", n: presses.n})'
        '.then(() => document.body.append("kept " + presses.n), () => document.body.append("not kept"))'
    )
    questions: list[str] = []

    async def allows(action: Action, form: RequestForm, level: int) -> bool:
        questions.append(f"{request_words(form)}, class {level}")
        return answer

    kept = Assert(what="text", expected="kept 1", match="contains")
    with _notes() as url, _as_it_is(body=counts, more="const presses = {};"):
        _Notes.got.clear()
        asks = f"POST {url}/notes/{{n}} with n, op=keep, class 4"
        answer = True
        recorder = await _recorded(node, browser, url, _keep(0), kept, _keep(1), allow="", risk_max=3, allows=allows)
        assert (_Notes.got, questions) == (["/notes/7", "/notes/8"], [asks])
        assert recorder.session.verdict is Verdict.PASS
        assert [[each.url for each in step.effects] for step in recorder.steps[1::2]] == [
            [f"{url}/notes/7"],
            [f"{url}/notes/8"],
        ]
        _Notes.got.clear()
        done = await _replayed(node, browser, recorder.session.id)
        assert (done.report.verdict, _Notes.got) == (Verdict.PASS, ["/notes/7", "/notes/8"])
        _Notes.got.clear()
        answer = False
        with pytest.raises(MeshError, match="what it sent was refused"):
            await _recorded(node, browser, url, _keep(0), kept, allow="", risk_max=7, allows=allows)
        assert (_Notes.got, questions) == ([], [asks] * 2)


async def test_after_a_mismatch_nothing_that_is_listed_leaves(browser: Browser, node: Node) -> None:
    """Guard: node/sessions/shared/writes.py, Writes.mismatch."""
    with _notes() as url:
        session = (await _recorded(node, browser, url, _keep(0))).session
        _Notes.got.clear()
        # Only a word of the page differs, which keeps no later step from being performed.
        with _as_it_is(title="My notes"):
            done = await _replayed(node, browser, session.id, level="text", on_mismatch="go")
    assert (_Notes.got, done.report.steps[-1].error) == ([], "replay.diverged")


async def test_a_form_with_files_is_sent_again_as_what_it_was(browser: Browser, node: Node, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    form = (
        "const form = document.body.appendChild(document.createElement('form'));"
        "form.enctype = 'multipart/form-data'; form.method = 'post'; form.action = '/files';"
        "form.innerHTML = '<label>File <input type=file name=file></label><input name=op value=add><button>Send</button>';"
    )
    upload = Upload(target=Locator(role="button", name="File"), files=("a.txt",))
    send = Click(target=Locator(role="button", name="Send"))
    with _notes() as url, _as_it_is(more=form):
        uploads = Uploads((str(tmp_path),))
        recorder = await _recorded(node, browser, url, upload, send, uploads=uploads)
        (effect,) = recorder.steps[-1].effects
        assert [file.name for file in effect.files] == ["a.txt"]
        # Handing over a file is more than a press, and needs its own approval.
        plan: dict[str, Any] = {"uploads": uploads, "gate": Gate(report=unreported, risk_max=4, wall=GuardPolicy())}
        _Notes.got.clear()
        done = await _replayed(node, browser, recorder.session.id, **plan)
        assert (done.report.verdict, _Notes.got) == (Verdict.PASS, ["/files"])
        with _as_it_is(more=form + 'form.enctype = "application/x-www-form-urlencoded";'):
            done = await _replayed(node, browser, recorder.session.id, **plan)
        assert (done.report.steps[-1].error, _Notes.got) == ("replay.unlisted", ["/files"])
