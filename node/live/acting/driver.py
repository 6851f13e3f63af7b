"""Performs an action on a page: finds the element, judges the risk, asks the gate, and only then acts.

Recording, replaying and exploring all go through ``Driver.act``; nothing else in the node reaches ``Page.perform``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from adapters.ports.browser import NOTHING, ActionOutcome, Given, Leaving, Page
from node.live.acting.allowance import navigate
from node.live.acting.allowing import Allowing
from node.live.acting.asking import Sought, askable, seek
from node.live.acting.codes import NO_CODES, Codes
from node.live.acting.gate import Approve as Approve
from node.live.acting.gate import Gate as Gate
from node.live.acting.gate import Report as Report
from node.live.acting.gate import never as never
from node.live.acting.giving import accepting
from node.live.acting.holding import Holder, waiting
from node.live.acting.letting_in import let_in
from node.live.acting.preparing import Prepared, prepare, unaimed, with_onto
from node.live.acting.uploads import NO_UPLOADS, Uploads
from node.live.finding.asserting import hold
from node.live.finding.closed import require_read
from node.live.finding.fitting import fits_of, fits_of_condition
from node.live.finding.missing import explained
from node.live.finding.personal import as_observed, pins_of, shown_name
from node.live.finding.time_limit import NOT_FOUND, TimeLimit
from node.verbs.live.live import HeldRequest
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    Drag,
    Extract,
    Fill,
    Forward,
    Goto,
    Press,
    Reload,
    Select,
    Upload,
    Wait,
    target_of,
)
from protocol.page.actions.assertion import condition_of, of_one_element
from protocol.page.actions.dialogs import DialogAnswer, require_expected
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.actions.fits import Fit, Grade
from protocol.page.actions.values import filled_in, is_typed, require_value
from protocol.page.secrets.comparing import comparable
from protocol.page.secrets.redaction import reveal_address, secrets_named
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import BLANK, Observation
from protocol.page.seen.whole import require_loaded
from protocol.page.showing.covering import covering_for
from protocol.recording.records.manifest import StepRequests
from protocol.risk.pressing.answers import accepts, with_answer
from protocol.risk.pressing.classes import Risk
from protocol.risk.pressing.pressing import PRESSES, is_grave, raised
from protocol.risk.requests.refused import may_be_approved, may_change

Makes = Callable[[], Awaitable[Iterable[str]]]
"""Returns the values in the browser that a site has made for a login."""
_PRESSES: Final = Check | Click | Fill | Press | Select


class Driver:
    """A page with its gate and its last observation. Used by one task at a time."""

    def __init__(
        self,
        page: Page,
        gate: Gate,
        secrets: Secrets | None = None,
        uploads: Uploads = NO_UPLOADS,
        codes: Codes = NO_CODES,
        *,
        notes_fits: bool = False,
        holder: Holder | None = None,
        allowing: Allowing | None = None,
        press_ms: int = 0,
        makes: Makes | None = None,
    ) -> None:
        """uploads: where files are read from. codes: who makes one-time codes. notes_fits: True if a recording needs to know how
        the texts of each target were matched. holder: keeps requests that need a yes until it comes. allowing: asks a person at
        once, while the action is performed. Both are None if no request waits. press_ms: the time limit of a press; 0 for the
        configured one. makes: returns the values in the browser that the site has made for a login; None for work without a
        login.
        """
        self._makes, self._learned = makes, False
        self._holder, self._allowing = holder, allowing
        self.held: tuple[HeldRequest, ...] = ()
        """Requests of the last action that are held."""
        self._late: set[str] = set()
        """Refused requests that presses caused after they had ended."""
        self._doubted: set[int] = set()
        """The tabs whose page is unconfirmed."""
        self._documents: dict[int, int] = {}
        """The number of documents that each tab has loaded."""
        self._notes_fits, self._press_ms = notes_fits, press_ms
        self._uploads, self._codes = uploads, codes
        self._page = page
        self._gate = gate
        self._secrets = NO_SECRETS if secrets is None else secrets
        self.observation: Observation | None = None
        """The last observation; None makes the next action observe the page first."""
        self.prepared: Prepared | None = None
        """The last action, once its element was found; None if it was not found."""
        self.outcome: ActionOutcome | None = None
        """That of the last action, even if its check failed afterwards; None if performing it failed."""
        self.values: dict[str, str] = {}
        """The values extracted in this run, by name. They are text of pages."""
        self.on_tab = 0
        """The number of the tab in front; 0 without tabs."""
        self._by_itself: frozenset[str] = frozenset()
        """Requests that were refused while nothing was pressed: the page sends them by itself."""
        self.step = ("", 0)
        """Session and index of the step that is being recorded."""

    @property
    def unconfirmed(self) -> bool:
        """True if the page may show something untrue, because one of its requests was held or refused since its address was
        opened.
        """
        return self.on_tab in self._doubted

    @unconfirmed.setter
    def unconfirmed(self, doubted: bool) -> None:
        (self._doubted.add if doubted else self._doubted.discard)(self.on_tab)

    def site_answered(self) -> None:
        """A held document request has left. The document that it loads is believed, unless other requests were held or refused."""
        if len(self._doubted) == 1:
            self._doubted.clear()

    async def note_login(self) -> None:
        """Learn the values that the site has made for a login, so that everything stored, compared, asked or told afterwards is
        redacted. If that fails, no text of the page is kept. Errors: ``browser.*``, ``input.too_large``.
        """
        seen, self.observation = self.observation, None
        await self._learn()
        if self._learned and seen is not None:
            # The observation from before contains the values, so the page is observed again.
            seen = await self._page.observe()
        self.observation, self._learned = seen, False

    async def _learn(self) -> None:
        if self._makes is not None and self._secrets.note_login(await self._makes()):
            self._learned = True
            await asyncio.to_thread(lambda: self._secrets.search)

    async def act(
        self,
        action: Action,
        *,
        expect: bytes | None = None,
        evidence: ElementEvidence | None = None,
        evidence_onto: ElementEvidence | None = None,
        answer: DialogAnswer | None = None,
        said: Grade = "part",
        lists: Callable[[Prepared], StepRequests] | None = None,
        followed: bool = False,
    ) -> ActionOutcome:
        """Do one action: observe, find its element, ask the gate, perform.

        ``expect``: the state hash to wait for, if one is known. ``evidence``: the recorded evidence of the element.
        ``evidence_onto``: that of the element that a drag ends on. ``answer``: the dialog that the action should cause, and the
        answer to it. ``said``: how closely the dialog's text must match the expected text. ``lists``: returns the requests that a
        recording lists for the action. ``followed``: as in ``Given``.
        Errors: those of ``prepare``, ``Gate.admit`` and ``Page.perform``, ``action.not_of_type``, ``action.dialog``.
        """
        self.prepared = self.outcome = None
        self.held = ()
        if self._holder is not None:
            self.unconfirmed = self.unconfirmed or self._holder.late
            self._holder.begin()
        self._note_late()
        if self.unconfirmed and isinstance(action, Assert):
            raise MeshError("page.unconfirmed")
        limit = TimeLimit(action)
        action = as_observed(filled_in(action, self.values), self._secrets)
        if self.observation is None:
            # Opening an address does not depend on the present page.
            self.observation = BLANK if isinstance(action, Goto) else await self._page.observe()
        condition = condition_of(action)
        if condition is not None:
            # The element may come only later, or may be expected to be absent.
            ready = unaimed(action, self.observation)
        else:
            look = partial(self._ready, action, evidence, evidence_onto)
            try:
                ready, self.observation = await limit.find(self._page, self.observation, look)
            except MeshError as error:
                raise await self._explained(error, action) from None
        self._gate.require_script(ready.action, ready.observation.url, login=self._secrets.told)
        weighed = self._gate.weighed(action, ready.risk)
        risk = with_answer(weighed, answer)
        why = self._gate.needs_yes(ready.action, ready.element, risk, ready.observation.url)
        risk = raised(risk, why) if why else with_answer(weighed, answer, free=True)
        self.prepared = msgspec.structs.replace(ready, risk=risk)
        # Accepting a dialog is no press: afterwards the page may change without sending any request.
        free = not why and (self._gate.plans or not accepts(answer))
        sought = self._sought(self.prepared)
        covers = await self._gate.admit(self.prepared.action, risk, sought, free=free)
        if condition is not None:
            await self._hold(condition, action, evidence)
        held_by = self._holder or self._allowing
        holds = held_by is not None and free and isinstance(action, PRESSES)
        grave = is_grave(ready.action, risk)
        given = await self._given(answer, said, self.prepared)
        given = msgspec.structs.replace(
            given,
            covers=(*covers, *(self._allowing.covers if self._allowing else ())),
            holds=holds,
            followed=followed,
            decides=partial(self._decides, self._allowing, action, risk) if holds and self._allowing else None,
            grave=grave,
            level_min=risk.gravest,
            level_max=self._gate.named_max(self.prepared.action, risk),
        )
        if lists is not None:
            given = msgspec.structs.replace(given, listed=await asyncio.to_thread(lists, self.prepared))
        if isinstance(action, Wait):
            grade = pins_of(evidence, self.observation.url if self.observation else "", self._secrets).grade("text")
            given = msgspec.structs.replace(given, grade=grade, graded=self._notes_fits)
        performed = self.prepared.action
        if isinstance(performed, Goto):
            # Only here: the judged, reported and recorded action contains the names of secrets instead of their values.
            performed = msgspec.structs.replace(performed, url=reveal_address(performed.url, self._secrets))
        if isinstance(performed, Goto | Back | Forward | Reload):
            navigate()
        ref = None if condition is not None else self.prepared.ref
        if isinstance(performed, Extract):
            await self._require_read(self.prepared)
        await self._codes.make(performed, self._secrets)
        self._secrets.note_told(secrets_named(action))
        left = limit.rest_ms or (self._press_ms if isinstance(performed, _PRESSES) else 0)

        async def perform(one: Action) -> ActionOutcome:
            if one is not performed:
                return await self._page.perform(one, secrets=self._secrets)
            return await self._page.perform(
                one, ref=ref, expect=expect, secrets=self._secrets, timeout_ms=left, given=given
            )

        asked = msgspec.structs.replace(sought, level=risk.gravest)
        try:
            outcome = await let_in(performed, perform, self._page.observe, self._picture)
        except MeshError as error:
            raise await self._failed(error, asked, holds=holds) from None
        self.outcome = outcome
        before, self.observation, self.on_tab = self.on_tab, outcome.observation, outcome.on_tab
        if self._notes_fits and isinstance(action, Wait) and action.text:
            fits = (Fit(what="text", grade=outcome.grade),)
            self.prepared = msgspec.structs.replace(self.prepared, fits=fits)
        await self.note_login()
        outcome = msgspec.structs.replace(outcome, observation=self.observation)
        if self._holder is not None:
            self.held = await self._holder.ask(asked, outcome.leaving, self._secrets)
            if holds:
                self._holder.watch(asked, self._secrets, self._learn)
        refused = askable(outcome.blocked_forms, self._secrets)
        question = await self._gate.performed(asked, refused, outcome.blocked_exacts)
        question = next((each.question for each in self.held if each.question), question)
        judged_only = free and not self._gate.approves(self.prepared.action, risk)
        unsent = (judged_only and self._unsent(outcome)) or bool(outcome.leaving)
        self._note_late()
        if not isinstance(action, PRESSES):
            self._by_itself |= frozenset(outcome.blocked) - self._late
        doubts = unsent or (isinstance(action, PRESSES) and self._unsent(outcome))
        self._confirm(self.prepared, outcome, {before} if doubts else set())
        outcome = msgspec.structs.replace(outcome, question=question, unsent=unsent, unconfirmed=self.unconfirmed)
        # Both are in the form of a recording: the error of an unexpected dialog quotes the expected text.
        dialogs, answer = comparable((outcome.dialogs, answer), self._secrets)
        try:
            require_expected(dialogs, answer, said)
        except MeshError as error:
            raise waiting(error, self.held) from None
        if isinstance(action, Extract):
            self.values[action.name] = require_value(action, outcome.extracted).text
        holds = isinstance(action, Assert) or is_typed(action)
        return msgspec.structs.replace(outcome, held="held") if holds else outcome

    async def _failed(self, error: MeshError, asked: Sought, *, holds: bool) -> MeshError:
        """``error`` of the action ``asked``, with the requests that it caused to wait. They are asked about as if it had ended;
        those that nobody can be asked about are refused.
        """
        leaving = self._page.untold()
        self.unconfirmed = self.unconfirmed or bool(leaving)
        try:
            await self._learn()
        except MeshError:  # a question might show a value of a login
            self._keep_back(leaving)
            return error
        if self._holder is None:
            self._keep_back(leaving)
            return error
        self.held = await self._holder.ask(asked, leaving, self._secrets)
        if holds:
            self._holder.watch(asked, self._secrets, self._learn)
        return waiting(error, self.held)

    def _keep_back(self, leaving: tuple[Leaving, ...]) -> None:
        for each in leaving:
            self._page.keep_back(each.number)

    async def _picture(self) -> bytes:
        """The page without its secrets, for a person; empty if it cannot be taken."""
        cover = covering_for(self._secrets, personal=True, must=bool(self._secrets))
        try:
            return await self._page.screenshot(cover)
        except MeshError:
            return b""

    async def _decides(self, allowing: Allowing, action: Action, risk: Risk, leaving: Leaving) -> bool:
        """True if the person at the terminal lets a request leave. A request that contains a value of the login is refused without
        a question.
        """
        try:
            await self._learn()
        except MeshError:
            return False
        return await allowing.decides(action, risk.gravest, leaving)

    def _note_late(self) -> None:
        """Note refused requests that presses caused after they had ended: their pages may look as if the request had succeeded."""
        for tab, lines in self._page.refused_late().items():
            new = frozenset(lines) - self._by_itself
            self._late |= new
            if new:
                self._doubted.add(tab)

    def _confirm(self, prepared: Prepared, outcome: ActionOutcome, unsent: set[int]) -> None:
        """Update the set of tabs whose page may show something untrue. A new document is believed, with two exceptions: one that
        an action led to while some of its requests were held or refused, and one that was loaded while nobody acted. unsent:
        the tabs on which a request was held or refused.
        """
        tab, action = outcome.on_tab, prepared.action
        came = outcome.documents != self._documents.get(tab, 0) and not isinstance(action, Wait | Assert | Extract)
        if came or _opens_anew(action, prepared.observation.url):
            self._doubted.discard(tab)
        self._documents[tab] = outcome.documents
        if unsent:
            self._doubted |= {*unsent, tab}

    async def _require_read(self, prepared: Prepared) -> None:
        """Return if the content to be extracted has loaded completely. Errors: ``page.cut``, ``browser.*``."""
        if prepared.element is None:
            require_loaded(prepared.observation, "what the page says")
        else:
            await require_read(self._page, prepared.observation, prepared.element)

    async def _explained(self, error: MeshError, action: Action) -> MeshError:
        """``error`` about an element that was not found, completed from the present page, which is kept with the failed step."""
        if error.code not in NOT_FOUND:
            return error
        with contextlib.suppress(MeshError):
            self.observation = await self._page.observe()
            return explained(error, action, self.observation)
        return error

    async def _ready(
        self, action: Action, evidence: ElementEvidence | None, onto: ElementEvidence | None, observation: Observation
    ) -> tuple[Prepared, Observation]:
        """As ``prepare``; for a drag, also finds the element that it ends on."""
        prepared, observation = await prepare(self._page, observation, action, evidence=evidence, secrets=self._secrets)
        if isinstance(action, Drag):
            prepared = await with_onto(self._page, prepared, onto, self._secrets)
        if self._notes_fits:
            prepared = await self._fitted(prepared, action)
        return prepared, observation

    def _unsent(self, outcome: ActionOutcome) -> bool:
        """True if a request was refused that a yes could let through, or that no yes could. Requests that the page sends by itself
        do not count.
        """
        refused = zip(outcome.blocked, outcome.blocked_by, strict=True)
        return any(
            (may_be_approved(rule) or may_change(rule)) and line not in self._by_itself for line, rule in refused
        )

    def _sought(self, prepared: Prepared) -> Sought:
        """The question to the owner about the action that is about to be performed."""
        return seek(
            prepared.action,
            prepared.aim or prepared.element,
            prepared.observation,
            prepared.risk,
            self._secrets or NO_SECRETS,
            self.step,
        )

    async def _given(self, answer: DialogAnswer | None, said: Grade, prepared: Prepared) -> Given:
        """The dialog answer and the files that the action is performed with. The files' hashes are noted in ``prepared``."""
        given = NOTHING
        if answer is not None:
            given = Given(answer=answer, accepts=accepting(answer, prepared.risk, self._gate.accepted_max, said))
        if isinstance(prepared.action, Upload):
            hashed, files = await asyncio.to_thread(self._uploads.read, prepared.action)
            self.prepared = msgspec.structs.replace(prepared, action=hashed)
            given = msgspec.structs.replace(given, files=files)
        if prepared.onto is not None:
            given = msgspec.structs.replace(given, onto=prepared.onto.ref)
        return given

    async def _fitted(self, prepared: Prepared, action: Action) -> Prepared:
        """``prepared``, with a note of how the texts of the target of ``action`` were matched."""
        target, box, seen = target_of(action), prepared.box, prepared.observation
        if target is None or box is None:
            return prepared
        fits = await fits_of(self._page, seen, shown_name(target, seen, self._secrets), box)
        if not (isinstance(action, Drag) and prepared.onto is not None):
            return msgspec.structs.replace(prepared, fits=fits)
        onto = await fits_of(self._page, seen, action.onto, prepared.onto)
        return msgspec.structs.replace(prepared, fits=fits, fits_onto=onto)

    async def _hold(self, condition: Assert, action: Action, evidence: ElementEvidence | None) -> None:
        known = evidence if isinstance(action, Assert) and of_one_element(action) else None
        # Evidence without a role says only how texts were matched.
        known = known if known is not None and known.role else None
        pins = pins_of(evidence, self.observation.url if self.observation else "", self._secrets)
        try:
            element, page = await hold(self._page, condition, self._secrets, known, pins)
        except MeshError:
            # The element was found on the present page; an earlier observation is out of date.
            with contextlib.suppress(MeshError):
                self.observation = await self._page.observe()
            raise
        if self.prepared is not None and isinstance(action, Assert) and of_one_element(action):
            # Its evidence is recorded, so that a replay rejects another element.
            self.prepared = msgspec.structs.replace(self.prepared, element=element, observation=page, aim=None)
        if self.prepared is not None and self._notes_fits:
            fits = await fits_of_condition(self._page, page, condition, element, self._secrets)
            self.prepared = msgspec.structs.replace(self.prepared, fits=fits)


def _opens_anew(action: Action, here: str) -> bool:
    """True if ``action`` loads an address again; moving to a fragment of the page at ``here`` does not."""
    if not isinstance(action, Goto):
        return isinstance(action, Reload)
    whole, place, _ = action.url.partition("#")
    return not place or whole != here.partition("#")[0]
