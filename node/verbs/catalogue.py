"""All verbs, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from node.verbs.capsules import (
    capsule,
    capsule_handle,
    capsule_login,
    capsule_passkey,
    capsule_policy,
    capsule_unseal,
    capsule_upkeep,
    capsule_work,
)
from node.verbs.live import live
from node.verbs.nodes import (
    agent,
    approve,
    audit,
    backup,
    clock,
    distrust,
    events,
    keys,
    log,
    node,
    owner,
    pairing,
    policy,
    ui,
)
from node.verbs.searches import explore, schedule
from node.verbs.sessions import page, session, session_question, session_upkeep
from node.verbs.sites import site
from node.verbs.tasks import task
from node.verbs.verb import Verb

GROUPS: Final[tuple[tuple[Verb, ...], ...]] = (
    node.VERBS,
    backup.VERBS,
    keys.VERBS,
    clock.VERBS,
    pairing.VERBS,
    agent.VERBS,
    owner.VERBS,
    approve.VERBS,
    policy.VERBS,
    distrust.VERBS,
    session.VERBS,
    session_question.VERBS,
    session_upkeep.VERBS,
    capsule.VERBS,
    capsule_policy.VERBS,
    capsule_login.VERBS,
    capsule_passkey.VERBS,
    capsule_work.VERBS,
    capsule_handle.VERBS,
    capsule_upkeep.VERBS,
    capsule_unseal.VERBS,
    live.VERBS,
    page.VERBS,
    explore.VERBS,
    schedule.VERBS,
    site.VERBS,
    task.VERBS,
    log.VERBS,
    audit.VERBS,
    events.VERBS,
    ui.VERBS,
)
CATALOGUE: Final[Mapping[str, Verb]] = {verb.name: verb for group in GROUPS for verb in group}
"""All verbs, in the order in which the documents list them."""
PLAIN: Final[Mapping[str, str]] = {"site": "Show what this node has done at each site."}
"""Groups whose commands are their declarations and nothing more, with what they are for."""
