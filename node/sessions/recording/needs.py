"""Determines everything that must be given to replay a session or to record a file.

The needs of a file are found by performing it while every request that changes something is held back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from node.live.acting import Sought
from node.sessions.actions.action_files import ActionFile
from node.sessions.shared.consent import effects_digest, sends_of
from node.sessions.shared.replay_plan import ReplaySource
from node.verbs.sessions.session_results import Missed, Needs, ShownEffect
from protocol.approval.forms import RequestForm, request_words
from protocol.approval.question import Cover, level_of
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Extract, Fill, Secret, Upload, Wait, target_of
from protocol.page.seen.observation import Element, Observation
from protocol.recording.records.session import Step
from protocol.recording.replays.replay import replayable
from protocol.risk.pressing.answers import accepts
from protocol.risk.pressing.classes import APPROVAL_CLASS, classify
from protocol.risk.pressing.pressing import PRESSES
from protocol.risk.requests.refused import allow_entry, may_be_allowed

_LOOKS: Final = Assert | Extract | Wait
_UNREACHED: Final = "it was not reached"
_ENDS: Final = ("browser.crashed", "internal.", "node.", "store.")
"""Errors after which no page can be used."""


def needs_of(recorded: ReplaySource) -> Needs:
    """Everything that a replay of a session needs, if it may send the requests that the session lists."""
    steps, session = replayable(recorded.steps), recorded.session
    sends = sends_of(recorded)
    # If only listed requests can leave, presses need no yes; and naming a request approves an ordinary write.
    levels = [step.risk for step in steps if not _is_free(step)]
    levels += [each.level for each in sends if each.level > APPROVAL_CLASS]
    level = max(levels, default=0)
    return Needs(
        secrets=session.secrets,
        uploads=_uploads(step.action for step in steps),
        capsule=session.capsule,
        sends=sends,
        approve_class=level if level >= APPROVAL_CLASS else 0,
        inputs={each.name: each.value for each in session.inputs},
        digest=effects_digest(recorded),
    )


def _is_free(step: Step) -> bool:
    action = step.action
    typed = isinstance(action, Fill) and isinstance(action.value, Secret)
    return isinstance(action, PRESSES) and not typed and not accepts(step.expect.dialog if step.expect else None)


def _uploads(actions: Iterable[Action]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in actions if isinstance(each, Upload) for name in each.files))


class Needing:
    """Learns the needs of one file, step by step. It takes the owner's place and allows nothing."""

    def __init__(self, file: ActionFile, capsule: str) -> None:
        self._file, self._capsule = file, capsule
        self._refused: dict[RequestForm, int] = {}
        """The requests that the present step tried to send, each with its class."""
        self._own: set[RequestForm] = set()
        """The requests that a page has sent by itself."""
        self._sends: dict[ShownEffect, None] = {}
        self._allow: dict[str, None] = {}
        self._missed: list[Missed] = []
        self._level = 0

    async def granted(self, sought: Sought) -> Cover | None:
        """Implements ``Asking.granted``: grants nothing, not even by an answer that is still valid."""

    async def covers(self, sought: Sought) -> tuple[Cover, ...]:
        """Implements ``Asking.covers``: nothing leaves."""
        return ()

    async def stands(self, sought: Sought) -> bool:
        """Implements ``Asking.stands``."""
        return False

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), exacts: tuple[bytes, ...] = ()) -> str:
        """Implements ``Asking.ask``: a step tried to send ``requests``."""
        self._refused |= {form: max(sought.level, level_of(form)) for form in requests}
        return ""

    def note(self, step: Step, rules: Sequence[str]) -> None:
        """A step is over. rules: the rules that refused its ``blocked`` requests."""
        refused, self._refused = self._refused, {}
        if not isinstance(step.action, PRESSES):
            self._own |= refused.keys()
        caused = {form: level for form, level in refused.items() if form not in self._own}
        for form, level in caused.items():
            self._sends[ShownEffect(step=step.index, what=request_words(form), level=level)] = None
        for request, rule in zip(step.blocked, rules, strict=True):
            if caused and may_be_allowed(rule):
                self._allow[allow_entry(request, step.url)] = None
        if not _is_free(step):
            self._level = max(self._level, step.risk)

    def goes_on(self, number: int, error: MeshError, told: Callable[[Action], str]) -> bool:
        """True if the steps after a failed one can still be tried; otherwise all of them are listed as missed. told: describes an
        action without secrets.
        """
        goes_on = not error.code.startswith(_ENDS)
        last = number if goes_on else len(self._file.actions)
        for each in range(number, last + 1):
            action = self._file.actions[each - 1]
            if isinstance(action, _LOOKS):
                continue  # whatever such a step finds, it needs nothing
            why, least = (error.message, int(error.detail.get("level", 0))) if each == number else (_UNREACHED, 0)
            level = max(least, _by_words(action, self._file.start_url))
            self._level = max(self._level, level)
            self._missed.append(Missed(step=each, what=told(action), level=level, why=why))
        return goes_on

    def found(self) -> Needs:
        """The needs that are known so far."""
        level = max((self._level, *(each.level for each in self._sends)))
        return Needs(
            secrets=tuple(sorted(self._file.secrets)),
            uploads=_uploads(self._file.actions),
            capsule=self._capsule,
            sends=tuple(self._sends),
            allow=tuple(self._allow),
            approve_class=level if level >= APPROVAL_CLASS else 0,
            missed=tuple(self._missed),
        )


def _by_words(action: Action, url: str) -> int:
    """The class of ``action`` by its words alone, because no page has shown its element."""
    target, page = target_of(action), Observation(url=url, title="", text="", elements=())
    element = Element(ref="", role=target.role, name=target.name) if target is not None else None
    return classify(action, element, page).gravest
