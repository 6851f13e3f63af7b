"""The pictures of made search trees, box by box, and what the report of a search says in words."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import msgspec

from node.explorer.showing.report import render_report
from node.explorer.showing.tree_picture import TreeNode, draw
from tests.report_samples import NAMES, sample_report, sample_tree


def _tree(chance: random.Random, depth: int) -> TreeNode:
    below = chance.choice((0, 1, 2, 3, 5)) if depth else 0
    children = tuple(_tree(chance, depth - 1) for _ in range(below))
    shares = tuple(
        (name, chance.choice((0, 1, 4, 30))) for name in chance.sample(NAMES, chance.randrange(len(NAMES) + 1))
    )
    return TreeNode(
        label=chance.choice(
            ("start", "click link “Mugs”", "fill searchbox “Search in all of the shop” with “a very long word”", "x")
        ),
        title="told",
        visits=sum(count for _, count in shares),
        value=chance.choice((0.0, 0.1, 0.5, 0.94, 1.0)),
        shares=shares,
        winning=chance.random() < 0.2,
        children=children,
    )


def _picture(root: TreeNode, shown_max: int) -> Iterator[str]:
    picture = draw(root, NAMES, shown_max=shown_max)
    for field in picture.__struct_fields__:
        value = getattr(picture, field)
        if not isinstance(value, tuple):
            yield f"  {field}: {value}"
            continue
        yield from (f"  {field}: {msgspec.json.encode(each).decode()}" for each in value)


def lines() -> Iterator[str]:
    """Pictures, then the words of a report."""
    for seed, shown_max in ((1, 99), (2, 12), (3, 5), (4, 1), (5, 30), (6, 20)):
        yield f"picture {seed}, at most {shown_max} boxes"
        yield from _picture(_tree(random.Random(seed), 3), shown_max)
    yield "picture of the sample"
    yield from _picture(sample_tree(), 10)
    for report in (
        sample_report(),
        msgspec.structs.replace(sample_report(), success=False, session=None, replays=(), steps=[]),
    ):
        html = re.sub(
            r"<style>.*?</style>|<svg.*?</svg>|src=\"data:[^\"]*\"", "", render_report(report), flags=re.DOTALL
        )
        yield "report"
        yield from (
            f"  {' '.join(line.split())}" for line in re.sub(r"<[^>]*>", "\n", html).splitlines() if line.strip()
        )
