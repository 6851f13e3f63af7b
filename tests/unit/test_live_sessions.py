"""Live sessions over the in-memory twins of browser, store and clock: whose they are, what bounds them, how they end."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from nacl.signing import SigningKey

from node.base.serving import Serving
from node.config.settings import Config, PolicyConfig
from node.live.browsers.browsers import Browsers
from node.live.sessions import live_session
from node.live.sessions.endings import ENDINGS
from node.live.sessions.live_sessions import LiveSessions
from node.live.sessions.stored import LIVES
from node.live.sessions.verbs import LiveVerbs
from node.sessions.actions.action_files import read_live_steps
from node.signing.identity import Identity
from node.signing.witness import Witness
from node.verbs.caller import OWNER, Caller, CallerKind, called_by
from node.verbs.live.live import Acted, LiveClosed, LiveList, LiveShown, Observed, Opened, PageList, Pictured
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.actions.action import Goto
from protocol.page.seen.observation import Element, Traits
from protocol.recording.records.verdict import Verdict
from tests.given_secrets import as_params
from tests.twins.browser import BLACK, Control, Document, Effect, MemoryBrowser, MemorySite
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

ORIGIN = "http://shop.test"
ANNA = Caller(kind=CallerKind.AGENT, name="anna", scopes=frozenset({"live"}))
BRUNO = Caller(kind=CallerKind.AGENT, name="bruno", scopes=frozenset({"live"}))


def control(role: str, name: str, *, effect: Effect | None = None, **more: Any) -> Control:
    return Control(element=Element(ref="", role=role, name=name, **more), effect=effect or Effect())


def shop() -> MemorySite:
    options = ("Name", "Price")
    home = (
        control("link", "Mugs", url="/mugs"),
        control("searchbox", "Search"),
        control("textbox", "Password", traits=Traits(tag="input", input_type="password")),
        Control(
            element=Element(ref="", role="combobox", name="Sort by", options=options, traits=Traits(tag="select")),
            values=(("Name", "n"), ("Price", "p")),
        ),
        control("button", "Buy now", effect=Effect(post="/buy")),
        control("button", "Tell me", effect=Effect(fetch=(("POST", "/tell"),), dialog="alert")),
    )
    mugs = (control("heading", "Mugs"), control("link", "Home", url="/"))
    return MemorySite(
        {
            f"{ORIGIN}/": Document(title="Shop", controls=home, text=("Welcome",)),
            f"{ORIGIN}/mugs": Document(title="Mugs", controls=mugs),
        }
    )


class Bench:
    """A node's live sessions, and the site they visit."""

    def __init__(self, store: MemoryStore | None = None, policy: PolicyConfig | None = None, **pool: int) -> None:
        """pool: bounds of its browsers, by their names in ``Browsers``."""
        self.site = shop()
        self.store = store or MemoryStore()
        self.clock = ManualClock(seed=1 if store else 0)
        self.started: list[MemoryBrowser] = []
        self.witness = Witness(Identity(SigningKey(bytes(32)), self.clock), self.store, self.clock)
        serving = Serving(Path("/nowhere"))
        serving.address = "https://127.0.0.1:1"
        config = Config(policy=policy or PolicyConfig())
        self.browsers = Browsers(self._start, **cast(Any, pool))
        self.live = LiveSessions(self.witness, config, self.store, self.clock, self.browsers, serving)
        self._run = {verb.name: (verb, run) for verb, run in LiveVerbs(self.live, read_live_steps).bound.items()}

    async def _start(self) -> MemoryBrowser:
        self.started.append(MemoryBrowser(self.site))
        return self.started[-1]

    async def call(self, name: str, session: str = "", /, *, by: Caller = OWNER, **params: Any) -> Any:
        """The result of ``live.<name>``."""
        verb, run = self._run[f"live.{name}"]
        given = msgspec.convert({**({"session": session} if session else {}), **params}, verb.takes)
        with called_by(by):
            return await run(given, lambda event: None)

    async def refused(self, name: str, session: str = "", /, **params: Any) -> MeshError:
        """How it is refused."""
        with pytest.raises(MeshError) as caught:
            await self.call(name, session, **params)
        return caught.value

    async def open(self, path: str = "/", **params: Any) -> Opened:
        opened: Opened = await self.call("open", url=ORIGIN + path, **params)
        return opened

    async def verdicts(self, session: str) -> list[tuple[Verdict, int]]:
        """Of the sessions that were recorded of it, with their steps."""
        shown: LiveShown = await self.call("show", session)
        return [(each.verdict, each.steps) for each in shown.recorded]

    async def signed(self, session: str) -> list[str]:
        """The callers that the signed sessions of it name."""
        shown: LiveShown = await self.call("show", session)
        found = [await self.store.artefacts(subject=each.id, kind="session") for each in shown.recorded]
        records = [await self.store.session(each.id) for each in shown.recorded]
        return [record.caller for record, artefacts in zip(records, found, strict=True) if record and artefacts]


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.witness.load()
    return made


def ref_of(observed: Observed, words: str) -> str:
    """The id of the one line that has ``words``."""
    (line,) = (line for line in observed.lines if words in line)
    return next(
        word for word in line.replace("[", " ").replace("]", " ").split() if word[0] == "e" and word[1:].isdigit()
    )


# --- looking and acting ----------------------------------------------------------------------------------------------


async def test_what_is_done_by_refs_becomes_a_signed_session_that_names_its_caller(bench: Bench) -> None:
    opened = await bench.open(by=ANNA)
    assert opened.observation.lines[0] == 'e1 link "Mugs"'
    acted: Acted = await bench.call("click", opened.session, by=ANNA, ref="e1")
    assert (acted.did, acted.risk) == (("click link “Mugs”",), 1)
    assert (acted.observation.title, acted.observation.shows) == ("Mugs", "table")
    closed: LiveClosed = await bench.call("close", opened.session, by=ANNA)
    assert [(each.verdict, each.steps) for each in closed.recorded] == [(Verdict.PASS, 2)]
    assert await bench.signed(opened.session) == ["agent:anna"]
    assert (await bench.refused("snapshot", opened.session, by=ANNA)).detail["reason"] == "closed"


async def test_an_element_is_named_by_its_id_whenever_it_was_shown(bench: Bench) -> None:
    opened = await bench.open()
    for _ in range(3):
        await bench.call("snapshot", opened.session)
    filled = await bench.call("act", opened.session, action="[{fill: {ref: e2, value: mug}}, {click: {ref: e1}}]")
    assert filled.did == ("fill searchbox “Search” with “mug”", "click link “Mugs”")
    assert filled.observation.title == "Mugs"
    refused = await bench.refused("click", opened.session, ref="e2")
    assert (refused.code, refused.detail["ref"]) == ("live.stale_ref", "e2")
    assert refused.message == "e2 searchbox “Search” is not on the page now"


async def test_each_of_several_steps_is_told_when_it_is_done(bench: Bench) -> None:
    opened = await bench.open()
    verb, run = bench._run["live.act"]
    steps = "[{fill: {ref: e2, value: mug}}, {click: {ref: e1}}]"
    told: list[Any] = []
    await run(msgspec.convert({"session": opened.session, "action": steps}, verb.takes), told.append)
    assert [(each["step"], each["of"]) for each in told] == [(1, 2), (2, 2)]
    assert "mug" in told[0]["did"] and "click" in told[1]["did"]
    await run(msgspec.convert({"session": opened.session, "action": "back:"}, verb.takes), told.append)
    assert len(told) == 2, "one alone is its own result"


async def test_several_steps_end_with_the_first_that_fails_and_what_was_done_is_told(bench: Bench) -> None:
    opened = await bench.open()
    steps = "[{fill: {ref: e2, value: mug}}, {click: {ref: e99}}, {click: {ref: e1}}]"
    refused = await bench.refused("act", opened.session, action=steps)
    assert (refused.code, refused.detail["did"]) == ("live.stale_ref", ["fill searchbox “Search” with “mug”"])
    assert bench.site.reached == ["GET /"]
    assert await bench.verdicts(opened.session) == [(Verdict.OPEN, 2)]


async def test_a_page_that_changed_by_itself_is_not_acted_on_as_it_was(bench: Bench) -> None:
    opened = await bench.open()
    home = bench.site.documents[f"{ORIGIN}/"]
    page = bench.live._open[opened.session]._pages.current.page
    other = msgspec.structs.replace(home, controls=(control("link", "Plates", url="/plates"), *home.controls[1:]))
    page._page.become(other)  # type: ignore[attr-defined]
    assert (await bench.refused("click", opened.session, ref="e1")).code == "live.stale_ref"
    assert bench.site.reached == ["GET /"]
    seen = await bench.call("snapshot", opened.session, delta=True)
    assert (seen.shows, seen.lines) == ("change", ('+ e7 link "Plates"', "- e1"))


async def test_looking_shows_what_was_asked_for(bench: Bench) -> None:
    opened = await bench.open()
    shop = '# "Shop"'
    cases: list[tuple[str, dict[str, Any], str, int]] = [
        ("table", {}, 'e1 link "Mugs"', 6),
        ("snapshot", {}, '- [e1] link "Mugs"', 7),
        ("snapshot", {"interactive": True}, 'e1 link "Mugs"', 6),
        ("snapshot", {"focus": "e2"}, '- [e2] searchbox "Search"', 1),
        ("find", {"text": "BUY"}, 'e5 button "Buy now"', 1),
        ("find", {"text": "link"}, 'e1 link "Mugs"', 1),
        ("find", {"text": "welcome"}, '# "Welcome"', 1),
        ("table", {"part": 9}, 'e1 link "Mugs"', 6),
    ]
    for name, given, first, count in cases:
        seen = await bench.call(name, opened.session, **given)
        assert (seen.lines[0], len(seen.lines), seen.parts) == (first, count, 1), (name, given, shop)
    assert (await bench.refused("snapshot", opened.session, focus="e99")).code == "input.not_found"
    nothing = await bench.call("find", opened.session, text="no\nwhere")
    assert nothing.lines == ("# nothing on this page contains “no where”",), "no answer would be taken for a fault"


async def test_a_form_is_filled_in_one_call_whatever_its_fields_are(bench: Bench) -> None:
    home = bench.site.documents[f"{ORIGIN}/"]
    box = control("checkbox", "In stock")
    bench.site.documents[f"{ORIGIN}/"] = msgspec.structs.replace(home, controls=(*home.controls, box))
    opened = await bench.open(secrets=as_params(password="hunter2!"), approve_class=7)
    acted = await bench.call(
        "fill", opened.session, fields={"e2": "mug", "e4": "Price", "e7": "on"}, secret={"e3": "password"}
    )
    assert acted.did == (
        "fill searchbox “Search” with “mug”",
        "select “Price” in combobox “Sort by”",
        "check checkbox “In stock”",
        "fill textbox “Password” with the secret “password”",
    )
    assert "hunter2!" not in repr(acted)
    refused = await bench.refused("fill", opened.session, fields={"e7": "perhaps"})
    assert (refused.code, refused.message) == ("input.invalid", "e7 is a checkbox: give on or off")
    both = await bench.refused("fill", opened.session, fields={"e3": "x"}, secret={"e3": "password"})
    assert both.code == "input.invalid"
    closed: LiveClosed = await bench.call("close", opened.session)
    pictures = [bool(step.screenshot) for step in await bench.store.steps(closed.recorded[0].id)]
    assert pictures[:5] == [True, False, False, False, True], "fields of one call share the picture of the last"


async def test_an_action_names_its_element_by_locator_too(bench: Bench) -> None:
    opened = await bench.open()
    acted = await bench.call("act", opened.session, action="click: {role: link, name: Mugs}")
    assert acted.observation.url == f"{ORIGIN}/mugs"
    acted = await bench.call("act", opened.session, action='{"goto": "http://shop.test/"}')
    assert acted.observation.title == "Shop"
    assert (await bench.call("act", opened.session, action="extract: page")).extracted.startswith("Mugs")


@pytest.mark.parametrize(
    "action",
    [
        "click: {ref: e1, name: Mugs}",
        "click: {ref: [e1]}",
        "goto: {ref: e1}",
        "scroll: {ref: e1}",
        "jump: {ref: e1}",
        "click: e1",
        "[]",
        "",
        "click: {ref: s1e1}",
        "click: {ref: e1}\nfill: {ref: e1}",
    ],
)
async def test_what_is_no_action_is_refused(bench: Bench, action: str) -> None:
    opened = await bench.open()
    assert (await bench.refused("act", opened.session, action=action)).code == "input.invalid"
    assert bench.site.reached == ["GET /"]


async def test_fields_are_filled_and_options_chosen_by_label_or_value(bench: Bench) -> None:
    opened = await bench.open()
    session = opened.session
    acted = await bench.call("type", session, ref="e2", text="blue mug")
    assert acted.did == ("fill searchbox “Search” with “blue mug”",)
    assert acted.observation.lines == ("# 1 field holds what was given",)
    acted = await bench.call("type", session, ref="e2", text="red mug", submit=True)
    assert acted.did == ("fill searchbox “Search” with “red mug”", "press Enter in searchbox “Search”")
    acted = await bench.call("select", session, ref="e4", values=["Price"])
    assert acted.did == ("select “Price” in combobox “Sort by”",)
    acted = await bench.call("select", session, ref="e4", values=["n"])
    assert acted.did == ("select “Name” in combobox “Sort by”",)
    assert acted.actions_left == 200 - 6
    assert (await bench.call("press", session, key="Tab")).did == ("press Tab",)
    assert (await bench.call("wait", session, text="Welcome")).did == ("wait for “Welcome”",)
    assert (await bench.refused("wait", session, text="Gone", time=0.1)).code == "action.text_missing"
    await bench.call("close", session)
    assert await bench.verdicts(session) == [(Verdict.PARTIAL, 9)]


async def test_a_secret_is_typed_by_its_name_and_shown_to_nobody(bench: Bench) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession.picture."""
    opened = await bench.open(secrets=as_params(password="hunter2!", word="Welcome"), approve_class=7)
    assert "‹secret:word›" in (await bench.call("snapshot", opened.session)).lines[-1]
    assert b64decode((await bench.call("screenshot", opened.session)).png) == BLACK
    literal = await bench.refused("type", opened.session, ref="e3", text="hunter2!")
    assert literal.code == "action.secret_literal"
    acted = await bench.call("type", opened.session, ref="e3", secret="password")
    assert acted.did == ("fill textbox “Password” with the secret “password”",)
    action = "fill: {ref: e2, value: {secret: password}}"  # a search field: what is typed there stands readable
    refused = await bench.refused("act", opened.session, action=action)
    assert refused.code == "action.secret_elsewhere"
    assert "hunter2!" not in repr(acted) + repr(refused.to_dict())
    await bench.call("close", opened.session)
    kept = [await bench.store.steps(each.id) for each in (await bench.call("show", opened.session)).recorded]
    assert "hunter2!" not in repr(kept) and "Welcome" not in repr(kept)
    for blob in bench.store._blobs.values():
        assert b"hunter2!" not in blob and b"Welcome" not in blob


async def test_a_refusal_names_an_element_without_the_secrets_in_its_name(bench: Bench) -> None:
    opened = await bench.open(secrets=as_params(word="Buy now"))
    page = bench.live._open[opened.session]._pages.current.page
    home = bench.site.documents[f"{ORIGIN}/"]
    page._page.become(msgspec.structs.replace(home, controls=home.controls[:4]))  # type: ignore[attr-defined]
    refused = await bench.refused("click", opened.session, ref="e5")
    assert refused.message == "e5 button “‹secret:word›” is not on the page now"


async def test_no_part_of_a_secret_is_shown_where_a_line_is_cut_or_written_anew(bench: Bench) -> None:
    """Guard: protocol/page/showing/table.py, row."""
    secret = 'kraken"77 [e31] ' + "abyss" * 8
    home = bench.site.documents[f"{ORIGIN}/"]
    for pad in (0, 30, 50, 90, 95):
        said = f"{'x' * pad} {secret}"
        controls = (
            control("button", said),
            control("textbox", "Note", value=said),
            control("button", "Go", context=said),
            control("button", "Go", context="other"),
            control("heading", said),
        )
        bench.site.documents[f"{ORIGIN}/"] = msgspec.structs.replace(home, controls=controls, text=(said,))
        opened = await bench.open(secrets=as_params(word=secret))
        page = bench.live._open[opened.session]._pages.current.page
        more = msgspec.structs.replace(bench.site.documents[f"{ORIGIN}/"], text=(said, f"new {said}"))
        page._page.become(more)  # type: ignore[attr-defined]
        changed = await bench.call("snapshot", opened.session, delta=True)
        looks = [await bench.call(name, opened.session) for name in ("table", "snapshot")]
        looks.append(await bench.call("find", opened.session, text="button"))
        for shown in (opened.observation, changed, *looks):
            assert "kraken" not in repr(shown.lines) and "abyss" not in repr(shown.lines), (pad, shown.shows)
        assert "new" in repr(changed.lines)
        await bench.call("close", opened.session)


async def test_what_the_guard_refused_is_said_with_the_action(bench: Bench) -> None:
    opened = await bench.open(approve_class=4)
    acted = await bench.call("click", opened.session, ref=ref_of(opened.observation, "Tell me"))
    assert (acted.blocked, acted.dialogs) == (("POST /tell",), ("alert, dismissed",))


async def test_going_back_is_an_action_like_others(bench: Bench) -> None:
    opened = await bench.open()
    assert (await bench.refused("back", opened.session)).code == "action.not_possible"
    await bench.call("click", opened.session, ref="e1")
    acted = await bench.call("back", opened.session)
    assert (acted.did, acted.risk, acted.observation.title) == (("go back",), 1, "Shop")
    await bench.call("navigate", opened.session, url=f"{ORIGIN}/mugs")
    assert (await bench.call("act", opened.session, action="back:")).observation.title == "Shop"
    assert (await bench.refused("act", opened.session, action="back: {ref: e1}")).code == "input.invalid"
    await bench.call("close", opened.session)
    (recorded,) = (await bench.call("show", opened.session)).recorded
    steps = await bench.store.steps(recorded.id)
    assert [type(step.action).__name__ for step in steps] == ["Goto", "Back", "Click", "Back", "Goto", "Back"]
    assert [step.ok for step in steps] == [True, False, True, True, True, True]


async def test_a_picture_is_given(bench: Bench) -> None:
    opened = await bench.open()
    pictured: Pictured = await bench.call("screenshot", opened.session)
    assert (len(pictured.png) > 0, pictured.bytes, pictured.out) == (True, 67, "")


# --- approvals -------------------------------------------------------------------------------------------------------


async def test_an_agent_cannot_do_what_needs_an_approval_and_the_owner_can_in_its_session(bench: Bench) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession._approves."""
    bench.browsers._attached = True
    opened = await bench.open(by=ANNA, approve_class=0)
    buy = ref_of(opened.observation, "Buy now")
    refused = await bench.refused("click", opened.session, by=ANNA, ref=buy)
    assert (refused.code, refused.detail["level"] >= 4, bool(refused.detail["reason"])) == ("risk.refused", True, True)
    acted = await bench.call("act", opened.session, action=f"click: {{ref: {buy}}}", approve_class=7)
    assert acted.blocked == ("POST /buy",)
    # What was approved was that one action.
    assert (await bench.refused("click", opened.session, by=ANNA, ref=buy)).code == "risk.refused"


# --- pages -----------------------------------------------------------------------------------------------------------


async def test_each_page_is_recorded_as_a_session_of_its_own(bench: Bench) -> None:
    opened = await bench.open(pages=2)
    listed: PageList = await bench.call("pages", opened.session, action="new")
    assert listed.observation is not None and listed.observation.lines == ()
    assert [(page.index, page.current, page.url) for page in listed.pages] == [
        (0, False, f"{ORIGIN}/"),
        (1, True, "about:blank"),
    ]
    # An id is of the page that it was seen on.
    assert (await bench.refused("click", opened.session, ref="e1")).code == "action.not_possible"
    assert (await bench.refused("press", opened.session, key="Enter")).code == "action.not_possible"
    assert (await bench.refused("pages", opened.session, action="new")).code == "input.too_large"
    await bench.call("navigate", opened.session, url=f"{ORIGIN}/mugs")
    listed = await bench.call("pages", opened.session, action="select", index=0)
    assert listed.observation is not None
    acted = await bench.call("click", opened.session, ref=ref_of(listed.observation, "Mugs"))
    assert acted.observation.page == 0
    listed = await bench.call("pages", opened.session, action="close", index=1)
    assert [page.current for page in listed.pages] == [True]
    assert (await bench.refused("pages", opened.session, action="close")).code == "input.invalid"
    assert (await bench.refused("pages", opened.session, action="select", index=1)).code == "input.not_found"
    assert (await bench.refused("pages", opened.session, action="select")).code == "input.invalid"
    assert await bench.verdicts(opened.session) == [(Verdict.OPEN, 2), (Verdict.PASS, 1)]
    await bench.call("close", opened.session)
    assert await bench.verdicts(opened.session) == [(Verdict.PASS, 2), (Verdict.PASS, 1)]
    first, second = (await bench.call("show", opened.session)).recorded
    parent = await bench.store.session(second.id)
    assert parent is not None and parent.parent == first.id


async def test_pages_that_were_closed_in_the_middle_leave_the_others_in_order(bench: Bench) -> None:
    opened = await bench.open()
    await bench.call("pages", opened.session, action="new", url=f"{ORIGIN}/mugs")
    await bench.call("pages", opened.session, action="new", url=f"{ORIGIN}/")
    listed = await bench.call("pages", opened.session, action="close", index=0)
    assert [(page.index, page.current, page.title) for page in listed.pages] == [(0, False, "Mugs"), (1, True, "Shop")]
    listed = await bench.call("pages", opened.session, action="close")
    assert [(page.current, page.title) for page in listed.pages] == [(True, "Mugs")]
    assert await bench.call("pages", opened.session) == PageList(session=opened.session, pages=listed.pages)


# --- owners ----------------------------------------------------------------------------------------------------------


async def test_a_live_session_is_for_its_caller_and_the_owner_of_the_node_alone(bench: Bench) -> None:
    """Guard: node/live/sessions/live_sessions.py, LiveSessions.find."""
    opened = await bench.open(by=ANNA)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("snapshot", {}),
        ("act", {"action": "scroll: down"}),
        ("navigate", {"url": ORIGIN}),
        ("click", {"ref": "e1"}),
        ("type", {"ref": "e2", "text": "mug"}),
        ("select", {"ref": "e4", "values": ["Price"]}),
        ("press", {"key": "Tab"}),
        ("wait", {}),
        ("screenshot", {}),
        ("pages", {}),
        ("close", {}),
        ("show", {}),
    ]
    nobodys = opened.session.replace("liv-", "ses-")
    for name, params in calls:
        refused = await bench.refused(name, opened.session, by=BRUNO, **params)
        assert refused.code == "live.not_found", name
        assert (await bench.refused(name, nobodys, **params)).code == "id.invalid"
    assert await bench.call("list", by=BRUNO, all=True) == LiveList(sessions=[])
    assert [each.caller for each in (await bench.call("list", by=ANNA)).sessions] == ["agent:anna"]
    assert [each.caller for each in (await bench.call("list")).sessions] == ["agent:anna"]
    assert (await bench.call("snapshot", opened.session)).title == "Shop"
    await bench.call("close", opened.session)
    assert await bench.signed(opened.session) == ["agent:anna"]
    # What ended is nobody else's business either.
    assert (await bench.refused("snapshot", opened.session, by=BRUNO)).code == "live.not_found"
    assert (await bench.refused("snapshot", opened.session, by=ANNA)).code == "live.ended"


async def test_an_address_in_which_another_site_can_be_read_is_neither_opened_nor_recorded(bench: Bench) -> None:
    """Guard: node/live/recording/recorder.py, Recorder.perform."""
    url = "http://shop.test\\@bank.test/other"
    assert (await bench.refused("open", url=url)).code == "browser.scheme"
    assert await bench.store.sessions() == []
    opened = await bench.open()
    assert (await bench.refused("navigate", opened.session, url=url)).code == "browser.scheme"
    await bench.call("close", opened.session)
    (session,) = await bench.store.sessions()
    assert [step.action for step in await bench.store.steps(session.id)] == [Goto(url=f"{ORIGIN}/")]


async def test_an_agent_inherits_nothing_of_one_that_had_its_name(bench: Bench) -> None:
    """Guard: node/verbs/caller.py, Caller.owns."""
    opened = await bench.open(by=ANNA)
    await bench.call("close", opened.session, by=ANNA)
    assert [each.session for each in (await bench.call("list", by=ANNA, all=True)).sessions] == [opened.session]
    heir = msgspec.structs.replace(ANNA, since_ms=bench.clock.now_ms() + 1)
    assert (await bench.refused("show", opened.session, by=heir)).code == "live.not_found"
    assert await bench.call("list", by=heir, all=True) == LiveList(sessions=[])


async def test_an_agent_has_so_many_open_and_no_more(bench: Bench) -> None:
    """Guard: node/live/sessions/live_sessions.py, LiveSessions._counted."""
    opened = [await bench.open(by=ANNA) for _ in range(limits.LIVE_PER_CALLER_MAX)]
    refused = await bench.refused("open", by=ANNA, url=f"{ORIGIN}/")
    assert (refused.code, refused.retryable) == ("live.busy", True)
    await bench.open(by=BRUNO)
    await bench.call("close", opened[0].session, by=ANNA)
    await bench.open(by=ANNA)


async def test_an_agent_visits_its_origins_only() -> None:
    """Guard: node/live/browsers/policy.py, guard_for."""
    elsewhere = msgspec.structs.replace(ANNA, origins=("http://other.test",))
    anywhere = Bench()
    await anywhere.witness.load()
    assert (await anywhere.refused("open", by=elsewhere, url=f"{ORIGIN}/")).code == "browser.refused"
    assert anywhere.site.reached == []
    bench = Bench(policy=PolicyConfig(origins=("https://*.shop.test", ORIGIN)))
    await bench.witness.load()
    assert (await bench.refused("open", by=elsewhere, url=f"{ORIGIN}/")).code == "caller.refused"
    there = msgspec.structs.replace(ANNA, origins=("https://pay.shop.test",))
    assert (await bench.refused("open", by=there, url=f"{ORIGIN}/")).code == "browser.refused"
    assert bench.site.reached == []
    here = msgspec.structs.replace(ANNA, origins=(ORIGIN,))
    assert (await bench.open(by=here)).observation.title == "Shop"


async def test_calls_of_one_session_wait_for_each_other_and_not_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await bench.open()
    session = bench.live._open[opened.session]
    async with session.turn():
        with pytest.raises(MeshError) as busy:
            async with session.turn(wait_s=0.01):
                raise AssertionError("two calls at a time")
        waiting = asyncio.create_task(bench.call("snapshot", opened.session))
        await asyncio.sleep(0)
        assert not waiting.done()
    assert busy.value.code == "live.busy"
    assert (await waiting).shows == "page"


# --- how they end ----------------------------------------------------------------------------------------------------


async def ended_by(bench: Bench, session: str) -> str:
    """The reason that the next call and ``live.show`` give."""
    refused = await bench.refused("snapshot", session)
    shown: LiveShown = await bench.call("show", session)
    assert refused.code == "live.ended"
    assert shown.live.reason in ENDINGS
    assert refused.detail["reason"] == shown.live.reason
    assert refused.message == ENDINGS[shown.live.reason]
    assert shown.pages == () and shown.live.pages == 0
    assert session not in bench.live._open
    return shown.live.reason


async def test_it_ends_when_its_time_to_live_is_over_however_busy(bench: Bench) -> None:
    opened = await bench.open(ttl=60, idle=50)
    for _ in range(2):
        await bench.clock.run(29_000)
        await bench.call("snapshot", opened.session)
    await bench.clock.run(3_000)
    assert await ended_by(bench, opened.session) == "ttl"
    assert await bench.verdicts(opened.session) == [(Verdict.PASS, 1)]
    assert await bench.signed(opened.session) == ["owner"]


async def test_it_ends_when_nobody_calls_for_its_idle_limit_and_without_being_asked(bench: Bench) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession.due."""
    opened = await bench.open(idle=50)
    await bench.clock.run(49_000)
    await bench.call("snapshot", opened.session)
    await bench.clock.run(49_000)
    assert [each.reason for each in (await bench.call("list")).sessions] == [""]
    await bench.clock.run(2_000)
    (left,) = (await bench.call("list", all=True)).sessions
    assert (left.reason, left.session) == ("idle", opened.session)
    assert await bench.signed(opened.session) == ["owner"]
    assert await ended_by(bench, opened.session) == "idle"


async def test_it_ends_with_the_first_action_beyond_its_budget(bench: Bench) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession._need_room."""
    opened = await bench.open(actions=3)
    assert opened.actions_left == 2
    await bench.call("act", opened.session, action="scroll: down")
    refused = await bench.refused("act", opened.session, action="click: {role: link, name: Nothing}")
    assert refused.code == "action.target_missing"  # tried is tried
    assert (await bench.call("snapshot", opened.session)).title == "Shop"
    await bench.call("pages", opened.session, action="new")
    refused = await bench.refused("navigate", opened.session, url=f"{ORIGIN}/mugs")
    assert (refused.code, refused.detail["reason"]) == ("live.ended", "actions")
    assert await ended_by(bench, opened.session) == "actions"
    assert await bench.verdicts(opened.session) == [(Verdict.PARTIAL, 3)]


async def test_it_ends_before_what_was_recorded_is_too_large_for_a_bundle(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await bench.open()
    monkeypatch.setattr(limits, "BUNDLE_BYTES_MAX", 4 * live_session._STEP_BYTES_MAX)
    refused = await bench.refused("act", opened.session, action="scroll: down")
    assert (refused.code, refused.detail["reason"]) == ("live.ended", "size")
    monkeypatch.undo()
    assert await ended_by(bench, opened.session) == "size"


async def until_ended(bench: Bench, *sessions: str) -> None:
    """Wait, without calling, until all of them have ended and their places are free."""
    async with asyncio.timeout(120):
        while set(sessions) & set(bench.live._open) or not all(
            record and record.ended_ms
            for record in [await bench.store.rows(LIVES).get(session) for session in sessions]
        ):
            await bench.clock.run(1)


async def test_a_crash_of_its_browser_between_calls_ends_it_at_once_and_signs_what_was_done(bench: Bench) -> None:
    first, second = await bench.open(), await bench.open(by=ANNA)
    bench.started[-1].crash()
    await until_ended(bench, first.session, second.session)
    assert bench.browsers.contexts == 0
    assert {each.session: each.reason for each in (await bench.call("list", all=True)).sessions} == {
        first.session: "crashed",
        second.session: "crashed",
    }
    told = (await bench.store.feed(after=0, kind=FeedKind.LIVE_CRASHED)).changes
    assert {(change.ids, change.who) for change in told} == {((each.session,), "node") for each in (first, second)}
    assert await bench.signed(first.session) == ["owner"]
    assert await bench.signed(second.session) == ["agent:anna"]
    assert (await bench.refused("snapshot", second.session, by=ANNA)).code == "live.ended"
    assert await ended_by(bench, first.session) == "crashed"
    assert (await bench.open()).observation.title == "Shop"


async def test_a_call_that_meets_the_crash_of_its_browser_is_told_of_it(bench: Bench) -> None:
    """Before the browser itself is known to have ended."""
    opened = await bench.open()
    (context,) = bench.started[-1]._contexts
    context.crash()
    refused = await bench.refused("act", opened.session, action="scroll: down")
    assert (refused.code, refused.detail["live"]) == ("browser.crashed", opened.session)
    assert await ended_by(bench, opened.session) == "crashed"
    assert await bench.signed(opened.session) == ["owner"]


async def test_a_crash_ends_only_the_sessions_of_that_browser() -> None:
    bench = Bench(contexts_per_browser_max=1)
    await bench.witness.load()
    first, second = await bench.open(), await bench.open()
    assert len(bench.started) == 2
    bench.started[0].crash()
    await until_ended(bench, first.session)
    assert (await bench.call("click", second.session, ref="e1")).observation.title == "Mugs"
    assert await ended_by(bench, first.session) == "crashed"


async def test_every_end_gives_its_place_back(bench: Bench) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession.end."""
    opened = [await bench.open(idle=60, ttl=90), await bench.open(idle=30), await bench.open(actions=1)]
    await bench.call("pages", opened[0].session, action="new")
    assert bench.browsers.contexts == 3
    await bench.refused("act", opened[2].session, action="scroll: down")
    assert bench.browsers.contexts == 2
    await bench.clock.run(31_000)
    assert bench.browsers.contexts == 1
    await bench.call("close", opened[0].session)
    await bench.refused("open", url="http://nowhere.test/")
    await bench.refused("open", url="file:///etc/passwd")
    assert bench.browsers.contexts == 0
    assert [each.reason for each in (await bench.call("list", all=True)).sessions[1:]] == ["actions", "idle", "closed"]
    await bench.open()
    bench.started[-1].crash()
    await bench.live.close()
    assert bench.browsers.contexts == 0


async def test_a_node_whose_contexts_are_all_in_use_says_that_it_is_busy() -> None:
    bench = Bench(contexts_max=1, queue_max=0)
    await bench.witness.load()
    opened = await bench.open()
    refused = await bench.refused("open", url=f"{ORIGIN}/")
    assert (refused.code, refused.retryable) == ("live.busy", True)
    assert [each.session for each in (await bench.call("list", all=True)).sessions] == [opened.session]
    await bench.call("close", opened.session)
    await bench.open()


async def test_who_goes_away_while_it_opens_leaves_nothing_open(bench: Bench) -> None:
    asked, document = asyncio.Event(), bench.site.document

    def told(url: str) -> Document | None:
        asked.set()
        return document(url)

    bench.site.document = told  # type: ignore[method-assign]
    opening = asyncio.create_task(bench.open())
    await asked.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert (bench.browsers.contexts, bench.live._open) == (0, {})
    (left,) = (await bench.call("list", all=True)).sessions
    assert left.reason == "failed"


async def test_the_end_of_the_node_signs_what_was_recorded(bench: Bench) -> None:
    opened = await bench.open()
    await bench.live.close()
    await bench.live.close()
    assert await ended_by(bench, opened.session) == "stopped"
    assert await bench.signed(opened.session) == ["owner"]


async def test_what_a_killed_node_left_open_is_interrupted_and_what_was_recorded_is_kept(bench: Bench) -> None:
    """Guard: node/live/sessions/live_sessions.py, LiveSessions.load."""
    opened = await bench.open(by=ANNA)
    bench.clock.advance(3_000)
    await bench.call("click", opened.session, by=ANNA, ref="e1")
    used_last_ms = bench.clock.now_ms()
    restarted = Bench(bench.store)
    restarted.clock.advance(10_000_000)
    await restarted.witness.load()
    await restarted.live.load()
    shown: LiveShown = await restarted.call("show", opened.session)
    assert shown.live.reason == "interrupted"
    assert await ended_by(restarted, opened.session) == "interrupted"
    assert await restarted.verdicts(opened.session) == [(Verdict.INTERRUPTED, 2)]
    assert (shown.live.actions, shown.live.ends_ms) == (2, used_last_ms)
    assert (await restarted.refused("snapshot", opened.session, by=BRUNO)).code == "live.not_found"


async def test_the_feed_tells_once_that_one_was_opened_and_once_that_it_has_ended(bench: Bench) -> None:
    """Whatever ends it. Who closes one ended it, else the node did."""
    with bench.witness.trail.for_peer("somebody"):
        closed, due = await bench.open(), await bench.open(idle=50)
        await bench.call("close", closed.session)
    await bench.clock.run(51_000)
    assert await ended_by(bench, due.session) == "idle"
    refused = await bench.refused("open", url="http://nowhere.test/")
    crashed = await bench.open()
    bench.started[-1].crash()
    await until_ended(bench, crashed.session)
    assert await ended_by(bench, crashed.session) == "crashed"
    stopped = await bench.open()
    await bench.live.close()
    await bench.live.close()
    killed = await bench.open()
    restarted = Bench(bench.store)
    await restarted.live.load()
    every = [each.session for each in (closed, due, crashed, stopped, killed)] + [refused.detail["live"]]
    told = (await bench.store.feed(after=0, kind="live")).changes
    assert sorted(change.ids[0] for change in told if change.kind == FeedKind.LIVE_OPENED) == sorted(every)
    assert sorted(change.ids[0] for change in told if change.kind != FeedKind.LIVE_OPENED) == sorted(every)
    assert [change.ids[0] for change in told if change.kind == FeedKind.LIVE_CRASHED] == [crashed.session]
    who = {(change.kind, change.ids[0]): change.who for change in told}
    assert who[FeedKind.LIVE_OPENED, due.session] == who[FeedKind.LIVE_ENDED, closed.session] == "somebody"
    assert who[FeedKind.LIVE_ENDED, due.session] == "node"


async def test_one_whose_first_page_does_not_open_leaves_nothing_open(bench: Bench) -> None:
    refused = await bench.refused("open", url="http://nowhere.test/")
    assert refused.code == "browser.navigation"
    assert await ended_by(bench, refused.detail["live"]) == "failed"
    assert await bench.verdicts(refused.detail["live"]) == [(Verdict.FAIL, 1)]
    assert bench.live._open == {}


async def test_a_caller_that_goes_away_leaves_no_gap_in_the_recording(bench: Bench) -> None:
    opened = await bench.open()
    session = bench.live._open[opened.session]
    page = session._pages.current.page
    begun, go_on = asyncio.Event(), asyncio.Event()
    perform = page.perform

    async def slow(*args: Any, **more: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await perform(*args, **more)

    page.perform = slow  # type: ignore[method-assign]
    call = asyncio.create_task(bench.call("act", opened.session, action="scroll: down"))
    await begun.wait()
    call.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await bench.verdicts(opened.session) == [(Verdict.OPEN, 2)]
    assert (await bench.call("snapshot", opened.session)).title == "Shop"


async def test_a_node_that_serves_nobody_opens_none(bench: Bench) -> None:
    bench.live._serving.address = ""
    assert (await bench.refused("open", url=f"{ORIGIN}/")).code == "node.not_serving"


@pytest.mark.parametrize("profile", [{"width_px": "x"}, {"nope": 1}, {"timezone": "Moon"}, {"width_px": 1}])
async def test_a_profile_that_is_none_is_refused(bench: Bench, profile: dict[str, Any]) -> None:
    assert (await bench.refused("open", url=f"{ORIGIN}/", profile=profile)).code == "input.invalid"
    assert bench.started == []
