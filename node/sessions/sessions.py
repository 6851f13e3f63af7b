"""The recorded sessions of this node: record, replay, compare, remove. ``reading`` and ``verifying`` do the rest."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec

from adapters.ports import Clock, Context, Store
from node.config import Config
from node.live import (
    Asks,
    Browsers,
    Following,
    Gate,
    LoginForms,
    Recording,
    Unlike,
    Uploads,
    Wish,
    guard_for,
    mounted_context,
    mounted_page,
    proposed,
    record,
    record_actions,
)
from node.sessions.action_files import ActionFile, incomplete, parse_actions
from node.sessions.comparing import compare_runs, compare_sessions, is_report
from node.sessions.forking import forked
from node.sessions.handover import write_file
from node.sessions.learning import following, lines, refusal
from node.sessions.questions import Questions
from node.sessions.reading import Reading
from node.sessions.references import held_by, named_by
from node.sessions.remains import remains_of
from node.sessions.replayer import ReplayPlan, replay
from node.sessions.showing.files import ReplayFiles, ReplaySeen, write_comparison, write_replay
from node.sessions.showing.told import tell as tell_replay
from node.sessions.verifying import Verifying
from node.sessions.writes import OnMismatch
from node.signing import Witness
from node.trust import Peers
from node.verbs import CallerKind, Tell, current_caller
from node.verbs.session import RecordedSession, Replayed, RunDiff, SessionDiff, TrustKey
from node.verbs.session_question import Answered
from node.verbs.session_upkeep import Archived, LearnedSession, Purged
from protocol import ids, limits
from protocol.audit import OWNER
from protocol.capsule.policy import Task
from protocol.errors import MeshError
from protocol.feed import Kind as Changed
from protocol.page.action import Extract, describe
from protocol.page.redaction import redact_text, secrets_named
from protocol.page.secrets import GivenSecret, Secrets
from protocol.recording.inputs import require_plain_inputs
from protocol.recording.replay import replayable, stopped_at, unreached
from protocol.recording.session import Level, Session, Step, StepMatch, Verdict
from protocol.recording.tabs import has_tabs
from protocol.recording.verdicts import doubts
from protocol.risk.refused import what_helps
from protocol.risk.requests import GuardPolicy
from protocol.risk.unguarded import limits_of
from protocol.trust.trust_key import write_trust_key
from protocol.wire import cbor


def own_start(session: Session, node: str) -> str:
    """Where ``session`` begins if the owner of ``node`` had it recorded; empty if others chose its sites and fields."""
    own = session.node == node and not session.search and session.caller in ("", OWNER)
    return session.start_url if own else ""


def _named_capsule(file: ActionFile, given: str, *, logs_in: bool) -> str:
    """The capsule that ``file`` is recorded with. given: by an option. logs_in: whether the file makes a login.

    Errors: ``input.invalid`` where option and file contradict each other.
    """
    if file.capsule and logs_in:
        raise MeshError(
            "input.invalid", "a login begins in a browser without one: leave `capsule` out of the action file"
        )
    if file.capsule and given and given != file.capsule:
        raise MeshError("input.invalid", f"the action file names the capsule “{file.capsule}”: leave out --capsule")
    return given or file.capsule


After = Callable[[Context], Awaitable[None]]
Makes = Callable[[Context], Awaitable[Iterable[str]]]
"""Called with a browser context once all actions of a recording are done in it."""


class Sessions:
    """The room of recorded sessions."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        browsers: Browsers,
        peers: Peers,
        asks: Asks | None = None,
    ) -> None:
        """asks: who asks the owner about what is refused; None where nobody is asked."""
        self._asks = asks
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._browsers = browsers
        self._peers = peers
        self.reading = Reading(witness, config, store, clock, peers)
        self.verifying = Verifying(witness, store, peers, self.reading)
        self._replaying: Counter[str] = Counter()
        self._leaving: set[str] = set()
        """Sessions that are being removed, which takes several reads of the store: nobody begins to replay one meanwhile."""
        self._questions = Questions(clock)

    def _gate(self, approve_class: int, guard: GuardPolicy) -> Gate:
        risk_max = max(self._risk_max(), approve_class)
        asking = self._asks(current_caller(), "") if self._asks else None
        known = self._browsers.known(guard)
        return Gate(report=self._witness.trail.gate, risk_max=risk_max, asking=asking, history=known)

    def _risk_max(self) -> int:
        """The highest class that is performed without asking; what the owner has set is for the owner's own work."""
        usual = self._config.policy.risk_class_max
        return min(usual, limits.WORK_CLASS_MAX) if current_caller().kind is CallerKind.PEER else usual

    def _wish(
        self, task: Task, guard: GuardPolicy, start_url: str, *, allow: tuple[str, ...], approve_class: int
    ) -> Wish:
        """What a capsule is asked for."""
        return Wish(
            task=task,
            guard=guard,
            start_url=start_url,
            risk_max=self._risk_max(),
            approve_class=approve_class,
            allows=bool(allow),
        )

    # --- recording ---------------------------------------------------------------------------------------------------

    async def record(
        self,
        text: str,
        *,
        name: str,
        secrets: Mapping[str, GivenSecret],
        allow: tuple[str, ...],
        approve_class: int,
        lenient: bool = False,
        capsule: str = "",
        tell: Tell,
        after: After | None = None,
        before: After | None = None,
        makes: Makes | None = None,
    ) -> RecordedSession:
        """Perform the actions of an action file and record them. capsule: the login to begin with; empty for the one of the file.

        ``after``: called with the browser context once all of them are done. ``before``: with it and its blank page. ``makes``:
        after each action, for the values that are redacted from there on.

        ``lenient``: leave out the steps of a foreign recording that cannot be performed.
        ``approve_class``: risk classes up to this one are approved by the person who calls. Errors: those of
        ``Witness.check_signs``; ``input.*``, ``browser.*``, ``action.*``, ``risk.refused``; the steps until then are stored as
        a session, whose id is in the error's detail.
        """
        self._witness.check_signs()
        file = parse_actions(text.encode(), name, self._config.browser.profile, lenient=lenient)
        given = Secrets(secrets, begins=file.start_url)
        capsule = _named_capsule(file, capsule, logs_in=after is not None)
        return await self._record(
            file,
            given,
            allow=allow,
            approve_class=approve_class,
            capsule=capsule,
            tell=tell,
            after=after,
            before=before,
            makes=makes,
        )

    async def fork(
        self,
        session_id: str,
        *,
        until: int,
        actions: str,
        inputs: Mapping[str, str],
        secrets: Mapping[str, GivenSecret],
        allow: tuple[str, ...],
        approve_class: int,
        tell: Tell,
    ) -> RecordedSession:
        """Perform the steps of a session up to ``until`` (0: all), then ``actions``, and record them as a fork of it.

        Errors: as ``record``; ``input.not_found``, ``session.not_committed``, ``envelope.*``.
        """
        self._witness.check_signs()
        session_id = ids.parse_id("ses", session_id)
        with self._kept(session_id):
            recorded = await self.reading.recorded(session_id)
            given = Secrets(secrets, begins=own_start(recorded.session, self._witness.node))
            file = forked(recorded, until, actions, inputs=inputs, secrets=given)
            return await self._record(
                file, given, allow=allow, approve_class=approve_class, tell=tell, parent=recorded.session.id
            )

    async def learn(
        self,
        session_id: str,
        *,
        secrets: Mapping[str, GivenSecret],
        allow: tuple[str, ...],
        approve_class: int,
        tell: Tell,
    ) -> LearnedSession:
        """Record the steps of a session anew, with masks for the numbers that differ between both.

        Errors: as ``fork``; ``session.unlike`` if anything else differs.
        """
        self._witness.check_signs()
        session_id = ids.parse_id("ses", session_id)
        with self._kept(session_id):
            recorded = await self.reading.recorded(session_id)
            given = Secrets(secrets, begins=own_start(recorded.session, self._witness.node))
            file = forked(recorded, 0, "", inputs={}, secrets=given)
            earlier = await following(recorded, self._store, given)
            done = await self._record(
                file,
                given,
                allow=allow,
                approve_class=approve_class,
                tell=tell,
                parent=recorded.session.id,
                following=earlier,
            )
        return LearnedSession(**msgspec.structs.asdict(done), learned=lines(earlier.learned))

    async def _record(
        self,
        file: ActionFile,
        secrets: Secrets,
        *,
        allow: tuple[str, ...],
        approve_class: int,
        tell: Tell,
        parent: str = "",
        capsule: str = "",
        following: Following | None = None,
        after: After | None = None,
        before: After | None = None,
        makes: Makes | None = None,
    ) -> RecordedSession:
        """Errors: those of ``record``; ``session.unlike`` with ``following``."""
        missing = sorted(set(file.secrets) - secrets.keys())
        if missing:
            raise MeshError("action.secret_missing", f"the actions need the secret “{missing[0]}”", names=missing)
        taken: list[Step] = []
        forms = LoginForms(known=bool(capsule or file.secrets))

        def on_step(step: Step) -> None:
            taken.append(step)
            forms.look(recorder.observation)
            owner = current_caller().kind is CallerKind.OWNER
            helps = what_helps(step.blocked, recorder.blocked_by, owner=owner, page_url=step.url)
            found = f": found {step.extracted}" if step.error in ("action.assertion_failed", "action.dialog") else ""
            did = {"did": describe(step.action) + found, "ok": step.ok, "blocked": list(step.blocked), "helps": helps}
            tell({"step": step.index, "of": len(file.actions), **did})
            for note in (f"step {step.index}: {said}" for said in doubts(step)):
                tell({"note": note})

        require_plain_inputs(file.inputs, secrets)
        for note in file.said:
            tell({"note": redact_text(note, secrets)})  # whoever wrote the file knew no names of secrets
        guard = guard_for(self._config.policy, allow)
        wish = self._wish("record", guard, file.start_url, allow=allow, approve_class=approve_class)
        async with mounted_context(self._browsers, file.profile, capsule, wish, tabs=True) as (mount, context, page):
            secrets = mount.secrets(secrets)
            plan = Recording(
                title=file.title,
                start_url=file.start_url,
                profile=file.profile,
                browser=await self._browsers.info(),  # of the browser that runs: none is started without a budget of its time
                secrets=secrets,
                uploads=Uploads(self._config.browser.upload_folders),
                codes=self._browsers.codes,
                gate=mount.gate(self._gate(approve_class, mount.guard)),
                capsule=mount.capsule,
                login=mount.used,
                inputs=file.inputs,
                sites=self._config.policy.sites,
                parent=parent,
                skipped=file.skipped,
                following=following,
                makes=partial(makes or mount.makes, context) if makes or mount.capsule else None,
            )
            for note in limits_of(plan.browser.backend):
                tell({"note": note})
            recording = record(self._store, page, self._clock, self._witness, plan, on_step=on_step)
            try:
                async with recording as recorder:
                    self._witness.trail.about(recorder.session.id)
                    try:
                        if before is not None:
                            await before(context)
                        await record_actions(recorder, file.actions, file.arrivals, file.expects, file.evidence)
                        if after is not None:
                            await after(context)
                    except MeshError as error:
                        # setdefault: an inner error may already name the session.
                        error.detail.setdefault("session", recorder.session.id)
                        if found := await self._proposed(forms, "record", tell):
                            error.detail["proposes"] = found
                        raise
            except Unlike as unlike:
                raise refusal(unlike, recorder.session.id, tell) from None
            return RecordedSession(
                **msgspec.structs.asdict(recorder.session),
                blocked=tuple(request for step in taken for request in step.blocked),
                extracted={step.action.name: step.extracted for step in taken if isinstance(step.action, Extract)},
                doubts=tuple(f"step {step.index}: {said}" for step in taken for said in doubts(step)),
                unguarded=limits_of(plan.browser.backend),
                proposes=await self._proposed(forms, "record", tell),
            )

    async def _proposed(self, forms: LoginForms, task: Task, tell: Tell) -> str:
        """A capsule for the site of a form that was met; said in a note too."""
        found = await self._browsers.mounts.proposes(forms.url, task) if forms.url else ""
        if found:
            tell({"note": proposed(found)})
        return found

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
    ) -> Replayed:
        """Replay a session in a new context and sign a report of which steps matched. capsule: as ``record``.

        Errors: ``input.not_found``, ``browser.*``, …
        """
        self._witness.check_signs()
        session_id = ids.parse_id("ses", session_id)
        with self._kept(session_id):
            recorded = await self.reading.recorded(session_id)
            for note in incomplete(step.action for step in replayable(recorded.steps)):
                tell({"note": note})
            if recorded.session.capsule and not capsule:
                tell({"note": f"the recording began with the login of {recorded.session.capsule}: --capsule"})
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

            guard, tabs = guard_for(self._config.policy, allow), has_tabs(recorded.steps)
            start = base_url or recorded.session.start_url
            wish = self._wish("replay", guard, start, allow=allow, approve_class=approve_class)
            given = Secrets(secrets, begins=base_url or own_start(recorded.session, self._witness.node))
            profile = recorded.session.profile
            types = any(secrets_named(step.action) for step in recorded.steps)
            forms = LoginForms(known=bool(capsule) or types)
            async with mounted_page(self._browsers, profile, capsule, wish, tabs=tabs) as (mount, page):
                plan = ReplayPlan(
                    browser=await self._browsers.info(),  # of the browser that runs, as in ``record``
                    secrets=mount.secrets(given),
                    uploads=Uploads(self._config.browser.upload_folders),
                    codes=self._browsers.codes,
                    gate=mount.gate(self._gate(approve_class, mount.guard)),
                    base_url=base_url,
                    on_mismatch=on_mismatch,
                    ask=lambda question: self._questions.ask(session_id, question, tell),
                    every_screenshot=bool(files.html),
                    level=level,
                    strict=strict,
                    inputs=inputs,
                    sites=self._config.policy.sites,
                    forms=forms,
                )
                done = await replay(recorded, self._store, page, self._clock, self._witness, plan, on_step=on_step)
            await self._witness.feed.along(
                lambda news: self._store.put_artefact(done.artefact, news=news),
                Changed.SESSION_REPLAYED,
                session_id,
                done.report.id,
            )
            if out:
                await asyncio.to_thread(write_file, Path(out), done.artefact.envelope)
        replayed = Replayed(
            report=done.report,
            described=tuple(described.values()),
            signed_by=self._witness.node,
            differences=done.differences,
            secrets_missing=done.secrets_missing,
            out=out,
            unreached=unreached(done.report.steps),
            stopped=done.stopped,
            agreed=done.agreed,
            replayable=total,
            stopped_at=stopped_at(done.report.steps, total),
            lacking=done.lacking,
            call_log=done.call_log,
            names=self._peers.names_of((self._witness.node,)),
            proposes=await self._proposed(forms, "replay", tell),
        )
        told = tell_replay(recorded.session, recorded.steps, replayed)
        signed = (
            self.reading.signature("session", recorded.session.node),
            self.reading.signature("replay report", done.report.node),
        )
        made_ms = self._clock.now_ms()
        seen = ReplaySeen(
            pictures=done.screenshots, texts=done.texts, console=done.noticed.console, refused=done.noticed.refused
        )
        await write_replay(files, told, self._store.blob, seen, signed, made_ms=made_ms)
        return replayed

    def answer(self, question: str, *, yes: bool) -> Answered:
        """Answer a replay that asks whether to write after a mismatch. Errors: ``input.not_found``."""
        answered = self._questions.answer(question, yes=yes)
        self._witness.trail.about(answered.session)
        return answered

    @contextlib.contextmanager
    def _kept(self, session_id: str) -> Iterator[None]:
        """Within the block the session cannot be removed, because it is being replayed. Errors: ``input.not_found``."""
        if session_id in self._leaving:
            raise MeshError("input.not_found", f"no session {session_id}", id=session_id)
        self._replaying[session_id] += 1
        try:
            yield
        finally:
            self._replaying[session_id] -= 1

    async def archive(self, session_id: str, *, archived: bool) -> Archived:
        """Leave a session out of the usual list, or bring it back. Errors: ``input.not_found``, ``id.invalid``, ``store.*``."""
        session = await self.reading.session(session_id)
        changed = await self.reading.archive.put(session.id, archived=archived)
        if changed:
            kind = Changed.SESSION_ARCHIVED if archived else Changed.SESSION_UNARCHIVED
            await self._witness.feed.tell(kind, session.id)
        return Archived(session=session.id, title=session.title, archived=archived, changed=changed)

    async def purge(self, session_id: str, *, referenced: bool) -> Purged:
        """Delete a session with its steps, screenshots, signatures and replay reports. Only its ``Remains`` are kept.

        referenced: also if something else names it. Errors: ``input.not_found``, ``id.invalid``, ``session.referenced``,
        ``input.invalid`` (it is being recorded or replayed).
        """
        session = await self.reading.session(session_id)
        if session.verdict is Verdict.OPEN:
            raise MeshError("input.invalid", "the session is being recorded", session=session.id)
        if self._replaying[session.id]:
            raise MeshError("input.invalid", "the session is being replayed", session=session.id)
        self._leaving.add(session.id)
        try:
            return await self._remove(session, referenced=referenced)
        finally:
            self._leaving.discard(session.id)

    async def _remove(self, session: Session, *, referenced: bool) -> Purged:
        own = self._witness.node
        names = () if referenced else await named_by(self._store, session, own)
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise MeshError("session.referenced", f"{names[0]}{more}", session=session.id, names=list(names))
        may_hold = await held_by(self._store, session, self._peers, own)
        remains = await remains_of(self._store, session, self._clock.now_ms())
        removed = await self._witness.feed.along(
            lambda news: self._store.remove_session(session.id, cbor.encode(remains), news=news),
            Changed.SESSION_REMOVED,
            session.id,
        )
        if not removed:
            raise MeshError("input.not_found", f"no session {session.id}", id=session.id)
        # Last, since a crash before it leaves an id that names nothing.
        await self.reading.archive.put(session.id, archived=False)
        return Purged(session=session.id, title=session.title, steps=session.steps, may_hold=may_hold)

    async def diff(self, first_id: str, second_id: str, *, html: str = "") -> SessionDiff | RunDiff:
        """Compare two sessions that the caller may see, or two runs of one. html: where to write it as a file too.

        Errors: ``input.not_found``, ``id.invalid``, ``input.invalid`` (reports of different sessions; the file), ``store.*``.
        """
        if is_report(first_id) or is_report(second_id):
            compared: SessionDiff | RunDiff = await compare_runs(self.reading, first_id, second_id)
        else:
            first, second = await self.reading.session(first_id), await self.reading.session(second_id)
            compared = await compare_sessions(self._store, first, second)
        if not html:
            return compared
        await write_comparison(html, compared, self._store, made_ms=self._clock.now_ms())
        return msgspec.structs.replace(compared, html=html)

    def trust_key(self) -> TrustKey:
        """The key of this node as text. Errors: ``keylog.*``, ``node.not_initialised`` if nobody accepts its signatures."""
        own = self._witness.identity
        own.check_active()
        return TrustKey(node=own.node, name=self._config.name, key=write_trust_key(own.log))
