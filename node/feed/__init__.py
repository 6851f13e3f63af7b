"""The feed of what changes on this node: other rooms tell it, whoever may read follows it.

Owns the numbered sequence of changes. It informs: nothing in the node ever acts because of a row, and a row that cannot be written
never stops the work that it tells of.
"""

from node.feed.feed import Feed

__all__ = [
    "Feed",
]
