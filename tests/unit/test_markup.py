"""The document of a page as text: what of it is shown, redacted over the borders of elements, and what is said to be cut."""

from __future__ import annotations

from protocol import limits
from protocol.page.showing.markup import Markup, MarkupNode, Way, shown

SECRET = {"word": "tell-nobody"}


def test_a_text_stands_with_its_element_and_each_line_says_which_ways_lead_to_it() -> None:
    nodes = (
        MarkupNode(depth=3, tag="form", attributes=(("id", "order"),)),
        MarkupNode(
            depth=4, tag="button", attributes=(("class", 'big "red"'), ("disabled", "")), ways=(0, 1), hidden=True
        ),
        MarkupNode(depth=5, tag="", text="Buy"),
        MarkupNode(depth=4, tag="p"),
        MarkupNode(depth=5, tag="", text="for"),
        MarkupNode(depth=5, tag="b"),
        MarkupNode(depth=6, tag="", text="ten"),
    )
    read = shown(Markup(nodes=nodes, ways=(Way("css=button", 1), Way("", 1))), {})
    assert [line.text for line in read.lines] == [
        '<form id="order">',
        '  <button class="big &quot;red&quot;" disabled>Buy</button>',
        "  <p>",
        "    for",
        "    <b>ten</b>",
    ]
    assert (read.lines[1].ways, read.lines[1].hidden, read.cut) == ((1, 2), True, "")
    assert [(way.said, way.lines) for way in read.ways] == [("css=button", (1,)), ("", (1,))]


def test_a_secret_is_in_no_text_attribute_address_or_way_also_if_it_is_spread_over_elements() -> None:
    """Guard: protocol/page/showing/markup.py, shown."""
    nodes = (
        MarkupNode(depth=1, tag="p", attributes=(("title", "of tell-nobody"), ("class", "tell-nobody"))),
        MarkupNode(depth=2, tag="i"),
        MarkupNode(depth=3, tag="", text="tell-"),
        MarkupNode(depth=2, tag="i"),
        MarkupNode(depth=3, tag="", text="nobody"),
        MarkupNode(depth=1, tag="a", attributes=(("href", "https://x.test/?token=abc&q=dGVsbC1ub2JvZHk="),)),
    )
    read = shown(Markup(nodes=nodes, ways=(Way("text=tell-nobody", 0),)), SECRET)
    said = "".join(line.text for line in read.lines) + read.ways[0].said
    for part in ("tell-", "nobody", "abc", "dGVsbC1ub2JvZHk"):
        assert part not in said
    assert "‹secret:word›" in said


def test_what_is_cut_is_said_and_no_text_is_longer_than_its_bound() -> None:
    long = shown(
        Markup(nodes=(MarkupNode(depth=0, tag="", text="x" * 10_000),), before=12, after=3_400, whole=False), {}
    )
    assert len(long.lines[0].text) == limits.MARKUP_TEXT_CHARS_MAX
    assert long.cut == (
        "12 elements and texts before these and 3,400 elements and texts after these are not shown;"
        f" the document was read up to its first {limits.MARKUP_NODES_MAX:,} nodes"
    )
