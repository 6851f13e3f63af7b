"""The change feed: other rooms report changes, and callers with the scope ``read`` list or follow them.

Owns the numbered sequence of changes. It only informs: nothing in the node acts because of a row. A row that is told by
itself never stops the work that it reports; one that is written along with its data shares that transaction and its errors.
"""

from node.feed.feed import Feed

__all__ = [
    "Feed",
]
