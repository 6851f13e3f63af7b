"""Says what is on a page in place of the element of an action that was not found."""

from __future__ import annotations

from protocol.errors import MeshError
from protocol.page.actions.action import Action, target_of
from protocol.page.seen.observation import Observation
from protocol.page.showing.nearby import candidates


def explained(error: MeshError, action: Action, observation: Observation) -> MeshError:
    """``error`` of ``action``, whose element was not found, with what is on the page that ``observation`` shows.

    ``near`` of its detail is filled also where nothing has a name that is alike. Any other error stays as it is.
    """
    target = target_of(action)
    if target is None or error.code not in ("action.target_missing", "action.target_ambiguous"):
        return error
    found = list(candidates(action, target, observation))
    said, near = "", error.detail.get("near") or found
    if error.code == "action.target_missing" and near is found and found and "; there is " not in error.message:
        said = f"; nearest: {', '.join(found)}"
    return MeshError(error.code, error.message + said, **error.detail | {"near": near, "candidates": found})
