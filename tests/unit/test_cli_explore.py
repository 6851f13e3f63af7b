"""What the commands of searches, sessions and schedules ask and say where the pinned answers do not reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.cli.searches.explore_words import progress_line, read_condition
from node.cli.sessions.session_replays import _is_other, refusals, status_of_replay
from protocol import limits
from protocol.errors import MeshError
from tests.commands import Answers
from tests.tables import each

SUMMARY: dict[str, Any] = {
    "search": "sea-1", "status": "done", "goal": "mugs", "spend": [], "nodes": 1, "branches": 2, "seconds": 3.4,
    "verified": False, "claimed_by": "", "session": "", "path": [], "reason": "", "html": "",
}  # fmt: skip
RUN = ("explore", "run", "--goal", "mugs", "--start", "https://shop.example/", "--until", "{title: Mugs}")
ASKED = {
    "goal": "mugs",
    "start": "https://shop.example/",
    "until": {"title": "Mugs"},
    "seconds": 60,
    "seed": 0,
    "capsule": "",
}


# --- searches --------------------------------------------------------------------------------------------------------


@each(
    ("words", "more"),
    [
        ((), {}),
        (("--alone",), {"peers": []}),
        (("--peer", "bob", "--peer", "carol"), {"peers": ["bob", "carol"]}),
        (("--seconds", "7", "--seed", "3"), {"seconds": 7, "seed": 3}),
    ],
)
def test_a_search_is_begun_with_what_was_given(words: tuple[str, ...], more: dict[str, Any]) -> None:
    done = Answers(explore_run=[SUMMARY]).run(*RUN, *words)
    (verb, params), *others = done.asked
    assert (done.code, verb, others) == (0, "explore.run", [])
    usual = {name: params[name] for name in ("seconds", "seed")}
    assert params == ASKED | {"chooser": ""} | usual | more


@each("left_out", ["--goal", "--start", "--until"])
def test_a_search_needs_a_goal_a_start_and_a_condition_unless_it_is_resumed(left_out: str) -> None:
    at = RUN.index(left_out)
    done = Answers().run(*RUN[:at], *RUN[at + 2 :])
    assert (done.code, done.asked) == (2, []) and "--goal, --start and --until are needed" in done.err[0]
    node = Answers(explore_resume=[SUMMARY])
    assert node.run("explore", "run", "--resume", "sea-1", "--seconds", "7").asked == [
        ("explore.resume", {"search": "sea-1", "seconds": 7})
    ]


@pytest.mark.parametrize(
    ("words", "events", "again"),
    [
        (RUN, [], ""),
        (
            RUN,
            [{"visits": {}, "seconds": 0, "of_seconds": 1, "live_leases": 0, "nodes": 0, "best": 0, "claims": 0}],
            "",
        ),
        (RUN, [{"search": "sea-7", "participants": []}, {"claim_refused": 1, "peer": "X", "search": "?"}], "sea-7"),
        (("explore", "run", "--resume", "sea-1"), [], "sea-1"),
    ],
)
def test_who_interrupts_a_search_is_told_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], events: list[dict[str, Any]], again: str
) -> None:
    async def interrupted(home: Path, verb: str, params: Any, tell: Any, **more: Any) -> Any:
        for event in events:
            tell(event)
        raise KeyboardInterrupt

    node = Answers()
    monkeypatch.setattr(node, "call", interrupted)
    done = node.run(*words)
    more = f"; `trailmesh explore run --resume {again}` continues the search" if again else ""
    assert done.code == 130
    assert f"error [internal.cancelled] interrupted; the results so far are kept{more}" in done.err


def test_a_search_is_shown_by_its_name_and_all_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    node = Answers(explore_show=[SUMMARY], explore_list=[{"searches": []}])
    assert node.run("explore", "show", "sea-1").asked == [("explore.show", {"search": "sea-1", "html": ""})]
    (_, asked), *_ = node.run("explore", "show", "sea-1", "--html", "r.html").asked
    assert asked["html"] == str(tmp_path / "r.html")
    done = node.run("explore", "show", "--limit", "3")
    assert (done.out, done.asked) == (["no searches yet: `trailmesh explore run`"], [("explore.list", {"limit": 3})])


def test_a_condition_is_yaml_or_a_file_of_it(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("title: Mugs\n")
    (tmp_path / "p").write_bytes(b"\xff")
    assert read_condition(f"@{tmp_path / 'c'}") == read_condition("{title: Mugs}") == {"title": "Mugs"}
    for given, said in (
        (f"@{tmp_path / 'none'}", f"{tmp_path / 'none'} cannot be read: No such file or directory"),
        (f"@{tmp_path / 'p'}", f"{tmp_path / 'p'} is not text in UTF-8"),
        ("@/dev/zero", f"/dev/zero: at most {limits.ACTION_FILE_BYTES_MAX} bytes are read"),
        ("a: &x 1", "line 1: anchors and aliases are not allowed"),
    ):
        with pytest.raises(MeshError) as refused:
            read_condition(given)
        assert (refused.value.code, refused.value.message) == ("condition.invalid", said)
    assert refused.value.detail == {"line": 1}


def test_progress_counts_down_and_names_who_has_visited() -> None:
    event: dict[str, Any] = {
        "seconds": 4, "of_seconds": 30, "visits": {"NODEABC-D": 3, "NODEXYZ-D": 0, "N": 1}, "live_leases": 1,
        "nodes": 2, "best": 0.456, "claims": 1,
    }  # fmt: skip
    line = "    26 s left: 1 lease, 2 actions found, 4 visits (NODEABC 3, N 1), best 0.46, 1 claim"
    assert progress_line(event) == line
    assert progress_line(event | {"seconds": 31}).startswith("     0 s left")
    assert progress_line({"x": 1}) == ""


# --- sessions --------------------------------------------------------------------------------------------------------


@each(
    ("step", "other"),
    [
        ({"performed": True, "matched": True, "text": "same"}, False),
        ({"performed": True, "matched": True, "text": ""}, False),
        ({"performed": True, "matched": True, "text": "numbers"}, True),
        ({"performed": True, "matched": False, "text": "same"}, True),
        ({"performed": False, "matched": False, "text": ""}, False),
    ],
)
def test_a_step_is_another_one_if_it_was_performed_and_something_of_it_differs(
    step: dict[str, Any], other: bool
) -> None:
    assert _is_other(step) is other


@each(
    ("count", "phrase"),
    [
        (0, ""),
        (1, "; the guard refused A 0"),
        (3, "; the guard refused A 0, A 1, A 2"),
        (4, "; the guard refused A 0, A 1, A 2 and 1 more"),
        (9, "; the guard refused A 0, A 1, A 2 and 6 more"),
    ],
)
def test_the_first_three_refused_requests_are_named(count: int, phrase: str) -> None:
    assert refusals("; ", [f"A {number}" for number in range(count)]) == phrase


@each(
    ("unreached", "verdict", "status"),
    [("", "pass", 0), ("", "partial", 1), ("browser.unreachable", "pass", 3), ("input.invalid", "fail", 2)],
)
def test_a_replay_ends_with_its_verdict_or_with_why_there_is_none(unreached: str, verdict: str, status: int) -> None:
    assert status_of_replay({"unreached": unreached, "lacking": "", "report": {"verdict": verdict}}) == status


def test_a_replay_that_lacked_a_permission_says_what_to_add_and_not_how_to_go_on() -> None:
    stopped = "step 5 not performed"
    done = Answers(session_replay=[DIFFERENT | {"lacking": "step 2: add `--allow`", "stopped": stopped}]).run(
        "session", "replay", "ses-A"
    )
    assert done.code == 2
    assert done.out[1].startswith("the call lacked a permission") and done.out[1].endswith(": step 2: add `--allow`")
    assert done.out[2] == stopped


def test_long_extracted_values_are_cut() -> None:
    recorded = {
        "id": "ses-A",
        "steps": 2,
        "verdict": "pass",
        "reason": "",
        "blocked": [],
        "extracted": {"a": "x" * 200, "b": "y" * 201},
    }
    done = Answers(session_record=[recorded]).run("session", "record", __file__)
    assert done.out[-3:] == [
        "read:",
        f"  a: {'x' * 200}",
        f"  b: {'y' * 200}… (201 characters; --json prints all)",
    ]


def test_a_bundle_is_named_after_its_session_unless_said_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    node = Answers(session_export=[{"out": "/o", "steps": 1, "manifest": "0123456789abcdefX"}])
    done = node.run("session", "export", "ses-A")
    assert done.asked[0][1]["out"] == str(tmp_path / "ses-A.tmsession")
    assert done.out == ["manifest  0123456789abcdefX", "length    1 step", "wrote     /o"]
    assert node.run("session", "export", "ses-A", "--out", "mine").asked[0][1]["out"] == str(tmp_path / "mine")


@pytest.mark.parametrize(
    ("typed", "refused"),
    [("ses-A", False), ("file", True), ("ses-A.tmsession", True), ("none.tmsession", True), ("none", False)],
)
def test_a_bundle_is_imported_before_it_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, refused: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    node = Answers(session_replay=[MeshError("input.not_found")])
    done = node.run("session", "replay", typed)
    assert len(done.asked) == (0 if refused else 1)
    assert (f"{typed} is a file: `trailmesh session import` imports it" in done.err[0]) is refused
    assert done.code == 2


def test_a_recording_is_named_after_its_file(tmp_path: Path) -> None:
    (tmp_path / "mugs.v2.yaml").write_text("title: Mugs\n")
    node = Answers(
        session_record=[
            {"id": "ses-A", "steps": 2, "verdict": "pass", "reason": "", "blocked": ["POST /a"], "extracted": {}}
        ]
    )
    done = node.run("session", "record", str(tmp_path / "mugs.v2.yaml"))
    assert (done.asked[0][1]["name"], done.asked[0][1]["actions"]) == ("mugs.v2", "title: Mugs\n")
    assert done.out == [
        "session        ses-A",
        "verdict        pass",
        "length         2 steps",
        "guard refused  POST /a",
    ]


DIFFERENT: dict[str, Any] = {
    "report": {
        "id": "rep-1", "verdict": "fail", "matched": 0, "steps": [], "origin": "", "blocked": [],
        "level": "text", "strict": False, "reason": "step 1: other text", "inputs": [],
    },
    "signed_by": "NODEABC-REST", "unreached": "", "stopped": "", "differences": [], "out": "", "secrets_missing": [],
    "replayable": 3, "lacking": "", "agreed": [], "names": {}, "described": ["open /a", "click link “B”"],
    "uncounted": {},
}  # fmt: skip


def test_differences_are_shown_under_their_step_and_aspect() -> None:
    found = [
        {"step": 1, "what": "address", "recorded": "/a", "met": "/b", "also": [2]},
        {"step": 1, "what": "text", "recorded": "old", "met": "", "also": []},
        {"step": 1, "what": "text", "recorded": "", "met": "new", "also": []},
        {"step": 2, "what": "text", "recorded": "", "met": "more", "also": []},
        {"step": 2, "what": "title", "recorded": "", "met": "x", "also": []},
    ]
    done = Answers(session_replay=[DIFFERENT | {"differences": found, "stopped": "stopped at step 2"}]).run(
        "session", "replay", "ses-A"
    )
    assert done.code == 1
    assert done.out[0].startswith("fail (step 1: other text), level text: 0 of 3 steps matched") and done.out[
        0
    ].endswith("; signed by NODEABC")
    assert done.out[1:] == [
        "stopped at step 2; `--on-mismatch go` performs it, `--on-mismatch ask` asks before each such step",
        "step 1 and 1 other, open /a, address:",
        "  recorded  /a",
        "  met       /b",
        "step 1, open /a, text:",
        "  recorded  old",
        "  met       new",
        "step 2, click link “B”, text:",
        "  met       more",
        "step 2, click link “B”, title:",
        "  recorded",
        "  met       x",
    ]


@each(("matched", "missing", "said"), [(False, ["a", "b"], True), (True, ["a", "b"], False), (False, [], False)])
def test_who_has_not_the_secrets_is_told_why_differences_are_not_shown(
    matched: bool, missing: list[str], said: bool
) -> None:
    step = {"index": 1, "performed": True, "matched": matched, "text": "same"}
    report = DIFFERENT["report"] | {"steps": [step]}
    done = Answers(session_replay=[DIFFERENT | {"report": report, "secrets_missing": missing}]).run(
        "session", "replay", "ses-A"
    )
    told = [line for line in done.out if line.endswith("--secret NAME@ORIGIN=SOURCE for a, b")]
    assert bool(told) is said
