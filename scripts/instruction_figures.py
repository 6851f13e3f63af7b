"""Measures the rules for instructions to models on bastioncorpus: ``python -m scripts.instruction_figures``.

Rows 74 to 113 of version 0.6.0 were not looked at while the rules were written: they are the test part.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Final

from protocol.page.instructions.instructions import instructions_in

_UNSEEN: Final = range(74, 114)


def figures(rows: list[dict[str, str]]) -> tuple[str, list[str]]:
    """In words, and what was judged wrongly."""
    found = [bool(instructions_in(row["text"].replace("{canary}", "BX-7731"))) for row in rows]
    bad = [row["label"] == "malicious" for row in rows]
    right = sum(one and other for one, other in zip(found, bad, strict=True))
    wrong = [f"{row['id']} {row['label']}" for row, one, other in zip(rows, found, bad, strict=True) if one != other]
    precision, recall = right / max(sum(found), 1), right / max(sum(bad), 1)
    return f"{len(rows)} rows, {sum(bad)} instructions: precision {precision:.3f} recall {recall:.3f}", wrong


def main() -> None:
    lines = (files("bastioncorpus") / "corpus" / "injections.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    developed = [row for place, row in enumerate(rows) if place not in _UNSEEN]
    said, wrong = figures(developed)
    print("develop:", said, *wrong, sep="\n  ")
    said, wrong = figures([rows[place] for place in _UNSEEN])
    print("test:", said, f"{len(wrong)} wrong", sep="\n  ")


if __name__ == "__main__":
    main()
