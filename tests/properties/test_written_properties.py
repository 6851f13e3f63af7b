"""Laws of every file that tells of a session: whatever a page or a peer says stays text in it, and can be read by everybody."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree import ElementTree

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from node.base.terminal import json_text, one_lined
from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.action_writing import comment, write_file, write_step
from node.sessions.showing.junit import junit_xml
from node.sessions.showing.markdown import markdown
from node.sessions.showing.report import render_replay
from node.sessions.showing.seen import ReplaySeen, Signature
from node.sessions.showing.told import Told, tell
from protocol.page.actions.action import Action, Click, Fill, Goto, Locator, Select, Within
from protocol.recording.records.findings import Difference
from protocol.wire.line import OBEYED
from tests.session_samples import NODE, matched, sample_steps
from tests.unit.test_replay_files import SESSION, other, told

_PARTS = (
    *(
        "\x1b[2J",
        "\x1b]8;;http://evil.example\x07",
        "\x9b31m",
        "\x00",
        "\r",
        "\n",
        "\x85",
        "\u2028",
        "\ufffe",
        "\ud800",
    ),
    *(
        "\u202e",
        "\u2066",
        "\u200b",
        "::error::",
        "${{ x }}",
        "{{ 7 }}",
        "{% x %}",
        "]]>",
        "<!--",
        "--",
        "</pre>",
        "&lt;",
    ),
    *(
        "<script>",
        "' onload='x",
        '" onload="x',
        "javascript:",
        "| --- |",
        "[a](b)",
        "```",
        "# ",
        "- ",
        ": ",
        "{",
        "}",
        "&a",
        "*a",
    ),
    *("!!python", "%YAML", "---", "'", '"', "\\", "${", "$${", "a", " ", "9.90", "\U0001f600"),
)
HOSTILE = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=8).map("".join)
# An action holds no half of a surrogate pair and no control character: they are refused where it is read.
TYPED = HOSTILE.filter(lambda text: text.isprintable() and bool(text.strip()))


def replay(said: str) -> Told:
    """A replay in which everything that can come from a page or a peer is ``said``."""
    steps = [msgspec.structs.replace(step, title=said, blocked=(f"POST /{said}",)) for step in sample_steps()[0]]
    steps[1] = msgspec.structs.replace(steps[1], action=Click(target=Locator(role="link", name=said)))
    found = (Difference(step=4, what="extracted", recorded=said, met=said),)
    made = told(*map(matched, steps[:3]), other(4), differences=found)
    blocked = msgspec.structs.replace(made.replayed.report, blocked=(f"POST /{said}",), reason=said)
    replayed = msgspec.structs.replace(made.replayed, report=blocked, stopped=said, call_log=(said,))
    return tell(msgspec.structs.replace(SESSION, title=said), steps, replayed)


def page(said: str) -> str:
    seen = ReplaySeen(texts={4: said}, console={4: (said,)}, refused={4: (f"GET /{said}",)})
    signed = [Signature(what=said, by=NODE, name=said, fault=said)]
    return render_replay(replay(said), {}, seen, signed, made_ms=0)


class Tags(HTMLParser):
    """The tags of a page, and the names of their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[tuple[str, ...]] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, *(name for name, _ in attrs)))


PLAIN_TAGS = Tags(page("plain\ntext")).found


def readable(text: str) -> bool:
    return not set(OBEYED.findall(text)) - {"\n", "\t"} and bool(text.encode())


@settings(max_examples=60, deadline=None)
@given(HOSTILE)
def test_whatever_is_said_stays_text_in_every_file_about_a_replay(said: str) -> None:
    """Guard: protocol/wire/line.py, without_controls."""
    xml, summary, html = junit_xml(replay(said)).decode(), markdown(replay(said)), page(said)
    assert readable(xml) and readable(summary) and readable(html)
    assert len(list(ElementTree.fromstring(xml).iter("testcase"))) == 4
    assert len(summary.splitlines()) == len(markdown(replay("x")).splitlines())
    assert Tags(html).found <= PLAIN_TAGS


@given(HOSTILE)
def test_whatever_is_said_is_one_line_of_a_terminal_and_exact_json(said: str) -> None:
    assert "\n" not in one_lined(said) and not OBEYED.search(one_lined(said))
    assert msgspec.json.decode(json_text(said.replace("\ud800", ""))) == said.replace("\ud800", "")
    assert not OBEYED.search(json_text(said, indent=None))


def actions(said: str) -> Iterator[Action]:
    target = Locator(role="button", name=said)
    yield Goto(url="http://shop.example/")
    yield Click(target=target)
    yield Click(target=msgspec.structs.replace(target, within=Within(role="row", text=said)))
    yield Fill(target=Locator(role="textbox", name=said), value=said)
    yield Select(target=Locator(role="combobox", name=said), option=said)


@settings(deadline=None)
@given(TYPED)
def test_an_action_file_that_is_written_of_a_page_has_these_actions_and_no_others(said: str) -> None:
    wanted = list(actions(said))
    lines = [f"{write_step(action)}  {comment(said)}" for action in wanted]
    text = write_file(said, "http://shop.example/", [*lines, comment(said)])
    assert readable(text)
    file = parse_actions(text.encode())
    assert file.title == said
    assert [msgspec.json.encode(action) for action in file.actions[-len(wanted) :]] == [
        msgspec.json.encode(action) for action in wanted
    ]
