"""What a page sends waits for its owner: live sessions on real Chromium, a real site, signed answers."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.ports.browser import Browser
from node.cli.nodes.approve import _lines
from node.config.settings import Config, PolicyConfig
from node.live.acting.driver import Driver, Gate
from node.live.browsers.browsers import Browsers
from node.verbs.caller import called_by
from node.verbs.live.live import Acted, HeldRequest
from node.verbs.nodes.approve import ShowParams, StateParams
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Click, Goto, Locator, Reload, SwitchTab, Wait
from protocol.recording.records.session import Profile
from protocol.risk.pressing.classes import Risk
from protocol.risk.requests.requests import GuardPolicy
from tests.browsers import Borrowed
from tests.given_secrets import as_params
from tests.owners import ANNA
from tests.sites.pages.server import PageServer
from tests.unit.test_approvals_room import Asks
from tests.unit.test_live_sessions import ANNA as AGENT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGE = """<title>Shop</title>
<button onclick="fetch('/cart', {method: 'POST', body: new URLSearchParams({item: 7})}).then(() => done.textContent = 'stored',
  () => done.textContent = 'not stored');
done.textContent = 'In your cart'">Add</button>
<table><tr><td>Anna Berg</td><td><button onclick="fetch('/users/7', {method: 'DELETE'})">Frobnicate</button></td></tr></table>
<form method=post action=/order><input name=card_number value=4111><button>Order</button></form><p id=done>Nothing yet</p>"""


async def _unreported(action: Action, risk: Risk, approved: bool) -> None:
    """Nobody reads it."""


class Desk(Asks):
    """A node on real Chromium, and the site that it visits."""

    def __init__(self, browser: Browser, served: PageServer) -> None:
        super().__init__()
        self.served = served

        async def start() -> Browser:
            return Borrowed(browser)

        self.browsers = Browsers(start)
        self.live._config = Config(policy=PolicyConfig(origins=(served.origin,)))
        self.live._browsers = self.browsers
        self._more()

    async def shown(self, **more: Any) -> str:
        """A live session that shows the page."""
        return str((await self.call("open", url=f"{self.served.origin}/shop.html", by=AGENT, **more)).session)

    async def press(self, session: str, name: str) -> Acted:
        """Press what has this name."""
        acted: Acted = await self.call("act", session, action=f'click: {{role: button, name: "{name}"}}', by=AGENT)
        return acted

    async def held(self, session: str, name: str) -> HeldRequest:
        """What pressing it causes to wait."""
        (one,) = (await self.press(session, name)).held
        return one

    async def becomes(self, question: str, *states: str) -> str:
        """Its state, once it is one of ``states``: what its agent sees."""
        item = self.approvals._item(question)
        async with asyncio.timeout(60):
            await self.approvals._until(lambda: item.record.held in states)
        with called_by(AGENT):
            return (await self.approvals.state(StateParams(question=question))).held

    def sent(self, line: str) -> int:
        return self.served.reached.count(line)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(browser: Browser) -> AsyncIterator[Desk]:
    served = PageServer()
    served.extra["/shop.html"] = PAGE
    await served.start()
    made = Desk(browser, served)
    await made.ready()
    await made.change(ANNA, "anna")
    yield made
    await made.live.close()
    await served.stop()


async def test_a_yes_sends_what_was_shown_once_and_a_no_nothing(desk: Desk) -> None:
    """Guard: node/approvals/noting.py, Noting.spend_held."""
    session = await desk.shown()
    one = await desk.held(session, "Add")
    assert (one.method, one.address, one.fields, one.size) == ("POST", f"{desk.served.origin}/cart", ("item",), 6)
    assert (one.risk, one.waits_s) == (4, limits.HELD_CLIENT_S)
    assert [each.id for each in await desk.questions()] == [one.question], "it is asked about once"
    asked = await desk.read(one.question)
    assert (asked.address, asked.size) == (one.address, 6)
    assert await desk.becomes(one.question, "held") and not desk.sent("POST /cart")
    shown = await desk.say(one.question)
    assert (shown.held, shown.state, desk.sent("POST /cart")) == ("sent", "used", 1)
    with pytest.raises(MeshError, match="is used"):
        await desk.say(one.question)
    again = await desk.held(session, "Add")
    assert again.question != one.question, "a yes for once is used up"
    assert (await desk.say(again.question, yes=False)).held == "refused"
    await desk.call("act", session, action="wait: {text: not stored}", by=AGENT)  # the page learns of it
    order = await desk.held(session, "Order")
    assert (order.risk, order.method) == (5, "POST"), "a card field"
    assert (await desk.say(order.question)).held == "sent"
    assert not (await desk.call("snapshot", session, by=AGENT)).unconfirmed, "the site has answered with another page"
    row = await desk.held(await desk.shown(), "Frobnicate")
    assert (row.risk, "Anna Berg" in row.row) == (7, True)
    (recorded,) = (await desk.call("show", session, by=AGENT)).recorded
    steps = await desk.store.steps(recorded.id)
    assert [(each.ok, each.error) for each in steps[1:]] == [
        (True, ""),
        (False, "risk.refused"),
        (True, ""),
        (True, ""),
    ]
    assert [(each.method, each.url) for each in steps[1].effects] == [("POST", f"{desk.served.origin}/cart")]
    assert "left after the owner's yes" in steps[1].notes[-1] and steps[1].screenshot
    assert [desk.sent(line) for line in ("POST /cart", "POST /order", "DELETE /users/7")] == [1, 1, 0]


async def test_a_yes_is_for_the_row_and_the_session_that_it_was_asked_for(desk: Desk) -> None:
    """Guard: node/approvals/noting.py, Noting._alike."""
    rows = (f"<tr><td>{name}</td><td><button onclick=\"fetch('/do', {{method: 'POST', body: 'a'}})\">Do</button></td></tr>"
            for name in ("Anna Berg", "Bruno Ast"))  # fmt: skip
    desk.served.extra["/shop.html"] = f"<table>{''.join(rows)}</table>"
    first = await desk.shown()

    async def held(session: str, nth: int) -> HeldRequest:
        pressed = await desk.call("act", session, action=f"click: {{role: button, name: Do, nth: {nth}}}", by=AGENT)
        one: HeldRequest
        (one,) = pressed.held
        return one

    anna, bruno, elsewhere = await held(first, 0), await held(first, 1), await held(await desk.shown(), 0)
    assert len({anna.question, bruno.question, elsewhere.question}) == 3
    assert (await desk.say(anna.question)).held == "sent"
    assert [await desk.becomes(each.question, "held") for each in (bruno, elsewhere)] == ["held", "held"]
    assert desk.sent("POST /do") == 1


async def test_time_over_a_page_that_moved_on_and_an_end_send_nothing(desk: Desk) -> None:
    session = await desk.shown(hold=20)
    one = await desk.held(session, "Add")
    desk.clock.advance(21_000)
    assert await desk.becomes(one.question, "refused")
    late = await desk.say(one.question)
    assert (late.state, desk.sent("POST /cart")) == ("yes", 0), "it sends nothing by itself"
    session = await desk.shown()
    two = await desk.held(session, "Order")
    await desk.call("navigate", session, url=f"{desk.served.origin}/more", by=AGENT)
    assert (await desk.say(two.question)).held == "withdrawn"
    session = await desk.shown()
    three = await desk.held(session, "Frobnicate")
    await desk.call("close", session, by=AGENT)
    assert await desk.becomes(three.question, "withdrawn")
    assert not [each for each in desk.served.reached if not each.startswith("GET")]


async def test_a_page_of_which_something_is_held_is_not_believed(desk: Desk) -> None:
    """Guard: node/live/acting/driver.py, Driver._confirm."""
    session = await desk.shown()
    acted = await desk.press(session, "Add")
    assert acted.observation.unconfirmed and any("In your cart" in line for line in acted.observation.lines)
    said = 'assert: {text: "In your cart"}'
    assert (await desk.refused("act", session, action=said, by=AGENT)).code == "page.unconfirmed"
    read = await desk.call("act", session, action="extract: {as: all}", by=AGENT)
    assert read.observation.unconfirmed
    assert (await desk.say(acted.held[0].question)).held == "sent"
    assert (await desk.refused("act", session, action=said, by=AGENT)).code == "page.unconfirmed", (
        "not before it is opened anew"
    )
    await desk.call("navigate", session, url=f"{desk.served.origin}/shop.html#done", by=AGENT)
    assert (await desk.refused("act", session, action=said, by=AGENT)).code == "page.unconfirmed", (
        "the document is the same"
    )
    await desk.call("navigate", session, url=f"{desk.served.origin}/shop.html", by=AGENT)
    passed = await desk.call("act", session, action='assert: {text: "Nothing yet"}', by=AGENT)
    assert not passed.observation.unconfirmed
    (verdict,) = await desk.verdicts(session)
    assert verdict[0] != "pass"


async def test_what_the_page_sends_again_joins_and_leaves_once(desk: Desk) -> None:
    session = await desk.shown()
    desk.served.extra["/shop.html"] = (
        "<button onclick=\"for (const n of [1, 2]) fetch('/twice', {method: 'POST', body: 'a'})\">Add</button>"
    )
    await desk.call("navigate", session, url=f"{desk.served.origin}/shop.html", by=AGENT)
    acted = await desk.press(session, "Add")
    assert len({each.question for each in acted.held}) == 1 and len(acted.held) == 2
    assert (await desk.say(acted.held[0].question)).held == "sent"
    assert desk.sent("POST /twice") == 1


async def test_a_tab_that_is_not_believed_stays_so_while_another_one_is_looked_at(browser: Browser, desk: Desk) -> None:
    desk.served.extra["/shop.html"] = PAGE + "<a href=/popup.html target=_blank>Beside</a>"
    page = await (await browser.open(Profile(), GuardPolicy(), tabs=True)).page()
    driver = Driver(page, Gate(report=_unreported, wall=GuardPolicy()))
    await driver.act(Goto(url=f"{desk.served.origin}/shop.html"))
    add, beside = (
        Click(target=Locator(role=role, name=name)) for role, name in (("button", "Add"), ("link", "Beside"))
    )
    actions: tuple[Action, ...] = (add, beside, SwitchTab(tab=1), Wait(), Goto(url=f"{desk.served.origin}/shop.html"))
    believed = [not (await driver.act(each)).unconfirmed for each in actions]
    assert believed == [False, True, False, False, True]
    await page.close()


async def test_a_page_that_was_refused_something_because_of_a_press_is_not_believed_however_late_and_harmless_it_was(
    browser: Browser, desk: Desk
) -> None:
    """Guard: adapters/browser/egress/late.py, Late.refuses."""
    saved = Assert(what="text", expected="Saved", match="contains")
    post = "fetch('/late', {{method: 'POST', body: 'a'{}}})"
    at_once, later = "{}; finish()", "setTimeout(() => {{ {}; finish() }}, 1500)"
    for name, press, believed in (
        ("Menu", at_once.format("0"), True),
        ("Menu", later.format("fetch('/more')"), True),
        ("Menu", at_once.format(post.format("")), False),
        ("Menu", later.format("navigator.sendBeacon('/late', 'x')"), False),
        ("Add", later.format(post.format(", keepalive: true")), False),
        ("Menu", later.format(post.format("")), False),
        ("Menu", "window.open('/more'); " + later.format(post.format("")), False),
    ):
        desk.served.extra["/shop.html"] = f"""<title>Shop</title><script>
          const beat = () => fetch('/itself', {{method: 'POST', body: 'a'}}), finish = () => document.title = 'done';
          beat(); setInterval(beat, 300);
          </script><button onclick="document.body.append('Saved'); {press}">{name}</button>"""
        page = await (await browser.open(Profile(), GuardPolicy(), tabs=True)).page()
        driver = Driver(page, Gate(report=_unreported, wall=GuardPolicy()))
        await driver.act(Goto(url=f"{desk.served.origin}/shop.html"))
        pressed = await driver.act(Click(target=Locator(role="button", name=name)))
        back = () if pressed.on_tab == 1 else (SwitchTab(tab=1),)
        for action in back:
            await driver.act(action)
        async with asyncio.timeout(60):
            while (await page.observe()).title != "done":
                await page.pause(50)
        try:
            doubted = (await driver.act(saved)).unconfirmed
        except MeshError as error:
            doubted = error.code == "page.unconfirmed"
        assert doubted is not believed, (name, press)
        anew = await driver.act(Reload())
        assert not anew.unconfirmed, "its address was opened anew"
        await page.close()


async def test_an_action_that_fails_takes_the_requests_that_it_caused(desk: Desk) -> None:
    """In its answer, in the question and in its recorded step, however it fails; the next action has none of them."""
    send = "fetch('/{}', {{method: 'POST', body: 'x'}})"
    desk.served.extra["/shop.html"] = (
        f'<title>Shop</title><button onmouseenter="{send.format("shy")}; this.remove()">Shy</button>'
        f'<button onclick="{send.format("mute")}">Mute</button><button onclick="this.title = 1">Local</button>'
    )
    session = await desk.shown()
    expected = "expect: {dialog: {kind: alert, accept: no}}"
    asked = {}
    for step, (name, code, action) in enumerate(
        (
            (
                "script",
                "action.script_failed",
                f'evaluate: {{script: "{send.format("script")}.then(r => r.status)"}}\ntimeout: 1s',
            ),
            ("shy", "action.target_missing", "click: {role: button, name: Shy}\ntimeout: 1s"),
            ("mute", "action.dialog", f"click: {{role: button, name: Mute}}\n{expected}"),
        )
    ):
        with pytest.raises(MeshError) as caught:
            await desk.call("act", session, action=action, by=AGENT)
        number, error = 2 + 2 * step, caught.value
        assert "held" in error.detail, (name, error, error.detail)
        assert (error.code, [each["address"] for each in error.detail["held"]]) == (
            code,
            [f"{desk.served.origin}/{name}"],
        )
        question = error.detail["question"]
        assert f"`trailmesh approve yes {question}`" in error.message
        asked[name] = await desk.approvals.show(ShowParams(question=question))
        assert (asked[name].step, asked[name].held, name == "script") == (number, "held", "script" in asked[name].does)
        after = await desk.press(session, "Local")
        assert (after.held, after.question, after.observation.held) == ((), "", ()), name
    assert (await desk.say(asked["script"].id)).held == "sent"
    (recorded,) = (await desk.call("show", session, by=AGENT)).recorded
    steps = await desk.store.steps(recorded.id)
    assert [each.error for each in steps[1:]] == [
        "action.script_failed",
        "",
        "action.target_missing",
        "",
        "action.dialog",
        "",
    ]
    assert [len(each.effects) for each in steps] == [0, 1, 0, 0, 0, 0, 0]
    assert asked["shy"].has_picture, "of the page before the step"
    assert [each for each in desk.served.reached if not each.startswith("GET")] == ["POST /script"]


async def test_what_is_held_between_two_calls_is_told_once_in_the_next_answer(desk: Desk) -> None:
    desk.served.extra["/shop.html"] = """<title>Shop</title><button
    onclick="setTimeout(() => fetch('/later', {method: 'POST', body: 'x'}), 800)">Later</button><button>Local</button>"""

    async def later(session: str, count: int) -> None:
        assert (await desk.press(session, "Later")).held == ()
        async with asyncio.timeout(60):
            while len(await desk.questions(every=True)) < count:
                await desk.call("screenshot", session, by=AGENT)

    session = await desk.shown()
    await later(session, 1)
    desk.clock.advance(5_000)
    (one,) = (await desk.call("table", session, by=AGENT)).held
    (asked,) = await desk.questions()
    assert (one.question, one.method, one.address) == (asked.id, "POST", f"{desk.served.origin}/later")
    assert (one.waits_s, asked.step) == (limits.HELD_CLIENT_S - 5, 2)
    assert (await desk.call("table", session, by=AGENT)).held == ()
    assert (await desk.say(asked.id)).held == "sent"
    session = await desk.shown()
    await later(session, 2)
    told = await desk.press(session, "Local")
    assert ([each.address for each in told.held], told.observation.held) == ([one.address], ())


async def test_where_nobody_can_wait_it_is_refused_at_once(desk: Desk) -> None:
    session = await desk.shown(hold=0)
    acted = await desk.press(session, "Add")
    assert (acted.held, acted.blocked) == ((), ("POST /cart",)) and acted.question
    assert acted.observation.unconfirmed


async def test_a_yes_for_what_was_refused_lets_that_very_request_leave_once_the_same_is_done_again(desk: Desk) -> None:
    """Guard: protocol/approval/question.py, Cover.covers."""
    fields = "new URLSearchParams({text: 'mine', csrf: 'Zk3_9bAq' + Math.random()})"
    posts = f"fetch('/notes/7?page=1', {{method: 'POST', body: {fields}}})"
    long = "fetch('/file', {method: 'POST', body: new Blob(['x'.repeat(1 << 20)])})"
    for asked, then, sent in (
        (posts, posts, "POST /notes/7?page=1"),
        (posts, posts.replace("mine", "theirs"), ""),
        (posts, posts.replace("page=1", "page=2"), ""),
        (posts, posts.replace("notes/7", "notes/8"), ""),
        (posts, posts.replace("body:", "headers: {'Next-Action': 'wipe'}, body:"), ""),
        (posts, f"for (const again of [1, 2]) {posts}", "POST /notes/7?page=1"),
        (long, long.replace("x", "y"), ""),
    ):
        desk.served.reached.clear()
        desk.served.extra["/shop.html"] = f'<button onclick="{asked}">Add</button>'
        session = await desk.shown(hold=0)
        refused = await desk.press(session, "Add")
        await desk.say(refused.question)
        desk.served.extra["/shop.html"] = f'<button onclick="{then}">Add</button>'
        await desk.call("navigate", session, url=f"{desk.served.origin}/shop.html", by=AGENT)
        again = await desk.press(session, "Add")
        assert [each for each in desk.served.reached if each.startswith("POST")] == [sent] * bool(sent), then
        assert again.question != refused.question, "a yes for once is used up"
        await desk.call("close", session, by=AGENT)


async def test_nothing_of_a_question_is_unseen_or_turns_what_stands_beside_it(desk: Desk) -> None:
    odd = "\u202e\u2066\u200f\u200b\u00ad\ufeff\u2028\x1b[2J"
    name = "".join(f"&#{ord(char)};" for char in odd if char >= " ")
    fields = "".join(f"%{byte:02X}" for byte in odd.encode())
    script = f"fetch('/save?y{fields}=1', {{method: 'POST', body: new URLSearchParams('a{fields}=1&b%0Ab=2')}})"
    desk.served.extra["/shop.html"] = (
        f'<table><tr><td>Anna {name}</td><td><button onclick="{script}" aria-label="Pay {name}">x</button></td></tr></table>'
    )
    session = await desk.shown()
    acted = await desk.call("act", session, action="click: {selectors: ['css=button']}", by=AGENT)
    (one,) = acted.held
    shown = await desk.approvals.show(ShowParams(question=one.question))
    with called_by(AGENT):
        stand = await desk.approvals.state(StateParams(question=one.question))
    said = "".join(_lines(await desk.read(one.question), "held"))
    for text in (*map(str, (one, *await desk.questions(), shown, stand)), said):
        assert not [char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")], text
    for word in ("a‹U+202E›‹U+2066›", "y‹U+202E›‹U+2066›‹U+200F›‹U+200B›‹U+00AD›‹U+FEFF›"):
        assert word in said and any(word in each for each in one.fields)
    assert "‹U+202E›" in one.row


async def test_what_is_told_of_a_held_request_names_no_secret(desk: Desk) -> None:
    script = "fetch('/save/hunter2!?op=hunter2!', {method: 'POST', body: new URLSearchParams({action: 'hunter2!'})})"
    desk.served.extra["/shop.html"] = f'<button onclick="{script}">Add</button>'
    session = await desk.shown(secrets=as_params(word="hunter2!"))
    one = await desk.held(session, "Add")
    assert "hunter2" not in repr(one) and one.question == "", "what the owner reads is stored"
    assert not await desk.questions(every=True) and desk.sent("POST /save/hunter2!?op=hunter2!") == 0
