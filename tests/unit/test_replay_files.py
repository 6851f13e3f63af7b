"""Files about a replay: what CI systems are told, and that no page can speak in its own name there."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from node.sessions.showing.files import write_ended, write_files
from node.sessions.showing.junit import junit_of_recording, junit_xml
from node.sessions.showing.markdown import markdown
from node.sessions.showing.report import render_replay
from node.sessions.showing.seen import RecordingFacts, ReplayFiles, ReplaySeen
from node.sessions.showing.suite import write_suite
from node.sessions.showing.told import Told, UnreportedReplay, tell
from node.verbs.sessions.session_results import ReplayedSession, ShownSession
from protocol import ids
from protocol.errors import MeshError
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import ReplayReport, StepMatch
from protocol.recording.records.verdict import Verdict
from protocol.recording.replays.replay import not_performed
from tests.session_samples import BROWSER, NODE, SESSION_ID, matched, sample_session, sample_steps
from tests.tables import each

STEPS, _ = sample_steps()
SESSION = sample_session(STEPS)
PRICE = Difference(step=4, what="extracted", recorded="9.90", met="Sold out")


def other(index: int) -> StepMatch:
    return msgspec.structs.replace(matched(STEPS[index - 1]), extracted=False, matched=False)


def told(*matches: StepMatch, verdict: Verdict = Verdict.PARTIAL, **more: Any) -> Told:
    report = ReplayReport(
        id=ids.make_id("rep", bytes(ids.ID_RANDOM_BYTES)),
        session=SESSION_ID,
        manifest=bytes(32),
        node=NODE,
        replayed_ms=1_700_000_000_000,
        browser=BROWSER,
        steps=matches,
        matched=sum(match.matched for match in matches),
        verdict=verdict,
        duration_ms=100,
    )
    given: dict[str, Any] = {"differences": (), "secrets_missing": (), "replayable": 4} | more
    replayed = ReplayedSession(report=report, described=(), signed_by=NODE, **given)
    return tell(more.pop("session", SESSION), STEPS, replayed)


GREEN = told(*map(matched, STEPS), verdict=Verdict.PASS)
RED = told(matched(STEPS[0]), matched(STEPS[1]), matched(STEPS[2]), other(4), differences=(PRICE,))


def cases(data: bytes) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each test case with the kinds and messages of its results."""
    root = ElementTree.fromstring(data)
    return [
        (case.attrib["name"], [(child.tag, child.attrib.get("message", "")) for child in case])
        for case in root.iter("testcase")
    ]


def counts(data: bytes) -> list[int]:
    (suite,) = ElementTree.fromstring(data).iter("testsuite")
    return [int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")]


def test_each_step_is_a_test_case_with_its_element_and_its_time() -> None:
    assert cases(junit_xml(GREEN)) == [
        ("1. open http://shop.example:8000/", []),
        ("2. click link “Mugs” in listitem “Mugs”", []),
        ("3. fill textbox “Password” with the secret “password”", []),
        ("4. extract “price” from status “Total”", []),
    ]
    assert counts(junit_xml(GREEN)) == [4, 0, 0, 0]


def test_a_difference_is_a_failure_that_says_what_was_met() -> None:
    data = junit_xml(RED)
    assert cases(data)[3] == (
        "4. extract “price” from status “Total”",
        [("failure", "extracted value “Sold out” instead of “9.90”")],
    )
    assert "recorded  9.90\n  met       Sold out" in data.decode()
    assert counts(data) == [4, 1, 0, 0]


def test_what_is_noted_of_a_step_stands_beside_it_in_every_file_and_decides_nothing() -> None:
    """Taken out: ``ToldStep.notes`` in each of the three files."""
    noted = tell(SESSION, STEPS, GREEN.replayed, {2: ("still loading <after> 15 s",)})
    data = junit_xml(noted)
    out = next(ElementTree.fromstring(data).iter("system-out"))
    assert out.text == "note: still loading <after> 15 s"
    assert counts(data) == [4, 0, 0, 0]
    assert "- step 2: still loading \\<after\\> 15 s" in markdown(noted)
    step = render_replay(noted, {}, ReplaySeen(), (), made_ms=0).partition('id="step-2"')[2].partition('id="step-3"')[0]
    assert "still loading &lt;after&gt; 15 s" in step


def test_a_step_that_was_not_performed_fails_and_those_after_it_are_skipped() -> None:
    missing = Difference(step=2, what="action", recorded="click link “Mugs”", met="no link “Mugs”; there is “Cups”")
    stopped = not_performed(STEPS[1], "action.target_missing", 3)
    data = junit_xml(told(matched(STEPS[0]), stopped, differences=(missing,)))
    assert [results for _, results in cases(data)] == [
        [],
        [("failure", "no link “Mugs”; there is “Cups”")],
        [("skipped", "not reached")],
        [("skipped", "not reached")],
    ]


def test_a_site_that_was_not_there_is_an_error_and_no_failure() -> None:
    away = not_performed(STEPS[0], "browser.unreachable", 3)
    data = junit_xml(told(away, verdict=Verdict.FAIL, unreached="browser.unreachable"))
    assert cases(data)[0][1] == [("error", "browser.unreachable")]
    assert counts(data) == [4, 0, 1, 3]


def test_a_replay_that_did_not_pass_is_never_green_whatever_its_steps_say() -> None:
    """Guard: node/sessions/showing/junit.py, junit_xml."""
    data = junit_xml(told(*map(matched, STEPS), stopped="a request was refused"))
    assert cases(data)[-1] == (
        "verdict",
        [("failure", "partial, level text: 4 of 4 steps matched; a request was refused")],
    )
    assert counts(data) == [5, 1, 0, 0]
    (printed,) = ElementTree.fromstring(data).iter("system-out")
    assert printed.text == "partial, level text: 4 of 4 steps matched\na request was refused"


def test_a_login_that_does_not_hold_is_one_error_and_no_step_has_a_result(tmp_path: Path) -> None:
    error = MeshError("capsule.logged_out", "led on to <b>")
    ended = UnreportedReplay(session=SESSION, steps=((1, "open"), (2, "click")), error=error, at_ms=1_700_000_000_000)
    files = ReplayFiles(junit=str(tmp_path / "ended.xml"), markdown=str(tmp_path / "ended.md"))
    write_ended(files, ended)
    data = (tmp_path / "ended.xml").read_bytes()
    assert cases(data) == [
        ("login", [("error", "no result: capsule.logged_out: led on to <b>")]),
        ("1. open", [("skipped", "no result")]),
        ("2. click", [("skipped", "no result")]),
    ]
    assert counts(data) == [3, 0, 1, 2]
    assert "capsule\\.logged\\_out\\: led on to \\<b\\>" in (tmp_path / "ended.md").read_text()


@each("character", ["\x00", "\x1b", "\ufffe", "\ud800", "<", "&", "]]>", "\x9b"])
def test_what_a_page_says_leaves_the_xml_readable(character: str) -> None:
    said = Difference(step=4, what="extracted", recorded="9.90", met=f"a{character}b")
    data = junit_xml(told(*map(matched, STEPS[:3]), other(4), differences=(said,)))
    assert counts(data) == [4, 1, 0, 0]
    assert b"\x1b" not in data and "\x9b" not in data.decode()


def test_the_summary_names_verdict_steps_and_differences() -> None:
    text = markdown(RED)
    assert "**partial, level text\\: 3 of 4 steps matched**" in text
    assert "| ✗ | 4\\. extract “price” from status “Total” | differs: extracted text |" in text
    assert "| 4 | extracted value | 9\\.90 | Sold out |" in text
    assert "not reached" in markdown(told(not_performed(STEPS[0], "action.target_missing", 1)))


def test_a_page_cannot_put_links_mentions_or_html_into_the_summary() -> None:
    """Guard: node/sessions/showing/markdown.py, plain."""
    evil = "![x](https://evil.example/p.png) <img src=x> @everyone | `a` www.evil.example &lt;"
    said = Difference(step=4, what="extracted", recorded="9.90", met=f"{evil}\n# heading")
    text = markdown(told(*map(matched, STEPS[:3]), other(4), differences=(said,)))
    (row,) = (line for line in text.splitlines() if "everyone" in line)
    plain = row.removeprefix("| 4 | extracted value | 9\\.90 | ").removesuffix(" |")
    for one in "!<@|`.&#[](":
        assert plain.count(one) == plain.count(f"\\{one}") > 0, one


def test_files_are_for_their_owner_only_and_a_place_that_is_none_is_named(tmp_path: Path) -> None:
    files = ReplayFiles(junit=str(tmp_path / "j.xml"), markdown=str(tmp_path / "m.md"))
    write_files(files, RED)
    assert (tmp_path / "j.xml").read_bytes() == junit_xml(RED)
    assert (tmp_path / "m.md").read_text() == markdown(RED)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    with pytest.raises(MeshError) as caught:
        write_files(ReplayFiles(junit=str(tmp_path / "j.xml" / "x")), RED)
    assert caught.value.code == "input.invalid"


def test_a_step_that_differs_beside_assertions_is_named_in_the_verdict_of_every_file() -> None:
    beside = msgspec.structs.replace(matched(STEPS[1]), text="differs")
    found = Difference(step=2, what="text", recorded="- cell: £10", met="- cell: £12")
    steps = (matched(STEPS[0]), beside, *map(matched, STEPS[2:]))
    green = told(*steps, verdict=Verdict.PASS, differences=(found,))
    line = "pass; 1 step differs in text (2), level text: 4 of 4 steps matched"
    assert green.summary == line
    data = junit_xml(green).decode()
    assert counts(data.encode()) == [4, 0, 0, 0]
    assert line in data and "text differs: it does not count at this level" in data and "£12" in data
    assert "**pass; 1 step differs in text \\(2\\)" in markdown(green)
    assert "matched: text differs" in markdown(green)
    page = render_replay(green, {}, ReplaySeen(), (), made_ms=0)
    assert line in page[: page.index("The recorded session")]


def test_a_recording_has_a_case_a_step_and_is_red_exactly_if_it_did_not_pass() -> None:
    session = sample_session(STEPS)
    described = ("a", "b", "c", "d")
    failed = msgspec.structs.replace(STEPS[2], ok=False, error="action.target_missing", extracted="")
    slow = msgspec.structs.replace(failed, error="browser.launch")
    error = MeshError("action.target_missing", "no button “Buy”", step=3)
    partial = msgspec.structs.replace(session, verdict=Verdict.PARTIAL, reason="step 2: a request failed")
    ends = [
        (ShownSession(session=session, steps=tuple(STEPS), described=described), RecordingFacts(), [""] * 4),
        (
            ShownSession(session=partial, steps=(*STEPS[:2], failed), described=described[:3]),
            RecordingFacts(left=("d",), error=error),
            ["", "", "failure no button “Buy”", "skipped not reached"],
        ),
        (
            ShownSession(session=partial, steps=(slow,), described=("c",)),
            RecordingFacts(error=error),
            ["error browser.launch"],
        ),
        (
            ShownSession(session=partial, steps=(STEPS[0],), described=("a",)),
            RecordingFacts(),
            ["", "failure partial: step 2: a request failed"],
        ),
    ]
    for shown, performed, wanted in ends:
        found = cases(junit_of_recording(shown, performed))
        results = [[" ".join(one) for one in each if one[0] != "system-out"] for _, each in found]
        assert [one[0] if one else "" for one in results] == wanted


def test_a_run_is_red_in_its_junit_file_wherever_a_file_of_it_did_not_pass_and_its_summary_says_it_first(
    tmp_path: Path,
) -> None:
    """Taken out: the case that ``_junit`` adds behind a file whose own cases are all green."""
    (tmp_path / "a.xml").write_bytes(junit_xml(GREEN))
    one = {
        "said": "a | [b](c)",
        "code": "",
        "session": "",
        "report": "",
        "html": "",
        "attempts": 1,
        "duration_ms": 1500,
    }
    kinds = {"pass": "", "differs": "failure", "refused": "error", "trouble": "error", "not run": "skipped"}
    ran = [one | {"file": f"{kind}.yaml", "outcome": kind, "junit": "a.xml"} for kind in kinds]
    write_suite(tmp_path, "Run", ran)
    red: dict[str, list[str]] = {f"{kind}.yaml": [] for kind in kinds}
    for suite in ElementTree.fromstring((tmp_path / "junit.xml").read_text()):
        found = (child.tag for case in suite.iter("testcase") for child in case)
        red[suite.attrib["name"]] += [tag for tag in found if tag != "system-out"]
    assert red == {f"{kind}.yaml": [tag] if tag else [] for kind, tag in kinds.items()}
    lines = (tmp_path / "summary.md").read_text().splitlines()
    assert lines[2] == "**1 of 5 passed**"
    assert [line.split(" | ")[1] for line in lines[6:]][-1] == r"pass\.yaml"
    assert lines[6] == r"| ✗ | differs\.yaml | differs: a \| \[b\]\(c\) | 1.5 s |"
