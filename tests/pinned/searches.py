"""What searches of several nodes come to in virtual time: what is told meanwhile, who did how much, and the merged tree."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from node.explorer.sharing.replica import Replica
from protocol.errors import MeshError
from protocol.page.actions.action import describe
from protocol.search.entry import decode_action
from tests.mesh_memory import FOUND, NEVER, MemoryNode, memory_mesh
from tests.sim.loop import SimLoop

_DEPTH_SHOWN = 2


async def _search(
    title: str, *names: str, seconds: int = 400, crash: bool = False, found: bool = True, **explore: Any
) -> list[str]:
    said = [title]
    async with memory_mesh(*names, **explore) as nodes:
        named = {node.id: node.name for node in nodes}

        def tell(event: dict[str, Any]) -> None:
            line = ", ".join(f"{key} {_plain(value, named)}" for key, value in event.items() if key != "search")
            said.append(f"  … {line}")

        task = asyncio.create_task(nodes[0].run(FOUND if found else NEVER, seconds=seconds, tell=tell))
        if crash:
            await asyncio.sleep(0.6)
            await nodes[-1].crash()
        with contextlib.suppress(MeshError):
            await task
        (record,) = await nodes[0].store.searches()
        _, _, progress, _, leases = await nodes[0].explorer.view(record.id)
        said.append(
            f"  {record.status}: {progress.used_ms} ms, {progress.branches} branches, {progress.reassigned} reassigned,"
        )
        said.append(f"    {progress.claims} claims, {progress.error!r}, {len(progress.claims_checked)} checked")
        said += [
            f"  lease of {named[each.worker]}: {each.status}, {each.spend.steps} steps, {each.spend.milliseconds} ms"
            for each in leases
        ]
        for node in nodes:
            if node.running:
                said += [f"  at {node.name}: {line}" for line in await _at(node, record.id, named)]
    return said


async def _at(node: MemoryNode, search: str, named: dict[str, str]) -> list[str]:
    kinds = Counter(change.kind.value for change in (await node.store.feed(after=0, limit=1_000)).changes)
    replica = await node.replica(search)
    spent = [
        f"{named[peer]} {replica.tree.effort(peer).visits}"
        for peer in sorted(replica.tree.peers, key=named.__getitem__)
    ]
    return [f"{dict(sorted(kinds.items()))}", f"{len(replica.tree)} nodes, visits: {', '.join(spent)}", *_tree(replica)]


def _tree(replica: Replica) -> list[str]:
    """The upper part of the tree, with all its sums."""
    tree, lines = replica.tree, list[str]()

    def walk(row: int, depth: int) -> None:
        action = "start" if row == tree.root else describe(decode_action(tree.node(row).action))
        lines.append(f"{'  ' * depth}{action}: {' '.join(str(int(total)) for total in tree.totals[row])}")
        if depth < _DEPTH_SHOWN:
            for child in sorted(tree.children(row).tolist(), key=tree.key):
                walk(child, depth + 1)

    walk(tree.root, 0)
    return lines


def _plain(value: Any, named: dict[str, str]) -> str:
    if isinstance(value, dict):
        return str({named.get(key, key): inner for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return str([named.get(each, each) for each in value])
    return named.get(value, str(value)) if isinstance(value, str) else str(value)


async def _all() -> list[str]:
    return [
        *await _search("three nodes", "anna", "bruno", "clara"),
        *await _search("one of two is gone", "anna", "bruno", crash=True),
        *await _search("nothing to find", "anna", "bruno", found=False, seconds=25),
    ]


def lines() -> Iterator[str]:
    """One block for each search."""
    with asyncio.Runner(loop_factory=SimLoop) as runner:
        yield from runner.run(_all())
