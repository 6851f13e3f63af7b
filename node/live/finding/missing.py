"""Adds to the error about a missing element what the page contains instead."""

from __future__ import annotations

from protocol.errors import MeshError
from protocol.page.actions.action import Action, target_of
from protocol.page.seen.observation import Observation
from protocol.page.showing.nearby import candidates


def explained(error: MeshError, action: Action, observation: Observation) -> MeshError:
    """``error`` about the missing element of ``action``, completed with similar elements of ``observation``.

    Its detail ``near`` is filled even if no element has a similar name. Any other error is returned unchanged.
    """
    target = target_of(action)
    if target is None or error.code not in ("action.target_missing", "action.target_ambiguous"):
        return error
    found = list(candidates(action, target, observation))
    said, near = "", error.detail.get("near") or found
    if error.code == "action.target_missing" and near is found and found and "; there is " not in error.message:
        said = f"; nearest: {', '.join(found)}"
    return MeshError(error.code, error.message + said, **error.detail | {"near": near, "candidates": found})
