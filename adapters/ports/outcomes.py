"""Joins the outcomes of one action."""

from __future__ import annotations

import msgspec

from adapters.ports.browser import ActionOutcome
from protocol import limits


def both(acted: ActionOutcome, shown: ActionOutcome) -> ActionOutcome:
    """One outcome for an action and the page that it led to: the tab that it opened, or its page when it was loaded again."""
    return msgspec.structs.replace(
        shown,
        extracted=acted.extracted,
        blocked=(*acted.blocked, *shown.blocked),
        blocked_by=(*acted.blocked_by, *shown.blocked_by),
        blocked_forms=(*acted.blocked_forms, *shown.blocked_forms)[: limits.QUESTION_REQUESTS_MAX],
        blocked_exacts=(*acted.blocked_exacts, *shown.blocked_exacts)[: limits.QUESTION_REQUESTS_MAX],
        leaving=(*acted.leaving, *shown.leaving),
        dialogs=(*acted.dialogs, *shown.dialogs)[: limits.DIALOGS_PER_STEP_MAX],
        downloads=(*acted.downloads, *shown.downloads)[: limits.DOWNLOADS_PER_STEP_MAX],
        faults=(*acted.faults, *shown.faults)[: limits.REQUEST_FAULTS_MAX],
        chooser=acted.chooser or shown.chooser,
        basic=(*acted.basic, *(name for name in shown.basic if name not in acted.basic)),
        challenges=(*acted.challenges, *shown.challenges),
        putoffs=(*acted.putoffs, *shown.putoffs)[: limits.PUTOFFS_MAX],
        asked=acted.asked or shown.asked,
        settled=acted.settled and shown.settled,
        notes=(*acted.notes, *shown.notes),
    )
