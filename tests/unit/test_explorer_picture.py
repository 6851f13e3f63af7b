"""Where each box, bar and curve of the picture of a search tree stands, which are drawn, and the small words of a report."""

from __future__ import annotations

from itertools import pairwise

import pytest

from node.explorer.showing.report import ReportInput, SearchCost, _digest, _duration, _looked, _moment, _replays, _steps
from node.explorer.showing.tree_picture import COLOURS, SHOWN_MAX, BarShare, Edge, NodeBox, Picture, TreeNode, draw
from tests.report_samples import sample_report
from tests.tables import each


def _node(label: str, *children: TreeNode, visits: int = 1, winning: bool = False) -> TreeNode:
    return TreeNode(label=label, visits=visits, winning=winning, children=children)


def _drawn(picture: Picture) -> list[str]:
    return sorted(box.label for box in picture.boxes)


# --- places ----------------------------------------------------------------------------------------------------------


def test_one_node_is_one_box_with_the_bars_of_those_who_visited_it() -> None:
    root = TreeNode(label="start", title="told", visits=4, value=0.256, shares=(("Bruno", 1), ("Dora", 0), ("Anna", 3)))
    picture = draw(root, ["Anna"])
    assert picture == Picture(
        width=232,
        height=70,
        boxes=(
            NodeBox(
                x=12,
                y=12,
                label="start",
                detail="4 visits · best 0.26",
                folded="",
                tooltip="start\ntold\nBruno: 1 visit\nAnna: 3 visits",
                winning=False,
                shares=(BarShare(colour=1, x=22, width=47.0), BarShare(colour=0, x=69.0, width=141.0)),
            ),
        ),
        edges=(),
        legend=(("Anna", 0), ("Bruno", 1), ("Dora", 2)),
        nodes=1,
        text="Search tree with 1 action, 4 visits",
    )


def test_children_stand_one_column_further_one_row_each_and_their_parent_in_the_middle() -> None:
    root = _node(
        "start", _node("one", _node("below", winning=True), winning=True), _node("two"), visits=9, winning=True
    )
    picture = draw(root)
    assert [(box.label, box.x, box.y) for box in picture.boxes] == [
        ("below", 540, 12),
        ("one", 276, 12),
        ("two", 276, 66),
        ("start", 12, 39),
    ]
    assert (picture.width, picture.height) == (540 + 208 + 12, 66 + 46 + 12)
    assert picture.edges == (
        Edge(path="M220 62C248 62 248 89 276 89", winning=False),
        Edge(path="M484 35C512 35 512 35 540 35", winning=True),
        Edge(path="M220 62C248 62 248 35 276 35", winning=True),
    )
    assert picture.text == "Search tree with 4 actions, 9 visits; the winning path has 2 steps"


def test_a_curve_is_winning_only_if_both_of_its_ends_are() -> None:
    root = _node("start", _node("one", _node("below", winning=True)), winning=True)
    assert [edge.winning for edge in draw(root).edges] == [False, False]


# --- choosing --------------------------------------------------------------------------------------------------------


def test_the_most_visited_are_drawn_from_the_start_down_and_of_equal_ones_the_first() -> None:
    root = _node(
        "start",
        _node("a", _node("a1", visits=4), _node("a2", visits=1), visits=5),
        _node("b", _node("b1", visits=9), visits=3),
        _node("c", visits=5),
        visits=99,
    )
    assert _drawn(draw(root, shown_max=1)) == ["start"]
    assert _drawn(draw(root, shown_max=2)) == ["a", "start"]
    assert _drawn(draw(root, shown_max=3)) == ["a", "c", "start"]
    assert _drawn(draw(root, shown_max=4)) == ["a", "a1", "c", "start"]
    assert _drawn(draw(root, shown_max=5)) == ["a", "a1", "b", "c", "start"]
    assert _drawn(draw(root, shown_max=6)) == ["a", "a1", "b", "b1", "c", "start"]
    assert _drawn(draw(root)) == ["a", "a1", "a2", "b", "b1", "c", "start"]


def test_of_many_nodes_as_many_as_there_is_room_for_are_drawn_and_of_the_rest_their_number() -> None:
    root = _node("start", *(_node(str(number)) for number in range(SHOWN_MAX + 4)), _node("new", visits=0))
    picture = draw(root)
    assert len(picture.boxes) == SHOWN_MAX == 32
    (start,) = [box for box in picture.boxes if box.label == "start"]
    assert start.folded == "+6"
    assert start.tooltip == "start\nnot drawn: 5 with fewer visits, 1 not tried"
    assert picture.nodes == SHOWN_MAX + 6


@pytest.mark.parametrize(
    ("visits", "told"),
    [((), ""), ((0,), "not drawn: 1 not tried"), ((0, 0), "not drawn: 2 not tried")],
    ids=str,
)
def test_what_nobody_visited_is_not_drawn(visits: tuple[int, ...], told: str) -> None:
    root = _node("start", *(_node(str(place), visits=count) for place, count in enumerate(visits)))
    (box,) = draw(root).boxes
    assert box.folded == (f"+{len(visits)}" if visits else "")
    assert box.tooltip == "\n".join(filter(None, ["start", told]))


def test_what_was_visited_less_than_what_is_drawn_is_counted_alone() -> None:
    (box,) = draw(_node("start", _node("a", visits=2)), shown_max=1).boxes
    assert box.tooltip == "start\nnot drawn: 1 with fewer visits"


def test_a_winning_node_is_drawn_without_visits_and_without_room() -> None:
    root = _node("start", _node("a", visits=9), _node("won", visits=0, winning=True), visits=9, winning=True)
    assert _drawn(draw(root, shown_max=1)) == ["start", "won"]
    assert _drawn(draw(root, shown_max=3)) == ["a", "start", "won"]


def test_below_a_winning_node_without_visits_what_was_visited_is_drawn() -> None:
    won = _node("won", _node("below", visits=3), visits=0, winning=True)
    assert _drawn(draw(_node("start", won, winning=True))) == ["below", "start", "won"]


def test_peers_beyond_the_colours_share_them() -> None:
    names = [f"peer {number}" for number in range(10)]
    root = TreeNode(label="start", visits=10, shares=tuple((name, 1) for name in names))
    picture = draw(root, names[5:])
    assert COLOURS == 8
    assert picture.legend == tuple((name, place % 8) for place, name in enumerate([*names[5:], *names[:5]]))
    (box,) = picture.boxes
    assert [share.width for share in box.shares] == [18.8] * 10
    assert [round(after.x - before.x, 2) for before, after in pairwise(box.shares)] == [18.8] * 9


# --- words -----------------------------------------------------------------------------------------------------------


@each(
    ("ms", "told"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (59_999, "60.0 s"),
        (60_000, "1 min 0 s"),
        (119_999, "1 min 59 s"),
        (120_000, "2 min 0 s"),
        (3_725_000, "62 min 5 s"),
    ],
)
def test_a_duration_is_told_in_the_unit_that_fits(ms: int, told: str) -> None:
    assert _duration(ms) == told


def test_a_moment_and_a_digest_are_written_out() -> None:
    assert _moment(1_767_225_600_000) == "1 January 2026, 00:00:00 UTC"
    assert _moment(1_767_225_601_500) == "1 January 2026, 00:00:01 UTC"
    assert _digest(bytes(range(32))) == "0001020304050607"


def test_every_step_is_shown_with_what_it_did_and_its_picture() -> None:
    data = sample_report()
    rows = _steps(data)
    assert [row["step"] for row in rows] == list(data.steps)
    assert [row["picture"] for row in rows] == [data.screenshots.get(step.screenshot) for step in data.steps]
    assert all(row["text"] for row in rows)


def test_every_replay_is_shown_with_the_steps_that_it_did_not_reach() -> None:
    data = sample_report()
    shown = _replays(data)
    assert [row["name"] for row in shown] == [replay.name for replay in data.replays]
    done = len([step for step in data.steps if step.ok])
    assert [row["missing"] for row in shown] == [done - len(replay.report.steps) for replay in data.replays]
    texts = [row["text"] for row in _steps(data)]
    for row, replay in zip(shown, data.replays, strict=True):
        assert [each["text"] for each in row["rows"]] == texts[: len(replay.report.steps)]
        assert [each["picture"] for each in row["rows"]] == [
            replay.screenshots.get(match.index) for match in replay.report.steps
        ]
        assert [bool(each["wording"]) for each in row["rows"]] == [bool(match.text) for match in replay.report.steps]
    alone = _replays(ReportInput(title="t", made_ms=0, replays=data.replays))
    assert [row["missing"] for row in alone] == [0, 0], "without the session nobody knows"
    assert all(each["text"] == "" for row in alone for each in row["rows"])
    assert SearchCost(visits=1, steps=1, milliseconds=1).leases == 0


def test_it_says_behind_what_a_node_looked_most() -> None:
    """The three with the most visits of its own, and how many more there are; what only others visited is left out."""
    shares = {"a": (("Anna", 1),), "b": (("Anna", 4), ("Bruno", 9)), "c": (("Anna", 2),), "d": (("Anna", 3),), "e": ()}
    children = [TreeNode(label=label, visits=1, shares=own) for label, own in shares.items()]
    tree = TreeNode(label="start", visits=9, children=tuple(children))
    assert [_looked(tree, name) for name in ("Anna", "Bruno", "Carla")] == ["b, d, c and 1 more", "b", ""]
    assert _looked(None, "Anna") == ""
