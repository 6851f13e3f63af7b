"""Checks the rules of sites in a configuration that their types cannot express."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.errors import MeshError
from protocol.risk.requests.sites import SiteRule
from protocol.trust.origin import parse_pattern


def check_sites(rules: Sequence[SiteRule]) -> None:
    """Check, in order, of each rule: an origin pattern in its one form; named once. Errors: ``input.invalid``."""
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        place = f"`policy.sites[{index}]`"
        try:
            pattern = parse_pattern(rule.site)
        except MeshError as error:
            raise MeshError("input.invalid", f"{place}: {error.message}") from error
        if pattern != rule.site:
            raise MeshError("input.invalid", f"{place}: write the site as {pattern}")
        if pattern in seen:
            raise MeshError("input.invalid", f"{place}: {pattern} has a rule already, and one of two would not count")
        seen.add(pattern)
