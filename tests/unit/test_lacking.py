"""Whether a replay differs because the call lacked a permission, or because the site changed."""

from __future__ import annotations

import msgspec

from protocol.errors import CODES, MeshError
from protocol.recording.records.session import Step, StepMatch
from protocol.recording.replays.lacking import lacking
from protocol.recording.replays.replay import not_performed
from tests.session_samples import matched, sample_steps
from tests.tables import each

STEPS, _ = sample_steps()
FIRST, SECOND = STEPS[0], msgspec.structs.replace(STEPS[1], risk=5, blocked=())
DIFFERS = msgspec.structs.replace(matched(FIRST), state=False, matched=False)
ALLOW = "step {}: the guard refused {}, but not in the recording; the owner can add `--allow '{} URL'`"


def stopped(stop: MeshError, *before: StepMatch, refused: tuple[str, ...] = (), step: Step = SECOND) -> str:
    """What a replay lacked that ``stop`` ended at the second step."""
    return lacking([FIRST, step], [*before, not_performed(step, stop.code, 1)], stop, refused)


def risk(level: int) -> MeshError:
    return MeshError("risk.refused", "x", level=level)


def test_a_class_that_was_recorded_and_is_not_approved_is_what_the_call_lacked() -> None:
    plain = msgspec.structs.replace(SECOND, effects=())
    said = "step 2: risk class 5 is not approved; the owner can add `--approve-class 5`"
    assert [stopped(risk(level), matched(FIRST), step=plain) for level in (5, 4)] == [said, said]
    more = ", or send what the session lists with `--writes` (`session replay --plan` shows it)"
    assert stopped(risk(5), matched(FIRST)) == said + more


def test_a_class_above_the_recorded_one_means_that_the_site_changed() -> None:
    assert stopped(risk(6), matched(FIRST)) == ""


def test_a_secret_for_another_site_is_what_the_call_lacked() -> None:
    error = MeshError("action.secret_elsewhere", "the secret “pin” is for https://a.example")
    remedy = CODES["action.secret_elsewhere"].remedy
    assert stopped(error, matched(FIRST)) == f"step 2: the secret “pin” is for https://a.example. {remedy}"


def test_what_the_guard_does_not_let_the_browser_open_is_what_the_call_lacked() -> None:
    error = MeshError("browser.refused", "the network guard refused http://10.0.0.7")
    assert (
        stopped(error, matched(FIRST))
        == f"step 2: the network guard refused http://10.0.0.7. {CODES['browser.refused'].remedy}"
    )


@each("error", [risk(5), MeshError("action.secret_elsewhere"), MeshError("replay.diverged")])
def test_an_earlier_difference_stands_whatever_the_call_lacked_later(error: MeshError) -> None:
    assert stopped(error, DIFFERS) == ""


@each("code", ["action.target_missing", "browser.navigation", "replay.diverged"])
def test_what_no_option_changes_is_not_what_the_call_lacked(code: str) -> None:
    assert stopped(MeshError(code), matched(FIRST)) == ""
    assert lacking(STEPS[:1], [DIFFERS], None, ()) == ""


def test_a_request_that_was_let_through_in_the_recording_and_refused_now_is_what_the_call_lacked() -> None:
    assert lacking([FIRST], [DIFFERS], None, ("POST /buy",)) == ALLOW.format(1, "POST /buy", "POST")
    # The missing page of a refused form may be noticed only when its element is looked for.
    found = stopped(MeshError("action.target_missing"), matched(FIRST), refused=("POST /buy",))
    assert found == ALLOW.format(2, "POST /buy", "POST")


def test_a_request_that_was_refused_in_the_recording_too_is_not_what_the_call_lacked() -> None:
    before = msgspec.structs.replace(FIRST, blocked=("POST /beacon",))
    assert lacking([before], [DIFFERS], None, ("POST /beacon",)) == ""
    assert lacking([before], [DIFFERS], None, ("POST /beacon", "POST /buy")) == ALLOW.format(1, "POST /buy", "POST")


def test_a_replay_that_matched_lacked_nothing() -> None:
    assert lacking([FIRST], [matched(FIRST)], None, ("POST /buy",)) == ""
    assert lacking([], [], None, ()) == ""
