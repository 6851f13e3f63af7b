"""Recorded sessions, bundles and replay reports."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _P, _O = Blame.CALLER, Blame.PEER, Blame.OUTCOME

SESSIONS: Final[dict[str, Code]] = {
    # session, bundle, report
    "session.not_committed": Code(
        _C,
        False,
        "The session is still being recorded, or its recording was interrupted.",
        "Wait until the recording ends. An interrupted session can be shown but not exported; record it again.",
    ),
    "session.unlike": Code(
        _O,
        False,
        "The pages of this run are not as they were recorded, besides numbers that may be masked, so nothing was learned from it.",
        "The message and the detail say what differs. Bring the data back to the state of the recording and try again; or, if the site"
        " has changed, record the session anew.",
    ),
    "session.referenced": Code(
        _C,
        False,
        "Something else names the session: a search, a fork of it, an open live session, or a replay report of another node.",
        "Look at what the message names. If the session is to go all the same, add `--referenced` to `session purge`. To keep it out"
        " of the list only, use `trailmesh session archive`.",
    ),
    "bundle.invalid": Code(
        _P,
        False,
        "The file is not a session bundle of the one canonical form.",
        "Export it again on the recording node: `trailmesh session export`.",
    ),
    "bundle.element": Code(
        _P,
        False,
        "An element of the bundle does not match the signed manifest: it was changed or damaged.",
        "Do not use the file. Ask for the bundle again; `detail.element` names the element.",
    ),
    "report.invalid": Code(
        _P,
        False,
        "The replay report contradicts itself or does not belong to this session.",
        "Ask the node that replayed the session for a new report: `trailmesh session replay` there.",
    ),
}
