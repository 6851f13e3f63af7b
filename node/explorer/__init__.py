"""Federated exploration: a coordinator leases branches of a search, workers explore them, and deltas carry the results.

``explorer`` starts, resumes and stops searches; ``open_searches`` holds those that run here, and ``answers`` handles requests
of peers. ``coordinating`` leads a search of this node: it grants leases and has claims judged. ``working`` accepts leases of
other coordinators and explores them. ``sharing`` holds this node's copy of a search tree and exchanges deltas. ``showing``
summarises a search for people. ``kept`` and ``progress`` store searches, ``expulsions`` stores which peers were expelled from
which.

Owns every search of this node. Never accepts a claim that this node has not replayed itself.
"""

from node.explorer.explorer import Explorer
from node.explorer.showing.show import Parts, draw_search, show_search
from node.explorer.showing.tree_picture import BOX_HEIGHT, BOX_WIDTH, Picture
from node.explorer.verbs import ExploreVerbs

__all__ = [
    "BOX_HEIGHT",
    "BOX_WIDTH",
    "ExploreVerbs",
    "Explorer",
    "Parts",
    "Picture",
    "draw_search",
    "show_search",
]
