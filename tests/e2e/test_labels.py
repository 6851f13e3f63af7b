"""A label is the control that it labels: however a page hides the control, and however an author means it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from adapters.ports.browser import Browser, Page
from node.config.settings import BrowserConfig
from node.live.acting import Driver, Gate
from node.live.acting.uploads import Uploads
from node.process.wiring import open_watched
from node.sessions.actions import Notebook
from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.looking import take
from node.verbs.sessions.page import NamedElement, SnapshotParams
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Goto, describe
from protocol.page.seen.observation import CHECKABLE_ROLES
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.gates import unreported
from tests.person import person_at
from tests.sites.pages.backends import running_chromium
from tests.sites.pages.server import PageServer

NONE = "it is not displayed (display: none)"
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

_BOXES: Final = {
    "Clipped": "clipped",
    "Off the screen": "away",
    "Transparent": "faint",
    "Offers": "none",
    "Invisible": "unseen",
    "Without size": "zero",
    "By attribute": "attribute",
    "Painted": "plain",
    "Under its label": "under",
    "Over its label": "over",
    "Passed by": "untouched",
    "Wrapped": "wrapped",
    "Ticked by a line": "tick",
    "Dark": "dark",
    "Night": "night",
    "By another text": "other",
    "Terms that I accept": "terms",
    "Only a link": "only",
    "A label of some lines, the first of which is short": "lines",
    "Titled": "titled",
    "Block of text": "block",
    "Red": "red",
    "Green": "green",
    "Blue": "blue",
    "Afar": "afar",
    "In a shadow": "shadow",
    "In a slot": "slot",
    "Second of two": "two",
    "Framed": "inner",
}
"""What each box that is not ticked yet tells of, by its name."""


class Desk:
    """A page of labels, and a driver at it."""

    def __init__(self, page: Page, site: PageServer, files: Path) -> None:
        self.page, self.site, self._files = page, site, files
        self._count = 0

    async def opened(self) -> Driver:
        """A driver at a fresh page."""
        driver = Driver(self.page, Gate(report=unreported, risk_max=7), uploads=Uploads((str(self._files),)))
        self._count += 1
        await driver.act(Goto(url=f"{self.site.origin}/labels.html?{self._count}"))
        return driver

    def parsed(self, text: str) -> tuple[Action, ...]:
        """The actions of a file, but for the first one, which opens the page."""
        return parse_actions(text.replace("{site}", self.site.origin).encode()).actions[1:]

    def steps(self, *lines: str) -> tuple[Action, ...]:
        """Lines of an action file."""
        return self.parsed("start: {site}/labels.html\nsteps:\n" + "".join(f"  - {line}\n" for line in lines))

    @staticmethod
    async def told(driver: Driver, *actions: Action) -> str:
        """What the page tells of while ``actions`` are performed."""
        before = _said(driver)
        for action in actions:
            await driver.act(action)
        return _said(driver).removeprefix(before).strip()

    async def named(self, driver: Driver) -> list[NamedElement]:
        """What ``trailmesh snapshot`` lists."""
        params = SnapshotParams(url=f"{self.site.origin}/labels.html", actions_only=True)
        return list((await take(self.page, await self.page.observe(), params)).elements)


def _said(driver: Driver) -> str:
    assert driver.observation is not None
    return next(line for line in driver.observation.text.split("\n") if line.startswith("- status: "))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def desk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """One page, one after the other opened anew."""
    files = tmp_path_factory.mktemp("files")
    (files / "FILE").write_text("a letter")
    site = PageServer()
    await site.start()
    context = await browser.open(Profile(), GuardPolicy())
    yield Desk(await context.page(), site, files)
    await context.close()
    await site.stop()


async def test_each_line_of_a_snapshot_is_performed_and_does_what_it_says(desk: Desk) -> None:
    driver = await desk.opened()
    listed = await desk.named(driver)
    names = [each.name for each in listed if each.role in CHECKABLE_ROLES and each.name in _BOXES]
    assert sorted(names) == sorted(_BOXES)
    for each in listed:
        if "disabled" in each.states or each.role == "link":
            continue
        told = await desk.told(driver, *desk.steps(*each.lines))
        if each.role in CHECKABLE_ROLES and each.name != "Take":
            box = _BOXES.get(each.name, "ticked")
            assert told == f"{box} {'false' if box == 'ticked' else 'true'};", each
            again = next(item for item in await desk.named(driver) if (item.role, item.name) == (each.role, each.name))
            assert ("checked" in again.states) == (box != "ticked"), again
        elif each.lines[0].startswith("upload"):
            assert told == f"{each.name.lower()} FILE;", each
        elif each.name == "Hidden button":
            assert told == "press pressed;"
    takes = [each.lines[0] for each in listed if each.name == "Take"]
    assert [("Beer" in line, "Wine" in line) for line in takes] == [(True, False), (False, True)]
    assert [each.name for each in listed if each.lines[0].startswith("upload")] == ["Photo", "Scan"]


_SCRIPT: Final = """\
from playwright.sync_api import Page
def test_example(page: Page) -> None:
    page.goto("{site}/labels.html")
    page."""
_WAYS: Final = {
    'get_by_label("Offers").check()': "none true;",
    'get_by_label("Offers", exact=True).set_checked(True)': "none true;",
    'get_by_text("Offers").click()': "none true;",
    'get_by_text("Green").click()': "green true;",
    'get_by_text("Terms that I accept").click()': "terms true;",
    'get_by_role("checkbox", name="offers").check()': "none true;",
    'get_by_role("checkbox", name="Offers", exact=True).check()': "none true;",
    'get_by_role("row", name="Wine").get_by_role("checkbox").check()': "wine true;",
    'locator("tr").filter(has_text="Wine").get_by_text("Take").click()': "wine true;",
    'get_by_test_id("offers").check()': "none true;",
    'locator("label").filter(has_text="Offers").click()': "none true;",
    'locator("label").filter(has_text="Offers").check()': "none true;",
    'locator("label").filter(has_text="that I accept").click()': "terms true;",
    'locator("label").filter(has_text="Block").click()': "block true;",
    'locator("label:has(#night)").click()': "night true;",
    'locator(".slider").first.click()': "dark true;",
    'locator("#none").check()': "none true;",
    'locator("#ticked").uncheck()': "ticked false;",
    'locator("#ticked").check()': "",
    'locator("#lines").click()': "lines true;",
    'locator("iframe").content_frame.get_by_text("Framed").click()': "inner true;",
    'locator("iframe").content_frame.get_by_label("Framed").check()': "inner true;",
    'get_by_label("In a shadow").check()': "shadow true;",
    'get_by_text("In a shadow").click()': "shadow true;",
    'get_by_text("In a slot").click()': "slot true;",
    'get_by_label("Photo").set_input_files("FILE")': "photo FILE;",
    'get_by_text("Scan").set_input_files("FILE")': "scan FILE;",
    'locator("#letter").set_input_files("FILE")': "letter FILE;",
    'get_by_role("button", name="Choose a letter").set_input_files("FILE")': "letter FILE;",
}
_LINES: Final = {
    "click: css=label[for=none]": "none true;",
    "check: css=label[for=none]": "none true;",
    "check: \"xpath=//label[.='Offers']\"": "none true;",
    "check: \"xpath=//input[@id='none']\"": "none true;",
    "check: css=#none": "none true;",
    "check: testid=offers": "none true;",
    "check: label=Offers": "none true;",
    "check: text=Offers": "none true;",
    "check: aria/Offers": "none true;",
    "check: {role: checkbox, name: Offers}": "none true;",
    'check: "role=checkbox[name=\\"Offers\\"]"': "none true;",
    "uncheck: {role: checkbox, name: Offers}": "",
    "click: {role: radio, name: Green}": "green true;",
    "check: {role: checkbox, name: Take, within: {role: row, text: Wine}}": "wine true;",
    "check: {role: checkbox, name: Take, nth: 1}": "wine true;",
    "upload: {selectors: [css=#letter], files: [FILE]}": "letter FILE;",
    "upload: {role: button, name: Choose a letter, files: [FILE]}": "letter FILE;",
    "assert: {role: checkbox, name: Ticked before, checked: yes}": "",
    "assert: {selectors: ['css=label[for=ticked]'], checked: yes}": "",
    "assert: {selectors: ['css=label[for=none]'], checked: no}": "",
    "assert: {selectors: ['css=label[for=none]'], text: Offers}": "",
    "assert: {role: checkbox, name: Barred, enabled: no}": "",
}
_RECORDED: Final = (
    [["aria/Offers"], ["#form > p:nth-child(4) > label"], ["xpath///*[@id='form']/p[4]/label"], ["text/Offers"]],
    [["#form > p:nth-child(4) > label"], ["pierce/#form > p:nth-child(4) > label"]],
    [["aria/Offers"]],
)


async def test_every_way_to_mean_a_label_or_its_control_reaches_the_control(desk: Desk) -> None:
    ways = {_SCRIPT + way + "\n": told for way, told in _WAYS.items()}
    ways |= {f"start: {{site}}/labels.html\nsteps:\n  - {line}\n": told for line, told in _LINES.items()}
    recorded = {"title": "Labels", "steps": [{"type": "navigate", "url": "{site}/labels.html"}]}
    for selectors in _RECORDED:
        click = {"type": "click", "selectors": selectors, "offsetX": 5, "offsetY": 5}
        ways[json.dumps(recorded | {"steps": [*recorded["steps"], click]})] = "none true;"
    wrong = []
    for text, told in ways.items():
        driver = await desk.opened()
        try:
            found = await desk.told(driver, *desk.parsed(text))
        except MeshError as error:
            found = str(error)
        if found != told:
            wrong.append((text.splitlines()[-1].strip(), found, told))
    assert not wrong, "\n".join(map(str, wrong))


async def test_a_label_in_a_frame_of_another_site_is_its_control_too(desk: Desk) -> None:
    other = desk.site.origin.replace("127.0.0.1", "localhost")
    box = "<input hidden type=checkbox id=c onchange='out.textContent += this.checked'><label for=c>Ads</label>"
    inner = f"{box} <output id=out>is "
    row = "<p>Some<p><input hidden type=radio id=r><label for=r>None of them</label></p>"
    desk.site.extra.update({"/bare.html": inner, "/rows.html": row + inner})
    desk.site.extra["/far.html"] = "".join(
        f"<iframe src={other}{path}></iframe>" for path in ("/bare.html", "/rows.html")
    )
    driver = Driver(desk.page, Gate(report=unreported, risk_max=7))
    for line in (
        "check: {role: checkbox, name: Ads, frame: f1}",
        "check: {role: radio, name: None of them, frame: f2}",
        "click: {frame: f1, selectors: [text=Ads]}",
        "check: {frame: f2, selectors: [label=Ads]}",
        "uncheck: css=iframe >> nth=1 >> internal:control=enter-frame >> css=label[for=c]",
    ):
        if driver.observation is None:
            await driver.act(Goto(url=f"{desk.site.origin}/far.html"))
        await driver.act(*desk.steps(line))
    assert driver.observation is not None
    lines = [line.strip() for line in driver.observation.text.split("\n")]
    assert [line for line in lines if line.startswith("- status")] == [
        "- status: is truefalse",
        "- status: is truefalse",
    ]
    assert '- radio "None of them" [checked]' in lines


async def test_a_press_of_a_label_reaches_no_link_in_it(desk: Desk) -> None:
    """Guard: adapters/browser/observing/label_scripts.py, PRESSED."""
    driver = await desk.opened()
    assert await desk.told(driver, *desk.steps("click: css=label[for=terms]")) == "terms true;"


async def test_what_cannot_be_done_by_a_label_says_why(desk: Desk) -> None:
    driver = await desk.opened()
    said = []
    for line in (
        "check: {role: checkbox, name: Barred}",
        "select: {role: combobox, name: Size, option: M}",
        "press: {role: checkbox, name: Offers, key: Space}",
        "check: css=select",
    ):
        with pytest.raises(MeshError) as caught:
            await desk.told(driver, *desk.steps(line))
        said.append(str(caught.value))
    assert said == [
        "action.not_possible: the checkbox that the label stands for is disabled",
        f"action.not_possible: the combobox “Size” is there and hidden ({NONE}): act on what the page shows in its place",
        f"action.not_possible: the element cannot take the focus: its key would go to another one ({NONE})",
        f"action.not_possible: what css=select matches is not visible: {NONE}",
    ]
    veil = "<div style='position: fixed; inset: 0' aria-label=Veil></div><output>"
    desk.site.extra["/veil.html"] = f"<input hidden type=checkbox id=c><label for=c>Covered</label>{veil}"
    stuck = "<input hidden type=checkbox id=s><label for=s onclick='event.preventDefault()'>Stuck</label>"
    desk.site.extra["/stuck.html"] = stuck
    driver = Driver(desk.page, Gate(report=unreported, risk_max=7))
    for path, name, words in (("veil", "Covered", "“Veil” covers it"), ("stuck", "Stuck", "does not stay on")):
        await driver.act(Goto(url=f"{desk.site.origin}/{path}.html"))
        with pytest.raises(MeshError, match=words):
            await driver.act(*desk.steps(f"check: {{role: checkbox, name: {name}}}"))


async def test_what_a_label_says_counts_as_much_as_what_its_control_is_called(desk: Desk) -> None:
    """Guard: protocol/risk/pressing/classes.py, classify. Guard: node/live/acting/preparing.py, _called."""
    desk.site.extra["/two.html"] = (
        "<form method=post><input hidden type=checkbox id=b aria-label='Show prices'><label for=b>Delete my account</label></form>"
        "<input type=checkbox id=c aria-label='Show prices'> <label for=c>Delete all</label>"
    )
    for line in (
        "check: {role: checkbox, name: Show prices, nth: 0}",
        "click: css=label[for=b]",
        "click: css=label[for=c]",
    ):
        driver = Driver(desk.page, Gate(report=unreported))
        await driver.act(Goto(url=f"{desk.site.origin}/two.html"))
        with pytest.raises(MeshError) as caught:
            await driver.act(*desk.steps(line))
        assert (caught.value.code, caught.value.detail["level"]) == ("risk.refused", 7), line


async def test_a_person_at_a_window_is_heard_of_by_the_controls_of_labels(desk: Desk, tmp_path: Path) -> None:
    url, file = f"{desk.site.origin}/labels.html", tmp_path / "labels.yaml"
    book = Notebook(file, url, "labels", lambda _: None)
    (tmp_path / "FILE").write_text("a letter")
    async with running_chromium() as (endpoint, _):
        opened = open_watched(BrowserConfig(), endpoint)(
            Profile(), GuardPolicy(origins=(desk.site.origin,)), book.heard
        )
        async with opened as page:
            await book.write()
            await page.open(url)
            async with person_at(endpoint, url) as person:
                await person.reads("/labels.html")
                for selector in ("label[for=none]", "label[for=clipped]", "fieldset span", "label:has(#night)"):
                    await person.click(selector)
                    told = {"label[for=none]": "none", "label[for=clipped]": "clipped", "fieldset span": "green"}
                    await person.sees(f"out.textContent.endsWith('{told.get(selector, 'night')} true;')")
                document = (await person.send("DOM.getDocument"))["root"]["nodeId"]
                field = await person.send("DOM.querySelector", nodeId=document, selector="#photo")
                await person.send("DOM.setFileInputFiles", files=[str(tmp_path / "FILE")], nodeId=field["nodeId"])
                async with asyncio.timeout(20):
                    while "upload" not in file.read_text():  # noqa: ASYNC110 (another task writes it)
                        await asyncio.sleep(0.02)
    await book.close()
    assert [describe(action) for action in book.actions] == [
        "check checkbox “Offers”",
        "check checkbox “Clipped”",
        "check radio “Green”",
        "check switch “Night”",
        "upload “FILE” in button “Photo”",
    ]
    driver = await desk.opened()
    steps = desk.parsed(file.read_text())
    assert await desk.told(driver, *steps) == "none true;clipped true;green true;night true;photo FILE;"
