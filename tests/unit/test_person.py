"""Several events of one act become one action."""

from __future__ import annotations

from typing import Any

from protocol.page.actions.action import (
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    Fill,
    Goto,
    Locator,
    Press,
    Secret,
    Select,
    Upload,
)
from protocol.page.showing.person import Act, Script
from tests.tables import each

FIELD, BUTTON, LIST = (Locator(role=role, name="It") for role in ("searchbox", "button", "combobox"))


def act(kind: Any, target: Locator | None = None, at_ms: float = 0, **more: Any) -> Act:
    return Act(kind=kind, target=target, node=target.role if target else "", at_ms=at_ms, **more)


@each(
    ("acts", "actions"),
    [
        (
            [act("click", FIELD, field=True), *(act("text", FIELD, text=text) for text in ("m", "mu", "mug"))],
            [Fill(target=FIELD, value="mug")],
        ),
        (
            [
                act("text", FIELD, text="mug"),
                act("key", FIELD, 1000, key="Enter"),
                act("text", FIELD, 1001, text="mug"),
                act("click", BUTTON, 1002, by_key=True),
            ],
            [Fill(target=FIELD, value="mug"), Press(key="Enter", target=FIELD)],
        ),
        (
            [act("key", FIELD, 1000, key="Enter"), act("click", BUTTON, 3000, by_key=True)],
            [Press(key="Enter", target=FIELD), Click(target=BUTTON)],
        ),
        (
            [act("key", FIELD, 1000, key="Enter"), act("click", BUTTON, 1010)],
            [Press(key="Enter", target=FIELD), Click(target=BUTTON)],
        ),
        ([act("click", BUTTON), act("double", BUTTON)], [Click(target=BUTTON, count=2)]),
        ([act("click", LIST), act("double", BUTTON)], [Click(target=LIST), Click(target=BUTTON, count=2)]),
        ([act("click", BUTTON), act("click", BUTTON)], [Click(target=BUTTON), Click(target=BUTTON)]),
        ([act("right", BUTTON)], [Click(target=BUTTON, button="right")]),
        ([act("choice", LIST, texts=("A",)), act("choice", LIST, texts=("B",))], [Select(target=LIST, option="B")]),
        (
            [act("choice", LIST, texts=("A",)), act("choice", LIST, texts=("A", "B"))],
            [Select(target=LIST, option="A", also=("B",))],
        ),
        (
            [act("files", LIST, texts=("a.txt",)), act("files", LIST, texts=("b.txt", "c.txt"))],
            [Upload(target=LIST, files=("b.txt", "c.txt"))],
        ),
        ([act("click", LIST), act("files", None, texts=("a.txt",))], [Upload(target=LIST, files=("a.txt",))]),
        ([act("close")], [CloseTab()]),
        ([act("files", None, texts=("a.txt",))], []),
        ([act("check", FIELD, checked=True), act("check", FIELD)], [Check(target=FIELD, checked=False)]),
        (
            [act("text", FIELD, secret="code"), act("text", FIELD, secret="code"), act("click", FIELD)],
            [Fill(target=FIELD, value=Secret(secret="code")), Click(target=FIELD)],
        ),
        (
            [act("text", FIELD, text="a"), act("click", BUTTON), act("text", FIELD, text="b")],
            [Fill(target=FIELD, value="a"), Click(target=BUTTON), Fill(target=FIELD, value="b")],
        ),
        (
            [act("goto", text="https://u:p@a.test/?token=abc"), act("back")],
            [Goto(url="https://a.test/?token=REDACTED"), Back()],
        ),
    ],
)
def test_what_a_person_meant_is_kept_and_what_follows_from_it_is_not(acts: list[Act], actions: list[Action]) -> None:
    script = Script()
    for one in acts:
        script.take(one)
    assert list(script.actions) == actions


def test_what_cannot_be_an_action_stands_between_the_actions() -> None:
    script = Script()
    assert script.take(act("click", BUTTON))
    assert script.take(act("other", text="a file was chosen"))
    assert script.steps == (Click(target=BUTTON), "a file was chosen")
    assert script.actions == (Click(target=BUTTON),)


def test_an_event_that_says_nothing_new_changes_nothing() -> None:
    script = Script()
    assert script.take(act("text", FIELD, text="mug"))
    assert not script.take(act("text", FIELD, text="mug"))
