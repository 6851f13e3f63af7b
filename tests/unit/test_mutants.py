"""The small mistakes that are made on purpose: where they are found, what tests them, and what comes of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.guard_table import ROOT
from scripts.imports import importers, imports
from scripts.mutant_runs import Result, Run, State
from scripts.mutants import MUTATED, Plan, batches, difference, fits, order, plan, results
from scripts.mutations import Mutation, mutations
from scripts.segments import Marks, Reach, place, read, segments
from tests.tables import each

TESTED_BY = "tests/unit/test_merkle.py"
MERKLE = "protocol/log/merkle.py"
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


@pytest.mark.field
def test_every_mistake_in_the_product_is_python_and_changes_it() -> None:
    for file in ("protocol/wire/envelope.py", "node/live/acting/driver.py"):
        source = (ROOT / file).read_bytes()
        before = ast.dump(ast.parse(source))
        found = list(mutations(file, source))
        assert len(found) > 50
        for one in found:
            assert ast.dump(ast.parse(one.applied(source))) != before, one


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


@each(
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


@pytest.mark.field
def test_a_sample_follows_from_its_seed() -> None:
    one, same, other = (plan(ROOT, "protocol/log/merkle.py", seed, 9) for seed in (1, 1, 2))
    assert one == same
    assert one.sample != other.sample
    assert one.near[MERKLE][TESTED_BY] == 1
    assert TESTED_BY in one.tests[False] and "tests/e2e/test_mcp.py" in one.tests[True]
    with pytest.raises(SystemExit, match="nothing to change"):
        plan(ROOT, "no such room", 1, 9)


PARTS = """
def of(a, *, b=1):
    \"\"\"Says.\"\"\"
    c = a
    if c:
        d = 1
        return d
    e = 2
    for f in a:
        def inner():
            return f
    return e
"""


def test_a_line_belongs_to_the_innermost_part_that_runs_with_it() -> None:
    parts = segments(PARTS.encode())
    firsts = {line: None if (at := place(parts, line)) is None else parts[at].first for line in range(1, 14)}
    assert firsts == {1: None, 2: 4, 3: 4, 4: 4, 5: 4, 6: 6, 7: 6, 8: 8, 9: 8, 10: 11, 11: 11, 12: 12, 13: None}


def test_what_a_test_reached_is_what_was_noted_while_it_ran_in_all_its_cases() -> None:
    noted = "> 1.0 a.py::t[x]\n3\n5\n< 2.5 a.py::t[x]\n7\n> 3.0 a.py::t[y]\n0\n< 3.25 a.py::t[y]\n> 4.0 a.py::u\n< 4.0 a.py::u\n"
    found = read(f"9\n{noted}")
    assert found == {"a.py::t": Reach(seconds=1.75, bits=f"{1 << 3 | 1 << 5 | 1:x}"), "a.py::u": Reach()}
    assert [number for number in range(10) if found["a.py::t"].runs(number)] == [0, 3, 5]


def reach(seconds: float, *numbers: int) -> Reach:
    return Reach(seconds=seconds, bits=f"{sum(1 << number for number in numbers):x}")


def test_the_tests_that_reach_a_line_are_run_near_ones_first_and_fast_ones_of_those_within_the_budget() -> None:
    made_of = Plan(room="", seed=1, sample=(), near={MERKLE: {"near.py": 1, "far.py": 4}}, tests={})
    reached = {
        "near.py::slow": reach(5, 1),
        "near.py::fast": reach(1, 1, 2),
        "near.py::elsewhere": reach(1, 2),
        "far.py::endless": reach(500, 1),
        "far.py::quick": reach(0.1, 1),
        "command.py::quick": reach(0.1, 1),
    }
    here = mistake("place >>= 1", "pass")
    chosen = order(made_of, here, reached, 1)
    assert chosen == ["near.py::fast", "near.py::slow", "far.py::quick", "command.py::quick"]
    assert order(made_of, here, {"far.py::endless": reach(500, 1)}, 1) == ["far.py::endless"]
    assert order(made_of, here, reached, 7) == []
    assert order(made_of, here, reached, None) == ["near.py::elsewhere", "near.py::fast", "near.py::slow"]
    first, rest = batches(chosen, reached)
    assert (first.tests, rest.tests) == (("near.py::fast",), tuple(chosen[1:]))


def mistake(old: str, new: str, kind: str = "comparison") -> Mutation:
    """A mistake in ``protocol/log/merkle.py``."""
    source = (ROOT / "protocol/log/merkle.py").read_bytes()
    start = source.index(old.encode())
    line = source.count(b"\n", 0, start) + 1
    return Mutation(file="protocol/log/merkle.py", line=line, start=start, end=start + len(old), new=new, kind=kind)


def small(*sample: Mutation) -> Plan:
    """Tested by one test file."""
    return Plan(room="", seed=1, sample=sample, near={MERKLE: {TESTED_BY: 1}}, tests={False: (TESTED_BY,), True: ()})


@pytest.mark.field
def test_what_a_test_notices_is_killed_and_the_rest_survives_and_is_kept(tmp_path: Path) -> None:
    """Mistakes in a copy, tested by one test file; the checkout stays as it is."""
    before = (ROOT / MERKLE).read_bytes()
    noticed, unseen = mistake("0 <= index < count", "True"), mistake('"""', '"""Another text. ')
    sample, state = small(noticed, unseen), State(tmp_path)
    found = {result.mutation: result for result in results(sample, state, 1)}
    assert (found[noticed].killed, found[unseen].killed) == (True, False)
    assert TESTED_BY in found[noticed].by
    assert "+" in difference(ROOT, noticed)
    assert (ROOT / MERKLE).read_bytes() == before
    assert not list((ROOT / "protocol/log").glob("reached*"))
    again = State(tmp_path)
    assert {result.mutation: result for result in results(sample, again, 1)} == found, "a second run goes on from there"
    number = Marks(ROOT, MUTATED).number(MERKLE, noticed.line)
    assert number is not None and any(each.runs(number) for each in again.reached.values())


def test_a_line_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    noticed, state = mistake("place >>= 1", "pass"), State(tmp_path)
    run = Run(tests=(f"{TESTED_BY}::test_x",), seconds=(1,))
    state.keep_reach(TESTED_BY, {run.tests[0]: reach(1, 2)}, [])
    state.keep_result(Result(mutation=noticed, killed=True, by=run.tests[0]), [run])
    assert State(tmp_path).known(noticed, [run])
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    again = State(tmp_path)
    assert (again.measured, again.known(noticed, [run])) == ({TESTED_BY: ()}, None)


def test_a_mistake_that_survived_is_tried_again_with_other_tests(tmp_path: Path) -> None:
    unseen, state = mistake("place >>= 1", "pass"), State(tmp_path)
    one, other = (Run(tests=(f"{TESTED_BY}::{name}",), seconds=(1,)) for name in ("a", "b"))
    state.keep_result(Result(mutation=unseen, killed=False), [one])
    assert state.known(unseen, [one])
    assert state.known(unseen, [one, other]) is None
