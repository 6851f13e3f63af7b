"""Rows of the tree by themselves: references, names, places, and which rows are told to have changed."""

from __future__ import annotations

import itertools

from protocol import limits
from protocol.search.forest import ROOT, Forest
from tests.tables import each

R, A, B, C = b"root", b"a", b"b", b"c"


class Rows:
    """A forest, and the rows of its keys while they have one."""

    def __init__(self) -> None:
        self.forest = Forest(R, 8)

    def hold(self, key: bytes) -> int:
        """A peer refers to ``key``."""
        row = self.forest.intern(key)
        self.forest.hold(row)
        return row

    def name(self, key: bytes, parent: bytes) -> int:
        """A peer refers to ``key``, and says that it comes after ``parent``."""
        row = self.hold(key)
        self.forest.name(row, parent, b"to " + key)
        return row

    def forget(self, row: int) -> None:
        """A peer that named ``row`` is gone."""
        self.forest.unname(row)
        self.forest.release(row)

    def touched(self) -> list[int]:
        """Rows that changed since the last call."""
        found = sorted(self.forest.touched)
        self.forest.touched.clear()
        return found

    @property
    def depths(self) -> list[int]:
        return self.forest.depth[: self.forest.rows].tolist()  # type: ignore[no-any-return]


def test_a_new_forest_is_its_root() -> None:
    forest = Forest(R, 3)
    assert (len(forest), forest.rows, forest.index, forest.keys) == (1, 1, {R: ROOT}, [R])
    assert (forest.parent, forest.action, forest.depth.tolist()) == ([-1], [b""], [0, -1, -1])
    assert (forest.children, forest.touched) == ({}, set())


def test_a_key_has_one_row_however_often_it_is_asked_for() -> None:
    forest = Forest(R, 8)
    assert [forest.intern(key) for key in (A, B, A, R)] == [1, 2, 1, 0]
    assert (len(forest), forest.rows, forest.parent, forest.action) == (3, 3, [-1] * 3, [b""] * 3)
    assert forest.touched == set()


def test_a_row_is_freed_with_its_last_reference_and_used_again() -> None:
    rows = Rows()
    row = rows.hold(A)
    rows.forest.hold(row)
    rows.forest.release(row)
    assert (rows.touched(), rows.forest.index, rows.forest.keys) == ([], {R: 0, A: 1}, [R, A])
    rows.forest.release(row)
    assert (rows.touched(), rows.forest.index, rows.forest.keys) == ([1], {R: 0}, [R, b""])
    assert rows.hold(B) == 1
    assert (rows.forest.rows, rows.forest.keys) == (2, [R, B])


def test_a_named_row_has_its_place_below_its_parent() -> None:
    rows = Rows()
    assert rows.name(A, R) == 1
    assert (rows.touched(), rows.depths, rows.forest.parent) == ([1], [0, 1], [-1, 0])
    assert (rows.forest.action, rows.forest.children) == ([b"", b"to a"], {0: [1]})
    rows.forget(1)
    assert (rows.touched(), rows.depths, rows.forest.parent) == ([0, 1], [0, -1], [-1, -1])
    assert (rows.forest.action, rows.forest.children, rows.forest.index) == ([b"", b""], {}, {R: 0})


def test_a_row_keeps_its_place_until_the_last_peer_that_named_it_is_gone() -> None:
    rows = Rows()
    row = rows.name(A, R)
    rows.name(A, R)
    rows.name(A, R)
    assert rows.touched() == [1]
    assert rows.forest.children == {0: [1]}
    for _ in range(2):
        rows.forget(row)
        assert (rows.touched(), rows.depths, rows.forest.children) == ([], [0, 1], {0: [1]})
    rows.forget(row)
    assert (rows.touched(), rows.depths, len(rows.forest)) == ([0, 1], [0, -1], 1)


def test_a_row_that_is_still_referred_to_stays_without_a_place() -> None:
    rows = Rows()
    rows.hold(A)
    row = rows.name(A, R)
    rows.touched()
    rows.forget(row)
    assert (rows.touched(), rows.depths, rows.forest.index) == ([0, 1], [0, -1], {R: 0, A: 1})
    assert (rows.forest.parent, rows.forest.action) == ([-1, -1], [b"", b""])


def test_a_child_before_its_parent_holds_the_row_of_the_parent_and_is_attached_with_it() -> None:
    rows = Rows()
    below = rows.name(C, B)
    middle = rows.name(B, A)
    assert (rows.depths, rows.forest.parent) == ([0, -1, -1, -1], [-1, 2, 3, -1])
    assert rows.touched() == [1, 2]
    above = rows.name(A, R)
    assert (above, rows.depths, rows.touched()) == (3, [0, 3, 2, 1], [1, 2, 3])
    rows.forget(above)
    assert (rows.depths, rows.touched(), rows.forest.index[A]) == ([0, -1, -1, -1], [0, 1, 2, 3], above)
    rows.forget(middle)
    assert (rows.touched(), rows.forest.index) == ([2, 3], {R: 0, C: 1, B: 2})
    rows.forget(below)
    assert (rows.touched(), rows.forest.index, rows.forest.children) == ([1, 2], {R: 0}, {})


def test_of_several_children_the_others_keep_their_places() -> None:
    rows = Rows()
    rows.name(A, R)
    rows.name(B, R)
    rows.name(C, A)
    rows.touched()
    rows.forget(2)
    assert (rows.touched(), rows.forest.children, rows.depths) == ([0, 2], {0: [1], 1: [3]}, [0, 1, -1, 2])


def test_what_hung_nowhere_does_not_change_when_it_is_parted() -> None:
    rows = Rows()
    rows.name(C, B)
    row = rows.name(B, A)
    rows.touched()
    rows.forget(row)
    assert rows.touched() == [2, 3]


def test_a_forest_grows_and_keeps_the_depths() -> None:
    rows = Rows()
    rows.name(A, R)
    rows.forest.grow(12)
    assert rows.forest.depth.tolist() == [0, 1, *[-1] * 10]


@each("late", [False, True])
def test_rows_are_attached_down_to_the_deepest_that_is_allowed(late: bool) -> None:
    rows = Forest(R, 64)
    keys = [R, *(b"%d" % number for number in range(limits.TREE_DEPTH_MAX + 2))]
    steps = [*itertools.pairwise(keys)]
    for parent, key in reversed(steps) if late else steps:
        row = rows.intern(key)
        rows.hold(row)
        rows.name(row, parent, b"x")
    assert [int(rows.depth[rows.index[key]]) for key in keys] == [*range(limits.TREE_DEPTH_MAX + 1), -1, -1]
