"""Records a session: each action is performed and stored as a step, and at the end the session is signed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

import msgspec

from adapters.ports.browser import ActionOutcome, Blocked, Leaving, Page
from adapters.ports.clock import Clock
from adapters.ports.store import SessionStore
from node.base.tasks import interruptible
from node.live.acting.allowance import take_picture
from node.live.acting.allowing import Allowing
from node.live.acting.driver import Driver
from node.live.acting.gate import unsent
from node.live.acting.preparing import Prepared
from node.live.finding.console import Console
from node.live.finding.personal import keeping, stored_names
from node.live.recording.arrivals import Arrival, check_arrival
from node.live.recording.document import document_of
from node.live.recording.hidden import hidden_on
from node.live.recording.keeping import Recording, as_written, covering_on, opened, unmet
from node.live.recording.masking import Masking
from node.live.recording.sightings import Sightings
from node.live.recording.signer import Signer
from node.live.recording.stored_session import StoredSession
from node.verbs import CallerKind, current_caller
from node.verbs.live.live import HeldRequest
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Back, Extract, Forward, Goto, Reload, Scroll, Wait, describe
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.secrets.comparing import comparable_address
from protocol.page.secrets.redaction import (
    Redaction,
    redact_snapshot,
    redacted,
    without_value,
)
from protocol.page.secrets.secrets import SecretsAndTokens
from protocol.page.secrets.written import mark_of, note_about
from protocol.page.seen.observation import Observation
from protocol.page.seen.web_address import require_plain
from protocol.page.seen.whole import said as left_out
from protocol.recording.records.inputs import values_of
from protocol.recording.records.manifest import Effect, kept
from protocol.recording.records.session import Expect, Mask, Session, Step
from protocol.recording.records.snapshot import stored_snapshot

_LEFT_LATER = "what it sent was held, and left after the owner's yes"
_RISK_UNKNOWN = 1
"""The class stored for an action whose element was not found. Nothing was done, so it is the lowest class."""


Progress = Callable[[Step], None]
"""Called with every step when it is stored; its picture may still be missing."""


T = TypeVar("T")


class Recorder:
    """One open session on one page. Made by ``record``."""

    def __init__(
        self,
        store: SessionStore,
        page: Page,
        clock: Clock,
        signer: Signer,
        plan: Recording,
        on_step: Progress | None = None,
    ) -> None:
        self._page = page
        self._clock = clock
        self._signer = signer
        self._plan = plan
        self._on_step = on_step
        self._began_ms = clock.now_ms()
        self._caller = plan.caller or str(current_caller())
        self._secrets = plan.secrets.keyed(signer.tokens, keeping(plan.sites))
        agent = self._caller.startswith(f"{CallerKind.AGENT}:")
        self._redaction = Redaction(self._secrets, stored_at=self.stored_at, with_path=not agent)
        self._holder = plan.holds(page, self.sent) if plan.holds is not None else None
        self._driver = Driver(
            page,
            plan.gate,
            self._secrets,
            plan.uploads,
            plan.codes,
            notes_fits=True,
            holder=self._holder,
            allowing=Allowing(plan.allows, self._secrets) if plan.allows is not None else None,
            makes=plan.makes,
        )
        self._driver.values.update(values_of(plan.inputs))
        self._end: Callable[[MeshError], None] | None = None
        self._pictured = True
        self._masking = Masking(page, self._secrets)
        self.sightings = Sightings(page)
        self._console = Console(page)
        self.blocked_by: tuple[str, ...] = ()
        """The rules that refused the ``blocked`` requests of the last step."""
        self.challenges: tuple[str, ...] = ()
        """As ``ActionOutcome.challenges``, of the last step."""
        session = opened(
            plan,
            id=ids.make_id("ses", clock.random(ids.ID_RANDOM_BYTES)),
            node=signer.node,
            created_ms=self._began_ms,
            caller=self._caller,
        )
        self._stored = StoredSession(store, signer, self._plain(session), self._secrets, lambda: self.elapsed_ms)

    @property
    def observation(self) -> Observation | None:
        """The page after the last step."""
        return self._driver.observation

    @property
    def prepared(self) -> Prepared | None:
        """The last action, once its element was found; None if it was not found."""
        return self._driver.prepared

    @property
    def held(self) -> tuple[HeldRequest, ...]:
        """Requests of the last action that wait for the owner's yes."""
        return self._driver.held

    @property
    def unconfirmed(self) -> bool:
        """As ``Driver.unconfirmed``."""
        return self._driver.unconfirmed or (self._holder is not None and self._holder.late)

    def untold(self) -> tuple[HeldRequest, ...]:
        """As ``Holder.untold``."""
        return self._holder.untold() if self._holder is not None else ()

    async def release(self) -> None:
        """Stop holding requests: those that still wait never leave."""
        if self._holder is not None:
            await self._holder.close()

    @property
    def size_bytes(self) -> int:
        """The bytes stored so far; the last picture may still be missing."""
        return self._stored.size_bytes

    @property
    def session(self) -> Session:
        """The session, as it is stored."""
        return self._stored.session

    @property
    def steps(self) -> list[Step]:
        """The steps that are stored."""
        return self._stored.steps

    def stored_at(self, url: str) -> SecretsAndTokens:
        """The secrets and tokens that are redacted from the page at ``url`` before it is stored."""
        return self._secrets.stored_at(url)

    async def look(self) -> Observation:
        """Observe the page; the next action finds its element in this observation. Errors: ``browser.*``."""
        self._driver.observation = await self._page.observe()
        return self._driver.observation

    async def now(self) -> Observation:
        """The page just after an action. It is read anew only if it is seen to have changed. Errors: ``browser.*``."""
        seen = self._driver.observation
        if seen is not None and await self._page.unchanged():
            return seen
        return await self.look()

    @property
    def elapsed_ms(self) -> int:
        """The time since the session began."""
        return max(0, self._clock.now_ms() - self._began_ms)

    async def perform(
        self,
        action: Action,
        arrival: Arrival | None = None,
        expect: Expect | None = None,
        evidence: ElementEvidence | None = None,
        *,
        followed: bool = False,
    ) -> ActionOutcome:
        """Do one action and store it as the next step, whether it succeeded or not. With ``arrival``, the action must lead to that
        page.

        expect: the requests of the step that are expected to fail, and the dialog that it should cause. evidence: the evidence of
        its element in an earlier recording. followed: as in ``Given``; no picture is kept then, as the next step shows the same.

        In order: check that the address is unambiguous; reserve a step index; perform the action (``Driver.act``); check the page
        that it led to; store snapshot, screenshot and step.
        Errors: ``browser.scheme``, ``input.too_large``, those of ``Driver.act``,
        ``action.arrival_differs``.
        All but the first two are recorded before they are raised.
        """
        if isinstance(action, Goto):
            # An ambiguous address is not recorded: the recording would name another site than the browser opened.
            require_plain(action.url)
        if len(self.steps) >= limits.SESSION_STEPS_MAX:
            raise MeshError("input.too_large", f"a session has at most {limits.SESSION_STEPS_MAX} steps")
        started_ms, self._pictured = self.elapsed_ms, not followed
        try:
            async with interruptible() as self._end:
                answer = expect.dialog if expect else None
                self._driver.step = (self.session.id, len(self.steps) + 1)
                outcome = await self._driver.act(action, evidence=evidence, answer=answer, followed=followed)
            if arrival is not None:
                check_arrival(arrival, outcome.observation, self._plan.secrets)
        except MeshError as error:
            found = str(error.detail.get("found", ""))
            with contextlib.suppress(MeshError):
                await self._driver.note_login()
            await self._look_closer(action, evidence)
            await self._keep(action, started_ms, expect, error=error.code, found=found)
            raise
        refused = self._refused(action, outcome)
        await self._keep(action, started_ms, expect, outcome=outcome, error=refused.code if refused else "")
        if refused is not None and not self._plan.goes_on:
            raise refused
        return outcome

    def _refused(self, action: Action, outcome: ActionOutcome) -> MeshError | None:
        """The error of an action that was performed and counts as failed."""
        if outcome.unsent and self._driver.prepared:
            return unsent(self._driver.prepared.risk, outcome, held=bool(self.held))
        if outcome.unconfirmed and isinstance(action, Assert | Extract):
            return MeshError("page.unconfirmed")
        return None

    async def _look_closer(self, action: Action, evidence: ElementEvidence | None) -> None:
        """Pass the document of the page on which ``action`` failed to ``on_document``. The document is not recorded."""
        if self._plan.on_document is None:
            return
        secrets = self.stored_at(self.observation.url if self.observation else "")
        found = await document_of(self._page, self.observation, action, evidence, secrets)
        if found is not None:
            self._plan.on_document(len(self.steps) + 1, found)

    def told(self, action: Action) -> str:
        """The failed ``action`` in words, without the value to type, which may be a refused password."""
        return describe(without_value(redacted(action, Redaction(self._plan.secrets))))

    def stopping(self, action: Action) -> tuple[Callable[[], None] | None, float]:
        """A function that stops ``action`` when its caller is gone, and the seconds to wait before calling it."""
        match action:
            case Wait() | Extract() | Scroll() | Assert():
                return self._stop, 0
            case Goto() | Back() | Forward() | Reload():
                return self._stop, limits.LIVE_ABANDONED_S
            case _:
                # The browser cannot be told to stop it, and would perform it later, during another action. Its timeout bounds it.
                return None, 0

    def _stop(self) -> None:
        """Give up the action in progress: its step is stored as failed with ``internal.cancelled``."""
        if self._end is not None:
            self._end(MeshError("internal.cancelled", "the caller did not wait for the end of the action"))

    async def _keep(
        self,
        action: Action,
        started_ms: int,
        expect: Expect | None,
        *,
        outcome: ActionOutcome | None = None,
        error: str = "",
        found: str = "",
    ) -> None:
        """Store the page, then the step. The picture is stored while the next step is performed.

        found: what a failed assertion found instead.
        """
        page, prepared = self._driver.observation, self._driver.prepared
        secrets = self.stored_at(page.url if page else "")
        as_done = as_written(action, prepared.action) if prepared and not isinstance(action, Goto) else action
        duration_ms = max(0, self.elapsed_ms - started_ms)
        # Also after an action that failed; otherwise the next step would be recorded with the requests refused here.
        ended = outcome or self._driver.outcome
        caused = Blocked(ended.blocked, ended.blocked_by, sent=ended.sent) if ended else self._page.blocked()
        # Work that grows with the page runs in a thread: a hostile page of one megabyte would block the event loop for half a
        # second.
        text = await asyncio.to_thread(redact_snapshot, page.text, secrets) if page else ""
        snapshot = await asyncio.to_thread(stored_snapshot, text)
        png, (masks, self._driver.observation), digest = await asyncio.gather(
            self._screenshot(), self._masks(text, page, error), self._snapshot(snapshot, page)
        )
        hidden = await hidden_on(self._page, page, secrets)
        effects, more = await asyncio.to_thread(self._effects, (), caused.sent)
        step = Step(
            index=len(self.steps) + 1,
            action=as_done,
            ok=not error,
            url=page.url if page else "",
            title=page.title if page else "",
            state=page.state if page else bytes(16),
            risk=prepared.risk.level if prepared else _RISK_UNKNOWN,
            started_ms=started_ms,
            duration_ms=duration_ms,
            snapshot=digest,
            ref=(prepared.ref or "") if prepared else "",
            extracted=outcome.extracted if outcome else found,
            error=error,
            blocked=caused.requests,
            evidence=prepared.evidence if prepared else None,
            faults=outcome.faults[: limits.REQUEST_FAULTS_MAX] if outcome else (),
            expect=expect,
            held=outcome.held if outcome else unmet(action, error),
            masks=masks,
            lines=text.count("\n") + 1 if text else 0,
            dialogs=outcome.dialogs[: limits.DIALOGS_PER_STEP_MAX] if outcome else (),
            downloads=outcome.downloads[: limits.DOWNLOADS_PER_STEP_MAX] if outcome else (),
            tab=outcome is not None and outcome.tab,
            on_tab=self._driver.on_tab,
            evidence_onto=prepared.evidence_onto if prepared else None,
            unseen=await self.sightings.judge(action, self._driver.observation) and not error,
            console=self._console.new(),
            hidden=hidden.texts,
            hidden_more=not hidden.whole,
            notes=_notes(page, outcome),
            basic=outcome.basic if outcome else (),
            effects=effects,
            effects_more=more,
        )
        # Done before anything is stored, so that no secret reaches the disk even for a moment.
        kept = await asyncio.to_thread(self._plain, step)
        step = self._as_authored(kept, step, action, secrets, performed=outcome is not None)
        self.blocked_by = caused.rules
        self.challenges = outcome.challenges if outcome else ()
        await self._stored.append(step, text)
        if self._on_step is not None:
            self._on_step(step)
        if png:
            await self._stored.add_picture(step.index, png)
        if self._plan.following is not None:
            self._plan.following.check(step)

    def _as_authored(
        self, kept: Step, step: Step, action: Action, secrets: SecretsAndTokens, *, performed: bool
    ) -> Step:
        """``kept`` with the parts that depend on its author's own text. step: not redacted yet; action: as it was requested."""
        done = stored_names(kept.action, action, secrets)
        # A token in an address is no secret of the author.
        wrote = (
            msgspec.structs.replace(action, url=comparable_address(action.url, {}))
            if isinstance(action, Goto)
            else step.action
        )
        answers = _answer_of(step), _answer_of(kept)
        written = mark_of(wrote, done, self._secrets, self._signer.tokens, answers) if performed else ""
        if step.error:
            # Do not store the value: it may be a refused password, and a replay does not perform failed steps.
            done = without_value(done)
        notes = tuple(filter(None, (*kept.notes, note_about(done, written) if performed else "")))
        return msgspec.structs.replace(kept, action=done, written=written, notes=notes[: limits.NOTES_PER_STEP_MAX])

    def _plain(self, record: T) -> T:
        """``record`` as it is stored."""
        return redacted(record, self._redaction)

    def _effects(self, before: tuple[Effect, ...], sent: tuple[Effect, ...]) -> tuple[tuple[Effect, ...], bool]:
        """The stored effects of a step, and whether some were left out. before: effects that are already in stored form."""
        return kept((*before, *self._plain(sent)))

    async def _snapshot(self, snapshot: bytes, page: Observation | None) -> bytes:
        return await self._stored.blob(snapshot) if page is not None else b""

    async def _masks(
        self, text: str, page: Observation | None, error: str
    ) -> tuple[tuple[Mask, ...], Observation | None]:
        if page is None or error:
            return (), page
        masks, page = await self._masking.look(text, page)
        if self._plan.following is not None:
            masks = await self._plan.following.masks(len(self.steps) + 1, text, masks)
        return masks, page

    async def _screenshot(self) -> bytes:
        if not (self._plan.screenshots and self._pictured):
            return b""
        cover = await asyncio.to_thread(covering_on, self.observation, self._plan.secrets, self._plan.sites)
        try:
            take_picture()
            return await self._page.screenshot(cover)
        except MeshError:
            # If the screenshot fails, the performed step is still recorded.
            return b""

    async def sent(self, index: int, leaving: Leaving) -> None:
        """The held request of step ``index`` has left after a yes. A step that was refused for it counts as performed; one that
        failed otherwise does not. Errors: ``store.*``.
        """
        if leaving.document:
            self._driver.site_answered()
        if 0 < index <= len(self.steps):
            step = self.steps[index - 1]
            if step.error == "risk.refused":
                step = msgspec.structs.replace(step, ok=True, error="")
            effects, more = self._effects(step.effects, (leaving.effect,))
            notes = (*step.notes, _LEFT_LATER)
            step = msgspec.structs.replace(step, notes=notes, effects=effects, effects_more=more)
            await self._stored.amend(step)

    async def begin(self) -> None:
        """Create the session in the store before anything happens on the page. Errors: ``browser.scheme`` (start address)."""
        require_plain(self._plan.start_url)
        await self._stored.begin()

    async def commit(self) -> Session:
        """Sign the manifest and store session and artefact together."""
        return await self._stored.commit()

    async def interrupt(self) -> Session:
        """Keep the recording as a session that can be shown but not exported."""
        return await self._stored.interrupt()


def _answer_of(step: Step) -> DialogAnswer | None:
    return step.expect.dialog if step.expect else None


def _notes(page: Observation | None, outcome: ActionOutcome | None) -> tuple[str, ...]:
    """The notes of a step, except those about how it is stored."""
    notes = [f"the page is kept in part: {left_out(page.cut)}"] if page is not None and page.cut else []
    return tuple(filter(None, (*notes, *(outcome.notes if outcome else ()))))[: limits.NOTES_PER_STEP_MAX]
