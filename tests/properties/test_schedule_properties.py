"""Every due time gets exactly one record, whatever is due and whenever somebody looks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.schedule import LATE_MS_MAX, Due, Misfire, RunStatus, decide, delay_ms

NOW_MS = 1_767_225_600_000
ages = st.lists(st.integers(0, 10 * LATE_MS_MAX), unique=True, max_size=30)
policies = st.sampled_from(Misfire)


def ripe_of(ages_ms: list[int]) -> list[Due]:
    """Due times that have been ripe for so long."""
    return [Due(NOW_MS - age, NOW_MS - age) for age in sorted(ages_ms, reverse=True)]


@given(ages, policies, st.booleans(), st.booleans(), st.booleans())
def test_each_due_time_is_decided_once_in_order_and_at_most_the_last_one_runs(
    ages_ms: list[int], misfire: Misfire, running: bool, more: bool, may_run: bool
) -> None:
    ripe = ripe_of(ages_ms)
    decided = decide(ripe, now_ms=NOW_MS, misfire=misfire, running=running, more=more, may_run=may_run)
    assert [due_ms for due_ms, _ in decided] == [due.due_ms for due in ripe]
    running_now = [due_ms for due_ms, status in decided if status is RunStatus.RUNNING]
    assert running_now in ([], [ripe[-1].due_ms] if ripe else [])
    if running or more or not may_run:
        assert not running_now


@given(ages, policies, st.booleans())
def test_what_is_ripe_and_on_time_runs_unless_the_run_before_goes_on(
    ages_ms: list[int], misfire: Misfire, running: bool
) -> None:
    ripe = ripe_of([*ages_ms, 0] if 0 not in ages_ms else ages_ms)
    last = decide(ripe, now_ms=NOW_MS, misfire=misfire, running=running)[-1]
    assert last == (NOW_MS, RunStatus.SKIPPED if running else RunStatus.RUNNING)


@given(ages.filter(bool), st.booleans())
def test_the_policy_decides_what_becomes_of_due_times_that_passed(ages_ms: list[int], running: bool) -> None:
    late = ripe_of([LATE_MS_MAX + 1 + age for age in ages_ms])
    skipped = decide(late, now_ms=NOW_MS, misfire=Misfire.SKIP, running=running)
    assert {status for _, status in skipped} == {RunStatus.MISSED}
    *others, last = decide(late, now_ms=NOW_MS, misfire=Misfire.RUN_ONCE, running=running)
    assert {status for _, status in others} <= {RunStatus.COALESCED}
    assert last[1] is (RunStatus.SKIPPED if running else RunStatus.RUNNING)


@given(ages, policies, st.booleans())
def test_what_may_not_run_any_more_is_missed(ages_ms: list[int], misfire: Misfire, running: bool) -> None:
    decided = decide(ripe_of(ages_ms), now_ms=NOW_MS, misfire=misfire, running=running, may_run=False)
    assert {status for _, status in decided} <= {RunStatus.MISSED}


@given(st.text(max_size=30), st.integers(0, 2**45), st.integers(0, 3_600))
def test_a_delay_is_the_same_each_time_and_within_the_jitter(schedule: str, due_ms: int, jitter_s: int) -> None:
    delay = delay_ms(schedule, due_ms, jitter_s)
    assert 0 <= delay <= jitter_s * 1000
    assert delay == delay_ms(schedule, due_ms, jitter_s)


def test_delays_are_spread_over_the_jitter() -> None:
    delays = [delay_ms("sch-1", NOW_MS + number * 60_000, 60) for number in range(200)]
    assert min(delays) < 5_000
    assert max(delays) > 55_000
