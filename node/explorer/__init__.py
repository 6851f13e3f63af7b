"""Federated exploration: a coordinator leases branches, workers explore them, deltas carry what was learned.

``explorer`` starts, resumes and stops searches. ``coordinator`` deals leases (``lease_desk``) and judges claims (``claims``);
``branch_work`` takes leases of others and has a ``worker`` explore them with a ``walker``; ``replica`` is this node's copy of the
tree, ``exchange`` moves its deltas; ``show`` says what a search came to. Never believes a claim that this node has not replayed
itself.
"""

from node.explorer.explorer import Explorer
from node.explorer.show import Parts, show_search
from node.explorer.verbs import ExploreVerbs

__all__ = [
    "ExploreVerbs",
    "Explorer",
    "Parts",
    "show_search",
]
