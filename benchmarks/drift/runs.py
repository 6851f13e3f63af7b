"""One run of a flow each: record, replay, replay on the newer version, replay with a change on the way."""

from __future__ import annotations

import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.drift.applications import Side
from benchmarks.drift.changes import KINDS, ChangeKind, Planned, Shown, plan, shown
from benchmarks.drift.figures import Kind, Run
from benchmarks.drift.flow import Flow, had_effect, secret, without_newer_forms, wrong_acts
from benchmarks.drift.node import Node
from benchmarks.drift.proxy import Answer, Change, unchanged
from benchmarks.drift.served import serve


class Bench:
    """Runs of one checkout."""

    def __init__(self, node: Node, cache: Path, key: str, *, before: bool = False) -> None:
        """before: the checkout is commit 5d4cf22, whose files know less."""
        self._node = node
        self._cache = cache
        self._key = key
        self._before = before
        self._secret = cache / "password.txt"
        self._secret.write_text(secret(), encoding="utf-8")

    async def record(self, flow: Flow, kind: Kind = "record") -> Run:
        """Record ``flow`` on the older version."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, f"{flow.flow}.yaml")
            _write(file, without_newer_forms(flow.text) if self._before else flow.text)
            kept: list[Answer] = []
            async with serve(flow.on, "older", self._cache, _keeping(kept)) as proxy:
                code, answer, errors = await self._node.call(
                    "session", "record", str(file), *self._options(flow, "older")
                )
        wrong = wrong_acts(flow, proxy.sent)
        read = answer.get("extracted", {})
        wrong += [
            f"read {name}: {read.get(name)}"
            for name, value in flow.reads.items()
            if not re.fullmatch(value, str(read.get(name, "")))
        ]
        failed = answer.get("error", {})
        session = answer.get("id", "") or failed.get("detail", {}).get("session", "")
        session_shown: dict[str, Any] = {}
        size = 0
        if session:
            _, session_shown, _ = await self._node.call("session", "show", session)
            size = await self._size(session)
            self._answers(session).write_bytes(msgspec.msgpack.encode(kept))
        steps = session_shown.get("steps", [])
        masks = {(step["snapshot"], mask[0]) for step in steps for mask in step.get("masks", ())}
        pages = {step["snapshot"]: step.get("lines", 0) for step in steps}
        return Run(
            key=self._key,
            kind=kind,
            flow=flow.flow,
            session=session,
            verdict=session_shown.get("session", {}).get("verdict", "none"),
            reason=failed.get("message", "")
            or answer.get("reason", "")
            or ("" if code == 0 else errors.strip()[-600:]),
            error=failed.get("code", ""),
            steps=len(steps),
            performed=sum(step["ok"] for step in steps),
            wrong=tuple(wrong),
            effect=had_effect(flow, proxy.sent),
            lines=sum(pages.values()),
            masked=len(masks),
            bytes=size,
            seconds=round(time.monotonic() - began, 2),
        )

    async def replay(
        self, flow: Flow, recorded: Run, side: Side, kind: Kind, number: int = 0, planned: Planned | None = None
    ) -> Run:
        """Replay what was ``recorded`` on one of the versions, with a change on the way if one is ``planned``."""
        began = time.monotonic()
        reached: list[str] = []
        change = _counting(planned.change, reached) if planned else unchanged
        elsewhere = ["--base-url", flow.on.public(side)] if side == "newer" else []
        async with serve(flow.on, side, self._cache, change) as proxy:
            code, answer, errors = await self._node.call(
                "session", "replay", recorded.session, *elsewhere, *self._options(flow, side)
            )
        report = answer.get("report", {})
        met = report.get("steps", [])
        asserts = [text.startswith("expect ") for text in answer.get("described", ())]
        acting = [not each for each in asserts[: len(met)]]
        total = answer.get("replayable", recorded.performed)
        return Run(
            key=self._key,
            kind=kind,
            flow=flow.flow,
            number=number,
            verdict=report.get("verdict", "none"),
            reason=report.get("reason", "") or ("" if code == 0 else errors.strip()[-600:]),
            steps=total,
            performed=sum(match["performed"] for match in met),
            matched=sum(match["matched"] for match in met),
            acting=flow.acting,
            acted=sum(match["performed"] for match, acts in zip(met, acting, strict=False) if acts),
            error=next((match["error"] for match in met if match.get("error")), ""),
            stopped=answer.get("stopped", ""),
            wrong=tuple(wrong_acts(flow, proxy.sent)),
            effect=had_effect(flow, proxy.sent),
            differences=tuple(
                f"{one['step']} {one['what']}: {one['recorded']} | {one['met']}"
                for one in answer.get("differences", ())[:30]
            ),
            seconds=round(time.monotonic() - began, 2),
            change=f"{planned.kind}: {planned.what}" if planned else "",
            applied=bool(reached),
        )

    async def planned(self, flow: Flow, recorded: Run, number: int) -> Planned | None:
        """The change of this number, the same in each benchmark.

        A session with assertions is compared by them, so there only what they say is changed.
        """
        _, shown_session, _ = await self._node.call("session", "show", recorded.session)
        steps = shown_session.get("steps", [])
        asserts = any(step.get("held") for step in steps)
        texts = [step["action"].get("expected", "") or step["extracted"] for step in steps if step.get("held")]
        lines = [Shown("text", each) for each in texts if each]
        if not asserts:
            lines = [
                line for step in steps if step.get("snapshot") for line in shown(self._node.snapshot(step["snapshot"]))
            ]
        answers = msgspec.msgpack.decode(self._answers(recorded.session).read_bytes(), type=list[Answer])
        kinds: tuple[ChangeKind, ...] = ("price", "state", "missing row", "error page") if asserts else KINDS
        rng = random.Random(f"{flow.flow}{number}")
        for place in range(len(kinds)):
            kind = kinds[(number + place) % len(kinds)]
            made = plan(rng, kind, lines, answers)
            if made is not None:
                return made
        return None

    def _answers(self, session: str) -> Path:
        folder = self._cache / "answers"
        folder.mkdir(exist_ok=True)
        return folder / session

    def _options(self, flow: Flow, side: Side) -> list[str]:
        return flow.options(side, str(self._secret), plain_secret=self._before)

    async def _size(self, session: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "session.bundle")
            await self._node.call("session", "export", session, "--out", str(out))
            return _size_of(out)


def _keeping(kept: list[Answer]) -> Change:
    def change(answer: Answer) -> Answer:
        kept.append(answer)
        return answer

    return change


def _counting(change: Change, reached: list[str]) -> Change:
    def counted(answer: Answer) -> Answer:
        changed = change(answer)
        if changed != answer:
            reached.append(answer.request.said)
        return changed

    return counted


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _size_of(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0
