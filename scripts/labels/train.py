"""Fits the text model of ``protocol/risk/words`` anew, and writes its weights and ``docs/risk-words.md``.

    python -m scripts.labels.fetch FOLDER     # once: about 60 packages, 2 GB
    python -m scripts.labels.train FOLDER     # 20 minutes on one core

``--without ja,ru`` leaves out languages while fitting, and only prints how they are read then.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import protocol.risk.words
from protocol.risk.words.anchors import KINDS
from protocol.risk.words.model import FILE, encode
from scripts.labels.choosing import header_of
from scripts.labels.dataset import Label, labels_of, seeds, thinned, weighed
from scripts.labels.fetch import applications
from scripts.labels.fitting import examples_of, fit
from scripts.labels.reporting import report

_ROOT: Final = Path(__file__).resolve().parents[2]
_WEIGHTS: Final = Path(protocol.risk.words.__file__).with_name(FILE)
_PAGE: Final = _ROOT / "docs/risk-words.md"
_ROUNDS: Final = 8
"""With more it learns the catalogues by heart: after 14 it reached a tenth less of ``tune`` at the same share of missed labels."""


def gather(base: Path) -> dict[str, list[Label]]:
    """The labels of each application of ``sources.toml``."""
    found = {}
    for name in applications():
        found[name] = labels_of(base, name)
        print(f"{name}: {len(found[name]):,} labels", flush=True)
    return found


def digest(labels: Sequence[Label]) -> str:
    """Says which labels were used without holding them."""
    lines = sorted(f"{label.language}\t{label.kind}\t{label.text}" for label in labels)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def part_of(found: dict[str, list[Label]], name: str) -> list[Label]:
    """All labels of one part."""
    return [label for each, entry in applications().items() if entry["part"] == name for label in found[each]]


def make(found: dict[str, list[Label]], without: frozenset[str]) -> bytes:
    """The file of weights."""
    taught = [label for label in [*part_of(found, "train"), *seeds()] if label.language.split("_")[0] not in without]
    weights, bias = fit(examples_of(list(weighed(taught))), len(KINDS), rounds=_ROUNDS)
    tune = thinned(part_of(found, "tune"))
    examples = examples_of([(label.text, KINDS.index(label.kind), 1.0) for label in tune])
    return encode(*header_of(weights, bias, examples, tune))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", default="")
    given = parser.parse_args()
    without = frozenset(filter(None, given.without.split(",")))
    found = gather(given.folder)
    data = make(found, without)
    test = part_of(found, "test")
    used = {name: (entry["part"], len(found[name]), digest(found[name])) for name, entry in applications().items()}
    before = _WEIGHTS.read_bytes() if _WEIGHTS.exists() else b""
    _WEIGHTS.write_bytes(data)
    if not without:
        _PAGE.write_text(report(test, size=len(data), applications=used))
        print(f"{_WEIGHTS}: {len(data):,} bytes")
        return
    try:
        print(
            report(
                [label for label in test if label.language.split("_")[0] in without], size=len(data), applications={}
            )
        )
    finally:
        _WEIGHTS.write_bytes(before)


if __name__ == "__main__":
    main()
