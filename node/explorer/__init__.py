"""Federated exploration: a coordinator leases branches of a search, workers explore them, and deltas carry the results.

``explorer`` starts, resumes and stops searches. ``coordinator`` grants leases (``lease_desk``) and has claims judged
(``claims``). ``branch_work`` accepts leases from other coordinators; a ``worker`` explores them with a ``walker``. ``replica`` is
this node's copy of a search tree, and ``exchange`` sends and receives its deltas. ``show`` summarises a search.

Owns every search of this node. Never accepts a claim that this node has not replayed itself.
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
