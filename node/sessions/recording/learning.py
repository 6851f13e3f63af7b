"""Records the steps of a session again, to learn which numbers of its pages change by themselves between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adapters.ports.store import SessionStore
from node.live.recording import Earlier, StepComparison, Unlike
from node.sessions.shared.replay_plan import ReplaySource
from node.verbs import Tell
from node.verbs.sessions.session_upkeep import LearnedLine
from protocol import limits
from protocol.capsule.hidden import is_hidden
from protocol.errors import MeshError
from protocol.page.secrets.secrets import Secrets
from protocol.recording.pages.learning import Pair
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.records.verdict import Verdict
from protocol.recording.replays.replay import replayable

_SHOWN_MAX: Final = 10


async def following(recorded: ReplaySource, store: SessionStore, secrets: Secrets, *, capsule: bool) -> StepComparison:
    """The earlier recording with which a new recording of these steps is compared. capsule: True if the new one begins with a
    login, which has secret values of its own.

    Errors: ``input.invalid`` (the session did not pass, or a snapshot of it is missing), ``action.secret_missing``.
    """
    session = recorded.session
    if session.verdict is not Verdict.PASS:
        raise MeshError(
            "input.invalid", "only of a session that passed can be learned what changes by itself", session=session.id
        )
    if session.capsule and not capsule:
        raise MeshError("input.invalid", "the recording began with a login: give it with --capsule", session=session.id)
    if missing := sorted(name for name in session.secrets if name not in secrets and not (capsule and is_hidden(name))):
        # Without all secrets its pages cannot be redacted as they were, and every secret would count as a difference.
        raise MeshError("action.secret_missing", f"the comparison needs the secret “{missing[0]}”", names=missing)
    return StepComparison(
        [Earlier(step=step, text=await _text(step.snapshot, store)) for step in replayable(recorded.steps)]
    )


async def _text(digest: bytes, store: SessionStore) -> str:
    text = snapshot_text(await store.blob(digest)) if digest else ""
    if text is None:
        raise MeshError("input.invalid", "the session has a snapshot that cannot be read")
    return text


def lines(learned: Sequence[tuple[int, Pair]]) -> tuple[LearnedLine, ...]:
    """The learned lines, for people."""
    return tuple(LearnedLine(step=step, recorded=_cut(before), met=_cut(after)) for step, (before, after) in learned)


def refusal(unlike: Unlike, session: str, tell: Tell) -> MeshError:
    """The error of a run that is unlike the recording; each difference is also reported with ``tell``. session: id of the unsigned
    recording of this run.
    """
    pairs = [(_cut(before), _cut(after)) for before, after in unlike.pairs[:_SHOWN_MAX]]
    said = [_said(before, after) for before, after in pairs]
    for one in said:
        tell({"note": f"step {unlike.step}: {one}"})
    more = f" and {len(unlike.pairs) - 1} more" if len(unlike.pairs) > 1 else ""
    differences = [{"recorded": before, "met": after} for before, after in pairs]
    told = f"step {unlike.step}: {said[0]}{more}"
    return MeshError("session.unlike", told, step=unlike.step, differences=differences, session=session)


def _said(before: str, after: str) -> str:
    if not before:
        return f"“{after}” in addition"
    return f"“{after}” instead of “{before}”" if after else f"no “{before}” any more"


def _cut(text: str) -> str:
    return text.strip()[: limits.DIFFERENCE_CHARS_MAX]
