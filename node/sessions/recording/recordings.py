"""Records sessions: from an action file, as a fork of another session, or again to learn masks."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

import msgspec

from adapters.ports.browser import Context
from node.live.acting import LoginForms
from node.live.browsers import guard_for, mounted_context, opening
from node.live.recording import Recording, StepComparison, Unlike, record, record_actions
from node.sessions.actions.action_files import ActionFile, parse_actions
from node.sessions.keeping.working import Working, named_by_owner, own_start
from node.sessions.recording.forking import forked
from node.sessions.recording.learning import following, lines, refusal
from node.sessions.recording.needs import Needing
from node.sessions.shared.consent import narrowed
from node.sessions.shared.replay_plan import ReplaySource
from node.sessions.showing.seen import RecordingFacts, ReplayFiles
from node.verbs import CallerKind, Tell, current_caller
from node.verbs.sessions.session_question import WriteQuestion
from node.verbs.sessions.session_results import RecordedSession
from node.verbs.sessions.session_upkeep import LearnedSession
from protocol import ids
from protocol.approval.forms import RequestForm, request_words
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Extract, describe
from protocol.page.secrets.redaction import Redaction, redact_text, redacted
from protocol.page.secrets.secrets import GivenSecret, Secrets, asks
from protocol.page.seen.names import legible
from protocol.page.showing.markup import MarkupShown
from protocol.recording.records.inputs import given_anew, require_plain_inputs
from protocol.recording.records.session import Step
from protocol.recording.records.verdicts import doubts
from protocol.risk.pressing.unguarded import limits_of
from protocol.risk.requests.refused import what_helps

_STAND_IN_BYTES: Final = 8


def _named_capsule(file: ActionFile, given: str, *, logs_in: bool) -> str:
    """The capsule with which ``file`` is recorded. given: the option of the caller. logs_in: True if the file makes a login.

    Errors: ``input.invalid`` if the option and the file contradict each other.
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
"""Called with a browser context when all actions of a recording are done in it."""


class _Anew(NamedTuple):
    """A session that is to be recorded again."""

    recorded: ReplaySource
    file: ActionFile
    secrets: Secrets
    own: str
    """Its start address if this node has recorded it; otherwise empty."""


class _Written:
    """The recording so far, for the files about it."""

    def __init__(self) -> None:
        self.done: RecordedSession | None = None
        self.documents: dict[int, MarkupShown] = {}


class Recordings:
    """Performs actions in a browser and records them."""

    def __init__(self, work: Working) -> None:
        self._work = work

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
        persistent: bool = False,
        inputs: Mapping[str, str] = {},
        files: ReplayFiles = ReplayFiles(),  # noqa: B008 - frozen
        ask: bool = False,
        plan: bool = False,
    ) -> RecordedSession:
        """Perform the actions of an action file and record them. inputs: other values for the inputs of the file. files: the files
        to write about the recording, whether it passed or not. capsule: the login to begin with; empty for the login that the
        file names.

        ``after``: called with the browser context when all actions are done. ``before``: called with the context and its blank
        page. ``makes``: called after each action; returns values that are redacted from then on. ``persistent``: use a browser and
        a profile of its own.

        ``ask``: ask the caller about refused requests. ``plan``: send nothing that changes something, perform the file all the
        same, and return its needs. ``lenient``: leave out the steps of a foreign recording that cannot be performed.
        ``approve_class``: risk classes up to this one are approved by the person who calls. Errors: those of
        ``Witness.check_signs``; ``input.*``, ``browser.*``, ``action.*``, ``risk.refused``; the steps until then are stored as a
        session, whose id is in the error's detail.
        """
        self._work.witness.check_signs()
        file = parse_actions(text.encode(), name, self._work.config.browser.profile, lenient=lenient)
        file = msgspec.structs.replace(file, inputs=given_anew(file.inputs, inputs))
        given = Secrets({**(self._stand_ins(file) if plan else {}), **secrets}, begins=file.start_url)
        capsule = _named_capsule(file, capsule, logs_in=after is not None)
        async with self._written(file, given, files, tell) as written:
            written.done = await self._record(
                file,
                given,
                allow=() if plan else allow,
                approve_class=approve_class,
                capsule=capsule,
                tell=tell,
                named=file.start_url,
                after=after,
                before=before,
                makes=makes,
                persistent=persistent,
                documents=written.documents if files.html else None,
                ask=ask,
                needing=Needing(file, capsule) if plan else None,
            )
        return written.done

    def _stand_ins(self, file: ActionFile) -> dict[str, GivenSecret]:
        """Values for the secrets of ``file`` in a dry run: a form with an empty field would not be sent."""
        return {
            name: GivenSecret(value=self._work.clock.random(_STAND_IN_BYTES).hex(), text=True) for name in file.secrets
        }

    @contextlib.asynccontextmanager
    async def _written(
        self, file: ActionFile, secrets: Secrets, files: ReplayFiles, tell: Tell
    ) -> AsyncIterator[_Written]:
        """Write ``files`` about the recording of the block, even if it ends with an error. After an error, a file that cannot be
        written is only reported.
        """
        written = _Written()
        error: MeshError | None = None
        try:
            yield written
        except MeshError as ended:
            error = ended
        session = written.done.id if written.done else str(error.detail.get("session", "")) if error else ""
        if session and (files.junit or files.html):
            try:
                shown = await self._work.reading.show(session)
                left = [describe(redacted(action, Redaction(secrets))) for action in file.actions[len(shown.steps) :]]
                performed = RecordingFacts(documents=written.documents, left=left, error=error)
                await self._work.reading.write(shown, files, performed)
            except MeshError as unwritten:
                if error is None:
                    raise
                tell({"note": unwritten.message})
        if error is not None:
            raise error

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
        capsule: str = "",
        tell: Tell,
    ) -> RecordedSession:
        """Perform the steps of a session up to ``until`` (0: all), then ``actions``, and record both as a fork of the session.

        Errors: as ``record``; ``input.not_found``, ``session.not_committed``, ``envelope.*``.
        """
        async with self._anew(session_id, secrets, until=until, actions=actions, inputs=inputs) as anew:
            return await self._record(
                anew.file,
                anew.secrets,
                allow=allow,
                approve_class=approve_class,
                capsule=capsule,
                tell=tell,
                named=anew.own,
                parent=anew.recorded.session.id,
            )

    async def learn(
        self,
        session_id: str,
        *,
        secrets: Mapping[str, GivenSecret],
        allow: tuple[str, ...],
        approve_class: int,
        capsule: str = "",
        tell: Tell,
    ) -> LearnedSession:
        """Record the steps of a session again, with masks for the numbers that differ from the recording.

        Errors: as ``fork``; ``session.unlike`` if anything else differs.
        """
        async with self._anew(session_id, secrets) as anew:
            earlier = await following(anew.recorded, self._work.store, anew.secrets, capsule=bool(capsule))
            done = await self._record(
                anew.file,
                anew.secrets,
                allow=allow,
                approve_class=approve_class,
                capsule=capsule,
                tell=tell,
                named=anew.own,
                parent=anew.recorded.session.id,
                following=earlier,
            )
        return LearnedSession(**msgspec.structs.asdict(done), learned=lines(earlier.learned))

    @contextlib.asynccontextmanager
    async def _anew(
        self,
        session_id: str,
        secrets: Mapping[str, GivenSecret],
        *,
        until: int = 0,
        actions: str = "",
        inputs: Mapping[str, str] = {},
    ) -> AsyncIterator[_Anew]:
        """The steps of a session as a file; during the block the session cannot be removed. Errors: those of ``fork``."""
        self._work.witness.check_signs()
        session_id = ids.parse_id("ses", session_id)
        with self._work.kept(session_id):
            recorded = await self._work.reading.recorded(session_id)
            node = self._work.witness.node
            own = own_start(recorded.session, node)
            given = Secrets(secrets, begins=own)
            # Only the node that recorded the session can recognise its tokens.
            tokens = self._work.witness.tokens if recorded.session.node == node else None
            file = forked(recorded, until, actions, inputs=inputs, secrets=given, tokens=tokens)
            yield _Anew(recorded, file, given, own)

    async def _record(
        self,
        file: ActionFile,
        secrets: Secrets,
        *,
        allow: tuple[str, ...],
        approve_class: int,
        tell: Tell,
        named: str = "",
        parent: str = "",
        capsule: str = "",
        following: StepComparison | None = None,
        after: After | None = None,
        before: After | None = None,
        makes: Makes | None = None,
        persistent: bool = False,
        documents: dict[int, MarkupShown] | None = None,
        ask: bool = False,
        needing: Needing | None = None,
    ) -> RecordedSession:
        """Perform and record ``file``. named: the address that a person named. documents: filled with the documents of pages on
        which steps failed. ask, needing: as ``ask`` and ``plan`` of ``record``.

        Errors: those of ``record``; ``session.unlike`` with ``following``.
        """
        missing = sorted(set(file.secrets) - secrets.keys())
        if missing:
            raise MeshError("action.secret_missing", f"the actions need the secret “{missing[0]}”", names=missing)
        taken: list[Step] = []
        forms = LoginForms(known=bool(capsule or file.secrets))

        def on_step(step: Step) -> None:
            taken.append(step)
            forms.look(recorder.observation)
            if needing is not None:
                needing.note(step, recorder.blocked_by)
            owner = current_caller().kind is CallerKind.OWNER
            helps = what_helps(step.blocked, recorder.blocked_by, owner=owner, page_url=step.url)
            found = f": found {step.extracted}" if step.error in ("action.assertion_failed", "action.dialog") else ""
            did = {"did": describe(step.action) + found, "ok": step.ok, "blocked": list(step.blocked), "helps": helps}
            tell({"step": step.index, "of": len(file.actions), **did})
            for note in (f"step {step.index}: {said}" for said in (*doubts(step), *map(asks, recorder.challenges))):
                tell({"note": note})

        async def allows(action: Action, form: RequestForm, level: int) -> bool:
            did, sends = legible(recorder.told(action)), legible(request_words(form))
            question = WriteQuestion(step=len(recorder.steps) + 1, action=did, sends=sends, risk=level)
            return bool(await self._work.questions.ask(recorder.session.id, question, tell))

        def goes_on(number: int, error: MeshError) -> bool:
            return needing is not None and needing.goes_on(number, error, recorder.told)

        require_plain_inputs(file.inputs, secrets)
        for note in file.said:
            # the author of the file did not know the secrets, so a note may contain one
            tell({"note": redact_text(note, secrets)})
        named = named_by_owner(named)
        guard = guard_for(self._work.config.policy, (*allow, *opening(named)), begins=file.start_url)
        guard = narrowed(guard, opening(named)) if needing else guard
        wish = self._work.wish("record", guard, file.start_url, allow=allow, approve_class=approve_class)
        async with mounted_context(
            self._work.browsers, file.profile, capsule, wish, tabs=True, persistent=persistent
        ) as (
            mount,
            context,
            page,
        ):
            secrets = await mount.hiding(secrets)
            gate = self._work.gate(approve_class, mount.guard, named, asks=not ask)
            if needing is not None:
                gate = msgspec.structs.replace(gate, asking=needing, plans=True)
            plan = Recording(
                title=file.title,
                start_url=file.start_url,
                profile=file.profile,
                # describes the browser that runs: none is started for a caller without browser time
                browser=await self._work.browsers.info(),
                secrets=secrets,
                uploads=self._work.browsers.uploads,
                codes=self._work.browsers.codes,
                gate=mount.gate(gate),
                capsule=mount.capsule,
                login=mount.used,
                inputs=file.inputs,
                sites=self._work.config.policy.sites,
                on_document=None if documents is None else documents.__setitem__,
                parent=parent,
                skipped=file.skipped,
                following=following,
                makes=partial(makes or mount.makes, context) if makes or mount.capsule else None,
                allows=allows if ask and not needing else None,
                goes_on=needing is not None,
            )
            for note in limits_of(plan.browser.backend):
                tell({"note": note})
            recording = record(self._work.store, page, self._work.clock, self._work.witness, plan, on_step=on_step)
            try:
                async with recording as recorder:
                    self._work.witness.trail.about(recorder.session.id)
                    try:
                        if before is not None:
                            await before(context)
                        await record_actions(
                            recorder, file.actions, file.arrivals, file.expects, file.evidence, goes_on=goes_on
                        )
                        if after is not None:
                            await after(context)
                    except MeshError as error:
                        # setdefault: an inner error may already name the session.
                        error.detail.setdefault("session", recorder.session.id)
                        if found := await self._work.proposed(forms, "record", tell):
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
                proposes=await self._work.proposed(forms, "record", tell),
                needs=needing.found() if needing else None,
            )
