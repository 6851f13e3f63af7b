"""Sessions as files of other tools: what is written is what was recorded, what cannot be written is said."""

from __future__ import annotations

import ast
import json

import msgspec

from node.sessions.actions.action_files import parse_actions
from node.sessions.exporting import Written, write_playwright, write_recorder
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Extract,
    Fill,
    Focus,
    Goto,
    Hover,
    Locator,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    SwitchTab,
    Wait,
    Within,
)
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.actions.fits import Fit
from protocol.recording.records.session import Expect, Session, Skipped, Step
from tests.session_samples import sample_session, sample_steps
from tests.tables import each

ALL, _ = sample_steps()
FIRST = ALL[0]
HOME = "http://a.example/"
BUTTON = Locator(role="button", name="Go")
CSS = Locator(role="button", name="Go", selectors=("css=#a",))


def session(**changes: object) -> Session:
    return msgspec.structs.replace(sample_session(ALL), **{"title": "Buy a “mug”", **changes})


def steps(*actions: Action, evidence: ElementEvidence | None = ElementEvidence(role="button", name="Go")) -> list[Step]:  # noqa: B008
    return [
        msgspec.structs.replace(FIRST, index=index, action=action, ok=True, error="", evidence=evidence)
        for index, action in enumerate(actions, 1)
    ]


def playwright(*actions: Action, **more: ElementEvidence | None) -> tuple[list[str], Written]:
    """The statements between the opening of the page and its end."""
    written = write_playwright(session(), steps(Goto(url=HOME), *actions, **more))
    ast.parse(written.text)
    lines = [
        line.strip()
        for line in written.text.split("page = context.new_page()\n")[1].split("    context.close()")[0].splitlines()
    ]
    return [
        line for line in lines if line and not line.startswith(('page.goto("http://a.example/")', "values:"))
    ], written


def recorder(*actions: Action, **more: ElementEvidence | None) -> tuple[list[dict[str, object]], Written]:
    written = write_recorder(session(), steps(Goto(url=HOME), *actions, **more))
    return [
        {key: value for key, value in step.items() if key != "target"} for step in json.loads(written.text)["steps"][2:]
    ], written


@each(
    ("action", "line"),
    [
        (Click(target=BUTTON), 'page.get_by_role("button", name="Go", exact=True).click()'),
        (Click(target=CSS), 'page.locator("css=#a").click()'),
        (Click(target=CSS, count=2), 'page.locator("css=#a").dblclick()'),
        (Click(target=CSS, button="right"), 'page.locator("css=#a").click(button="right")'),
        (Click(target=Locator(selectors=('label="Town"',))), 'page.get_by_label("Town", exact=True).click()'),
        (Click(target=Locator(selectors=("testid=a",))), 'page.get_by_test_id("a").click()'),
        (
            Click(target=Locator(role="link", selectors=("aria/Go",))),
            'page.get_by_role("link", name="Go", exact=True).click()',
        ),
        (Click(target=Locator(selectors=("pierce/#a",))), 'page.locator("css=#a").click()'),
        (
            Click(target=Locator(role="button", name="Go", within=Within(role="row", text="Beer"))),
            'page.get_by_role("row").filter(has_text="Beer").get_by_role("button", name="Go", exact=True).click()',
        ),
        (
            Click(target=Locator(role="button", name="Go", nth=2)),
            'page.get_by_role("button", name="Go", exact=True).nth(2).click()',
        ),
        (Hover(target=CSS), 'page.locator("css=#a").hover()'),
        (
            Hover(target=Locator(frame="f1", selectors=("css=#f >> internal:control=enter-frame >> css=#a",))),
            'page.locator("css=#f >> internal:control=enter-frame >> css=#a").hover()',
        ),
        (Drag(target=CSS, onto=CSS), 'page.locator("css=#a").drag_to(page.locator("css=#a"))'),
        (Select(target=CSS, option="A", also=("B",)), 'page.locator("css=#a").select_option(label=["A", "B"])'),
        (Focus(target=CSS), 'page.locator("css=#a").focus()'),
        (ScrollTo(target=CSS), 'page.locator("css=#a").scroll_into_view_if_needed()'),
        (Fill(target=CSS, value='a "b" \\'), r'page.locator("css=#a").fill("a \"b\" \\")'),
        (Fill(target=CSS, value="a", typed=True), 'page.locator("css=#a").press_sequentially("a")'),
        (Fill(target=CSS, value=Secret(secret="door.key")), 'page.locator("css=#a").fill(os.environ["door_key"])'),
        (Select(target=CSS, option="B"), 'page.locator("css=#a").select_option(label="B")'),
        (Check(target=CSS), 'page.locator("css=#a").check()'),
        (Check(target=CSS, checked=False), 'page.locator("css=#a").uncheck()'),
        (Press(key="Enter", target=CSS), 'page.locator("css=#a").press("Enter")'),
        (Press(key="Enter"), 'page.keyboard.press("Enter")'),
        (Back(), "page.go_back()"),
        (Reload(), "page.reload()"),
        (Scroll(direction="up", amount_px=5), 'page.evaluate("window.scrollBy(0, -5)")'),
        (Wait(), "page.wait_for_load_state()"),
        (
            Wait(text="Hi", timeout_ms=7),
            'expect(page.get_by_text("Hi").filter(visible=True).first).to_be_visible(timeout=7)',
        ),
        (Wait(target=CSS, state="hidden", timeout_ms=7), 'expect(page.locator("css=#a")).to_be_hidden(timeout=7)'),
        (Wait(address="/b", timeout_ms=7), 'expect(page).to_have_url(re.compile(re.escape("/b")), timeout=7)'),
        (Assert(what="title", expected="T", timeout_ms=7), 'expect(page).to_have_title("T", timeout=7)'),
        (
            Assert(what="text", expected="T", match="contains", timeout_ms=7),
            'expect(page.locator("body")).to_contain_text("T", use_inner_text=True, timeout=7)',
        ),
        (
            Assert(what="count", expected="2", target=CSS, timeout_ms=7),
            'expect(page.locator("css=#a").filter(visible=True)).to_have_count(2, timeout=7)',
        ),
        (
            Assert(what="unchecked", target=CSS, timeout_ms=7),
            'expect(page.locator("css=#a")).not_to_be_checked(timeout=7)',
        ),
        (
            Assert(what="attribute", attribute="href", expected="/b", target=CSS, timeout_ms=7),
            'expect(page.locator("css=#a")).to_have_attribute("href", "/b", timeout=7)',
        ),
        (Goto(url=HOME + "?t=‹secret:door›"), 'page.goto("http://a.example/?t=" + quote(os.environ["door"], safe=""))'),
        (Goto(url=HOME, timeout_ms=7), 'page.goto("http://a.example/", timeout=7)'),
        (Reload(timeout_ms=7), "page.reload(timeout=7)"),
        (Hover(target=CSS, timeout_ms=7), 'page.locator("css=#a").hover(timeout=7)'),
        (Fill(target=CSS, value="a", timeout_ms=7), 'page.locator("css=#a").fill("a", timeout=7)'),
        (Drag(target=CSS, onto=CSS, timeout_ms=7), 'page.locator("css=#a").drag_to(page.locator("css=#a"), timeout=7)'),
    ],
)
def test_a_step_is_a_statement_of_playwright(action: Action, line: str) -> None:
    found, written = playwright(action)
    assert (found, written.lost) == ([line], ())


def test_one_of_several_like_it_is_told_by_its_place() -> None:
    found, _ = playwright(Click(target=BUTTON), evidence=ElementEvidence(role="button", name="Go", alike=2))
    assert found == ['page.get_by_role("button", name="Go", exact=True).nth(0).click()']


def test_what_has_no_role_is_called_by_its_text_in_both_formats() -> None:
    click = Click(target=Locator(role="generic", name="Archive of figs"))
    assert playwright(click)[0] == ['page.get_by_text("Archive of figs", exact=True).click()']
    written = write_recorder(session(), [*steps(Goto(url=HOME), click)])
    assert json.loads(written.text)["steps"][-1]["selectors"] == [["text/Archive of figs"]]


def test_what_a_test_reads_it_uses_later() -> None:
    found, _ = playwright(
        Fill(target=CSS, value="${order}"),
        Extract(name="order", target=CSS, compare="none"),
        Extract(name="name", target=CSS),
        Extract(name="total", kind="money"),
        Fill(target=CSS, value="no ${order} of ‹secret:door›"),
    )
    assert found == [
        'page.locator("css=#a").fill("${order}")',
        "# No replay compares this.",
        'values["order"] = page.locator("css=#a").inner_text()',
        "# A replay compares this as text.",
        'values["name"] = page.locator("css=#a").inner_text()',
        "# A replay compares this as money.",
        'values["total"] = page.locator("body").inner_text()',
        'page.locator("css=#a").fill("no " + values["order"] + " of " + os.environ["door"])',
    ]


@each(
    ("action", "reason"),
    [
        (Click(target=Locator(role="button", name="Go", frame="f1")), "in a frame"),
        (Click(target=Locator(role="presentation", name="Go")), "by the role presentation"),
        (Goto(url=HOME + "?token=REDACTED"), "was not stored"),
    ],
)
def test_what_no_statement_says_is_a_comment_and_listed(action: Action, reason: str) -> None:
    found, written = playwright(action)
    (lost,) = written.lost
    assert lost.startswith("step 2, ")
    assert reason in lost
    assert found == [f"# not done: {lost}"]


def test_steps_that_failed_or_were_left_out_are_listed_in_both_formats() -> None:
    skipped = Skipped(place="line 12", what="drag_to", reason="dragging", before=3)
    failed = msgspec.structs.replace(steps(Back())[0], index=2, ok=False, error="action.not_possible")
    for write in (write_playwright, write_recorder):
        written = write(session(skipped=(skipped,)), [*steps(Goto(url=HOME)), failed])
        assert written.lost == (
            "step 2, go back: failed with action.not_possible",
            "line 12 (drag_to): skipped when it was imported, dragging",
        )
        assert all(one in written.text for one in written.lost)


AT = {"selectors": [["#a"], ['aria/Go[role="button"]']]}
POINT = {"offsetX": 2, "offsetY": 2, "button": "primary"}


@each(
    ("action", "made"),
    [
        (Click(target=CSS), [{"type": "click", **AT, **POINT}]),
        (Click(target=CSS, count=2), [{"type": "doubleClick", **AT, **POINT}]),
        (Click(target=CSS, button="right"), [{"type": "click", **AT, **POINT, "button": "secondary"}]),
        (Hover(target=BUTTON), [{"type": "hover", "selectors": [['aria/Go[role="button"]']]}]),
        (
            Hover(
                target=Locator(
                    selectors=("css=#h >> css=#a", "xpath=//a", "text=/1 \\+ 1/", "testid=a", 'title="T"', "alt=T")
                )
            ),
            [
                {
                    "type": "hover",
                    "selectors": [
                        ["#h", "#a"],
                        ["xpath///a"],
                        ["text/1 + 1"],
                        ['[data-testid="a"]'],
                        ['[title="T"]'],
                        ['[alt*="T" i]'],
                    ],
                }
            ],
        ),
        (Fill(target=CSS, value="b"), [{"type": "change", **AT, "value": "b"}]),
        (Hover(target=CSS, timeout_ms=60_000), [{"timeout": 30_000, "type": "hover", **AT}]),
        (
            Check(target=CSS),
            [
                {"type": "waitForElement", **AT, "properties": {"checked": False}},
                {"type": "click", **AT, "offsetX": 2, "offsetY": 2},
            ],
        ),
        (
            Press(key="Control+Shift++"),
            [{"type": "keyDown", "key": key} for key in ("Control", "Shift", "+")]
            + [{"type": "keyUp", "key": key} for key in ("+", "Shift", "Control")],
        ),
        (Scroll(amount_px=70), [{"type": "scroll", "x": 0, "y": 70}]),
        (Scroll(direction="up", amount_px=100_000), [{"type": "scroll", "x": 0, "y": 0}]),
        (Wait(), []),
        (
            Wait(target=CSS, state="hidden", timeout_ms=60_000),
            [{"type": "waitForElement", **AT, "visible": False, "timeout": 30_000}],
        ),
        (
            Assert(what="count", expected="2", target=CSS, timeout_ms=7),
            [{"type": "waitForElement", "timeout": 7, **AT, "operator": "==", "count": 2}],
        ),
        (
            Assert(what="disabled", target=CSS, timeout_ms=7),
            [{"type": "waitForElement", "timeout": 7, **AT, "properties": {"disabled": True}}],
        ),
    ],
)
def test_a_step_is_one_of_the_recorder(action: Action, made: list[dict[str, object]]) -> None:
    found, written = recorder(action)
    assert (found, written.lost) == (made, ())


@each(
    ("action", "reason"),
    [
        (Fill(target=CSS, value=Secret(secret="door")), "looks up a secret"),
        (Fill(target=CSS, value="a", typed=True), "key by key"),
        (Select(target=CSS, option="B"), "by the value of an option"),
        (Press(key="Enter", target=CSS), "gives an element the focus"),
        (Scroll(direction="up", amount_px=5), "scrolls to a place"),
        (Click(target=Locator(role="button", name="Go", nth=1)), "by its place among others"),
        (Click(target=Locator(role="button", name="Go", within=Within(role="row", text="Beer"))), "within another one"),
        (Assert(what="title", expected="T"), "asserts the title"),
        (Assert(what="text", expected="T", match="contains", target=CSS), "a part of a text"),
        (Extract(name="a"), "there is no step for it"),
        (Back(), "there is no step for it"),
    ],
)
def test_what_no_step_says_is_passed_over_by_chrome_and_listed(action: Action, reason: str) -> None:
    found, written = recorder(action)
    (lost,) = written.lost
    assert reason in lost
    assert found == [{"type": "customStep", "name": "trailmesh", "parameters": {"notDone": lost}}]


def test_what_is_written_is_read_again_as_the_same_actions() -> None:
    target = Locator(selectors=("css=#a",))
    actions = (Goto(url=HOME), Click(target=target), Hover(target=target), Fill(target=target, value="b"))
    for write in (write_playwright, write_recorder):
        file = parse_actions(write(session(), steps(*actions)).text.encode())
        assert (file.actions, file.skipped) == (actions, ())
        profile = sample_session(ALL).profile
        assert (file.profile.width_px, file.profile.height_px) == (profile.width_px, profile.height_px)


HOSTILE = (
    '"""\nimport os; os.system("x")\n"""',
    '"); os.system("x") #',
    '\\"); os.system("x") #',
    "back\\",
    "\ros.system(1)",
    "\u2028os.system(1)",
    "\x00\x1b[2J",
    "\u202e)1(metsys.so",
    "{body} %s \\N{DIGIT ONE} ${a}‹secret:x›",
)


@each("said", HOSTILE)
def test_text_of_a_page_or_of_a_title_never_becomes_code_and_can_be_seen(said: str) -> None:
    """Guard: node/sessions/exporting/playwright_locators.py, quoted."""
    aims = (
        Locator(role="button", name=said),
        Locator(role=said, name=said),
        Locator(role="button", name="Go", within=Within(role="row", text=said)),
        *(
            Locator(selectors=(f"{form}{said}",))
            for form in ("css=", "text=", "label=", "testid=", "aria/", "pierce/", "")
        ),
    )
    actions: list[Action] = [Goto(url=f"{HOME}{said}"), Assert(what="title", expected=said)]
    for aim in aims:
        actions += [Click(target=aim), Fill(target=aim, value=said), Fill(target=aim, value=Secret(secret="a\\"))]
        actions += [Extract(name=said, target=aim), Assert(what="attribute", attribute=said, target=aim, expected=said)]
        actions += [Assert(what="count", target=aim, expected=said)]
    text = write_playwright(session(title=said), steps(*actions, evidence=None)).text
    assert text.replace("\n", "").isprintable()
    called = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    assert not called & {"system", "metsys"}
    assert json.loads(write_recorder(session(title=said), steps(*actions, evidence=None)).text)["title"] == said


@each("url", ["file:///etc/passwd", "${a}", "javascript:alert(1)", "‹secret:a›"])
def test_a_test_opens_pages_of_the_web_only(url: str) -> None:
    """Guard: node/sessions/exporting/written.py, whole_address."""
    for write in (write_playwright, write_recorder):
        written = write(session(), steps(Goto(url=url)))
        assert [one.partition("address ")[2] for one in written.lost] == ["does not begin with http:// or https://"]


def expecting(expect: Expect) -> list[Step]:
    went, acted, came_back = steps(Goto(url=HOME), Click(target=CSS), Back())
    return [went, msgspec.structs.replace(acted, expect=expect), came_back]


def test_a_dialog_is_answered_in_the_test_as_in_the_session() -> None:
    answer = DialogAnswer(kind="prompt", text="New  name", accept=True, reply='a "b"')
    written = write_playwright(session(), expecting(Expect(dialog=answer)))
    ast.parse(written.text)
    assert not written.lost
    assert (
        '    page.once("dialog", lambda dialog: dialog.accept("a \\"b\\""))\n'
        '    with page.expect_event("dialog", lambda dialog: dialog.type == "prompt" and "New name" in '
        '" ".join(dialog.message.split())):\n'
        '        page.locator("css=#a").click()\n'
        "    page.go_back()\n"
    ) in written.text


def test_a_dialog_that_is_dismissed_has_to_come_too() -> None:
    written = write_playwright(session(), expecting(Expect(dialog=DialogAnswer(kind="confirm"))))
    assert "lambda dialog: dialog.dismiss())" in written.text
    assert 'with page.expect_event("dialog", lambda dialog: dialog.type == "confirm"):' in written.text


def test_a_new_tab_is_followed_and_has_no_history() -> None:
    written = write_playwright(session(), expecting(Expect(tab=True)))
    ast.parse(written.text)
    assert (
        "    with page.expect_popup() as opened:\n"
        '        page.locator("css=#a").click()\n'
        "    page = opened.value\n"
        "    # not done: step 3, go back: a new tab is a page of its own there"
    ) in written.text
    assert len(written.lost) == 1


def in_tabs(*moves: tuple[Action, int, bool]) -> list[Step]:
    """Steps with the tab that is in front after each, and whether it opened one."""
    actions = steps(*(action for action, _, _ in moves))
    return [
        msgspec.structs.replace(step, on_tab=tab, tab=opened)
        for step, (_, tab, opened) in zip(actions, moves, strict=True)
    ]


def test_tabs_are_pages_by_their_numbers_and_are_read_back() -> None:
    click = Click(target=CSS)
    done = in_tabs(
        (Goto(url=HOME), 1, False),
        (click, 2, True),
        (Back(), 2, False),
        (SwitchTab(tab=1), 1, False),
        (click, 3, True),
        (click, 1, False),
        (SwitchTab(tab=2), 2, False),
        (CloseTab(), 1, False),
        (click, 1, False),
    )
    written = write_playwright(session(), done)
    assert written.lost == ()
    clicks = 'page.locator("css=#a").click()'
    expected = f"""\
    page1 = page
    page.goto("{HOME}")
    with page.expect_popup() as opened:
        {clicks}
    page2 = opened.value
    page = page2
    page.go_back()
    page = page1
    page.bring_to_front()
    with page.expect_popup() as opened:
        {clicks}
    page3 = opened.value
    page = page3
    {clicks}
    page = page1
    page = page2
    page.bring_to_front()
    page.close()
    page = page1
    {clicks}
    context.close()"""
    assert expected in written.text
    read = parse_actions(written.text.replace(f"    {clicks}\n    page = page1\n", "", 1).encode())
    at = Click(target=Locator(selectors=("css=#a",)))
    assert list(read.actions) == [
        Goto(url=HOME),
        at,
        Back(),
        SwitchTab(tab=1),
        at,
        SwitchTab(tab=2),
        CloseTab(),
        SwitchTab(tab=1),
        at,
    ]


def test_chrome_finds_a_tab_by_the_address_that_it_was_left_at() -> None:
    click, two = Click(target=CSS), "http://a.example/two"
    done = in_tabs(
        (Goto(url=HOME), 1, False),
        (click, 2, True),
        (Wait(address=two), 2, False),
        (click, 2, False),
        (SwitchTab(tab=1), 1, False),
        (click, 1, False),
        (SwitchTab(tab=2), 2, False),
        (CloseTab(), 1, False),
    )
    done = [msgspec.structs.replace(step, url=two if step.on_tab == 2 else HOME) for step in done]
    written = write_recorder(session(), done)
    assert written.lost == ()
    told = [(step["type"], step["target"]) for step in json.loads(written.text)["steps"][1:]]
    assert told == [
        ("navigate", "main"),
        ("click", "main"),
        ("click", two),
        ("click", "main"),
        ("close", two),
    ]
    read = parse_actions(written.text.encode()).actions
    assert [type(action) for action in read] == [
        Goto,
        Click,
        SwitchTab,
        Wait,
        Click,
        SwitchTab,
        Click,
        SwitchTab,
        CloseTab,
    ]
    redacted = [msgspec.structs.replace(step, url=f"{two}?token=REDACTED") for step in done]
    assert len(write_recorder(session(), redacted).lost) == 3


def test_what_is_done_in_a_tab_whose_opening_cannot_be_said_is_not_said_either() -> None:
    framed = Click(target=Locator(role="button", name="Go", frame="f1"))
    done = in_tabs((Goto(url=HOME), 1, False), (framed, 2, True), (Click(target=CSS), 2, False))
    written = write_playwright(session(), done)
    assert len(written.lost) == 2
    assert "the step that opened tab 2 cannot be said" in written.lost[1]
    assert ".click()" not in written.text


@each(
    ("expect", "reason"),
    [
        (Expect(dialog=DialogAnswer(kind="alert")), "no step that answers a dialog"),
        (Expect(tab=True), "the page that opened the tab"),
    ],
)
def test_a_dialog_and_a_new_tab_are_nothing_that_chrome_plays(expect: Expect, reason: str) -> None:
    written = write_recorder(session(), expecting(expect)[:2])
    (lost,) = written.lost
    assert reason in lost
    assert json.loads(written.text)["steps"][-1]["type"] == "customStep"


def test_what_cannot_be_seen_is_written_as_an_escape() -> None:
    (line,), _ = playwright(Click(target=Locator(role="button", name="\uf1f8 \U000f0001\u2028\x7f😀")))
    assert 'name="\\uf1f8 \\U000f0001\\u2028\\x7f😀"' in line


def test_a_text_that_was_matched_as_a_whole_is_written_so_and_a_list_by_its_values() -> None:
    whole = ElementEvidence(
        role="button", name="Go", fits=(Fit(what="within", grade="whole"), Fit(what="row", grade="whole"))
    )
    inner = Locator(role="button", name="Go", within=Within(role="row", text="Beer"))
    click, cell = playwright(
        Click(target=inner), Assert(what="cell", expected="1", row="Beer", column="Price"), evidence=whole
    )[0]
    row = 'page.get_by_role("row").filter(has=page.get_by_text("Beer", exact=True))'
    assert click == f'{row}.get_by_role("button", name="Go", exact=True).click()'
    assert "contains(" not in cell
    listbox = ElementEvidence(role="listbox", name="Go")
    sent = Assert(what="sent", items=("a", "b"), target=CSS)
    value = Assert(what="value", expected="A", target=CSS)
    lines, written = playwright(Extract(name="x", target=CSS), sent, value, evidence=listbox)
    assert any("selectedOptions" in line for line in lines)
    assert 'expect(page.locator("css=#a")).to_have_values(["a", "b"], timeout=5000)' in lines
    assert len(written.lost) == 1, "a label is no value"
    one = Assert(what="sent", expected="a", target=CSS)
    assert [step["properties"] for step in recorder(one, evidence=listbox)[0]] == [{"value": "a"}]
