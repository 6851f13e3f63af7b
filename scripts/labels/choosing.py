"""Chooses temperature and thresholds of the text model on applications that it was not fitted to, and makes its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from protocol.risk.words.anchors import KINDS
from protocol.risk.words.features import BUCKETS
from protocol.risk.words.model import Thresholds, WeightsHeader
from protocol.risk.words.text import script_of
from scripts.labels.dataset import Label
from scripts.labels.fitting import Examples, Floats, logits, softmax

HARMLESS: Final = ("view", "search")
GRAVE: Final = ("pay", "access", "destroy")
DANGEROUS: Final = ("change", *GRAVE)
_MISSED_MAX: Final = 0.003
_RAISED_MAX: Final = 0.006
"""Share of the harmless labels that may be called grave."""
_CHANGED_MAX: Final = 0.01
_QUIET_MAX: Final = 0.1
"""Share of the dangerous labels that may pass for the name of something."""
_LEAN_MAX: Final = 0.05
_FIELD: Final = 0.5
_SHOWN_MIN: Final = 100
"""A script with fewer dangerous labels is never read as harmless."""
_STEPS: Final = tuple(round(0.4 + 0.005 * step, 3) for step in range(120))
_QUIET: Final = tuple(round(0.01 * step, 2) for step in range(1, 51))
_INT8: Final = 127

Mask = NDArray[np.bool_]


def _of(kinds: NDArray[np.int64], names: Sequence[str]) -> Mask:
    return np.isin(kinds, [KINDS.index(name) for name in names])


def _sum(chances: Floats, names: Sequence[str]) -> Floats:
    total: Floats = chances[:, [KINDS.index(name) for name in names]].sum(axis=1)
    return total


def temperature_of(scores: Floats, kinds: NDArray[np.int64]) -> float:
    """The one by which the labels of ``kinds`` are least surprising."""

    def surprise(temperature: float) -> float:
        chances = softmax(scores / np.float32(temperature))
        return float(-np.log(chances[np.arange(len(kinds)), kinds] + 1e-9).mean())

    return min((round(0.5 + 0.05 * step, 2) for step in range(60)), key=surprise)


def _first(fits: Callable[[float], bool]) -> float:
    return next((step for step in _STEPS if fits(step)), 2.0)


def thresholds_of(chances: Floats, kinds: NDArray[np.int64], texts: Sequence[str]) -> Thresholds:
    """The lowest thresholds that keep within the shares above."""
    harmless, grave = _sum(chances, HARMLESS), _sum(chances, GRAVE)
    dangerous, views = _of(kinds, DANGEROUS), _of(kinds, HARMLESS)
    scripts = np.array([script_of(text) for text in texts])

    def missed(allowed: Mask, most: float) -> float:
        return _first(lambda step: bool((harmless[dangerous & allowed] >= step).mean() <= most))

    overall = missed(np.ones(len(kinds), dtype=bool), _MISSED_MAX)
    view = {
        str(script): max(overall, missed(scripts == script, _MISSED_MAX))
        for script in sorted(set(scripts.tolist()))
        if script not in ("", "Other") and (dangerous & (scripts == script)).sum() >= _SHOWN_MIN
    }
    changing = _sum(chances, ("begin", *DANGEROUS))
    named = np.isin(chances.argmax(axis=1), [KINDS.index(name) for name in (*HARMLESS, "other")])
    quiet = dangerous & named
    worst = np.maximum.reduce([chances[:, KINDS.index(name)] for name in GRAVE])
    lean = next((step / 100 for step in range(5, 60) if (worst[views] >= step / 100).mean() <= _LEAN_MAX), 0.6)
    return Thresholds(
        view=view,
        grave=max(0.5, _first(lambda step: bool((grave[views] >= step).mean() <= _RAISED_MAX))),
        change=_first(lambda step: bool((changing[views] >= step).mean() <= _CHANGED_MAX)),
        quiet=next(
            (step for step in reversed(_QUIET) if (quiet & (changing < step)).sum() <= _QUIET_MAX * dangerous.sum()),
            0.0,
        ),
        lean=lean,
        field=_FIELD,
    )


def quantised(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Weights as int8, and by kind what a weight of 1 is worth; one in 10,000 is cut off."""
    most = np.quantile(np.abs(weights), 0.9999, axis=0)
    scales = (most / _INT8).astype(np.float32)
    return np.clip(np.rint(weights / scales), -_INT8, _INT8).astype(np.int8), scales


def header_of(
    weights: Floats, bias: Floats, tune: Examples, labels: Sequence[Label]
) -> tuple[WeightsHeader, NDArray[np.int8]]:
    """The header and the weights of the file."""
    small, scales = quantised(weights)
    scores = logits(tune, small.astype(np.float32) * scales, bias)
    temperature = temperature_of(scores, tune.kinds)
    chances = softmax(scores / np.float32(temperature))
    header = WeightsHeader(
        kinds=KINDS,
        buckets=BUCKETS,
        scales=tuple(float(each) for each in scales),
        bias=tuple(float(each) for each in bias),
        temperature=temperature,
        thresholds=thresholds_of(chances, tune.kinds, [label.text for label in labels]),
    )
    return header, small
