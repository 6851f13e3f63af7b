"""The owner's word that the clock was ahead and is right now."""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.capsule.policy import Policy, Time

KIND_CLOCK: Final = "clock-acceptance"


class ClockAcceptance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The node takes ``to_ms`` for the time, although it has seen ``from_ms``; an artefact of kind ``clock-acceptance``."""

    from_ms: Time
    to_ms: Time


def over_at(policy: Policy, latest_ms: int, *, sealed_ms: int, now_ms: int, mfa_ms: int, consent_until_ms: int) -> str:
    """Why a capsule stays blocked though the time ``now_ms`` is accepted; empty if it may be used again.

    Whatever has run out at the latest time that was seen stays so: else who sets the clock back would bring it back.
    """
    if latest_ms >= policy.expires_ms:
        return "it had expired"
    if sealed_ms > now_ms:
        return "it was sealed while the clock was ahead"
    if policy.mfa_s and latest_ms > mfa_ms + policy.mfa_s * 1000:
        return "its second factor was too old"
    if policy.consent and latest_ms >= consent_until_ms:
        return "its consent had ended"
    return ""
