"""The sites that this node has worked with: what it has recorded and searched there, counted from what is stored.

Owns no stored data. Never opens a page, and never changes a session or a search.
"""

from node.sites.sites import Sites

__all__ = ["Sites"]
