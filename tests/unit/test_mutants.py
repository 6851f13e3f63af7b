"""The small mistakes that are made on purpose: where they are found, what tests them, and what comes of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.imports import importers, imports
from scripts.mutants import ROOT, Line, Plan, Result, State, difference, fits, order, plan, results
from scripts.mutations import Mutation, mutations

TESTED_BY = "unit/test_merkle.py"
SOURCE = '''
"""A docstring stays, 1 and True in it too."""


def admit(at: int, last: int, *, strict: bool = False) -> bool:
    """Says no."""
    log.info("asked at %d", 3)
    assert at > 0
    if at < last:
        raise ValueError("é before")
    if strict and not last or at in (1, 2):
        store.put(at + 1)
    self.count += 1
    return at != last
'''


def made(source: str) -> list[str]:
    """Every mutation of ``source``, as the line it leaves."""
    data = source.encode()
    return [
        each.applied(data).decode().splitlines()[each.line - 1].strip() for each in mutations("protocol/x.py", data)
    ]


def test_every_kind_of_mistake_is_made_where_it_stands() -> None:
    assert sorted(made(SOURCE)) == sorted(
        [
            "def admit(at: int, last: int, *, strict: bool = True) -> bool:",
            "if False:",
            "if at <= last:",
            "if at >= last:",
            "if False:",
            "if True:",
            "if ((at in (1, 2))):",
            "if ((strict and not last)):",
            "if ((strict and not last) and (at in (1, 2))):",
            "if ((not last)) or at in (1, 2):",
            "if ((strict)) or at in (1, 2):",
            "if ((strict) or (not last)) or at in (1, 2):",
            "if strict and bool(last) or at in (1, 2):",
            "if strict and not last or at not in (1, 2):",
            "if strict and not last or at in ((1 + 1), 2):",
            "if strict and not last or at in (1, (2 + 1)):",
            "pass",
            "store.put(at - 1)",
            "store.put(at + (1 + 1))",
            "pass",
            "self.count += (1 + 1)",
            "return not (at != last)",
            "return at == last",
        ]
    )


def test_every_mistake_in_the_product_is_python_and_changes_it() -> None:
    for file in ("protocol/wire/envelope.py", "node/live/acting.py"):
        source = (ROOT / file).read_bytes()
        before = ast.dump(ast.parse(source))
        found = list(mutations(file, source))
        assert len(found) > 50
        for each in found:
            assert ast.dump(ast.parse(each.applied(source))) != before, each


def test_the_tests_of_a_file_are_those_that_import_it_also_over_others(tmp_path: Path) -> None:
    for name, text in {
        "node/room/__init__.py": "from node.room.inner import run",
        "node/room/inner.py": "from protocol import core",
        "protocol/core.py": "",
        "tests/helper.py": "import node.room",
        "tests/unit/test_core.py": "from protocol.core import x",
        "tests/unit/test_room.py": "from tests import helper",
        "tests/unit/test_other.py": "import os",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    graph = imports(tmp_path)
    assert importers(graph, "protocol/core.py") == {"tests/unit/test_core.py": 1, "tests/unit/test_room.py": 4}
    assert importers(graph, "node/room/inner.py") == {"tests/unit/test_room.py": 3}


@pytest.mark.parametrize(
    ("room", "file", "chosen"),
    [
        ("", "node/x.py", True),
        ("explorer", "node/explorer/x.py", True),
        ("node/explorer", "node/explorer/x.py", True),
        ("node/explorer/", "node/explorer/deep/x.py", True),
        ("merkle", "protocol/log/merkle.py", True),
        ("protocol/log/merkle.py", "protocol/log/merkle.py", True),
        ("merkle", "protocol/log/merkle_growth.py", False),
        ("explore", "node/explorer/x.py", False),
    ],
)
def test_a_room_is_a_path_or_the_name_of_a_folder_or_file(room: str, file: str, chosen: bool) -> None:
    assert fits(file, room) is chosen


def test_a_sample_follows_from_its_seed() -> None:
    one, same, other = (plan(ROOT, "protocol/log/merkle.py", seed, 9) for seed in (1, 1, 2))
    assert one == same
    assert one.sample != other.sample
    assert one.tests["protocol/log/merkle.py"]["unit/test_merkle.py"] == 1
    with pytest.raises(SystemExit, match="nothing to change"):
        plan(ROOT, "no such room", 1, 9)


def test_near_tests_come_first_and_fast_ones_of_those_within_the_budget() -> None:
    tests = {"near_slow": 1, "near": 1, "far": 2, "endless": 2, "failing": 1, "unknown": 1}
    seconds = {"near_slow": 5.0, "near": 1.0, "far": 0.1, "endless": 500.0, "failing": -1.0}
    assert order(tests, seconds) == ["near", "near_slow", "far"]
    assert order({"endless": 2}, seconds) == ["endless"]
    assert order({"failing": 1}, seconds) == []


def mistake(old: str, new: str, kind: str = "comparison") -> Mutation:
    """A mistake in ``protocol/log/merkle.py``."""
    source = (ROOT / "protocol/log/merkle.py").read_bytes()
    start = source.index(old.encode())
    line = source.count(b"\n", 0, start) + 1
    return Mutation(file="protocol/log/merkle.py", line=line, start=start, end=start + len(old), new=new, kind=kind)


def test_what_a_test_notices_is_killed_and_the_rest_survives_and_is_kept(tmp_path: Path) -> None:
    """Two mistakes in a copy, tested by a test file of one line; the checkout stays as it is."""
    before = (ROOT / "protocol/log/merkle.py").read_bytes()
    noticed, unseen = mistake("0 <= index < count", "True"), mistake('"""', '"""Another text. ')
    sample = Plan(room="", seed=1, sample=(noticed, unseen), tests={"protocol/log/merkle.py": {TESTED_BY: 1}})
    state = State(sample, tmp_path)
    found = {result.mutation: result for result in results(sample, state, 2)}
    assert (found[noticed].killed, found[unseen].killed) == (True, False)
    assert TESTED_BY in found[noticed].by
    assert "+" in difference(ROOT, noticed)
    assert (ROOT / "protocol/log/merkle.py").read_bytes() == before
    again = State(sample, tmp_path)
    assert again.results == found, "a second run goes on from there"
    assert list(results(sample, again, 2)) == list(map(found.__getitem__, sample.sample))


def test_a_line_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    sample = Plan(room="", seed=1, sample=(mistake("place >>= 1", "pass"),), tests={})
    state = State(sample, tmp_path)
    state.keep(Line(test="unit/test_x.py", seconds=1.5))
    state.keep(Line(result=Result(mutation=sample.sample[0], killed=True)))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    again = State(sample, tmp_path)
    assert (again.seconds, again.results) == ({"unit/test_x.py": 1.5}, {})
