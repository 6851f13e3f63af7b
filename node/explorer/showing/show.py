"""The result of a search: a summary for scripts, and the HTML report with its drawing."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from adapters.ports.clock import Clock
from adapters.ports.records import LeaseRecord, SearchRecord
from adapters.ports.store import Store
from node.base.files import write_private
from node.base.plain import counted
from node.explorer.explorer import Explorer
from node.explorer.progress import Progress
from node.explorer.sharing.replica import Replica
from node.explorer.showing.report import ReportInput, SearchCost, SearchNode, ShownReplay, SignedRow, render_report
from node.explorer.showing.tree_picture import Picture, TreeNode, draw
from node.live.acting import proposed
from node.sessions.serving import Sessions
from node.trust import Peers
from node.verbs.searches.explore import PeerSpend, Summary
from protocol import ids
from protocol.errors import CODES, MeshError
from protocol.messages import SearchSpec
from protocol.page.actions.action import describe
from protocol.search.entry import SCALE, decode_action, node_key
from protocol.search.share import BEST, CLOSED, FAILURES, PRIOR, RISK, VISITS
from protocol.wire import envelope

_MARKS: Final = {
    "peer.distrusted": " (distrusted)",
    "keylog.revoked": " (revoked)",
    "keylog.fork": " (frozen)",
    "log.equivocation": " (frozen)",
}
"""The remark after the name of a peer whose status has changed since it took part."""


class Parts(NamedTuple):
    """The parts that a summary and a report need."""

    explorer: Explorer
    sessions: Sessions
    peers: Peers
    store: Store
    clock: Clock
    name: str
    """The name of this node."""


async def summarise(parts: Parts, search_id: str) -> Summary:
    """The summary of a search. Errors: ``input.not_found``; ``search.not_found_goal``, ``search.exhausted`` if it ended without
    a verified success."""
    _, spec, progress, replica, leases = await parts.explorer.view(search_id)
    found = await parts.store.search(spec.id)
    if found is None:
        raise MeshError("input.not_found", "the search was removed", search=spec.id)
    summary = await _proposing(parts, progress, _summary(parts, found, spec, progress, replica, leases))
    if found.status == "failed":
        code = progress.error if progress.error in CODES else "search.not_found_goal"
        told, more = "", dict[str, Any]()
        if summary.proposes:
            told, more = f"{CODES[code].meaning} {proposed(summary.proposes)}", {"proposes": summary.proposes}
        detail = {"nodes": summary.nodes, "branches": summary.branches, "claims": summary.claims, **more}
        raise MeshError(code, told, search=spec.id, **detail)
    return summary


async def show_search(parts: Parts, search_id: str, html: str) -> Summary:
    """The summary, and the report in the file ``html`` if named. Errors: ``input.not_found``, ``input.invalid``."""
    found, spec, progress, replica, leases = await parts.explorer.view(search_id)
    summary = await _proposing(parts, progress, _summary(parts, found, spec, progress, replica, leases))
    if not html:
        return summary
    data = await _report(parts, summary, spec, progress, replica)
    try:
        text = await asyncio.to_thread(render_report, data)
        await asyncio.to_thread(write_private, Path(html), text.encode())
    except OSError as error:
        raise MeshError("input.invalid", f"{html} cannot be written: {error.strerror}") from error
    return msgspec.structs.replace(summary, html=html)


async def draw_search(parts: Parts, search_id: str) -> Picture:
    """The drawing of the tree of a search. Errors: ``input.not_found``."""
    _, spec, progress, replica, _ = await parts.explorer.view(search_id)
    return draw(_tree(parts, replica, progress), [_name(parts, peer) for peer in spec.participants])


def _name(parts: Parts, peer: str) -> str:
    if peer == parts.peers.me:
        return parts.name
    mark = _MARKS.get(parts.peers.standing(peer), "")
    return (parts.peers.name_of(peer) or ids.short(peer)) + mark


async def _proposing(parts: Parts, progress: Progress, summary: Summary) -> Summary:
    return msgspec.structs.replace(summary, proposes=await parts.explorer.proposes(progress))


def _summary(
    parts: Parts, found: SearchRecord, spec: SearchSpec, progress: Progress, replica: Replica, leases: list[LeaseRecord]
) -> Summary:
    verified = progress.verified
    spend = []
    for peer in spec.participants:
        seen = replica.tree.effort(peer)
        leased = [lease for lease in leases if lease.worker == peer]
        spend.append(
            PeerSpend(
                node=peer,
                name=_name(parts, peer),
                role="coordinator" if peer == spec.coordinator else "worker",
                visits=seen.visits,
                steps=sum(lease.spend.steps for lease in leased),
                cost_ms=sum(lease.spend.milliseconds for lease in leased),
                leases=len(leased),
                claims_false=progress.claims_false.get(peer, 0),
                standing="" if peer == parts.peers.me else parts.peers.standing(peer),
            )
        )
    return Summary(
        search=spec.id,
        status=found.status,
        caller=found.caller,
        goal=spec.goal,
        start_url=spec.start_url,
        coordinator=spec.coordinator,
        seconds=progress.used_ms / 1000,
        nodes=len(replica.tree),
        branches=progress.branches,
        reassigned=progress.reassigned,
        claims=progress.claims,
        verified=verified is not None,
        session=verified.session if verified else "",
        claimed_by=_name(parts, verified.claimed_by) if verified else "",
        path=tuple(describe(decode_action(step)) for step in verified.path) if verified else (),
        spend=tuple(spend),
        reason=progress.error,
        would_send=tuple(replica.would_send or progress.would_send),
    )


async def _report(
    parts: Parts, summary: Summary, spec: SearchSpec, progress: Progress, replica: Replica
) -> ReportInput:
    session = await parts.store.session(summary.session)
    steps = await parts.store.steps(summary.session) if session else []
    screenshots = {}
    for step in steps:
        if step.screenshot:
            screenshots[step.screenshot] = await parts.store.blob(step.screenshot)
    shown = await parts.sessions.reading.show(summary.session) if session else None
    replays = tuple(ShownReplay(name=_name(parts, r.node), report=r) for r in (shown.reports if shown else ()))
    roles = {peer.node: peer.role for peer in summary.spend} | {r.report.node: "replayer" for r in replays}
    spent = {
        p.node: SearchCost(visits=p.visits, steps=p.steps, milliseconds=p.cost_ms, leases=p.leases)
        for p in summary.spend
    }
    outcome = (
        f"Found by {summary.claimed_by}, replayed and verified by {_name(parts, spec.coordinator)} in {summary.seconds:.0f} s."
        if summary.verified
        else f"Not reached: the search is {summary.status}."
    )
    return ReportInput(
        title=f"Search {spec.id}",
        made_ms=parts.clock.now_ms(),
        goal=spec.goal,
        outcome=outcome,
        success=summary.verified,
        found_by=summary.claimed_by,
        path=summary.path,
        would_send=summary.would_send,
        nodes=tuple(
            SearchNode(name=_name(parts, peer), id=peer, role=role, spent=spent.get(peer))
            for peer, role in roles.items()
        ),
        tree=_tree(parts, replica, progress),
        session=session,
        steps=steps,
        screenshots=screenshots,
        replays=replays,
        signed=await _signed(parts, spec, summary),
    )


async def _signed(parts: Parts, spec: SearchSpec, summary: Summary) -> tuple[SignedRow, ...]:
    rows = []
    found = await parts.store.search(spec.id)
    sealed = [("the search", found.spec)] if found else []
    sealed += [
        (f"session {a.subject}", a.envelope) for a in await parts.store.artefacts(subject=summary.session or "-")
    ]
    for lease in await parts.store.leases(spec.id):
        sealed += [(f"lease {lease.id}", data) for data in (lease.assignment, lease.result) if data]
    last = await parts.store.newest_deltas(spec.id)
    sealed += [(f"newest delta, epoch {d.epoch} number {d.seq}", d.envelope) for d in last]
    for artefact, data in sealed:
        rows.append(_signed_row(parts, artefact, data))
    return tuple(rows)


def _signed_row(parts: Parts, artefact: str, data: bytes) -> SignedRow:
    claimed = envelope.peek(data)
    try:
        envelope.verify(data, kinds=frozenset({claimed.kind}), find_key=parts.peers.find_key)
        verified = True
    except MeshError:
        verified = False
    return SignedRow(
        artefact=artefact,
        kind=claimed.kind,
        signer=_name(parts, claimed.header.issuer),
        digest=hashlib.sha256(data).digest(),
        verified=verified,
    )


def _tree(parts: Parts, replica: Replica, progress: Progress) -> TreeNode:
    """The merged tree in the form for the picture, with the winning path marked."""
    tree = replica.tree
    winning = set()
    if progress.verified is not None:
        key = replica.root
        winning.add(key)
        for child in _keys(replica.root, progress.verified.path):
            winning.add(child)
    names = {peer: _name(parts, peer) for peer in tree.peers}

    def build(row: int, depth: int) -> TreeNode:
        totals = tree.totals[row]
        visits = int(totals[VISITS])
        shares = tree.contributions(np.array([row], np.intp))[:, 0, VISITS].tolist()
        children = tree.children(row).tolist() if depth < 64 else []
        label = "start" if row == tree.root else describe(decode_action(tree.node(row).action))
        return TreeNode(
            label=label,
            title=_tooltip(totals, row == tree.root),
            visits=visits,
            value=int(totals[BEST]) / SCALE,
            shares=tuple((names[peer], int(count)) for peer, count in zip(tree.peers, shares, strict=False) if count),
            winning=tree.key(row) in winning,
            children=tuple(build(child, depth + 1) for child in children),
        )

    return build(tree.root, 0)


def _keys(root: bytes, path: tuple[bytes, ...]) -> list[bytes]:
    keys, key = [], root
    for action in path:
        key = node_key(key, action)
        keys.append(key)
    return keys


def _tooltip(totals: Any, root: bool) -> str:
    if root:
        return counted(int(totals[VISITS]), "visit")
    state = ", closed" if totals[CLOSED] else ""
    return (
        f"{counted(int(totals[VISITS]), 'visit')}, best {int(totals[BEST]) / SCALE:.2f}, "
        f"prior {int(totals[PRIOR]) / SCALE:.2f}, risk class {int(totals[RISK])}, "
        f"{counted(int(totals[FAILURES]), 'failure')}{state}"
    )
