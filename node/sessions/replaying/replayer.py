"""Replays a recorded session in a fresh page, compares it step by step, and signs the result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from adapters.ports.browser import ActionOutcome, Page
from adapters.ports.clock import Clock
from adapters.ports.store import SessionStore
from node.live.acting import Driver, take_picture, unsent
from node.live.finding import keeping
from node.live.recording import Signer, covering_on, document_of
from node.sessions.replaying.alerting import Alerting
from node.sessions.replaying.replay_tabs import to_front
from node.sessions.shared.consent import AllowedRequests
from node.sessions.shared.noticed import Noticed
from node.sessions.shared.questions import question_about
from node.sessions.shared.replay_plan import OnStep, ReplayPlan, ReplayResult, ReplaySource
from node.sessions.shared.writes import ReplayGate, Writes
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.messages import KIND_REPLAY_REPORT
from protocol.page.actions.action import Action, Assert, Extract, Wait
from protocol.page.actions.dialogs import grade_of
from protocol.page.secrets.personal import TOKEN, Tokens
from protocol.page.secrets.redaction import Redaction, redact_text, redacted, reveal_answer, secrets_named
from protocol.page.secrets.secrets import LOGIN_BASIC, SecretsAndTokens, asks
from protocol.page.secrets.written import again, names_in
from protocol.recording.records.findings import Difference, in_words, merged, noted
from protocol.recording.records.inputs import InputReplacement, applied, change, values_of
from protocol.recording.records.session import ChangedInput, ReplayReport, Step, StepMatch
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.records.tabs import tabs_acted_in
from protocol.recording.records.verdicts import default_level, judge_replay
from protocol.recording.replays.call_log import call_log, page_lines
from protocol.recording.replays.caution import forbids
from protocol.recording.replays.explaining import explain, explain_stop
from protocol.recording.replays.known_changes import KnownChanges
from protocol.recording.replays.lacking import lacking
from protocol.recording.replays.replay import (
    Bar,
    Met,
    Rebase,
    as_recorded,
    compare,
    goes_on,
    not_performed,
    rebase,
    rebased,
    replayable,
)
from protocol.risk.requests.refused import may_be_allowed


class _Run:
    """One replay on one page."""

    def __init__(
        self,
        store: SessionStore,
        page: Page,
        clock: Clock,
        plan: ReplayPlan,
        mapping: Rebase,
        *,
        tokens: Tokens,
        own: bool,
        bar: Bar,
        explains: bool,
        values: Mapping[str, str],
        changed: tuple[ChangedInput, ...],
        steps: Sequence[Step],
    ) -> None:
        self._store = store
        self._page = page
        self._clock = clock
        self._plan = plan
        self._mapping = mapping
        self._explains = explains
        """True if text of pages may be shown: only with all secrets of the recording can it be redacted like the recording."""
        self._bar = bar
        self._known = KnownChanges()
        self._alerting = Alerting(self._snapshot)
        self._own = tokens if own else None
        """The tokens with which this node recorded, so that it recognises the recorded texts."""
        gate = ReplayGate(**msgspec.structs.asdict(plan.gate), check_write=self._check_write)
        self.keyed = plan.secrets.keyed(tokens, keeping(plan.sites))
        self._secrets = self.keyed.stored
        self._driver = Driver(page, gate, self.keyed, plan.uploads, plan.codes, makes=plan.makes)
        self._driver.values.update(values)
        self._changed = changed
        self._exchange = InputReplacement(changed)
        # The gate and the guard call back while a step is performed, but they do not know steps.
        self._step_at_hand: Step | None = None
        self._tried: Action | None = None
        """The action of the present step as it is performed here, once it is known."""
        self._challenges: tuple[str, ...] = ()
        """As ``ActionOutcome.challenges``, for the last step."""
        self._tab = 0
        """The tab in which the step was recorded; 0 for the tab in front."""
        self.stopped = ""
        self.stop: MeshError | None = None
        """The reason why the last step was not performed."""
        self.refused_first: list[str] = []
        """The requests in ``allowable`` up to the end of the first step that did not match."""
        self.matches: list[StepMatch] = []
        self.writes = Writes(plan.on_mismatch, plan.ask, plan.gate.risk_max, self.matches)
        self._sends = AllowedRequests(
            by_manifest=plan.by_manifest,
            gate=gate,
            writes=self.writes,
            secrets=self.keyed,
            mapping=mapping,
            changed=changed,
            allow=plan.allow,
            steps=steps,
        )
        self.noticed = Noticed(page, self._secrets, shows=explains)
        self.blocked: list[str] = []
        self.allowable: list[str] = []
        """The requests in ``blocked`` that the owner can allow."""
        self.screenshots: dict[int, bytes] = {}
        self.differences: list[Difference] = []
        self.unlisted = 0
        """The number of differences beyond ``DIFFERENCES_PER_REPLAY_MAX``."""
        self.call_log: tuple[str, ...] = ()
        self.texts: dict[int, str] = {}

    async def drive(self, steps: Sequence[Step], on_step: OnStep | None) -> None:
        """Perform all steps, even after one that diverged. Stop at a step that cannot be performed, or that would write after a
        divergence.
        """
        self._alerting.steps = steps
        tabs = tabs_acted_in(steps)
        for step in steps:
            self._step_at_hand, self._tab = step, tabs.get(step.index, 0)
            match = await self._step(step)
            self._plan.forms.look(self._driver.observation)
            if all(earlier.matched for earlier in self.matches):
                self.refused_first = list(self.allowable)
            self.matches.append(match)
            self.noticed.after(step.index, performed=match.performed)
            if self._plan.every_screenshot or (self._plan.screenshots and not match.matched):
                await self._picture(step.index)
            if on_step is not None:
                on_step(match, self._instead(match))
            for note in (*self.noticed.notes.get(step.index, ()), *map(asks, self._challenges)):
                self._plan.on_note(f"step {step.index}: {note}")
            if not goes_on(step, match):
                return

    def _instead(self, match: StepMatch) -> str:
        """The most important difference of a step from the recording, in words; empty for a step that matched."""
        found = next((item for item in self.differences if item.step == match.index), None)
        return "" if found is None or match.matched else in_words(found)

    async def _step(self, step: Step) -> StepMatch:
        began_ms = self._clock.now_ms()
        secrets = self._secrets
        # The state hash includes the origin and names, so at another origin or with other inputs a replay can only wait until the
        # page stops changing.
        still = self._mapping.active or self._changed or self._sends.waits_for(step)
        expect = None if still else step.state
        self._tried = None
        try:
            # Use the higher of the recorded class and the class on this page, where the same action may look harmless.
            self.writes.before(step)
            action = self._tried = rebased(self._action(step), self._mapping)
            recorded = step.expect.dialog if step.expect else None
            answer = reveal_answer(recorded, self._plan.secrets)
            said = grade_of(recorded, step.dialogs)
            await to_front(self._driver, self._tab, self._met)
            outcome = await self._driver.act(
                action,
                expect=expect,
                evidence=step.evidence,
                evidence_onto=step.evidence_onto,
                answer=answer,
                said=said,
                lists=self._sends.lists(step),
            )
            self._sends.require(step)
            if outcome.unsent and self._driver.prepared is not None:
                raise unsent(self._driver.prepared.risk, outcome)
            if outcome.unconfirmed and isinstance(action, Assert | Extract):
                raise MeshError("page.unconfirmed")
            self.noticed.note(step.index, outcome.notes)
            self._challenges = outcome.challenges
        except MeshError as failed:
            error = await self._tellable(failed)
            self._challenges = tuple(failed.detail.get("challenges", ()))
            if self._explains:
                self.call_log = call_log(step, error, self._driver.observation, secrets)
                if self._plan.every_screenshot:
                    await self._look_closer(step)
            if (unmet := self._unmet(step, error)) is not None:
                return await self._compared(step, unmet, began_ms, None, error)
            self.stop = error
            if error.code == "replay.diverged":
                self.stopped = error.message
            elif self._explains:
                self.differences += explain_stop(step, error, secrets, self._mapping)
            return not_performed(step, error.code, self._since(began_ms))
        self._sends.note(step, self._driver.values)
        return await self._compared(step, outcome, began_ms, expect)

    def _action(self, step: Step) -> Action:
        """The action of ``step`` as it is performed here. Errors: ``action.secret_changed``, ``action.secret_elsewhere``."""
        return again(applied(step, self._changed), step.written, self._plan.secrets, self._own)

    async def _tellable(self, failed: MeshError) -> MeshError:
        """The error ``failed`` of a step; or, if its text about the page cannot be redacted, the error that prevents that."""
        try:
            await self._driver.note_login()
        except MeshError as error:
            return error
        return failed

    def _unmet(self, step: Step, error: MeshError) -> ActionOutcome | None:
        """The page on which the assertion of ``step`` failed; None if the step failed for another reason."""
        page = self._driver.observation
        if not isinstance(step.action, Assert) or error.code != "action.assertion_failed" or page is None:
            return None
        blocked = self._page.blocked()
        return ActionOutcome(observation=page, blocked=blocked.requests, blocked_by=blocked.rules, held="failed")

    async def _compared(
        self, step: Step, outcome: ActionOutcome, began_ms: int, expect: bytes | None, unmet: MeshError | None = None
    ) -> StepMatch:
        """Compare the page after a step with the recording. unmet: the error of the step's failed assertion."""
        if unmet is not None and self._explains:
            self.differences += explain_stop(step, unmet, self._secrets, self._mapping, "assertion")
        met = await self._met(outcome)
        # Equal digests mean equal texts, so a comparison would only cost time.
        snapshot = await self._snapshot(step) if met.digest != step.snapshot else None
        met = await self._alerting.look(step, met, snapshot)
        match, differences = await asyncio.to_thread(self._judged, step, met, snapshot, self._since(began_ms))
        if met.state == expect and (match.text in ("numbers", "differs") or not (match.title and match.url)):
            # The page was observed as soon as it had the recorded state; its text, title and address may change later.
            met = await self._once_still(met)
            if snapshot is None and met.digest != step.snapshot:
                snapshot = await self._snapshot(
                    step
                )  # the text was equal before, and only a clock may have changed it meanwhile
            met = await self._alerting.look(step, met, snapshot)
            match, differences = await asyncio.to_thread(self._judged, step, met, snapshot, self._since(began_ms))
        await self._alerting.passed(met)
        # Judged now, while the differing page is still shown; the verdict may forbid later steps.
        if not match.matched and self.writes.open:
            text = snapshot_text(snapshot)
            said = await asyncio.to_thread(
                forbids, step, match, met, text, elsewhere=self._mapping.active, bar=self._bar
            )
            self.writes.forbid(step.index, said)
        if self._plan.every_screenshot and match.text in ("numbers", "differs") and self._explains:
            self.texts[step.index] = self._exchange.shown(met.text)
        if not match.title:
            self._known.add(step.title, met.title)
        if not match.url:
            self._known.add_address(step.url, met.url)
        room = max(0, limits.DIFFERENCES_PER_REPLAY_MAX - len(self.differences))
        self.differences += differences[:room]
        self.unlisted += max(0, len(differences) - room)
        return match

    async def _look_closer(self, step: Step) -> None:
        """Keep the page on which ``step`` failed, as outline and as document."""
        page, action = self._driver.observation, self._tried or step.action
        if page is not None:
            self.noticed.page[step.index] = page_lines(step, page, self._secrets)
        found = await document_of(self._page, page, action, step.evidence, self._secrets)
        if found is not None:
            self.noticed.documents[step.index] = found

    async def _check_write(self, level: int) -> None:
        """Return if the present step may still be performed (``Writes.admit``). Errors: ``replay.diverged``."""
        if (step := self._step_at_hand) is not None:
            seen = self._driver if self._explains else None
            await self.writes.admit(
                step,
                level,
                lambda risk, why: question_about(step, risk, why, seen, self.differences, self._secrets),
            )

    async def _met(self, outcome: ActionOutcome) -> Met:
        """The page in the redacted form of a recording. Requests that the guard refused are noted."""
        secrets = await self._stored_at(outcome.observation.url)
        met = await asyncio.to_thread(
            as_recorded,
            outcome.observation,
            extracted=outcome.extracted,
            secrets=secrets,
            mapping=self._mapping,
            faults=outcome.faults,
            held=outcome.held != "failed",
            exchange=self._exchange,
            dialogs=outcome.dialogs,
            downloads=outcome.downloads,
            tab=outcome.tab,
            unsent=self._sends.unsent(),
            blocked=outcome.blocked,
        )
        self.blocked += met.blocked
        if self._step_at_hand is not None:
            self.noticed.refuse(self._step_at_hand.index, met.blocked)
        rules = zip(met.blocked, outcome.blocked_by, strict=True)
        self.allowable += [item for item, rule in rules if may_be_allowed(rule)]
        return met

    async def _stored_at(self, url: str) -> SecretsAndTokens:
        """The secrets and tokens to redact from the page at ``url`` before it is compared. Recorded tokens are compared with
        tokens, even if the policy for the site has changed.
        """
        step, secrets = self._step_at_hand, self.keyed.stored_at(url)
        if step is None or secrets is self._secrets:
            return secrets
        recorded = (step.title, step.url, step.extracted, snapshot_text(await self._snapshot(step)) or "")
        return self._secrets if any(map(TOKEN.search, recorded)) else secrets

    async def _once_still(self, met: Met) -> Met:
        """``met`` with the text of the page after it stops changing, unless its state has changed by then."""
        try:
            wait = Wait(timeout_ms=limits.SETTLE_TIMEOUT_MS)
            still = await self._driver.act(wait, lists=self._sends.nothing())
            later = await self._met(still)
        except MeshError:
            return met  # the next step reports the error
        if later.state != met.state:
            return met
        return msgspec.structs.replace(
            met,
            url=later.url,
            title=later.title,
            text=later.text,
            digest=later.digest,
            faults=(*met.faults, *later.faults)[: limits.REQUEST_FAULTS_MAX],
            dialogs=(*met.dialogs, *later.dialogs)[: limits.DIALOGS_PER_STEP_MAX],
            downloads=(*met.downloads, *later.downloads)[: limits.DOWNLOADS_PER_STEP_MAX],
        )

    async def _snapshot(self, step: Step) -> bytes | None:
        """The recorded text; None if there is none, or the store has lost it."""
        if not step.snapshot:
            return None
        try:
            return await self._store.blob(step.snapshot)
        except MeshError as error:
            if error.code != "blob.missing":
                raise
            return None

    def _judged(
        self, step: Step, met: Met, snapshot: bytes | None, duration_ms: int
    ) -> tuple[StepMatch, tuple[Difference, ...]]:
        """Compare the step with the recording. Runs in a thread, because comparing long texts is slow."""
        match = compare(step, met, snapshot=snapshot, duration_ms=duration_ms, bar=self._bar, known=self._known)
        found = explain(step, met, snapshot, strict=self._bar.strict) if self._explains else ()
        # Compared with the recorded values, but reported with the new values that the page showed.
        shown = self._exchange.shown
        return match, tuple(
            msgspec.structs.replace(item, recorded=shown(item.recorded), met=shown(item.met), place=shown(item.place))
            for item in found
        )

    def _since(self, began_ms: int) -> int:
        return max(0, self._clock.now_ms() - began_ms)

    async def _picture(self, index: int) -> None:
        """Take a picture by the rules of a recorder. Without all secrets of the recording there is no picture, because the page
        may show one.
        """
        if not self._explains:
            return
        cover = await asyncio.to_thread(covering_on, self._driver.observation, self._plan.secrets, self._plan.sites)
        try:
            take_picture()
            image = await self._page.screenshot(cover)
        except MeshError:
            return  # the report contains the failure; the screenshot is optional
        if len(image) <= limits.SCREENSHOT_BYTES_MAX:
            self.screenshots[index] = image


async def replay(
    recorded: ReplaySource,
    store: SessionStore,
    page: Page,
    clock: Clock,
    signer: Signer,
    plan: ReplayPlan,
    *,
    on_step: OnStep | None = None,
) -> ReplayResult:
    """Replay ``recorded`` on ``page`` (blank, in a fresh context) and sign the result.

    Recorded texts are read from ``store``. A page that differs is no error but a part of the report. Errors, before any action:
    ``action.secret_missing``, ``input.invalid`` (base address, inputs).
    """
    steps = replayable(recorded.steps)
    needed = {
        name
        for step in steps
        for name in (*secrets_named(step.action), *step.basic, *(names_in(step.action) if step.written else ()))
        if name != LOGIN_BASIC
    }
    for name in sorted(needed - plan.secrets.keys()):
        raise MeshError("action.secret_missing", f"the replay needs the secret “{name}”", name=name)
    mapping = rebase(recorded.session.start_url, plan.base_url)
    # Differences that are shown must be redacted like the recording, which needs all of its secrets.
    missing = tuple(sorted(set(recorded.session.secrets) - plan.secrets.keys()))
    bar = Bar(level=plan.level or default_level(steps), strict=plan.strict)
    changed = change(recorded.session, steps, plan.inputs, plan.secrets)
    values = values_of(recorded.session.inputs) | {item.name: item.value for item in changed}
    run = _Run(
        store,
        page,
        clock,
        plan,
        mapping,
        tokens=signer.tokens,
        own=recorded.session.node == signer.node,
        bar=bar,
        explains=not missing,
        values=values,
        changed=changed,
        steps=recorded.steps,
    )
    began_ms = clock.now_ms()
    await run.drive(steps, on_step)
    judged = judge_replay(recorded.session, steps, run.matches, bar.level, strict=bar.strict)
    differences = merged(run.differences)
    if run.unlisted:
        last = noted(differences[-1], f"{run.unlisted} more of later steps not listed")
        differences = (*differences[:-1], last)
    report = ReplayReport(
        id=ids.make_id("rep", clock.random(ids.ID_RANDOM_BYTES)),
        session=recorded.session.id,
        manifest=recorded.manifest,
        node=signer.node,
        replayed_ms=began_ms,
        browser=plan.browser,
        steps=tuple(run.matches),
        matched=sum(match.matched for match in run.matches),
        verdict=judged.verdict,
        duration_ms=max(0, clock.now_ms() - began_ms),
        blocked=tuple(run.blocked),
        origin=mapping.replayed if mapping.active else "",
        level=bar.level,
        strict=bar.strict,
        reason=judged.reason,
        inputs=changed,
        # The effects of changed inputs are the purpose of such a replay, so they are signed.
        differences=differences if changed else (),
    )
    # Compared texts have the form of a recording already; a text that came another way is redacted here.
    report = redacted(report, Redaction(run.keyed))
    artefact = await signer.artefact(KIND_REPLAY_REPORT, recorded.session.id, report)
    return ReplayResult(
        report=report,
        artefact=artefact,
        screenshots=run.screenshots,
        differences=differences,
        secrets_missing=missing,
        call_log=run.call_log,
        texts=run.texts,
        agreed=tuple(run.writes.agreed),
        noticed=run.noticed,
        stopped=run.stopped,
        lacking=redact_text(
            lacking(steps, run.matches, run.stop, run.refused_first), plan.secrets.keyed(signer.tokens).stored
        ),
    )
