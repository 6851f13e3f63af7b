"""The difference between two clocks as a sentence."""

from __future__ import annotations


def apart_in_words(name: str, apart_ms: int, *, at_least: bool = False) -> str:
    """How the clock of ``name`` stands to ours.

    apart_ms: its time minus ours. at_least: whether that is only a bound.
    """
    direction = "ahead of" if apart_ms > 0 else "behind"
    return f"the clock of {name} is {'at least ' if at_least else ''}{_span(abs(apart_ms))} {direction} ours"


def _span(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = (milliseconds + 500) // 1000
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {seconds % 60} s"
    return f"{seconds} s"
