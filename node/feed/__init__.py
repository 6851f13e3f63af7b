"""The change feed: other rooms report changes, and callers with the scope ``read`` list or follow them.

Owns the numbered sequence of changes. It only informs: nothing in the node acts because of a row, and a row that cannot be
written never stops the work that it reports.
"""

from node.feed.feed import Feed

__all__ = [
    "Feed",
]
