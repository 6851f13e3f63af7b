"""Decides whether a replay differs from its recording because the call lacked a permission, and not because the site changed."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.errors import MeshError
from protocol.recording.records.session import Step, StepMatch


def lacking(steps: Sequence[Step], matches: Sequence[StepMatch], stop: MeshError | None, refused: Sequence[str]) -> str:
    """The permission that the call lacked at the first step that did not match, with the option to add; empty if it lacked none.

    Later steps do not count, because the earlier difference would remain. steps: the recorded steps. stop:
    why the last of ``matches`` was not performed. refused: requests (``METHOD …``) that the guard refused up to and including
    the first step that did not match, and that an option can allow.
    """
    first = next((match for match in matches if not match.matched), None)
    if first is None:
        return ""
    step = next(step for step in steps if step.index == first.index)
    if not first.performed and stop is not None:
        said = _not_permitted(step, stop)
        if said:
            return said
    # A request that the guard refused in the recording too is no difference.
    before = {entry for step in steps for entry in step.blocked}
    new = next((entry for entry in refused if entry not in before), "")
    if not new:
        return ""
    method = new.partition(" ")[0]
    return f"step {step.index}: the guard refused {new}, but not in the recording; the owner can add `--allow '{method} URL'`"


def _not_permitted(step: Step, stop: MeshError) -> str:
    by_list = (
        ", or send what the session lists with `--writes` (`session replay --plan` shows it)" if step.effects else ""
    )
    match stop.code:
        # An action of a higher class than recorded means that the site changed. Approving it could do harm.
        case "risk.refused" if stop.detail.get("level", 0) <= step.risk:
            said = f"step {step.index}: risk class {step.risk} is not approved"
            return f"{said}; the owner can add `--approve-class {step.risk}`{by_list}"
        case "action.secret_elsewhere" | "browser.refused":
            return f"step {step.index}: {stop.message}. {stop.remedy}"
    return ""
