"""The file that is written while a person works."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.browser.observing.aria import parse
from adapters.browser.observing.view import FrameFacts, assemble
from adapters.ports.watching import ObservedAct
from node.sessions.actions import Notebook
from node.sessions.actions.action_files import parse_actions
from protocol import limits
from protocol.errors import MeshError
from protocol.page.seen.observation import Element, Observation, Traits

URL = "https://shop.example/login"
PAGE = """\
- textbox "Card" [ref=e1]
- textbox "Repeat password" [ref=e2]
- button "Drop" [ref=e3]
- button "Drop" [ref=e4]
"""
TRAITS = {
    "e3": Traits(tag="input", input_type="file"),
    "e1": Traits(tag="input", autocomplete="section-a cc-number"),
    "e2": Traits(tag="input", input_type="password"),
}


def page() -> Observation:
    return assemble(parse(PAGE), FrameFacts(traits=TRAITS), url=URL, title="", mask=lambda text: text).observation


def on(place: int, kind: str = "click", **more: object) -> ObservedAct:
    observation = page()
    element: Element = observation.elements[place]
    told = {"kind": kind, "element": element, "observation": observation, "node": str(place), **more}
    return ObservedAct(**told)  # type: ignore[arg-type]  # each test gives what it needs


async def test_secrets_get_names_of_their_own_and_say_where_they_belong(tmp_path: Path) -> None:
    book = Notebook(file := tmp_path / "a.yaml", URL + "?token=abc", "Login", lambda words: None)
    await book.heard(on(0, "text", is_secret=True))
    await book.heard(on(1, "text", is_secret=True))
    await book.close()
    parsed = parse_actions(file.read_bytes())
    assert (parsed.title, parsed.secrets) == ("Login", ("card_number", "repeat_password"))
    assert parsed.start_url == URL + "?token=REDACTED"
    assert [(use.name, use.origin, use.is_text) for use in book.secrets] == [
        ("card_number", "https://shop.example", True),
        ("repeat_password", "https://shop.example", False),
    ]


async def test_a_line_says_what_its_name_is_worth(tmp_path: Path) -> None:
    told: list[str] = []
    book = Notebook(file := tmp_path / "a.yaml", URL, "", told.append)
    await book.write()
    assert len(parse_actions(file.read_bytes()).actions) == 2, "a file without a step yet is one that can be read"
    await book.heard(on(3))
    await book.heard(ObservedAct(kind="click", role="link", name="Quick", node="9"))
    await book.heard(ObservedAct(kind="click", role="generic", name="All there is", node="10"))
    await book.heard(ObservedAct(kind="file", role="button", name="Photo", node="11"))
    await book.heard(on(2, "file", texts=("a.pdf",)))
    await book.heard(on(3))
    await book.heard(ObservedAct(kind="file", node="12", texts=("b.pdf", "c d.txt")))
    await book.heard(on(0, "choice", texts=("One", "Two")))
    await book.heard(on(0, "choice", texts=tuple("ab" * limits.OPTIONS_CHOSEN_MAX)))
    await book.close()
    lines = file.read_text().splitlines()[2:]
    assert lines == [
        "  - click: {role: button, name: Drop, nth: 1}  # only its place tells it from others",
        "  - click: {role: link, name: Quick}  # named without a look at the page, so check that only it is called so",
        "  # an act on an element that the page does not list: a person has to describe it",
        "  # nothing was left chosen in “Photo”, or too much: no step for that",
        "  - upload: {role: button, name: Drop, nth: 0, files: [a.pdf]}  # only its place tells it from others",
        "  - upload: {role: button, name: Drop, nth: 1, files: [b.pdf, c d.txt]}"
        "  # put the file into a folder of browser.upload_folders",
        "  - select: {role: textbox, name: Card, option: [One, Two]}",
        "  # nothing was left chosen in “”, or too much: no step for that",
    ]
    assert told[:2] == ["click button “Drop” (number 2)", "click link “Quick”"]
    assert len(told) == 8


async def test_a_file_that_can_no_longer_be_written_ends_the_work(tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()
    book = Notebook(there / "a.yaml", URL, "", lambda words: None)
    await book.heard(on(3))
    await book.close()
    shutil.rmtree(there)
    there.write_text("no folder any more")
    await book.heard(on(2))
    with pytest.raises(MeshError) as caught:
        await book.close()
    assert caught.value.code == "input.invalid"
