"""What a session needs so that it can be replayed, and a file so that it can be recorded.

Of a file that is found out by performing it while nothing that changes something leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from node.sessions.action_files import ActionFile
from node.sessions.consent import effects_digest, sends_of
from node.sessions.replay_plan import Recorded
from node.verbs.session_results import Needs, Sends
from protocol.approval.forms import RequestForm, request_words
from protocol.errors import MeshError
from protocol.page.action import Action, Fill, Secret, Upload
from protocol.recording.replay import replayable
from protocol.recording.session import Step
from protocol.risk.classes import APPROVAL_CLASS
from protocol.risk.pressing import PRESSES
from protocol.risk.refused import allow_entry, may_be_allowed


def needs_of(recorded: Recorded) -> Needs:
    """What a replay of a session needs that sends what it lists."""
    steps, session = replayable(recorded.steps), recorded.session
    sends = sends_of(recorded)
    # Presses need no yes where nothing but what is listed can leave, and to name a request approves an ordinary write.
    levels = [step.risk for step in steps if not _is_free(step.action)]
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


def _is_free(action: Action) -> bool:
    return isinstance(action, PRESSES) and not (isinstance(action, Fill) and isinstance(action.value, Secret))


def _uploads(actions: Iterable[Action]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in actions if isinstance(each, Upload) for name in each.files))


class Needing:
    """Learns what one file needs, from step to step."""

    def __init__(self, file: ActionFile, capsule: str) -> None:
        self._file, self._capsule = file, capsule
        self._step = 1
        self._sends: dict[Sends, None] = {}
        self._allow: dict[str, None] = {}
        self._level = 0
        self._stopped = ""

    async def sends(self, action: Action, form: RequestForm, level: int) -> bool:
        """A step would send a request of this form. Nobody allows it here."""
        self._sends[Sends(step=self._step, what=request_words(form), level=level)] = None
        return False

    def note(self, step: Step, rules: Sequence[str]) -> None:
        """A step is over. rules: those that refused what is ``blocked`` of it."""
        known = any(each.step == step.index for each in self._sends)
        for request, rule in zip(step.blocked, rules, strict=True):
            if known and may_be_allowed(rule):
                self._allow[allow_entry(request, step.url)] = None
        if not _is_free(step.action):
            self._level = max(self._level, step.risk)
        self._step = step.index + 1

    def stop(self, error: MeshError) -> None:
        """The file could not be performed any further."""
        self._stopped = f"step {self._step}: {error.message}"
        self._level = max(self._level, int(error.detail.get("level", 0)))

    def found(self) -> Needs:
        """What is known by now."""
        level = max((self._level, *(each.level for each in self._sends)))
        return Needs(
            secrets=tuple(sorted(self._file.secrets)),
            uploads=_uploads(self._file.actions),
            capsule=self._capsule,
            sends=tuple(self._sends),
            allow=tuple(self._allow),
            approve_class=level if level >= APPROVAL_CLASS else 0,
            stopped=self._stopped,
        )
