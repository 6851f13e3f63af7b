"""What a step sends that changes something, as a recording tells of it: when it is recorded, and when a replay compares it."""

from __future__ import annotations

from node.live.acting.driver import Prepared
from node.live.finding.personal import judge_of
from protocol.page.actions.evidence import Evidence
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.secrets.secrets import Secrets
from protocol.recording.records.manifest import Effect


def as_told(effect: Effect, secrets: Secrets) -> Effect:
    """``effect`` without secrets, and without personal data where that is not stored."""
    return redacted(effect, Redaction(secrets, stored_at=secrets.stored_at))


def same_row(recorded: Evidence | None, prepared: Prepared, secrets: Secrets) -> bool:
    """True if the element of ``prepared`` stands in a row that says all that the recorded one said."""
    met = prepared.aim or prepared.element
    if recorded is None or met is None:
        return False
    return judge_of(recorded, prepared.observation, secrets).is_whole(met)
