"""Where a hidden control stands in what is read of a page, and how a role finds it."""

from __future__ import annotations

from adapters.browser.finding.selectors import with_hidden
from adapters.browser.observing.aria import AriaNode, parse
from adapters.browser.observing.standing import HiddenControl, place
from tests.tables import each


def _standing(name: str, around: list[str], parts: list[str], said: str = "") -> HiddenControl:
    return HiddenControl(f"e9{name}", "checkbox", name, {}, said or name, around, parts)


def _drawn(nodes: list[AriaNode], depth: int = 0) -> list[str]:
    lines = []
    for node in nodes:
        ref = f" [{node.ref}]" if node.ref else ""
        lines += [f"{'  ' * depth}{node.role} {node.name or node.text}{ref}", *_drawn(node.children, depth + 1)]
    return lines


def test_a_hidden_control_stands_where_its_label_is() -> None:
    roots = parse(
        "- list [ref=e1]:\n  - listitem [ref=e2]: Milk\n  - listitem [ref=e3]:\n    - text: Hot\n    - generic [ref=e4]:\n"
        '      - strong [ref=e5]: Tea\n    - text: Cold\n- checkbox "Sized"\n- text: Alone\n- iframe [ref=e6]'
    )
    inner = ["e1"]
    place(
        roots,
        [
            _standing("Milk", ["e2", *inner], []),
            _standing("Tea", ["e99", "e3", *inner], ["e98", "e5"], "Strong tea"),
            _standing("Cold", ["e3", *inner], []),
            _standing("Sized", [], []),
            _standing("Alone", [], []),
            _standing("Inner", ["e6"], []),
            _standing("Unsaid", [], [], "elsewhere"),
        ],
    )
    assert _drawn(roots) == [
        "list  [e1]",
        "  listitem Milk [e2]",
        "    checkbox Milk [e9Milk]",
        "  listitem  [e3]",
        "    text Hot",
        "    checkbox Tea [e9Tea]",
        "    generic  [e4]",
        "      strong Tea [e5]",
        "    checkbox Cold [e9Cold]",
        "    text Cold",
        "checkbox Sized [e9Sized]",
        "checkbox Alone [e9Alone]",
        "text Alone",
        "iframe  [e6]",
        "  checkbox Inner [e9Inner]",
        "checkbox Unsaid [e9Unsaid]",
    ]


@each(
    "selector",
    [
        "role=checkbox",
        'role=checkbox[name="Offers"]',
        'role=checkbox[name*="a >> b" i]',
        r'internal:role=checkbox[name="say \"]\""s][checked=true]',
        "css=:root >> role=row[name=/be+r/i] >> role=checkbox",
        "role=checkbox >> nth=-1",
    ],
)
def test_what_ends_with_a_role_is_looked_for_among_hidden_elements_too(selector: str) -> None:
    plain, place_, nth = selector.partition(" >> nth=")
    assert with_hidden(selector) == f"{plain}[include-hidden=true]{place_}{nth}"


@each(
    "selector",
    ["css=[role=checkbox]", 'text="role=checkbox"', "role=checkbox[include-hidden=false]", "role=row >> css=input"],
)
def test_any_other_selector_is_left_as_it_is(selector: str) -> None:
    assert with_hidden(selector) == selector
