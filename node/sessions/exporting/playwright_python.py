"""Writes a session as a test for Playwright in Python, which runs by itself and under pytest.

The test performs the steps that a replay performs, and asserts what the session asserts. It does not compare the text of pages,
and no network guard protects it; docs/playwright.md tells this to its readers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from node.sessions.exporting.cells import cell_xpath
from node.sessions.exporting.playwright_locators import dialog_lines, locator, quoted
from node.sessions.exporting.tabs import TabLines
from node.sessions.exporting.written import Unsaid, Written, not_replayed, one_line, whole_address
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    Drag,
    Emulate,
    Evaluate,
    Extract,
    Fill,
    Focus,
    Forward,
    Goto,
    Hover,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    Wait,
    describe,
    target_of,
)
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.actions.fits import MatchDemands
from protocol.recording.records.session import Expect, Profile, Session, Step

_PART: Final = re.compile(r"‹secret:([A-Za-z0-9_.-]{1,64})›|\$\{([^{}]{1,64})\}")
_FIELDS: Final = frozenset({"textbox", "searchbox", "spinbutton"})
_LISTS: Final = frozenset({"combobox", "listbox"})
_CHOSEN: Final = (
    "e => e.selectedOptions ? [...e.selectedOptions].map(o => o.label).join('\\n') : e.value ?? e.innerText"
)
_FORM: Final = '''\
"""{title}

Written by trailmesh from the session {id}.

    python FILE            or            pytest FILE

CHROMIUM_PATH names another Chromium than Playwright's own, CHROMIUM_ARGS gives it more arguments.{secrets}
"""

import os
import re
from urllib.parse import quote

from playwright.sync_api import Playwright, expect, sync_playwright


def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(
        executable_path=os.environ.get("CHROMIUM_PATH"), args=os.environ.get("CHROMIUM_ARGS", "").split()
    )
    context = browser.new_context({profile})
    page = context.new_page()
{values}{body}
    context.close()
    browser.close()


def test_{name}() -> None:
    with sync_playwright() as playwright:
        run(playwright)


if __name__ == "__main__":
    with sync_playwright() as playwright:
        run(playwright)
'''


def write_playwright(session: Session, steps: Sequence[Step]) -> Written:
    """The text of the test. Steps that Playwright cannot express become comments in it."""
    writer = _Writer()
    for step in steps:
        writer.add(step)
    first = ["page1 = page"] if any(step.on_tab > 1 for step in steps) else []
    lost = [*writer.lost, *not_replayed(session, steps)]
    body = "\n".join(
        f"    {line}"
        for line in [*first, *writer.lines, *(f"# not done: {one_line(one)}" for one in not_replayed(session, steps))]
    )
    words = re.sub(r"[^a-z0-9]+", "_", session.title.lower()).strip("_")[:60]
    needed = ", ".join(sorted(writer.secrets))
    text = _FORM.format(
        title=_documented(session.title or "A recorded session"),
        id=session.id,
        secrets=f"\nIt needs the variables {needed}." if needed else "",
        profile=_profile(session.profile),
        values="    values: dict[str, str] = {}\n" if writer.extracted else "",
        body=body,
        name=words or "session",
    )
    return Written(text=_without_unused(text), lost=tuple(lost))


def _documented(text: str) -> str:
    return one_line(text).replace("\\", "/").replace('"""', "'''").rstrip('"')


def _without_unused(text: str) -> str:
    """``text`` without the imports that it does not use."""
    if "re.compile(" not in text:
        text = text.replace("import re\n", "", 1)
    if "quote(os." not in text:
        text = text.replace("from urllib.parse import quote\n", "", 1)
    return text if "expect(" in text else text.replace("Playwright, expect, sync", "Playwright, sync", 1)


_MOBILE: Final = ", is_mobile=True, has_touch=True"


def _profile(profile: Profile) -> str:
    motion = "reduce" if profile.reduced_motion else "no-preference"
    return (
        f'viewport={{"width": {profile.width_px}, "height": {profile.height_px}}}, locale={quoted(profile.locale)}, '
        f"timezone_id={quoted(profile.timezone)}, color_scheme={quoted(profile.color_scheme)}, "
        f"reduced_motion={quoted(motion)}{_MOBILE if profile.mobile else ''}"
    )


def variable(secret: str) -> str:
    """The environment variable that holds a secret."""
    return re.sub(r"[^A-Za-z0-9_]", "_", secret)


class _Writer:
    """Collects the lines of the test."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.lost: list[str] = []
        self.extracted: set[str] = set()
        self.secrets: set[str] = set()
        self._in_tab = False
        self._tabs = TabLines()

    def add(self, step: Step) -> None:
        """Add the statement of one step, or a comment in its place."""
        if not step.ok:
            return
        try:
            if self._in_tab and isinstance(step.action, Back | Forward):
                raise Unsaid("a new tab is a page of its own there, without the history of the other one")
            lines = self._tabs.statement(step)
            if lines is None:
                made = self._statement(step.action, step.evidence, step.evidence_onto)
                lines = self._answered(step.expect, self._tabs.around(step, [made]), followed=not step.on_tab)
        except Unsaid as error:
            self._tabs.lost(step)
            said = f"step {step.index}, {describe(step.action)}: {error}"
            self.lost.append(said)
            self.lines.append(f"# not done: {one_line(said)}")
            return
        if isinstance(step.action, Extract):
            self.lines.append(f"# {_comparison(step.action)}")
        self.lines += lines

    def _answered(self, expect: Expect | None, lines: list[str], *, followed: bool) -> list[str]:
        """``lines`` inside a block that answers the dialog they should cause. followed: the recorder opened new tabs in the page
        itself.
        """
        if expect is not None and expect.tab and followed:
            self._in_tab = True
            opened = (f"    {line}" for line in lines)
            lines = ["with page.expect_popup() as opened:", *opened, "page = opened.value"]
        if expect is not None and expect.dialog is not None:
            handler, waited = dialog_lines(expect.dialog)
            lines = [handler, waited, *(f"    {line}" for line in lines)]
        return lines

    def _statement(self, action: Action, evidence: ElementEvidence | None, onto: ElementEvidence | None = None) -> str:
        match action:
            case Goto(url=url):
                return f"page.goto({self._text(whole_address(url), address=True)}{_limit(action)})"
            case Back():
                return f"page.go_back({_limit(action, first=True)})"
            case Forward():
                return f"page.go_forward({_limit(action, first=True)})"
            case Reload():
                return f"page.reload({_limit(action, first=True)})"
            case Scroll(direction=direction, amount_px=amount):
                return f'page.evaluate("window.scrollBy(0, {amount if direction == "down" else -amount})")'
            case Press(key=key, target=None):
                return f"page.keyboard.press({quoted(key)})"
            case Wait():
                return self._wait(action, evidence)
            case Assert():
                return self._assertion(action, evidence)
            case Drag(target=target, onto=end):
                return f"{locator(target, evidence)}.drag_to({locator(end, onto)}{_limit(action)})"
            case Emulate(width_px=width, height_px=height) if (
                width and height and action == Emulate(width_px=width, height_px=height)
            ):
                return f'page.set_viewport_size({{"width": {width}, "height": {height}}})'
            case Emulate():
                raise Unsaid("there a context is made with it")
            case Evaluate():
                raise Unsaid("a script of Playwright runs among those of the page")
            case Extract():
                return self._extract(action, evidence)
            case _:
                return self._on_element(action, evidence)

    def _on_element(self, action: Action, evidence: ElementEvidence | None) -> str:
        verb, given = self._done(action)
        target = target_of(action)
        assert target is not None, "each of those has one"
        return f"{locator(target, evidence)}.{verb}({given}{_limit(action, first=not given)})"

    def _done(self, action: Action) -> tuple[str, str]:
        """The locator method that performs ``action``, and its arguments."""
        match action:
            case Click(button=button, count=count):
                return "dblclick" if count == 2 else "click", 'button="right"' if button == "right" else ""
            case Hover():
                return "hover", ""
            case Focus():
                return "focus", ""
            case ScrollTo():
                return "scroll_into_view_if_needed", ""
            case Fill(value=Secret(secret=name)):
                return "fill", self._secret(name)
            case Fill(value=str(value), typed=typed):
                return "press_sequentially" if typed else "fill", self._text(value)
            case Select(option=option, also=also):
                labels = ", ".join(map(self._text, (option, *also)))
                return "select_option", f"label={f'[{labels}]' if also else labels}"
            case Check(checked=checked):
                return "check" if checked else "uncheck", ""
            case Press(key=key):
                return "press", quoted(key)
            case _:
                raise Unsaid("there is no statement for it")

    def _wait(self, wait: Wait, evidence: ElementEvidence | None) -> str:
        timeout = f"timeout={wait.timeout_ms}"
        if wait.target is not None:
            return f"expect({locator(wait.target, evidence)}).to_be_{wait.state}({timeout})"
        if wait.address:
            return f"expect(page).to_have_url({_contains(self._text(wait.address))}, {timeout})"
        if wait.text:
            shown = f"page.get_by_text({self._text(wait.text)}).filter(visible=True).first"
            return f"expect({shown}).to_be_visible({timeout})"
        return "page.wait_for_load_state()"

    def _extract(self, extract: Extract, evidence: ElementEvidence | None) -> str:
        self.extracted.add(extract.name)
        kept = f"values[{quoted(extract.name)}]"
        limit = _limit(extract, first=True)
        if extract.target is None:
            return f'{kept} = page.locator("body").inner_text({limit})'
        role = evidence.role if evidence is not None else ""
        if role in _LISTS:
            return f"{kept} = {locator(extract.target, evidence)}.evaluate({quoted(_CHOSEN)}, {limit})"
        return f"{kept} = {locator(extract.target, evidence)}.{'input_value' if role in _FIELDS else 'inner_text'}({limit})"

    def _assertion(self, held: Assert, evidence: ElementEvidence | None) -> str:
        subject = locator(held.target, evidence) if held.target is not None else "page"
        role = (evidence.role if evidence else "") or (held.target.role if held.target else "")
        timeout, expected = f"timeout={held.timeout_ms}", self._text(held.expected)
        value = _contains(expected) if held.match == "contains" else expected
        match held.what:
            case "address":
                return f"expect(page).to_have_url({value}, {timeout})"
            case "title":
                return f"expect(page).to_have_title({value}, {timeout})"
            case "text":
                on = subject if held.target is not None else 'page.locator("body")'
                verb = "to_contain_text" if held.match == "contains" else "to_have_text"
                return f"expect({on}).{verb}({expected}, use_inner_text=True, {timeout})"
            case "cell":
                if "‹secret:" in held.row + held.column:
                    raise Unsaid("its row or column has a secret in it")
                whole = evidence is not None and MatchDemands(evidence.fits).grade("row") == "whole"
                cell = f"{subject}.locator({quoted(cell_xpath(held.row, held.column, whole=whole))})"
                verb = "to_contain_text" if held.match == "contains" else "to_have_text"
                return f"expect({cell}).{verb}({expected}, use_inner_text=True, {timeout})"
            case "value" if held.target is not None and role in (*_FIELDS, ""):
                return f"expect({subject}).to_have_value({value}, {timeout})"
            case "sent" if held.items:
                return f"expect({subject}).to_have_values([{', '.join(map(self._text, held.items))}], {timeout})"
            case "sent":
                return f"expect({subject}).to_have_value({value}, {timeout})"
            case "attribute":
                return f"expect({subject}).to_have_attribute({quoted(held.attribute)}, {value}, {timeout})"
            case "count":
                counted = _all_of(held, subject)
                if not held.expected.isdecimal():
                    raise Unsaid("its number is read when it runs")
                return f"expect({counted}.filter(visible=True)).to_have_count({int(held.expected)}, {timeout})"
            case "visible" | "hidden" | "enabled" | "disabled" | "checked":
                return f"expect({subject}).to_be_{held.what}({timeout})"
            case "unchecked":
                return f"expect({subject}).not_to_be_checked({timeout})"
            case _:
                raise Unsaid("there is no statement for it")

    def _secret(self, name: str) -> str:
        self.secrets.add(variable(name))
        return f'os.environ["{variable(name)}"]'

    def _text(self, text: str, *, address: bool = False) -> str:
        """The expression for ``text``. Secrets and extracted values are looked up when the test runs."""
        parts: list[str] = []
        place = 0
        for found in _PART.finditer(text):
            secret, name = found.groups()
            if name and name not in self.extracted:
                continue
            parts.append(quoted(text[place : found.start()]))
            looked_up = self._secret(secret) if secret else f"values[{quoted(name)}]"
            parts.append(f'quote({looked_up}, safe="")' if secret and address else looked_up)
            place = found.end()
        parts.append(quoted(text[place:]))
        return " + ".join(part for part in parts if part != '""') or '""'


def _comparison(extract: Extract) -> str:
    if extract.compare == "none":
        return "No replay compares this."
    return f"A replay compares this as {extract.kind}."


def _limit(action: Action, *, first: bool = False) -> str:
    """The argument for the action's own time limit; empty for none. first: no other argument precedes it."""
    return f"{'' if first else ', '}timeout={action.timeout_ms}" if action.timeout_ms else ""


def _all_of(held: Assert, subject: str) -> str:
    """``subject`` without the position that selects one of several elements."""
    return subject.removesuffix(f".nth({held.target.nth or 0})") if held.target is not None else subject


def _contains(expression: str) -> str:
    return f"re.compile(re.escape({expression}))"
