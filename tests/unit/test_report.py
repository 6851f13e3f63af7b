"""The HTML report and the tree picture in it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise

import msgspec

from node.explorer.showing.report import ReportInput, render_report
from node.explorer.showing.tree_picture import BOX_HEIGHT, SHOWN_MAX, TreeNode, draw
from tests.report_samples import NAMES, sample_report, sample_tree

HTML = render_report(sample_report())
EVIL = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Seen(HTMLParser):
    """Collects elements and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def test_the_policy_allows_exactly_the_one_style_sheet() -> None:
    style = re.search(r"<style>(.*?)</style>", HTML, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    (policy,) = [value for name, value in Seen(HTML).attributes if name == "content" and "default-src" in value]
    assert policy.split("; ")[:3] == ["default-src 'none'", "img-src data:", f"style-src 'sha256-{digest}'"]


def test_there_is_no_script_no_inline_style_and_nothing_to_load() -> None:
    seen = Seen(HTML)
    assert not {"script", "iframe", "link", "object", "embed", "form", "base"} & set(seen.tags)
    for name, value in seen.attributes:
        assert name != "style"
        assert not name.startswith("on")
        if name in ("src", "href"):
            assert value.startswith("data:image/png;base64,")
    assert "url(" not in HTML
    assert "@import" not in HTML


def test_every_part_is_there() -> None:
    for text in (
        "How it was found",
        "Chiara was the first",
        "<li>click link “Blue”</li>",
        "Who took part",
        "Nothing of this was sent",
        "The search tree",
        "The recorded session",
        "Replay by Bruno",
        "Who signed what",
    ):
        assert text in HTML
    for text in ("action.target_missing", "not verified", "1 later step was not reached", "4 of 4 steps matched"):
        assert text in HTML
    for text in ("; text: 4 same;", "; text: 1 same, 1 only numbers differ;", "text: only numbers differ</span>"):
        assert text in HTML


def test_parts_that_are_missing_are_left_out() -> None:
    html = render_report(ReportInput(title="Nothing yet", made_ms=0))
    assert "<section" not in html
    assert "Nothing yet" in html


def test_text_of_pages_and_peers_stays_text() -> None:
    """Guard: node/explorer/showing/report.py, _environment."""
    data = sample_report()
    (first, *rest) = data.steps
    hostile = msgspec.structs.replace(
        data,
        title=EVIL,
        goal=EVIL,
        found_by=EVIL,
        path=(EVIL,),
        would_send=(EVIL,),
        nodes=(msgspec.structs.replace(data.nodes[0], name=EVIL, role=EVIL),),
        tree=TreeNode(label=EVIL, title=EVIL, visits=1, shares=((EVIL, 1),)),
        steps=(msgspec.structs.replace(first, title=EVIL, url=EVIL, extracted=EVIL, blocked=(EVIL,)), *rest),
    )
    html = render_report(hostile)
    seen = Seen(html)
    assert "script" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert html.count("</style>") == 1


def test_the_same_input_gives_the_same_bytes() -> None:
    assert render_report(sample_report()) == HTML


def test_a_large_tree_is_folded_and_its_winning_path_is_whole() -> None:
    tree = sample_tree(depth=6)
    picture = draw(tree, NAMES)
    assert len(picture.boxes) <= SHOWN_MAX
    assert sum(box.winning for box in picture.boxes) == 7
    assert sum(edge.winning for edge in picture.edges) == 6
    assert any(box.folded for box in picture.boxes)
    assert all("not drawn" in box.tooltip for box in picture.boxes if box.folded)
    assert picture.legend == tuple((name, colour) for colour, name in enumerate(NAMES))


def test_a_winning_path_longer_than_the_picture_is_still_whole() -> None:
    node = TreeNode(label="end", visits=1, winning=True)
    for depth in range(31):
        node = TreeNode(
            label=f"step {depth}", visits=1, winning=True, children=(node, TreeNode(label="other", visits=5))
        )
    assert sum(box.winning for box in draw(node, shown_max=5).boxes) == 32


def test_boxes_never_overlap_and_lie_within_the_picture() -> None:
    for depth in range(6):
        picture = draw(sample_tree(depth=depth))
        columns: dict[float, list[float]] = {}
        for box in picture.boxes:
            columns.setdefault(box.x, []).append(box.y)
            assert 0 <= box.y <= picture.height - BOX_HEIGHT
            assert 0 <= box.x <= picture.width
        for heights in columns.values():
            heights.sort()
            assert all(lower - upper >= BOX_HEIGHT for upper, lower in pairwise(heights))


def test_the_picture_is_told_in_a_sentence() -> None:
    assert draw(sample_tree()).text.endswith("120 visits; the winning path has 4 steps")
    assert draw(TreeNode(label="start")).text == "Search tree with 1 action, 0 visits"


def test_a_node_nobody_visited_has_no_bar() -> None:
    assert draw(TreeNode(label="start", shares=(("Anna", 0),))).boxes[0].shares == ()
