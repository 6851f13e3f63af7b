"""All verbs, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from node.verbs import audit, explore, log, session
from node.verbs.verb import Verb

GROUPS: Final[tuple[tuple[Verb, ...], ...]] = (session.VERBS, log.VERBS, audit.VERBS, explore.VERBS)
CATALOGUE: Final[Mapping[str, Verb]] = {verb.name: verb for group in GROUPS for verb in group}
"""Everything a node can be asked, in the order of the documents."""
