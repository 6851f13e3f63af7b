"""A report with every part filled, made by hand."""

from __future__ import annotations

import struct
import zlib

from node.explorer.showing.report import ReportInput, SearchCost, SearchNode, ShownReplay, SignedRow
from node.explorer.showing.tree_picture import TreeNode
from protocol import ids
from protocol.recording.records.session import ReplayReport, StepMatch
from protocol.recording.records.verdicts import judge_replay
from protocol.recording.replays.replay import not_performed
from tests.session_samples import BROWSER, NODE, SESSION_ID, matched, sample_session, sample_steps

NAMES = ("Anna", "Bruno", "Chiara")


def png(red: int, green: int, blue: int, *, width: int = 320, height: int = 200) -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\x00" + bytes((red, green, blue)) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def sample_tree(depth: int = 4, *, winning: bool = True) -> TreeNode:
    """A tree of some breadth whose first branch is the winning one."""

    def grow(level: int, path: str, won: bool, visits: int) -> TreeNode:
        children: list[TreeNode] = []
        if level < depth:
            children = [
                grow(level + 1, f"{path}.{place}", won and place == 0, max(0, visits // (2 + place) - place))
                for place in range(4)
            ]
            children += [TreeNode(label=f"click link “Page {number}”") for number in range(9)]
        left = visits // 2
        return TreeNode(
            label="start" if not level else f"click link “Category {path[1:]} of the shop”",
            title=f"Shop {path} · http://shop.example/{path}",
            visits=visits,
            value=0.9 if won else 0.3,
            shares=(("Anna", left), ("Bruno", (visits - left) // 2), ("Chiara", visits - left - (visits - left) // 2)),
            winning=won,
            children=tuple(children),
        )

    return grow(0, "", winning, 120)


def sample_report() -> ReportInput:
    """Three nodes, a search, a session of four steps, two replays, five signatures."""
    steps, _ = sample_steps()
    shown = {step.screenshot: png(200, 215, 240) for step in steps}
    good = tuple(matched(step, duration_ms=38) for step in steps)
    differing = StepMatch(
        index=2,
        performed=True,
        state=False,
        url=True,
        title=False,
        extracted=True,
        matched=False,
        duration_ms=950,
        text="numbers",
    )
    bad = (good[0], differing, not_performed(steps[2], "action.target_missing", 12))
    replays = tuple(
        ShownReplay(
            name=name,
            report=ReplayReport(
                id=ids.make_id("rep", bytes(ids.ID_RANDOM_BYTES)),
                session=SESSION_ID,
                manifest=bytes(32),
                node=NODE,
                replayed_ms=1_700_000_100_000,
                browser=BROWSER,
                steps=matches,
                matched=sum(match.matched for match in matches),
                verdict=judge_replay(sample_session(steps), steps, matches, "text").verdict,
                duration_ms=1_320,
                blocked=("POST http://shop.example:8000/metrics",) if matches is bad else (),
            ),
            screenshots={2: png(240, 205, 200)} if matches is bad else {},
        )
        for name, matches in (("Bruno", good), ("Chiara", bad))
    )
    return ReportInput(
        title="Mugs under ten pounds",
        made_ms=1_700_000_200_000,
        goal="Find the cheapest blue mug that is in stock and read its price, without buying anything.",
        outcome="Found in 120 visits; the path has four steps and was replayed by two nodes.",
        success=True,
        nodes=tuple(
            SearchNode(
                name=name,
                id=ids.node_id(bytes([place] * 32)),
                role="worker" if place else "coordinator",
                spent=SearchCost(visits=40 + 3 * place, steps=130 - 7 * place, milliseconds=61_500, leases=place),
            )
            for place, name in enumerate(NAMES)
        ),
        found_by="Chiara",
        path=("click link “Mugs”", "click link “Blue”"),
        would_send=("POST /api/remind, by click button “Remind me”",),
        tree=sample_tree(),
        session=sample_session(steps),
        steps=steps,
        screenshots=shown,
        replays=replays,
        signed=tuple(
            SignedRow(artefact=what, kind=kind, signer=who, digest=bytes([number] * 32), verified=number != 4)
            for number, (what, kind, who) in enumerate(
                [
                    ("the search", "search", "Anna"),
                    (SESSION_ID, "session", "Anna"),
                    ("replay of the session", "replay-report", "Bruno"),
                    ("replay of the session", "replay-report", "Chiara"),
                    ("a lease", "assignment", "Anna"),
                ]
            )
        ),
    )
