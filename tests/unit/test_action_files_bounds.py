"""Action files to the letter: every short form, every bound, and where a mistake is said to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.sessions.actions.action_files import ActionFile, parse_actions, read_action_file, read_live_steps
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Back,
    Check,
    Click,
    Drag,
    Extract,
    Fill,
    Goto,
    Locator,
    Press,
    Scroll,
    Secret,
    Wait,
)
from protocol.recording.records.session import Profile
from tests.tables import each

START = "start: http://a.test/\nsteps:\n"
BOX = Locator(role="checkbox", name="News")
GIVEN = Locator(role="link", name="Mugs", frame="f1")


def parsed(step: str) -> Action:
    file = parse_actions(f"{START}- {step}".encode())
    assert file.actions[0] == Goto(url="http://a.test/")
    return file.actions[1]


def refusal(data: bytes | str, **more: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        parse_actions(data.encode() if isinstance(data, str) else data, **more)
    return caught.value


@each(
    ("step", "action"),
    [
        ("back: {}", Back()),
        ("back: ''", Back()),
        ("press: {key: Enter}", Press(key="Enter")),
        ("scroll:", Scroll(direction="down")),
        ("scroll: {}", Scroll()),
        ("scroll: {direction: up, amount_px: 1}", Scroll(direction="up", amount_px=1)),
        ("wait:", Wait()),
        ("wait: {text: Hi, timeout_ms: 60000}", Wait(text="Hi", timeout_ms=60_000)),
        ("extract: {as: x}", Extract(name="x")),
        ("extract: {as: x, name: Total}", Extract(name="x", target=Locator(name="Total"))),
        ("click: xpath=//a", Click(target=Locator(selectors=("xpath=//a",)))),
        ("click: text=Go", Click(target=Locator(selectors=("text=Go",)))),
        ("click: {selectors: [css=a]}", Click(target=Locator(selectors=("css=a",)))),
        ("click: {role: link}", Click(target=Locator(role="link"))),
        ("fill: {role: textbox, value: ''}", Fill(target=Locator(role="textbox"), value="")),
        (
            "fill: {selectors: [css=a], value: {secret: w}}",
            Fill(target=Locator(selectors=("css=a",)), value=Secret(secret="w")),
        ),
        *(
            (f"check: {{role: checkbox, name: News, checked: {word}}}", Check(target=BOX, checked=checked))
            for word, checked in [
                ("yes", True),
                ("true", True),
                ("On", True),
                ("no", False),
                ("False", False),
                ("off", False),
            ]
        ),
        ("uncheck: {role: checkbox, name: News}", Check(target=BOX, checked=False)),
        ("check: {role: checkbox, name: News}", Check(target=BOX, checked=True)),
    ],
)
def test_every_short_form_of_a_step_is_one_action(step: str, action: Action) -> None:
    assert parsed(step) == action


@each(
    ("step", "words"),
    [
        ("back: {to: x}", "back takes nothing"),
        ("press: {role: button, name: A}", "`key` is missing"),
        ("scroll: {by: 5}", "unknown key “by”; known: amount_px, direction"),
        ("wait: {for: x}", "unknown key “for”; known: address, frame, method, name"),
        ("wait: [a]", "wait must be `key: value` pairs"),
        ("extract: {role: link, name: x}", "extract needs `as: NAME` beside the locator"),
        ("click: {frame: f1}", "click needs `role` (and `name`) or `selectors`"),
        ("click: {role: '', name: a}", "click needs `role`"),
        ("click: {selectors: css=a}", "`selectors` must be a list"),
        ("click: {selectors: [a]}", "a selector must start with css=, xpath=, text=, role=, testid="),
        ("click: {selectors: [[a]]}", "`selector` must be text"),
        ("click: {role: [link]}", "`role` must be text"),
        ("click: {role: LINK}", "unknown role “LINK”: did you mean “link”?"),
        ("click: {role: zzzzzzzz}", "unknown role “zzzzzzzz”: use a role of the accessibility tree"),
        ("fill: {role: textbox, value: {secrets: w}}", "unknown key “secrets”; known: secret"),
        ("fill: {role: textbox}", "value"),
        ("check: {role: checkbox, checked: perhaps}", "checked"),
        ("uncheck: {role: checkbox, checked: yes}", "unknown key “checked”"),
        ("goto: {url: a}", "`goto` must be text"),
        ("press", "a step must be `key: value` pairs"),
        ("{}", "a step must have exactly one action"),
        (f"{'x' * 50}: a", f"unknown action “{'x' * 40}”; known: goto, back, forward, reload, switch_tab"),
        (f"click: {{role: link, {'x' * 50}: a}}", f"unknown key “{'x' * 40}”"),
        (f"click: {{role: {'x' * 50}}}", f"unknown role “{'x' * 40}”"),
    ],
)
def test_a_step_that_says_too_much_or_too_little_is_refused_with_its_line(step: str, words: str) -> None:
    refused = refusal(f"{START}- {step}")
    assert (refused.code, refused.detail["line"]) == ("input.invalid", 3)
    assert refused.message.startswith("line 3: ")
    assert words in refused.message


@each(
    ("text", "line", "words"),
    [
        ("- a", 1, "the file must be `key: value` pairs"),
        ("start: [a]\nsteps: [press: a]", 1, "`start` must be text"),
        ("start: http://a/\ntitle: [a]\nsteps: [press: a]", 2, "`title` must be text"),
        ("start: http://a/\nprofile: wide\nsteps: [press: a]", 2, "profile must be"),
        ("start: http://a/\nprofile: {wide: 1}\nsteps: [press: a]", 2, "unknown key “wide”; known: color_scheme"),
        ("start: http://a/\nprofile: {width_px: [1]}\nsteps: [press: a]", 2, "`width_px` must be text"),
        (f"start: {'a' * 5_000}\nsteps: [press: a]", 1, "`url` must be text of at most 4,096 characters"),
        ("start: http://a/", 1, "`steps:` is missing"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_line(text: str, line: int, words: str) -> None:
    refused = refusal(text)
    assert (refused.code, refused.detail["line"]) == ("input.invalid", line)
    assert words in refused.message


def test_a_file_that_opens_nothing_first_is_refused() -> None:
    refused = refusal("steps:\n- press: a")
    assert (refused.code, refused.detail) == ("input.invalid", {"step": 1})


def test_what_a_file_does_not_give_is_taken_from_who_reads_it() -> None:
    usual = Profile(width_px=900, locale="de-DE")
    given = parse_actions(f"{START}- press: a".encode(), "mugs", usual)
    assert (given.title, given.profile, given.arrivals, given.notes) == ("mugs", usual, {}, ())
    own = parse_actions(
        f"title: T\nprofile: {{locale: fr, reduced_motion: off}}\n{START}- press: a".encode(), "m", usual
    )
    assert (own.title, own.profile) == ("T", Profile(width_px=900, locale="fr", reduced_motion=False))
    assert parse_actions(f"{START}- press: a".encode()) == ActionFile(
        title="",
        start_url="http://a.test/",
        profile=Profile(),
        actions=(Goto(url="http://a.test/"), Press(key="a")),
    )


def test_a_recording_is_known_by_its_brace_and_a_byte_order_mark_is_left_out() -> None:
    recording = '{"title": "", "steps": [{"type": "navigate", "url": "http://a.test/"}]}'
    for text in (recording, f"\n \t{recording}", f"\ufeff{recording}"):
        assert parse_actions(text.encode(), "named").title == "named"
    assert parse_actions(recording.replace('""', '"own"').encode(), "named").title == "own"
    assert parse_actions(f"\ufeff{START}- press: a".encode()).start_url == "http://a.test/"
    assert parse_actions(recording.encode(), "", Profile(width_px=900)).profile == Profile()


def test_a_file_has_so_many_bytes_steps_and_characters_of_title_and_no_more(tmp_path: Path) -> None:
    data = f"{START}- press: a\n".encode()
    most = limits.ACTION_FILE_BYTES_MAX
    full = data + b"#" * (most - len(data))
    path = tmp_path / "mugs.yaml"
    path.write_bytes(full)
    assert read_action_file(path) == parse_actions(full, "mugs")
    path.write_bytes(full + b"#")
    with pytest.raises(MeshError) as refused:
        read_action_file(path)
    assert (refused.value.code, refusal(full + b"#").code) == ("input.too_large", "input.too_large")
    steps = START + "- press: a\n" * (limits.SESSION_STEPS_MAX - 1)
    assert len(parse_actions(steps.encode()).actions) == limits.SESSION_STEPS_MAX
    assert refusal(steps + "- press: a").code == "input.too_large"
    title = "t" * limits.TITLE_CHARS_MAX
    assert parse_actions(data, title).title == title
    assert refusal(data, title=title + "t").code == "input.too_large"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(MeshError) as refused:
        read_action_file(tmp_path / "none.yaml")
    assert (refused.value.code, refused.value.detail) == ("input.no_file", {"path": "none.yaml"})
    assert refused.value.message == "none.yaml cannot be read: No such file or directory"


def test_the_secrets_that_a_file_needs_are_named_once_and_in_order() -> None:
    fill = "- fill: {{role: textbox, value: {{secret: {0}}}}}\n"
    assert parse_actions((START + "".join(map(fill.format, "bab"))).encode()).secrets == ("a", "b")
    assert parse_actions(f"{START}- press: a".encode()).secrets == ()


# --- one step, with a ref --------------------------------------------------------------------------------------------


@each(
    ("text", "action", "named"),
    [
        ("click: {ref: e1}", Click(target=GIVEN), ["e1"]),
        ("fill: {ref: e1, value: x}", Fill(target=GIVEN, value="x"), ["e1"]),
        ("press: {ref: e1, key: a}", Press(key="a", target=GIVEN), ["e1"]),
        ("extract: {ref: e1, as: x}", Extract(name="x", target=GIVEN), ["e1"]),
        ("uncheck: {ref: e1}", Check(target=GIVEN, checked=False), ["e1"]),
        ("click: {role: link}", Click(target=Locator(role="link")), []),
        ("press: a", Press(key="a"), []),
        ("back:", Back(), []),
        ("drag: {ref: e1, onto: {ref: e2}}", Drag(target=GIVEN, onto=GIVEN), ["e1", "e2"]),
        ("drag: {role: link, onto: {ref: e2}}", Drag(target=Locator(role="link"), onto=GIVEN), ["e2"]),
    ],
)
def test_a_ref_stands_for_the_locator_of_its_element(text: str, action: Action, named: list[str]) -> None:
    asked: list[str] = []

    def means(ref: str) -> Locator:
        asked.append(ref)
        return GIVEN

    assert (read_live_steps(text, means), asked) == (((action, None),), named)


def test_a_list_of_steps_is_read_in_its_order() -> None:
    steps = read_live_steps("[{click: {ref: e1}}, {press: a}]", lambda ref: GIVEN)
    assert steps == ((Click(target=GIVEN), None), (Press(key="a"), None))


@each(
    ("text", "line", "words"),
    [
        ("click: {ref: e1, role: link}", 1, "`ref` already identifies the element"),
        ("\nclick:\n  ref: e1\n  nth: 1", 3, "`ref` already identifies the element"),
        ("scroll: {ref: e1}", 1, "scroll takes no `ref`"),
        (f"{'x' * 50}: {{ref: e1}}", 1, f"{'x' * 40} takes no `ref`"),
        ("click: {ref: [e1]}", 1, "`ref` must be text"),
        ("select: {ref: e1}", 1, "option"),
        ("click: {ref: e1}\npress: a", 1, "exactly one action"),
        ("[]", 1, "needs at least one"),
        ("- click: {ref: e1}\n- jump: {ref: e1}", 2, "jump takes no `ref`"),
        ("drag: {ref: e1, onto: {ref: e2, nth: 1}}", 1, "`ref` already identifies"),
    ],
)
def test_a_ref_in_the_wrong_place_is_refused(text: str, line: int, words: str) -> None:
    with pytest.raises(MeshError) as refused:
        read_live_steps(text, lambda ref: GIVEN)
    assert (refused.value.code, refused.value.detail["line"]) == ("input.invalid", line)
    assert words in refused.value.message


@each(
    ("step", "key"),
    [
        ('assert: {cell: "3", row: "Row ${who}", column: Price}', "row"),
        ('assert: {cell: "3", row: Ann, column: "${who}"}', "column"),
        ('click: {role: link, name: "${who}"}', "name"),
        ('click: {role: link, name: Edit, within: {role: row, name: "${who}"}}', "name"),
        ('click: {role: link, name: Edit, within: {role: row, text: "${who}"}}', "text"),
    ],
)
def test_a_value_where_none_is_put_in_is_refused_with_its_line(step: str, key: str) -> None:
    said = refusal(f"inputs: {{who: Ann}}\n{START}- {step}\n").message
    assert said.startswith("line 4: ") and f"`{key}` takes no `${{who}}`" in said
    # Without such an input it is a text like any other.
    assert parse_actions(f"{START}- {step}\n".encode()).actions[1:]
