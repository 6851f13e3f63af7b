"""How merging and selecting behave as the search tree grows."""

from __future__ import annotations

import random
import statistics
import time

import numpy as np

from adapters.search.writer import TreeWriter
from benchmarks.registry import benchmark, interleaved
from protocol.page.actions.action import Click, Locator
from protocol.search.chunk import decode_change
from protocol.search.delta import read_change
from protocol.search.entry import SCALE, STATE_UNKNOWN, NodeEntry, Register, TreeUpdate, encode_action, make_update
from protocol.search.tree import SearchTree
from protocol.search.uct import Uct

_SEARCH = "sea-benchmark"
_BRANCHING = 10
_ACTIONS = [encode_action(Click(target=Locator(role="link", name=f"link {n}"))) for n in range(_BRANCHING)]


def grow(tree: SearchTree, nodes: int, peer: str = "alice", state: bytes = STATE_UNKNOWN) -> list[bytes]:
    """Let ``peer`` name and visit ``nodes`` nodes, ten children each, visits falling with depth; the keys, breadth first."""
    generator = random.Random(7)
    keys = [tree.root_key]
    entries: dict[bytes, NodeEntry] = {}
    for number in range(1, nodes):
        prior, risk = generator.randrange(SCALE), generator.choice((1, 1, 1, 2, 3, 4))
        parent, action = keys[(number - 1) // _BRANCHING], _ACTIONS[number % _BRANCHING]
        entry = NodeEntry(parent=parent, action=action, prior=prior, risk=risk)
        keys.append(entry.key)
        entries[keys[-1]] = entry
    stats = {key: _register(max(2, nodes // (number + 1)), generator, state) for number, key in enumerate(keys)}
    tree.apply(peer, 1, TreeUpdate(nodes=entries))
    tree.apply(peer, 1, make_update(stats=stats))
    return keys


def _grown_tree(nodes: int) -> tuple[SearchTree, list[bytes]]:
    tree = SearchTree(_SEARCH)
    return tree, grow(tree, nodes)


def _register(visits: int, generator: random.Random, state: bytes) -> Register:
    value = generator.randrange(SCALE)
    return Register(visits=visits, value_sum=visits * value, best=value, cost_ms=visits * 800, state=state)


@benchmark("delta.apply_growth", unit="ratio", target=2.0, direction="at most")
def apply_growth() -> float:
    """Time to decode and apply a delta of 100 updates (80 registers, 20 new nodes) in a tree of 100,000 nodes over the
    time in one of 1,000.
    """
    small, large = _grown_tree(1_000), _grown_tree(100_000)
    rounds = 100

    def deltas(keys: list[bytes]) -> list[bytes]:
        generator = random.Random(11)
        writer, chunks = TreeWriter(b"b" * 32, _SEARCH, 1), []
        visits = dict.fromkeys(keys, 0)
        for number in range(rounds):
            chosen = generator.sample(keys, 80)
            for key in chosen:
                visits[key] += 1
            action = encode_action(Click(target=Locator(role="button", name=f"new {number}")))
            new = [NodeEntry(parent=parent, action=action, prior=1, risk=1) for parent in generator.sample(keys, 20)]
            stats = {key: Register(visits=visits[key]) for key in chosen}
            (delta,) = writer.flush(make_update({entry.key: entry for entry in new}, stats))
            chunks.append(delta.chunk)
        return chunks[::-1]

    def work(tree: SearchTree, chunks: list[bytes]) -> object:
        return tree.apply("bob", 1, read_change(decode_change(chunks.pop()), may_lease=False))

    chunks_small, chunks_large = deltas(small[1]), deltas(large[1])
    small_s, large_s = interleaved(
        lambda: work(small[0], chunks_small), lambda: work(large[0], chunks_large), rounds=rounds
    )
    return large_s / small_s


@benchmark("uct.descent_us", unit="us", target=50.0, direction="at most")
def descent_us() -> float:
    """Time of one descent over five levels in a tree of 100,000 nodes, in microseconds.

    Before each descent the rows of the last path are refreshed (not timed), as after every iteration of a search: so
    nothing that was gathered along the path is left.
    """
    tree, _ = _grown_tree(100_000)
    uct = Uct(tree, "alice")
    path = np.array(uct.descend(tree.root), np.intp)
    _, seconds = interleaved(lambda: uct.refresh(path), lambda: uct.descend(tree.root), rounds=5_000)
    return seconds * 1e6 * 5 / (len(path) - 1)


def _dropped() -> tuple[float, float]:
    """Milliseconds for a share of 100,000 nodes to leave a tree, and of its longest slice."""
    tree, _ = _grown_tree(100_000)
    uct = Uct(tree, "bob")
    slices, began = [], time.perf_counter()
    for rows in tree.dropping("alice"):
        uct.refresh(rows)
        now = time.perf_counter()
        slices.append(now - began)
        began = now
    return sum(slices) * 1_000, max(slices) * 1_000


@benchmark("tree.drop_ms_100k", unit="ms", target=200.0, direction="at most")
def drop_ms() -> float:
    """Time for the share of one peer, 100,000 nodes, to leave the tree and the scores; the median of rounds."""
    return statistics.median(_dropped()[0] for _ in range(5))


@benchmark("tree.drop_block_ms_100k", unit="ms", target=50.0, direction="at most")
def drop_block_ms() -> float:
    """The longest time that such a drop lets nobody else have a turn; the median of rounds."""
    return statistics.median(_dropped()[1] for _ in range(5))
