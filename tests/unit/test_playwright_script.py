"""Every statement that ``playwright codegen`` emits for Python: done as it says, or refused with its line."""

from __future__ import annotations

import pytest

from node.sessions.actions.action_files import ActionFile, parse_actions
from node.sessions.actions.formats import reader_of
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Fill,
    Forward,
    Goto,
    Hover,
    Locator,
    Press,
    Reload,
    Secret,
    Select,
    SwitchTab,
    Upload,
    Wait,
)
from protocol.recording.records.session import Expect, Profile
from tests.tables import each

HOME = "http://a.example/"
OPEN = Goto(url=HOME)
PLAIN = """\
import re
from playwright.sync_api import Playwright, sync_playwright, expect


def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False, channel="chrome")
    context = browser.new_context(color_scheme="dark",locale="de-DE", timezone_id="Asia/Tokyo", viewport={"width":800,"height":600})
    page = context.new_page()
    page.goto("http://a.example/")
    page.get_by_role("link", name="Mugs").click()

    # ---------------------
    context.close()
    browser.close()


with sync_playwright() as playwright:
    run(playwright)
"""
ASYNC = """\
import asyncio
import re
from playwright.async_api import Playwright, async_playwright, expect


async def run(playwright: Playwright) -> None:
    browser = await playwright.chromium.launch(headless=False)
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto("http://a.example/")
    await page.get_by_role("link", name="Mugs").click()
    await expect(page.get_by_role("main")).to_be_visible()
    await page.close()

    # ---------------------
    await context.close()
    await browser.close()


async def main() -> None:
    async with async_playwright() as playwright:
        await run(playwright)


asyncio.run(main())
"""
PYTEST = """\
import pytest
import re
from playwright.sync_api import Page, expect


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args, playwright):
    return {"viewport": {"width":800,"height":600}}


def test_buy_a_mug(page: Page) -> None:
    page.goto("http://a.example/")
    page.get_by_role("link", name="Mugs").click()
"""
MUGS = Click(target=Locator(selectors=('role=link[name*="Mugs" i]',)))


def script(*statements: str) -> str:
    body = "\n".join(f"    {line}" for statement in statements for line in statement.split("\n"))
    head = "from playwright.sync_api import Page, expect\n\ndef test_example(page: Page) -> None:"
    return f'{head}\n    page.goto("{HOME}")\n{body}\n'


def read(*statements: str, lenient: bool = False) -> ActionFile:
    return parse_actions(script(*statements).encode(), "codegen", lenient=lenient)


def refusal(text: str) -> MeshError:
    with pytest.raises(MeshError) as caught:
        parse_actions(text.encode())
    return caught.value


def way(chain: str) -> str:
    """The selector that a chain of calls becomes."""
    (action,) = read(f"page.{chain}.click()").actions[1:]
    assert isinstance(action, Click)
    (selector,) = action.target.selectors
    return selector


@pytest.mark.parametrize(
    ("text", "title", "more"),
    [
        (PLAIN, "", []),
        (ASYNC, "", [Assert(what="visible", target=Locator(selectors=("role=main",)))]),
        (PYTEST, "buy a mug", []),
    ],
    ids=["library", "async", "pytest"],
)
def test_the_three_forms_of_a_script_are_read(text: str, title: str, more: list[Action]) -> None:
    file = parse_actions(text.encode(), "codegen")
    assert (file.title, file.start_url) == (title or "codegen", HOME)
    assert file.actions == (OPEN, MUGS, *more)
    if text is PLAIN:
        assert file.profile == Profile(
            width_px=800, height_px=600, locale="de-DE", timezone="Asia/Tokyo", color_scheme="dark"
        )
    else:
        assert file.profile == (
            Profile(width_px=1280, height_px=720) if text is ASYNC else Profile(width_px=800, height_px=600)
        )


@each(
    ("chain", "selector"),
    [
        ('get_by_role("button", name="Go")', 'role=button[name*="Go" i]'),
        ('get_by_role("button", name="Go", exact=True)', 'role=button[name="Go" s]'),
        ('get_by_role("button", name=re.compile(r"^Go/\\d+", re.IGNORECASE))', r"role=button[name=/^Go\/\d+/i]"),
        ('get_by_role("heading", name="A \\"b\\"", level=2)', r'role=heading[name*="A \"b\"" i][level=2]'),
        (
            'get_by_role("checkbox", checked=True, include_hidden=False)',
            "role=checkbox[checked=true][include-hidden=false]",
        ),
        ('get_by_text("In stock")', "text=In stock"),
        ('get_by_text("In stock", exact=True)', 'text="In stock"'),
        ('get_by_text("a >> b")', 'internal:text="a >> b"i'),
        ('get_by_text(re.compile(r"stock$"))', "text=/stock$/"),
        ('get_by_label("Town")', "label=Town"),
        ('get_by_label("Town", exact=True)', 'label="Town"'),
        ('get_by_placeholder("Town")', "placeholder=Town"),
        ('get_by_title("Town", exact=True)', 'title="Town"'),
        ('get_by_alt_text("Town")', "alt=Town"),
        ('get_by_test_id("town")', "testid=town"),
        ('locator("#a > b")', "css=#a > b"),
        ('locator("css=#a")', "css=#a"),
        ('locator("//a[1]")', "xpath=//a[1]"),
        ('locator("#a >> internal:control=enter-frame >> a")', "css=#a >> internal:control=enter-frame >> a"),
        ('locator("xpath=//a")', "xpath=//a"),
        ('locator("li", has_text="Beer")', 'css=li >> internal:has-text="Beer"i'),
        ('get_by_label("Town").first', 'internal:label="Town"i >> nth=0'),
        (
            'get_by_test_id("row").nth(2).get_by_placeholder("Town")',
            'internal:testid=[data-testid="row"s] >> nth=2 >> internal:attr=[placeholder="Town"i]',
        ),
        (
            'get_by_role("row").filter(has_text="Beer").get_by_role("button").last',
            'role=row >> internal:has-text="Beer"i >> role=button >> nth=-1',
        ),
        (
            'get_by_role("row").filter(has=page.get_by_text("Beer")).locator("a")',
            'role=row >> internal:has="text=Beer" >> css=a',
        ),
        (
            'locator("li").filter(has_not_text=re.compile(r"Beer")).filter(visible=True).nth(-1)',
            "css=li >> internal:has-not-text=/Beer/ >> visible=true >> nth=-1",
        ),
        ('locator("li").locator(page.get_by_text("Beer"))', 'css=li >> internal:chain="text=Beer"'),
        (
            'locator("iframe[name=a]").content_frame.get_by_role("link")',
            "css=iframe[name=a] >> internal:control=enter-frame >> role=link",
        ),
        (
            'frame_locator("#a").nth(1).frame_locator("#b").get_by_text("c")',
            "css=#a >> nth=1 >> internal:control=enter-frame >> css=#b >> internal:control=enter-frame >> text=c",
        ),
    ],
)
def test_a_chain_of_locators_becomes_one_selector(chain: str, selector: str) -> None:
    found = way(chain)
    assert found == selector if not selector.startswith("internal:") else found == f"css=:root >> {selector}"


AT = Locator(selectors=("css=#a",))


@each(
    ("statement", "actions"),
    [
        ('page.locator("#a").click()', [Click(target=AT)]),
        ('page.locator("#a").click(button="right")', [Click(target=AT, button="right")]),
        ('page.locator("#a").dblclick()', [Click(target=AT, count=2)]),
        ('page.locator("#a").click(click_count=2)', [Click(target=AT, count=2)]),
        ('page.locator("#a").hover()', [Hover(target=AT)]),
        ('page.locator("#a").fill("Ann")', [Fill(target=AT, value="Ann")]),
        ('page.locator("#a").fill(os.environ["door"])', [Fill(target=AT, value=Secret(secret="door"))]),
        ('page.locator("#a").press_sequentially("Ann")', [Fill(target=AT, value="Ann", typed=True)]),
        ('page.locator("#a").clear()', [Fill(target=AT, value="")]),
        ('page.locator("#a").press("ControlOrMeta+a")', [Press(key="ControlOrMeta+a", target=AT)]),
        ('page.locator("#a").check()', [Check(target=AT)]),
        ('page.locator("#a").uncheck()', [Check(target=AT, checked=False)]),
        ('page.locator("#a").select_option("b")', [Fill(target=AT, value="b")]),
        ('page.locator("#a").select_option(["b"])', [Fill(target=AT, value="b")]),
        ('page.locator("#a").select_option(label="B")', [Select(target=AT, option="B")]),
        ('page.locator("#a").select_option(["b", "c"])', [Select(target=AT, option="b", also=("c",))]),
        ('page.locator("#a").set_input_files("a.pdf")', [Upload(target=AT, files=("a.pdf",))]),
        ('page.locator("#a").set_input_files(["a.pdf", "b/c.txt"])', [Upload(target=AT, files=("a.pdf", "b/c.txt"))]),
        (
            'page.locator("#a").drag_to(page.locator("#b").first)',
            [Drag(target=AT, onto=Locator(selectors=("css=#b >> nth=0",)))],
        ),
        (
            'with page.expect_download() as download_info:\n    page.locator("#a").click()\ndownload = download_info.value',
            [Click(target=AT), Assert(what="download", match="contains")],
        ),
        ("page.go_back()\npage.go_forward()\npage.reload()", [Back(), Forward(), Reload()]),
        ('page.once("dialog", lambda dialog: dialog.dismiss())\npage.locator("#a").click()', [Click(target=AT)]),
        ('expect(page.locator("#a")).to_be_visible()', [Assert(what="visible", target=AT)]),
        ('expect(page.locator("#a")).to_be_hidden()', [Assert(what="hidden", target=AT)]),
        (
            'expect(page.locator("#a")).to_contain_text("b")',
            [Assert(what="text", expected="b", match="contains", target=AT)],
        ),
        ('expect(page.locator("#a")).to_have_text("b")', [Assert(what="text", expected="b", target=AT)]),
        ('expect(page.locator("#a")).to_have_value("b")', [Assert(what="sent", expected="b", target=AT)]),
        ('expect(page.locator("#a")).to_be_empty()', [Assert(what="text", target=AT)]),
        ('expect(page.locator("#a")).to_have_values(["b", "c"])', [Assert(what="sent", items=("b", "c"), target=AT)]),
        ('expect(page.locator("#a")).to_be_checked()', [Assert(what="checked", target=AT)]),
        ('expect(page.locator("#a")).not_to_be_checked()', [Assert(what="unchecked", target=AT)]),
        ('expect(page.locator("#a")).to_be_enabled(timeout=9)', [Assert(what="enabled", target=AT, timeout_ms=9)]),
        ('expect(page.locator("#a")).to_have_count(3)', [Assert(what="count", expected="3", target=AT)]),
        (
            'expect(page.locator("#a")).to_have_attribute("href", "/b")',
            [Assert(what="attribute", attribute="href", expected="/b", target=AT)],
        ),
        ('expect(page).to_have_title("T")', [Assert(what="title", expected="T")]),
        ('expect(page).to_have_url("http://a.example/b")', [Assert(what="address", expected="http://a.example/b")]),
        ("page.close()", []),
        ('"""What it is for."""\npass', []),
    ],
)
def test_what_a_statement_says_is_what_is_done(statement: str, actions: list[Action]) -> None:
    assert list(read(statement).actions) == [OPEN, *actions]


@each(
    ("statement", "words"),
    [
        ('page.locator("#a").click(modifiers=["Shift"])', "`modifiers` of `click` is not supported: clicks with a key"),
        ('page.locator("#a").click(position={"x":1,"y":2})', "clicked in the middle"),
        ('page.locator("#a").click(click_count=3)', "more than two clicks"),
        ('page.locator("#a").click(button="middle")', "only the left and the right button"),
        ('page.locator("#a").fill(f"{name}")', "only texts that are written out"),
        ('page.locator("#a").fill(password)', "only texts that are written out"),
        ('page.locator("#a").select_option([])', "taking back every choice"),
        ('page.locator("#a").set_input_files([])', "taking the files back"),
        ('page.locator("#a").drag_to(page.locator("#b"), source_position={"x": 1})', "`source_position` of `drag_to`"),
        ('page.locator("iframe").content_frame.click()', "a frame is no element"),
        ('page.frame_locator("iframe").first.click()', "a frame is no element"),
        ('page.locator("#a").tap()', "`tap` is not supported; supported: click, dblclick"),
        ('page.locator("iframe >> internal:control=enter-frame").click()', "a frame is no element"),
        ('page.get_by_text("a").or_(page.get_by_text("b")).click()', "`or_` is not known here"),
        ('page.get_by_role("link", description="a").click()', "`description` of `get_by_role`"),
        ('page.get_by_text(re.compile(r"a", re.VERBOSE)).click()', "the flag VERBOSE"),
        ('page.once("dialog", lambda dialog: dialog.accept())', "only a dialog that is dismissed"),
        ("page.evaluate('1')", "`page.evaluate` is not supported"),
        ('page1.locator("#a").click()', "`page1` is no page of the script"),
        ("with page.expect_download() as download_info:\n    pass", "nothing is done in this block"),
        ("with page.expect_file_chooser() as info:\n    pass", "say `set_input_files`"),
        ("with page.expect_popup(predicate=x) as page1_info:\n    pass", "only calls on the page"),
        ("page1 = page1_info.value", "nothing that was waited for"),
        (
            'expect(page.locator("#a")).to_match_aria_snapshot("- link")',
            "`to_match_aria_snapshot` is not supported: assert its",
        ),
        ('expect(page.locator("#a")).to_have_text(re.compile(r"a"))', "a regular expression cannot be asserted"),
        ('expect(page).to_have_url(re.compile(r"a"))', "a regular expression cannot be asserted"),
        ('expect(page.locator("#a")).to_be_visible(timeout=soon)', "a time limit is a number of milliseconds"),
        ("for each in names():\n    page.reload()", "a loop is unrolled only over values that are written out"),
        ("if page:\n    page.reload()", "without conditions"),
        ('page.wait_for_url("**/a*b")', "by a part of it"),
        ("for each in range(2_000):\n    page.screenshot()", "unrolled 1000 times at most"),
        ("page.close()\npage.reload()", "the page is closed"),
        ("context = browser.new_context(storage_state='a.json')", "`trailmesh capsule capture --from FILE`"),
        ("context.clear_cookies()", "`context.clear_cookies` is not supported"),
        ("context = browser.new_context(user_agent='x')", "`user_agent` of a context"),
        ("context = browser.new_context(**playwright.devices['iPhone 13'])", "values that are computed"),
        ("context = browser.new_context(viewport={'width': 1, 'height': 1})", "viewport"),
        ("browser = playwright.chromium.launch(proxy={'server': 'x'})", "`proxy` is not supported"),
        ("page = context.new_page()\npage2 = context.new_page()", "a second page that no page has opened"),
        ("print('done')", "only calls on a page"),
        ("page", "only calls on the page"),
        ("page.reload", "only calls on the page"),
        ("page.get_by_text.first.click()", "`get_by_text` is a call"),
        ('page.locator("#a").first().click()', "`first` is no call"),
        (".".join(["page", *["first"] * 40, "click()"]), "more than 32 calls"),
        (f'page.locator("#a").fill("{"x" * 5_000}")', "4,096 characters"),
    ],
)
def test_what_has_no_action_is_refused_with_its_line(statement: str, words: str) -> None:
    """Guard: node/sessions/importing/playwright_locators.py, text_value."""
    error = refusal(script(statement))
    assert error.code == "input.invalid"
    line = 5 + (statement.count("\n") if "page.close()" in statement or "page2" in statement else 0)
    assert (error.detail["line"], error.message.partition(":")[0]) == (line, f"line {line}")
    assert words in error.message


@each(
    ("text", "words"),
    [
        ("from playwright.sync_api import Page\ndef test_a(page):\n  page.goto(", "line 3: not Python"),
        ("from playwright.sync_api import Page\nx = 1\n", "one function `run`, or one test"),
        (
            "from playwright.sync_api import Page\ndef test_a(page): pass\ndef test_b(page): pass\n",
            "line 3: a script has one",
        ),
        ("from playwright.sync_api import Page\ndef test_a(page): pass\n", "must open an address"),
        ("import playwright\nx = '\0'", "not Python"),
        ("import playwright\nx = " + "(" * 5_000, "line 2: not Python"),
        ("import playwright\ndef run(p):\n    " + "-" * 20_000 + "1", "cannot be parsed"),
    ],
)
def test_what_is_no_flow_is_refused_as_a_whole(text: str, words: str) -> None:
    error = refusal(text)
    assert error.code == "input.invalid"
    assert words in error.message


def test_a_script_is_read_up_to_its_limit() -> None:
    rest = "# " + "a" * (limits.SCRIPT_BYTES_MAX - len(script()) - 2)
    assert parse_actions((script() + rest).encode()).actions == (OPEN,)
    assert refusal(script() + rest + "a").code == "input.too_large"


def test_nothing_of_a_script_is_executed(capsys: pytest.CaptureFixture[str]) -> None:
    text = "from playwright.sync_api import Page\nprint('run')\ndef test_a(page=print('run')):\n    page.goto('http://a.example/')\n"
    assert parse_actions(text.encode()).actions == (OPEN,)
    assert capsys.readouterr().out == ""


def test_a_lenient_reader_leaves_statements_out_and_tells_none_of_their_values() -> None:
    file = read(
        'page.get_by_label("Password").fill("hunter2", force=True)',
        'with page.expect_popup() as page1_info:\n    page.get_by_role("link").click()\n    page.evaluate("1")',
        "page1 = page1_info.value",
        'page1.get_by_label("Password").fill("hunter2")',
        "page.reload()",
        "with page.expect_download(): pass",
        lenient=True,
    )
    assert file.actions == (OPEN, Reload())
    assert [(one.place, one.what, one.before) for one in file.skipped] == [
        ("line 5", "fill", 2),
        ("line 6", "with", 2),
        ("line 9", "assign", 2),
        ("line 10", "fill", 2),
        ("line 12", "with", 3),
    ]
    assert "hunter2" not in str(file.skipped)


def test_a_script_is_told_from_an_action_file_by_its_imports() -> None:
    assert reader_of(PLAIN) is reader_of(ASYNC) is reader_of(PYTEST) is not None
    assert reader_of("start: http://a.example/\nsteps:\n  - click: {role: link, name: import playwright}\n") is None


def test_names_loops_and_f_strings_stand_for_what_is_written_out() -> None:
    file = read(
        'rows = ["Beer", "Wine"]',
        'for number, name in enumerate(rows):\n    page.get_by_label(f"Take {name}").fill(f"{number + 1:03}")',
        'for a, b in {"a": "b"}.items():\n    for n in range(1, 3):\n        page.locator("#" + a + b + str(n)).click()',
        'secret = os.environ["door"]',
        'field = page.get_by_label("Word")',
        "field.fill(secret)",
        'field.press("Enter")',
        "page.get_by_text(rows[-1]).click()",
    )
    word = Locator(selectors=("label=Word",))
    assert list(file.actions) == [
        OPEN,
        Fill(target=Locator(selectors=("label=Take Beer",)), value="001"),
        Fill(target=Locator(selectors=("label=Take Wine",)), value="002"),
        Click(target=Locator(selectors=("css=#ab1",))),
        Click(target=Locator(selectors=("css=#ab2",))),
        Fill(target=word, value=Secret(secret="door")),
        Press(target=word, key="Enter"),
        Click(target=Locator(selectors=("text=Wine",))),
    ]


def test_time_limits_and_waits_are_performed_where_they_mean_something() -> None:
    file = read(
        "page.set_default_timeout(9_000)",
        'page.goto("http://a.example/b", timeout=60000, wait_until="networkidle")',
        'page.locator("#a").click(timeout=0, delay=20)',
        'page.locator("#a").hover()',
        'page.wait_for_load_state("networkidle")',
        "page.wait_for_timeout(1000)",
        'page.wait_for_url("**/b", timeout=300_000)',
        'page.wait_for_selector("#a", state="detached")',
        'page.locator("#a").wait_for(timeout=2_500)',
        'page.screenshot(path="x.png")',
        'context.storage_state(path="auth.json")',
        "context.tracing.start(snapshots=True)",
    )
    longest = limits.ACTION_TIMEOUT_MS_MAX
    assert list(file.actions) == [
        OPEN,
        Goto(url="http://a.example/b", timeout_ms=60_000),
        Click(target=AT, timeout_ms=longest),
        Hover(target=AT, timeout_ms=9_000),
        Wait(timeout_ms=9_000),
        Wait(timeout_ms=9_000),
        Wait(address="/b", timeout_ms=longest),
        Wait(target=AT, state="hidden", timeout_ms=9_000),
        Wait(target=AT, timeout_ms=2_500),
    ]
    assert [note.partition(": ")[2] for note in file.notes][:1] == ["line 10"]
    assert "capsule capture" in file.notes[1] and file.notes[1].endswith("line 15")


def test_all_that_cannot_be_performed_is_told_at_once_with_its_line() -> None:
    statements = (
        "page.evaluate('1')",
        'page.locator("#a").tap()',
        "page.reload()",
        'page.locator("#a").click(force=True)',
    )
    error = refusal(script(*statements))
    assert [part.partition(":")[0] for part in error.message.split("; line ")] == ["line 5", "6", "8"]
    assert (error.detail["line"], error.detail["count"]) == (5, 3)
    many = refusal(script(*["page.evaluate('1')"] * 100))
    assert (many.detail["count"], many.message.endswith("…")) == (limits.REFUSALS_TOLD_MAX, True)


def test_a_first_step_that_was_left_out_is_named() -> None:
    text = "from playwright.sync_api import Page\ndef test_a(page):\n    page.goto(somewhere())\n    page.reload()\n"
    with pytest.raises(MeshError, match=r"must open an address .*; line 3 \(goto\) was left out: only texts"):
        parse_actions(text.encode(), lenient=True)


def test_a_script_whose_names_stand_for_too_much_is_refused_soon() -> None:
    grows = ["a = ['x', 'x']", *["a = [a, a, a, a]"] * 30]
    assert refusal(script(*grows)).code == "input.too_large"


def test_half_a_character_in_a_script_is_refused_with_its_line() -> None:
    text = """from playwright.sync_api import Playwright
def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch()
    page = browser.new_page()
    page.goto("http://a.test/")
    page.get_by_text("\\ud800").click()
"""
    with pytest.raises(MeshError, match="line 6"):
        parse_actions(text.encode())


def test_pages_that_a_script_opens_are_tabs_by_their_names() -> None:
    file = read(
        'with page.expect_popup() as page1_info:\n    page.locator("#a").click()',
        "page1 = page1_info.value",
        'page1.locator("#a").click()',
        'with page1.expect_popup() as page2_info:\n    page1.locator("#a").click()',
        "page2 = page2_info.value",
        'expect(page.locator("#a")).to_be_visible()',
        'page2.locator("#a").click()',
        "page2.close()",
        'page.locator("#a").click()',
        "page1.close()",
        'page.locator("#a").click()',
    )
    click, seen = Click(target=AT), Assert(what="visible", target=AT)
    assert list(file.actions) == [
        OPEN,
        click,
        click,
        click,
        SwitchTab(tab=1),
        seen,
        SwitchTab(tab=3),
        click,
        CloseTab(),
        click,
        SwitchTab(tab=2),
        CloseTab(),
        click,
    ]
    assert file.expects == {2: Expect(tab=True), 4: Expect(tab=True)}
    closed = "with page.expect_popup() as i:\n    page.reload()\npage1 = i.value\npage1.close()\npage1.reload()"
    assert "the page is closed" in refusal(script(closed)).message
