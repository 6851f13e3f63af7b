"""Applies the owner's rules for personal data to a recording: on which sites it is stored, and how names that contain some are
written.

The rules stand in ``policy.sites``; the origin of the page selects the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from protocol.page.actions.action import Action, Assert, Drag, Locator, target_of, with_target
from protocol.page.actions.evidence import ElementEvidence, Judge
from protocol.page.actions.fits import UNPINNED, MatchDemands
from protocol.page.secrets.comparing import comparable, comparable_address, comparable_text
from protocol.page.secrets.personal import TOKEN
from protocol.page.secrets.redaction import redact_text
from protocol.page.secrets.secret_search import PLACEHOLDER
from protocol.page.secrets.secrets import Keeps, Secrets, SecretsAndTokens
from protocol.page.seen.observation import Observation
from protocol.risk.requests.sites import SiteRule, rule_at


def keeping(rules: Sequence[SiteRule]) -> Keeps:
    """A test for pages on which personal data is stored unchanged."""
    return _saying(rules, "keep")


def covered_at(rules: Sequence[SiteRule]) -> Keeps:
    """A test for pages on which personal data is covered in pictures."""
    return _saying(rules, "cover")


def _saying(rules: Sequence[SiteRule], what: str) -> Callable[[str], bool]:
    def says(url: str) -> bool:
        index = rule_at(rules, url)
        return index is not None and rules[index].personal_data == what

    return says


def stored_names(performed: Action, written: Action, secrets: SecretsAndTokens) -> Action:
    """``performed`` with tokens in the names of elements that came from the page. A name that the author of ``written`` gave
    stays.
    """
    target, said = target_of(performed), target_of(written)
    if target is not None and (said is None or not _is_authors(said)):
        performed = with_target(performed, stored_name(target, secrets))
    if isinstance(performed, Drag) and isinstance(written, Drag) and not _is_authors(written.onto):
        performed = msgspec.structs.replace(performed, onto=stored_name(performed.onto, secrets))
    return performed


def _is_authors(locator: Locator) -> bool:
    return bool(locator.name) and not TOKEN.search(locator.name)


def by_stored_name(action: Action, secrets: SecretsAndTokens) -> Action:
    """``action`` with tokens in the names of its elements."""
    target = target_of(action)
    if target is not None:
        action = with_target(action, stored_name(target, secrets))
    return (
        msgspec.structs.replace(action, onto=stored_name(action.onto, secrets)) if isinstance(action, Drag) else action
    )


def stored_name(locator: Locator, secrets: SecretsAndTokens) -> Locator:
    """``locator`` with tokens in its name."""
    return msgspec.structs.replace(locator, name=redact_text(locator.name, secrets))


def as_observed(action: Action, secrets: Secrets) -> Action:
    """``action`` with the names of secrets in the texts to look for, because an observation contains the names in place of the
    values.
    """
    if not secrets:
        return action
    if isinstance(action, Assert):
        plain = comparable(action, secrets)
        action = msgspec.structs.replace(action, row=plain.row, column=plain.column)
    if isinstance(action, Drag):
        action = msgspec.structs.replace(action, onto=_within_observed(action.onto, secrets))
    target = target_of(action)
    return action if target is None else with_target(action, _within_observed(target, secrets))


def _within_observed(locator: Locator, secrets: Secrets) -> Locator:
    within = locator.within
    if within is None:
        return locator
    plain = comparable(within, secrets)
    return msgspec.structs.replace(locator, within=msgspec.structs.replace(within, name=plain.name, text=plain.text))


def shown_name(locator: Locator, observation: Observation, secrets: Secrets) -> Locator:
    """``locator`` with the name of its element as the observation shows it. A recording may hold a token or the name of a secret
    instead: the page shows the personal data itself, and the browser's placeholder for a secret.

    The locator stays unchanged if no element has such a name, or if the token belongs to another installation.
    """
    kept = comparable_text(locator.name, secrets)
    if kept == locator.name and not (TOKEN.search(kept) or PLACEHOLDER.search(kept)):
        return locator
    for element in observation.elements:
        if (
            element.role == locator.role
            and comparable_text(element.name, secrets.stored if TOKEN.search(kept) else secrets) == kept
        ):
            return msgspec.structs.replace(locator, name=element.name)
    return locator


def judge_of(evidence: ElementEvidence, observation: Observation, secrets: Secrets) -> Judge:
    """Compares the elements of a page with ``evidence``; both sides are redacted as they are stored."""
    stored = _stored_of(evidence, observation.url, secrets)
    return Judge(
        evidence,
        observation,
        text=lambda text: comparable_text(text, stored),
        address=lambda url: comparable_address(url, stored),
    )


def pins_of(evidence: ElementEvidence | None, url: str, secrets: Secrets) -> MatchDemands:
    """How closely the texts of a target must match on the page at ``url``, according to the recorded evidence."""
    if evidence is None:
        return UNPINNED
    stored = _stored_of(evidence, url, secrets)
    return MatchDemands(evidence.fits, lambda text: comparable_text(text, stored))


def _stored_of(evidence: ElementEvidence, url: str, secrets: Secrets) -> SecretsAndTokens:
    # Evidence recorded with tokens is compared with tokens, even if the owner's policy no longer demands them.
    return secrets.stored if any(map(TOKEN.search, _texts(evidence))) else secrets.stored_at(url)


def _texts(evidence: ElementEvidence) -> Iterator[str]:
    yield from (evidence.name, evidence.label, *evidence.cells, *evidence.links)
    yield from (value for _, value in evidence.attributes)
    yield from (fit.text for fit in evidence.fits)
