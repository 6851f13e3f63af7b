"""Fits the weights of the text model: multinomial logistic regression over hashed features, by Adam in small batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.risk.words.features import BUCKETS, features

_BATCH: Final = 8192
_RATE: Final = 0.05
_DECAY: Final = (0.9, 0.999)

Floats = NDArray[np.float32]


class Examples(NamedTuple):
    """Labels as rows of features: those of row ``i`` are ``found[ends[i]:ends[i + 1]]``."""

    found: NDArray[np.int32]
    ends: NDArray[np.int64]
    kinds: NDArray[np.int64]
    weights: Floats

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.kinds)


def examples_of(rows: Sequence[tuple[str, int, float]]) -> Examples:
    """``rows`` of text, number of the kind, weight."""
    found = [features(text) for text, _, _ in rows]
    ends = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in found], out=ends[1:])
    kinds = np.array([kind for _, kind, _ in rows], dtype=np.int64)
    return Examples(np.concatenate(found), ends, kinds, np.array([weight for _, _, weight in rows], dtype=np.float32))


def logits(examples: Examples, weights: Floats, bias: Floats) -> Floats:
    """Shape (rows, kinds): the sum of the weights of a row over the root of their number, plus the bias."""
    made = np.empty((examples.rows, weights.shape[1]), dtype=np.float32)
    for start in range(0, examples.rows, _BATCH):
        stop = min(start + _BATCH, examples.rows)
        first, last = examples.ends[start], examples.ends[stop]
        sums = np.add.reduceat(weights[examples.found[first:last]], examples.ends[start:stop] - first, axis=0)
        made[start:stop] = sums / _scale(examples, start, stop)[:, None] + bias
    return made


def _scale(examples: Examples, start: int, stop: int) -> Floats:
    return np.sqrt(np.diff(examples.ends[start : stop + 1])).astype(np.float32)


def softmax(scores: Floats) -> Floats:
    """Shape of ``scores``; each row sums to 1."""
    powers: Floats = np.exp(scores - scores.max(axis=1, keepdims=True)).astype(np.float32)
    chances: Floats = powers / powers.sum(axis=1, keepdims=True)
    return chances


def fit(examples: Examples, kinds: int, *, rounds: int, seed: int = 7) -> tuple[Floats, Floats]:
    """Weights of shape (``BUCKETS``, kinds) and the bias, float32. The same seed gives the same weights on the same machine."""
    random = np.random.default_rng(seed)
    weights = np.zeros((BUCKETS, kinds), dtype=np.float32)
    bias = np.zeros(kinds, dtype=np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    order = random.permutation((examples.rows + _BATCH - 1) // _BATCH)
    shuffled = _shuffled(examples, random)
    step = 0
    total = rounds * len(order)
    for _ in range(rounds):
        for batch in random.permutation(len(order)):
            step += 1
            start, stop = batch * _BATCH, min((batch + 1) * _BATCH, shuffled.rows)
            gradient, of_bias = _gradient(shuffled, start, stop, weights, bias)
            rate = _RATE * (1 - step / (total + 1))
            first += (1 - _DECAY[0]) * (gradient - first)
            second += (1 - _DECAY[1]) * (gradient * gradient - second)
            held = np.sqrt(second / (1 - _DECAY[1] ** step)) + 1e-8
            weights -= rate * (first / (1 - _DECAY[0] ** step)) / held
            bias -= rate * of_bias
    return weights, bias


def _shuffled(examples: Examples, random: np.random.Generator) -> Examples:
    order = random.permutation(examples.rows)
    lengths = np.diff(examples.ends)[order]
    ends = np.zeros(examples.rows + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    places = np.repeat(examples.ends[order] - ends[:-1], lengths) + np.arange(ends[-1])
    return Examples(examples.found[places], ends, examples.kinds[order], examples.weights[order])


def _gradient(examples: Examples, start: int, stop: int, weights: Floats, bias: Floats) -> tuple[Floats, Floats]:
    first, last = examples.ends[start], examples.ends[stop]
    found = examples.found[first:last]
    scale = _scale(examples, start, stop)
    sums = np.add.reduceat(weights[found], examples.ends[start:stop] - first, axis=0)
    wrong = softmax((sums / scale[:, None] + bias).astype(np.float32))
    wrong[np.arange(stop - start), examples.kinds[start:stop]] -= 1
    wrong *= (examples.weights[start:stop] / examples.weights[start:stop].sum())[:, None]
    spread = np.repeat(wrong / scale[:, None], np.diff(examples.ends[start : stop + 1]), axis=0)
    gradient = np.stack(
        [np.bincount(found, weights=spread[:, kind], minlength=BUCKETS) for kind in range(weights.shape[1])], axis=1
    )
    return gradient.astype(np.float32), wrong.sum(axis=0)
