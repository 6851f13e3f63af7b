"""Maps error codes to exit codes and to HTTP statuses of the control API."""

from __future__ import annotations

from typing import Final

from protocol.errors import CODES, Blame, MeshError

_EXIT_BY_BLAME: Final = {Blame.OUTCOME: 1, Blame.CALLER: 2, Blame.ENVIRONMENT: 3, Blame.PEER: 4}
_NO_LOGIN: Final = ("expired", "stale", "replays", "held", "revoked", "logged_out")
# A job that gates on a replay reads 1 as a difference of the site. An invalid login says nothing about the site.
NO_LOGIN: Final = frozenset(f"capsule.{each}" for each in _NO_LOGIN)
"""Codes that mean that a login is not valid, or no longer valid."""
_EXIT_BY_CODE: Final = {"internal.fault": 70, "internal.cancelled": 130} | dict.fromkeys(NO_LOGIN, 3)
_STATUS_BY_BLAME: Final = {Blame.OUTCOME: 409, Blame.CALLER: 400, Blame.ENVIRONMENT: 503, Blame.PEER: 403}
_STATUS_BY_CODE: Final = {
    "input.not_found": 404,
    "live.not_found": 404,
    "input.too_large": 413,
    "control.unauthorised": 401,
    "agent.expired": 401,
    "agent.budget": 429,
    "agent.busy": 429,
    "node.busy": 429,
    "door.host": 421,
    "door.origin": 403,
    "internal.fault": 500,
}


def exit_code(code: str) -> int:
    """The exit code of a command that failed with ``code``: 1 the answer is no, 2 wrong usage, 3 a fault of this machine or
    a login that does not hold, 4 a fault of a peer."""
    return _EXIT_BY_CODE.get(code, _EXIT_BY_BLAME[CODES[code].blame])


def http_status(code: str) -> int:
    """The HTTP status of a call that failed with ``code``."""
    return _STATUS_BY_CODE.get(code, _STATUS_BY_BLAME[CODES[code].blame])


def from_dict(value: object) -> MeshError:
    """Rebuild an error that another process of this node reported. An unknown code becomes ``internal.fault``."""
    if isinstance(value, dict) and value.get("code") in CODES:
        detail = value.get("detail")
        return MeshError(
            str(value["code"]), str(value.get("message", "")), **(detail if isinstance(detail, dict) else {})
        )
    return MeshError("internal.fault", "an error of unknown form was reported")
