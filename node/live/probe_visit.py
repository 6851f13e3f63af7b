"""One visit of a probe to one page: opens it, does one thing on it, and tells what that tried to send."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from adapters.ports import Outcome, Page
from node.live.acting import Driver
from node.live.gate import Gate
from node.live.history import History
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Check, Click, Fill, Goto, target_of
from protocol.page.action import Press as Key
from protocol.page.locator import locate, resolve
from protocol.page.observation import Element, Observation
from protocol.page.secrets import Secrets
from protocol.risk.classes import APPROVAL_CLASS, Risk
from protocol.risk.fields import reads_by_get, takes_text
from protocol.risk.history import Deed, Press, deed_of, has_label, judge_press
from protocol.risk.refused import PROBED_PAGE
from protocol.risk.words import say

_SILENT_DIALOGS: Final = frozenset({"alert", "beforeunload"})
"""Kinds of dialogs that ask nothing about what the control does: a probe leaves a page whatever it asks then. Every other one is
dismissed, and what its other answer does is not known."""
_WORD: Final = "figs"
"""What is typed into a field before Enter is pressed in it, or a button of its form; …"""
_VALUES: Final = {
    **{"number": "3", "date": "2026-03-04", "time": "10:20", "month": "2026-03", "week": "2026-W10"},
    **{"datetime-local": "2026-03-04T10:20", "url": "https://example.org/"},
    **{"tel": "+4722334455", "email": "figs@example.org"},
}
"""… by the type of the field, where it takes no word."""
_ON_SOCKET: Final = "WS "
"""How the line of a WebSocket begins, and of what is said on it."""
_OPENED: Final = frozenset({"dialog", "menu", "listbox", "tooltip"})
"""Roles of what opens and has controls of its own, which are judged by themselves."""
_UNFOLDED: Final = frozenset({"expanded", "selected"})
"""States of a control that shows or hides something. Not ``pressed`` and ``checked``: a like and a switch have these."""


class Refusal(NamedTuple):
    """A request that the guard of a probe refused."""

    line: str
    rule: str
    marks: frozenset[bytes]
    """As ``Blocked.marks``."""


class _Done(msgspec.Struct, frozen=True, kw_only=True):
    """What was done last on a page, until the page is left."""

    element: Element
    page: Observation
    deed: Deed
    refused: list[Refusal]
    shows: bool
    silent: bool
    home: str
    asks: bool


class Heard:
    """What one page tries when nothing is pressed, in a context in which nothing was pressed before: a press may store what the
    page then sends by itself.
    """

    def __init__(self) -> None:
        self.watched = False
        """Whether it is known what it tries as time passes."""
        self._marks: dict[str, frozenset[bytes]] = {}

    def note(self, refused: Iterable[Refusal]) -> None:
        """It has tried ``refused``."""
        for each in refused:
            self._marks[each.line] = self._marks.get(each.line, frozenset()) | each.marks

    @property
    def lines(self) -> frozenset[str]:
        """Requests as ``Refusal.line``."""
        return frozenset(self._marks)

    def beyond(self, refused: Iterable[Refusal]) -> list[tuple[str, str]]:
        """Line and rule of ``refused``, without what the page says word for word by itself: whoever gets that gets it anyway."""
        return [(each.line, each.rule) for each in refused if not self._repeats(each)]

    def _repeats(self, refusal: Refusal) -> bool:
        known = self._marks.get(refusal.line, frozenset())
        return bool(refusal.marks) and b"" not in refusal.marks and refusal.marks <= known


class Visit:
    """One page in a context of its own, opened anew after each press."""

    def __init__(
        self,
        page: Page,
        wanted: Observation,
        way: Sequence[Action],
        history: History,
        heard: Heard,
        *,
        secrets: Secrets,
        holds_sockets: bool,
    ) -> None:
        """heard: what is known of ``wanted`` when nothing is pressed. secrets: what ``wanted`` does not show.

        holds_sockets: as ``GuardPolicy``.
        """
        self._page, self._wanted, self._way, self._history = page, wanted, way, history
        self._holds_sockets = holds_sockets
        self._gate = Gate(report=_unreported, approve=_in_doubt, history=history)
        self._driver = Driver(page, self._gate, secrets)
        self._heard = heard
        self._last: _Done | None = None

    async def press(self, action: Action, *, patient: bool = False) -> None:
        """Do ``action`` on the opened page, which stays.

        patient: let time run ahead before, so that scripts that come late are there.
        Errors: ``action.*``, ``risk.refused``, ``browser.*``.
        """
        if patient:
            await self._as_time_passes()  # what the page sends by itself says nothing about the press
        before, deed = self._driver.observation, deed_of(action)
        assert before is not None and deed, "the page was opened"
        target = target_of(action)
        assert target is not None, "what is pressed has a target"
        if deed in ("enter", "press"):
            await self._fill_in(element_of(action, before), deed)
            before = self._driver.observation or before
        outcome = await self._driver.act(Click(target=target) if isinstance(action, Check) else action, stays=True)
        prepared = self._driver.prepared
        refused = _refused(outcome)
        if deed in ("type", "choose"):
            # Many pages save a field when it is left.
            with contextlib.suppress(MeshError):
                refused += _refused(await self._driver.act(Key(key="Tab"), stays=True))
        await self._page.pause(limits.PROBE_SETTLE_MS)
        shown = await self._page.observe()
        refused += await self._as_time_passes()
        if prepared is None or prepared.element is None:
            return
        traits = prepared.element.traits
        # A script may keep the form out of it: the filter of a list that stands in a form by POST takes Enter for itself.
        in_form = (traits.submits or (deed == "enter" and bool(traits.form_method))) and outcome.form != "untouched"
        # Outside of a form, what Enter does is done by a script or by nobody.
        native = deed in ("type", "choose") or (deed == "enter" and not in_form)
        shows = native or _shows(before, outcome, shown)
        # Of a form that writes, it may choose what the form sends.
        apart = not traits.submits and (not traits.form_method or reads_by_get(prepared.element))
        # An order by GET at an address that does not say so is let pass, and often shows nothing.
        silent = not shows and not outcome.asked and apart and _is_name(prepared.element)
        if self._has_socket(refused):
            # It may have kept a command for a server that has not answered yet, and show what it expects to come of that. Over one
            # that is refused it says nothing, whatever was pressed.
            shows = self._holds_sockets and _leads(prepared.element, before, outcome, shown, refused)
            silent = False
        asks = any(dialog.kind not in _SILENT_DIALOGS for dialog in outcome.dialogs)
        if in_form and outcome.form != "complete":
            # A form that is not filled in only complains. What it would have sent is not known then.
            shows = shows and shown.url != before.url
        home = before.url if prepared.risk.unproven or prepared.risk.untried else ""
        self._last = _Done(
            element=prepared.element,
            page=prepared.observation,
            deed=deed,
            refused=refused,
            shows=shows,
            silent=silent,
            home=home,
            asks=asks,
        )

    def _has_socket(self, refused: Iterable[Refusal]) -> bool:
        """Whether the page has asked for a WebSocket. If it is held, what the page says on it is told, and nothing answers."""
        return any(line.startswith(_ON_SOCKET) for line in (*self._heard.lines, *(each.line for each in refused)))

    async def _fill_in(self, element: Element | None, deed: Deed) -> None:
        """Type into the field in which Enter is about to be pressed, and into the empty fields of a form that may be sent: what is
        empty is often not sent. Not into those for secrets, and some take no word.
        """
        page = self._driver.observation
        if element is None or page is None or (deed == "press" and not element.traits.submits):
            return
        others = [
            each for each in page.elements if takes_text(each) and not each.value and _form(each) == _form(element)
        ]
        wanted = [element] if deed == "enter" else []
        if not reads_by_get(element):
            wanted += [each for each in others if each.traits.form_method and each.ref != element.ref]
        for field in wanted[: limits.PROBE_FIELDS_MAX]:
            with contextlib.suppress(MeshError):
                value = _VALUES.get(field.traits.input_type, _WORD)
                await self._driver.act(Fill(target=locate(field, page), value=value), stays=True)
        if wanted:
            await self._as_time_passes()  # what typing sends says nothing about the press

    async def _as_time_passes(self) -> list[Refusal]:
        """What the page tries within the next seconds, which do not pass outside of it; with what it tried just before."""
        for _ in range(limits.PROBE_AHEADS):
            await self._page.pause(limits.PROBE_AHEAD_SETTLE_MS, ahead_ms=limits.PROBE_AHEAD_MS)
        late = self._page.blocked()
        return _listed(late.requests, late.rules, late.marks)

    async def begin(self) -> bool:
        """Open the page, and the first time watch it as long as a press takes; whether it is as before then.

        Errors: ``browser.navigation`` (the way to it leads elsewhere now), ``browser.*``.
        """
        refused, as_before = await self._open()
        if not as_before:
            raise MeshError("browser.navigation", "the way to the page led to another one")
        self._heard.note(refused)
        return self._heard.watched or await self._watch()

    async def leave(self) -> tuple[Press, bool]:
        """Open the page anew: what it tries to send as it is left counts for what was pressed. What that did; whether the page is
        as before.

        Errors: ``browser.*``.
        """
        refused, as_before = await self._open()
        last, self._last = self._last, None
        if last is None:
            return Press(clear=False), as_before
        lines = self._heard.lines
        tried = self._heard.beyond([*last.refused, *(each for each in refused if each.line not in lines)])
        press = judge_press(tried, lines, shows=last.shows, home=last.home, asks=last.asks, silent=last.silent)
        await self._history.note(last.element, last.page, press, last.deed)
        return press, as_before

    async def _watch(self) -> bool:
        """Find out what the page tries when time passes and nothing is pressed; whether the page is as before then."""
        self._heard.note(await self._as_time_passes())
        refused, as_before = await self._open()
        self._heard.note(refused)
        self._heard.watched = True
        return as_before

    async def _open(self) -> tuple[list[Refusal], bool]:
        """What was refused on the way, and whether it leads to the page."""
        outcome = await self._act(Goto(url=self._wanted.url))
        refused = _refused(outcome)
        if outcome.observation.state == self._wanted.state:
            return refused, True
        try:
            for at, action in enumerate(self._way):
                if at == 0 and isinstance(action, Goto) and action.url == self._wanted.url:
                    continue  # it has just been opened
                outcome = await self._act(action)
                refused += _refused(outcome)
        except MeshError as error:
            if not error.code.startswith("action.") and error.code != "risk.refused":
                raise
            return refused, False
        return refused, outcome.observation.state == self._wanted.state

    async def _act(self, action: Action) -> Outcome:
        if isinstance(action, Goto):
            self._driver.observation = None
        return await self._driver.act(action, expect=self._wanted.state)


async def _unreported(action: Action, risk: Risk, approved: bool) -> None:
    """A probe needs no row of the audit trail: nobody has approved anything, and nothing can leave that needs it."""


def _in_doubt(action: Action, risk: Risk) -> bool:
    """What a probe may press beyond what may be performed anyway: never what is known to be dangerous."""
    return risk.doubt and risk.level == APPROVAL_CLASS


def _refused(outcome: Outcome) -> list[Refusal]:
    return _listed(outcome.blocked, outcome.blocked_by, outcome.blocked_marks)


def _listed(lines: Sequence[str], rules: Sequence[str], marks: Sequence[frozenset[bytes]]) -> list[Refusal]:
    return [*map(Refusal, lines, rules, marks or [frozenset()] * len(lines))]


def _form(element: Element) -> tuple[str, str, str]:
    """The form of a control, as far as an observation tells."""
    return (element.frame, element.traits.form_method, element.traits.form_action)


def _is_name(element: Element) -> bool:
    """Whether its label was read and asks for nothing, as names of things do."""
    return has_label(element) and say(element.name).asks_nothing


def _shows(before: Observation, outcome: Outcome, later: Observation) -> bool:
    """Whether a person would see that something has happened."""
    if outcome.downloads or outcome.chooser or outcome.tab or outcome.dialogs:
        return True
    return any(after.url != before.url or after.text != before.text for after in (outcome.observation, later))


def _leads(
    element: Element, before: Observation, outcome: Outcome, later: Observation, refused: Iterable[Refusal]
) -> bool:
    """Whether what a person would see is what comes of reading: another page, a tab, a file, or something that has opened."""
    if outcome.downloads or outcome.chooser or outcome.tab or any(each.rule == PROBED_PAGE for each in refused):
        return True
    for after in (outcome.observation, later):
        if after.url != before.url or any(
            after.tree.roles.count(each) > before.tree.roles.count(each) for each in _OPENED
        ):
            return True
        with contextlib.suppress(MeshError):
            same = resolve(locate(element, before), after)
            if ({*same.states} ^ {*element.states}) & _UNFOLDED:
                return True
    return False


def element_of(action: Action, page: Observation) -> Element | None:
    """The element that ``action`` means on ``page``; None if it means none, or several."""
    target = target_of(action)
    if target is None or target.selectors:
        return None
    with contextlib.suppress(MeshError):
        return resolve(target, page)
    return None
