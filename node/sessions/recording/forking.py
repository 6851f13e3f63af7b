"""Forks a session: records its first steps again, followed by other actions.

Steps are performed again instead of copied, because a node signs only what it has seen itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from node.sessions.actions.action_files import ActionFile, parse_actions
from node.sessions.shared.replay_plan import ReplaySource
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Extract
from protocol.page.secrets.personal import Tokens
from protocol.page.secrets.secrets import Secrets
from protocol.page.secrets.written import again
from protocol.recording.records.inputs import applied, change, values_of
from protocol.recording.replays.replay import replayable


def forked(
    recorded: ReplaySource,
    until: int,
    more: str,
    *,
    inputs: Mapping[str, str],
    secrets: Secrets,
    tokens: Tokens | None = None,
) -> ActionFile:
    """The actions to record for a fork of ``recorded``: its steps up to index ``until`` (0: all of them), then those of ``more``.

    tokens: the tokens of this installation, if it has recorded the session. more: an action file without ``start``; empty for
    none. Its title, if it has one, becomes the fork's title. Errors: ``input.*``, ``action.secret_changed``,
    ``action.secret_elsewhere``.
    """
    session, steps = recorded.session, replayable(recorded.steps)
    if until and all(step.index != until for step in steps):
        raise MeshError("input.invalid", f"the session has no step {until} that was performed", field="until")
    steps = [step for step in steps if not until or step.index <= until]
    if not steps:
        raise MeshError("input.invalid", "the session has no step that was performed", session=session.id)
    changed = change(session, steps, inputs, secrets)
    values = values_of(session.inputs) | {item.name: item.value for item in changed}
    named = tuple(msgspec.structs.replace(item, value=values[item.name]) for item in session.inputs)
    actions = tuple(again(applied(step, changed), step.written, secrets, tokens) for step in steps)
    known = {item.name for item in named} | {action.name for action in actions if isinstance(action, Extract)}
    begun = ActionFile(
        title=session.title,
        start_url=session.start_url,
        profile=session.profile,
        actions=actions,
        expects={number: step.expect for number, step in enumerate(steps, 1) if step.expect is not None},
        evidence={number: step.evidence for number, step in enumerate(steps, 1) if step.evidence is not None},
        inputs=named,
    )
    if not more:
        return begun
    file = parse_actions(
        more.encode(), session.title, session.profile, begins=session.start_url, known=frozenset(known)
    )
    return _joined(begun, file)


def _joined(begun: ActionFile, file: ActionFile) -> ActionFile:
    offset = len(begun.actions)
    if offset + len(file.actions) > limits.SESSION_STEPS_MAX:
        raise MeshError("input.too_large", f"a session can have at most {limits.SESSION_STEPS_MAX} steps")
    return msgspec.structs.replace(
        begun,
        title=file.title,
        actions=begun.actions + file.actions,
        expects={**begun.expects, **{offset + number: expect for number, expect in file.expects.items()}},
        arrivals={offset + number: arrival for number, arrival in file.arrivals.items()},
        notes=file.notes,
        inputs=begun.inputs + file.inputs,
    )
