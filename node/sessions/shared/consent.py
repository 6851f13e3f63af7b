"""Decides whether the owner consents to the requests that a session lists, and which requests a step of a replay may send."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from node.live.acting import Gate, Prepared
from node.live.recording import as_told, same_row
from node.sessions.shared.replay_plan import ReplaySource
from node.sessions.shared.writes import Writes
from node.verbs.sessions.session_results import ShownEffect
from protocol.audit import OWNER
from protocol.errors import MeshError
from protocol.page.actions.action import Extract
from protocol.page.secrets.secrets import Secrets
from protocol.recording.records.manifest import Effect, StepRequests, Varies, digest_of, refused_in, words
from protocol.recording.records.session import ChangedInput, Step
from protocol.recording.replays.replay import Rebase, replayable
from protocol.risk.pressing.pressing import reading
from protocol.risk.requests.requests import GuardPolicy

Lists = Callable[[Prepared], StepRequests]
AS_RECORDED = "as-recorded"
NONE = "none"


def effects_digest(recorded: ReplaySource) -> str:
    """The digest that names the list of a session (``protocol.recording.records.manifest.digest_of``)."""
    return digest_of(recorded.manifest, {step.index: step.effects for step in replayable(recorded.steps)})


def sends_of(recorded: ReplaySource) -> tuple[ShownEffect, ...]:
    """The requests that the steps of a replay may send, in order."""
    steps = replayable(recorded.steps)
    return tuple(
        ShownEffect(step=step.index, what=words(each), level=each.level) for step in steps for each in step.effects
    )


def consents(writes: Sequence[str], recorded: ReplaySource, node: str) -> bool:
    """True if a replay may send the listed requests. writes: the consent that the owner of ``node`` has given.

    Errors: ``replay.manifest`` if ``writes`` names a list, but is no valid consent here.
    """
    named = [each for each in writes if each != NONE]
    if not named:
        return False
    digest = effects_digest(recorded)
    if AS_RECORDED in named:
        session = recorded.session
        if session.node == node and session.caller == OWNER and not session.search:
            return True
        if not digest:
            return False  # nothing is listed, so no consent is needed
        who = session.caller if session.node == node else f"node {session.node[:7]}"
        raise _refused(f"it was recorded by {who or 'nobody knows whom'}: name it with `--writes {digest}`", digest)
    if digest and digest not in named:
        raise _refused(f"this session's is {digest}", digest)
    return True


def _refused(said: str, digest: str) -> MeshError:
    return MeshError("replay.manifest", f"its list of writes is no consent here: {said}", digest=digest)


def narrowed(guard: GuardPolicy, allow: tuple[str, ...]) -> GuardPolicy:
    """``guard`` without the requests that the configuration allows. allow: requests that the call allows."""
    return msgspec.structs.replace(reading(guard), allow=allow)


class AllowedRequests:
    """The requests that the steps of one replay may send."""

    def __init__(
        self,
        *,
        by_manifest: bool,
        gate: Gate,
        writes: Writes,
        secrets: Secrets,
        mapping: Rebase,
        changed: Sequence[ChangedInput],
        allow: Sequence[str] = (),
        steps: Sequence[Step] = (),
    ) -> None:
        """by_manifest: True if the owner consents to the list; otherwise the guard alone decides, as for other work. allow:
        further requests that the call allows. steps: all steps of the recording.
        """
        self._by_manifest = by_manifest
        self._gate = gate
        self._writes, self._secrets, self._mapping = writes, secrets, mapping
        self._values = {item.recorded: item.value for item in changed}
        """The values of declared variables in this replay, by their recorded values."""
        self._allow = allow
        self._refused = refused_in((step.url, step.blocked) for step in steps)
        self._listed: StepRequests | None = None

    def waits_for(self, step: Step) -> bool:
        """True if ``step`` is done only when its listed requests have been sent."""
        return self._by_manifest and bool(step.effects)

    def lists(self, step: Step) -> Lists | None:
        """A function that lists the requests ``step`` may send, once its element is found; None if the replay does not use
        the list.
        """
        self._listed = None
        return partial(self._of, step) if self._by_manifest else None

    def nothing(self) -> Lists | None:
        """The same for an action that belongs to no step: it may send nothing."""
        return (lambda _: StepRequests((), told=self._told, level_max=0)) if self._by_manifest else None

    def _of(self, step: Step, prepared: Prepared) -> StepRequests:
        self._listed = StepRequests(
            step.effects,
            told=self._told,
            varies=Varies(ids=same_row(step.evidence, prepared, self._secrets), values=self._values),
            level_max=self._gate.named_max(prepared.action, prepared.risk),
            closed=self._writes.mismatch,
            allow=self._allow,
            refused=self._refused,
        )
        return self._listed

    def _told(self, effect: Effect) -> Effect:
        home = msgspec.structs.replace(effect, url=self._mapping.homeward(effect.url))
        return as_told(home, self._secrets)

    def require(self, step: Step) -> None:
        """Return if the guard has refused no request of ``step``. Errors: ``replay.unlisted``, ``replay.diverged``,
        ``risk.refused``.
        """
        listed = self._listed
        if listed is None or not listed.refused:
            return
        said = "; ".join(listed.refused)
        if listed.level_refused:
            told = f"risk class {listed.level_refused}: {said}"
            raise MeshError("risk.refused", told, level=listed.level_refused, reason="the request itself")
        if self._writes.mismatch:
            raise MeshError(
                "replay.diverged", f"{self._writes.mismatch}, so nothing listed is sent: {said}", step=step.index
            )
        expected = "; ".join(map(words, listed.left.values())) or "nothing more"
        told = f"step {step.index} would send {said}; its recording sends {expected}"
        raise MeshError("replay.unlisted", told, step=step.index, unlisted=list(listed.refused))

    def unsent(self) -> tuple[int, ...]:
        """The listed requests that the step did not send (``StepMatch.unsent``)."""
        return tuple(self._listed.left) if self._listed else ()

    def note(self, step: Step, values: Mapping[str, str]) -> None:
        """``step`` is over: a value that it has extracted becomes a variable."""
        action = step.action
        if isinstance(action, Extract) and step.extracted and action.name in values:
            self._values[step.extracted] = values[action.name]
