"""How long the event loop was blocked, told by a clock that the test sets."""

from __future__ import annotations

import time

import pytest

from node.base.loop_watch import LoopWatch


class Timer:
    """``time.monotonic``, and the loop whose timers the test lets go off."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, watch: LoopWatch) -> None:
        self.now_s, self._watch = 1_000.0, watch
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(watch, "_wait", self._wait)
        watch.start()

    def _wait(self) -> None:
        self._watch._due_s = self.now_s + 0.05

    def pass_by(self, seconds: float) -> None:
        """The timer goes off after so long, not after its 50 ms."""
        self.now_s += seconds
        self._watch._wake()


def test_a_block_is_remembered_for_the_minute_it_was_in_and_the_next_and_the_longest_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = LoopWatch()
    timer = Timer(monkeypatch, watch)
    timer.pass_by(0.05)
    assert (watch.recent_s, watch.longest_s) == (0, 0)
    timer.pass_by(2.05)
    timer.pass_by(1.05)
    timer.pass_by(0.01)
    assert watch.recent_s == pytest.approx(2)
    timer.now_s += 55
    watch._due_s = timer.now_s
    timer.pass_by(0.05)
    assert watch.recent_s == pytest.approx(2), "still the same minute"
    timer.now_s += 2
    watch._due_s = timer.now_s
    timer.pass_by(0.5)
    assert watch.recent_s == pytest.approx(2), "the minute after it"
    timer.now_s += 60
    watch._due_s = timer.now_s
    timer.pass_by(0)
    assert watch.recent_s == pytest.approx(0.5), "only the later one"
    assert watch.longest_s == pytest.approx(2)
