"""The weights of the text model, and the probability of each kind for a text.

``weights.bin`` is written by ``python -m scripts.labels.train``: a line of JSON, then the weights as int8, row by row.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from protocol.risk.words.anchors import KINDS
from protocol.risk.words.features import BUCKETS, features

FILE: Final = "weights.bin"


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """The probabilities from which a kind is certain; chosen on applications that the weights have not seen."""

    view: dict[str, float]
    """By script: for view and search together. A script that is not listed was not shown to be read well enough."""
    grave: float
    """For pay, access and destroy together."""
    change: float
    """For all kinds of class 4 and above together."""
    quiet: float
    """The same, but lower: from here on, a label is no longer taken for the name of something."""
    lean: float
    """From here on, a label suggests a kind without certainty."""
    field: float
    """For card, or for secret, as the label of a field."""


class WeightsHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the file."""

    kinds: tuple[str, ...]
    buckets: int
    scales: tuple[float, ...]
    """By kind: the value of a weight of 1."""
    bias: tuple[float, ...]
    temperature: float
    thresholds: Thresholds


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted text model."""

    header: WeightsHeader
    weights: NDArray[np.int8]
    """Shape (buckets, kinds)."""
    scales: NDArray[np.float32]
    bias: NDArray[np.float32]

    def probabilities(self, text: str) -> dict[str, float]:
        """The probability of each kind for ``text``, which is a result of ``read``; they sum to 1."""
        found = features(text)
        sums = self.weights[found].sum(axis=0, dtype=np.int32) * self.scales / np.sqrt(len(found)) + self.bias
        powers = np.exp((sums - sums.max()) / self.header.temperature)
        return dict(zip(KINDS, (powers / powers.sum()).tolist(), strict=True))


def decode(data: bytes) -> Model:
    """The model in the bytes of the file. The file is part of this package, so the bytes are trusted."""
    first, _, rows = data.partition(b"\n")
    header = msgspec.json.decode(first, type=WeightsHeader)
    assert header.kinds == KINDS and header.buckets == BUCKETS
    weights = np.frombuffer(rows, dtype=np.int8).reshape(header.buckets, len(header.kinds))
    return Model(
        header=header,
        weights=weights,
        scales=np.array(header.scales, dtype=np.float32),
        bias=np.array(header.bias, dtype=np.float32),
    )


def encode(header: WeightsHeader, weights: NDArray[np.int8]) -> bytes:
    """The bytes of the file; equal weights give equal bytes."""
    return msgspec.json.encode(header) + b"\n" + weights.tobytes()


@functools.cache
def model() -> Model:
    """The model of this package, read once."""
    return decode((resources.files("protocol.risk.words") / FILE).read_bytes())
