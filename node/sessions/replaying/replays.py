"""Replays sessions for callers, and signs the results."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import msgspec

from node.base.statuses import NO_LOGIN
from node.live.acting import LoginForms
from node.live.browsers import guard_for, mounted_context, opening
from node.sessions.actions.action_files import incomplete
from node.sessions.keeping.handover import write_file
from node.sessions.keeping.working import Working, named_by_owner, own_start
from node.sessions.replaying.replayer import replay
from node.sessions.shared.consent import consents, effects_digest, narrowed
from node.sessions.shared.replay_plan import ReplayPlan, ReplaySource
from node.sessions.shared.writes import OnMismatch
from node.sessions.showing.files import write_ended, write_replay
from node.sessions.showing.seen import ReplayFiles, ReplaySeen
from node.sessions.showing.told import UnreportedReplay
from node.sessions.showing.told import tell as tell_replay
from node.verbs import Tell
from node.verbs.sessions.session_question import Answered
from node.verbs.sessions.session_results import ReplayedSession
from protocol import ids
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.actions.action import describe
from protocol.page.secrets.redaction import secrets_named
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.recording.records.session import Level, StepMatch
from protocol.recording.records.tabs import has_tabs
from protocol.recording.replays.replay import rebase, replayable, stopped_at, unreached
from protocol.recording.replays.uncounted import uncounted


class Replays:
    """Replays sessions in new contexts."""

    def __init__(self, work: Working) -> None:
        self._work = work

    async def replay(
        self,
        session_id: str,
        *,
        base_url: str,
        secrets: Mapping[str, GivenSecret],
        allow: tuple[str, ...],
        approve_class: int,
        on_mismatch: OnMismatch,
        out: str,
        tell: Tell,
        files: ReplayFiles = ReplayFiles(),  # noqa: B008 - frozen
        level: Level | None = None,
        strict: bool = False,
        inputs: Mapping[str, str] = {},
        capsule: str = "",
        writes: tuple[str, ...] = (),
    ) -> ReplayedSession:
        """Replay a session in a new context and sign a report of the steps that matched. capsule: as ``record``. writes: the
        owner's consent to the requests that the session lists (``consent.consents``).

        Errors: ``input.not_found``, ``browser.*``, …
        """
        self._work.witness.check_signs()
        session_id = ids.parse_id("ses", session_id)
        with self._work.kept(session_id):
            recorded = await self._work.reading.recorded(session_id)
            by_manifest = consents(writes, recorded, self._work.witness.node)
            if by_manifest and effects_digest(
                recorded
            ):  # the consent is to the signed list, not to the present content of the store
                await self._work.reading.require_signed(recorded)
            for note in incomplete(step.action for step in replayable(recorded.steps)):
                tell({"note": note})
            if recorded.session.capsule and not capsule:
                begun = recorded.session.capsule
                tell({"note": f"it was recorded with the login of {begun}: replay it with --capsule"})
            total = len(replayable(recorded.steps))
            described = {step.index: describe(step.action) for step in recorded.steps}

            def on_step(match: StepMatch, instead: str) -> None:
                seen = {
                    "action": described[match.index],
                    "matched": match.matched,
                    "text": match.text,
                    "error": match.error,
                    "instead": instead,
                }
                tell({"step": match.index, "of": total, **seen})

            own = own_start(recorded.session, self._work.witness.node)
            named = named_by_owner(rebase(own, base_url).outward(own)) if own else ""
            start, tabs = base_url or recorded.session.start_url, has_tabs(recorded.steps)
            guard = guard_for(self._work.config.policy, (*allow, *opening(named)), begins=start)
            wish = self._work.wish("replay", guard, start, allow=allow, approve_class=approve_class)
            given = Secrets(secrets, begins=base_url or own)
            profile = recorded.session.profile
            types = any(secrets_named(step.action) for step in recorded.steps)
            forms = LoginForms(known=bool(capsule) or types)
            async with (
                self._told_if_ended(recorded, files, tell),
                mounted_context(self._work.browsers, profile, capsule, wish, tabs=tabs) as (mount, context, page),
            ):
                gate = mount.gate(self._work.gate(approve_class, mount.guard, named))
                if by_manifest and gate.wall is not None:  # the list decides which requests a step may send
                    gate = msgspec.structs.replace(gate, wall=narrowed(gate.wall, allow))
                plan = ReplayPlan(
                    browser=await self._work.browsers.info(),  # describes the browser that runs, as in ``record``
                    secrets=await mount.hiding(given),
                    uploads=self._work.browsers.uploads,
                    codes=self._work.browsers.codes,
                    gate=gate,
                    base_url=base_url,
                    on_mismatch=on_mismatch,
                    ask=lambda question: self._work.questions.ask(session_id, question, tell),
                    every_screenshot=bool(files.html),
                    level=level,
                    strict=strict,
                    inputs=inputs,
                    sites=self._work.config.policy.sites,
                    forms=forms,
                    on_note=lambda note: tell({"note": note}),
                    by_manifest=by_manifest,
                    allow=allow,
                    makes=partial(mount.makes, context) if mount.capsule else None,
                )
                done = await replay(
                    recorded, self._work.store, page, self._work.clock, self._work.witness, plan, on_step=on_step
                )
            await self._work.witness.feed.along(
                lambda news: self._work.store.put_artefact(done.artefact, news=news),
                FeedKind.SESSION_REPLAYED,
                session_id,
                done.report.id,
            )
            if out:
                await asyncio.to_thread(write_file, Path(out), done.artefact.envelope)
        replayed = ReplayedSession(
            report=done.report,
            described=tuple(described.values()),
            signed_by=self._work.witness.node,
            differences=done.differences,
            secrets_missing=done.secrets_missing,
            out=out,
            unreached=unreached(done.report.steps),
            uncounted=uncounted(done.report.steps),
            stopped=done.stopped,
            agreed=done.agreed,
            replayable=total,
            stopped_at=stopped_at(done.report.steps, total),
            lacking=done.lacking,
            call_log=done.call_log,
            names=self._work.peers.names_of((self._work.witness.node,)),
            proposes=await self._work.proposed(forms, "replay", tell),
        )
        told = tell_replay(recorded.session, recorded.steps, replayed, done.noticed.notes)
        signed = (
            self._work.reading.signature("session", recorded.session.node),
            self._work.reading.signature("replay report", done.report.node),
        )
        made_ms = self._work.clock.now_ms()
        seen = ReplaySeen(
            pictures=done.screenshots,
            texts=done.texts,
            console=done.noticed.console,
            refused=done.noticed.refused,
            page=done.noticed.page,
            documents=done.noticed.documents,
        )
        await write_replay(files, told, self._work.store.blob, seen, signed, made_ms=made_ms)
        return replayed

    @contextlib.asynccontextmanager
    async def _told_if_ended(self, recorded: ReplaySource, files: ReplayFiles, tell: Tell) -> AsyncIterator[None]:
        """Write the files even if the login does not hold. Otherwise a reader of the files would see those of an earlier run, or
        none.
        """
        try:
            yield
        except MeshError as error:
            if error.code in NO_LOGIN:
                steps = tuple((step.index, describe(step.action)) for step in replayable(recorded.steps))
                at_ms = self._work.clock.now_ms()
                try:
                    ended = UnreportedReplay(session=recorded.session, steps=steps, error=error, at_ms=at_ms)
                    await asyncio.to_thread(write_ended, files, ended)
                except MeshError as unwritten:
                    tell({"note": unwritten.message})  # the login has failed, so its error is the one to raise
            raise

    def answer(self, question: str, *, yes: bool) -> Answered:
        """Answer the question of a waiting replay or recording. Errors: ``input.not_found``."""
        answered = self._work.questions.answer(question, yes=yes)
        self._work.witness.trail.about(answered.session)
        return answered
