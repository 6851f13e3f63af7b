"""The requests of a step that change something, in the form that a recording stores and a replay compares."""

from __future__ import annotations

from node.live.acting.preparing import Prepared
from node.live.finding.personal import judge_of
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.secrets.secrets import Secrets
from protocol.recording.records.manifest import Effect


def as_told(effect: Effect, secrets: Secrets) -> Effect:
    """``effect`` without secrets, and without personal data if the site's rules do not store it."""
    return redacted(effect, Redaction(secrets, stored_at=secrets.stored_at))


def same_row(recorded: ElementEvidence | None, prepared: Prepared, secrets: Secrets) -> bool:
    """True if the element of ``prepared`` is in a row that contains all texts of the recorded row."""
    met = prepared.aim or prepared.element
    if recorded is None or met is None:
        return False
    return judge_of(recorded, prepared.observation, secrets).is_whole(met)
