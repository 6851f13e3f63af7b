"""What the probes of one search found, and what time and how many controls they may still take."""

from __future__ import annotations

from statistics import median_low
from typing import Final

import msgspec

from adapters.ports import Clock
from protocol import limits

_MEASURED_MIN: Final = 3
"""Presses after which it is known how long one takes."""


class Probes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the probes of a search found, in controls."""

    probed: int = 0
    harmless: int = 0
    """Nothing but plain reads was tried."""
    writing: int = 0
    """Something was tried that may change something."""
    asked: int = 0
    """Questions to the owner about what stayed in doubt, or writes."""
    given_up: int = 0
    """Presses that took longer than ``PROBE_MS_MAX``: what they would have done is not known, and the control stays in doubt."""
    milliseconds: int = 0
    """Time spent."""
    at_leisure: int = 0
    """Those of ``probed`` that took no time from visits."""


class Ledger:
    """What one search has probed, whichever of its branches is worked on."""

    def __init__(self, counts: Probes, clock: Clock, seconds: float) -> None:
        """seconds: how long the search may take."""
        self.counts = counts
        self.tried: set[bytes] = set()
        """Forms of elements that are not tried again in this search."""
        self.asked: set[str] = set()
        self._took_ms = [limits.PROBE_EXPECTED_MS]
        """Of each press, after what is expected of the first one."""
        self._clock = clock
        self._began_ms = clock.now_ms()
        self._before_ms = counts.milliseconds
        self._leisure_ms = 0
        self._whole_ms = limits.PROBE_SHARE_MAX * seconds * 1000

    @property
    def _free_ms(self) -> float:
        """What is spent before the share of the time counts. At the beginning everything is new, so it may have more than its
        share: but no more than its share of the whole. Where each press takes long, it is the time of as many presses.
        """
        measured = self._took_ms[1:]
        slow_ms = median_low(measured) if len(measured) >= _MEASURED_MIN else 0
        return min(max(limits.PROBE_FREE_MS, limits.PROBE_FREE_PRESSES * slow_ms), self._whole_ms)

    def spend(self, ms: int, *, at_leisure: bool) -> None:
        """Probes have taken ``ms``."""
        self.counts.milliseconds += ms
        self._leisure_ms += ms if at_leisure else 0

    def took(self, ms: int, *, at_leisure: bool = False) -> None:
        """One press of a control, with all that was opened for it, has taken ``ms``."""
        self.spend(ms, at_leisure=at_leisure)
        self._took_ms.append(ms)

    @property
    def _spent_ms(self) -> int:
        """What counts towards the share."""
        return self.counts.milliseconds - self._before_ms - self._leisure_ms

    @property
    def room(self) -> int:
        """How many controls may still be tried. Probes take no more than a share of the time of their search."""
        passed_ms = self._clock.now_ms() - self._began_ms
        # Not their mean: one that took long, mostly the first, would be expected of all the others.
        if self._spent_ms + median_low(self._took_ms) > max(self._free_ms, limits.PROBE_SHARE_MAX * passed_ms):
            return 0
        return max(0, limits.PROBES_PER_SEARCH_MAX - self.counts.probed + self.counts.at_leisure)

    @property
    def at_leisure(self) -> int:
        """How many may be tried by whoever has nothing else to do, so that the time is not taken from visits."""
        return max(self.room, limits.PROBES_AT_LEISURE_MAX - self.counts.at_leisure)

    @property
    def spare(self) -> int:
        """How many of those that the browser acts on by itself, as far as is known: they get less, and nothing in advance."""
        passed_ms = self._clock.now_ms() - self._began_ms
        return self.room if self._spent_ms < limits.PROBE_UNTRIED_SHARE_MAX * passed_ms else 0
