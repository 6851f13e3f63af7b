"""Shows the product at work on a shop of its own: records, replays, and searches with three nodes.

Owns what is printed between the commands. Never imports the node: it runs the ``trailmesh`` command as a person would, so a
promise that holds here holds for a user.
"""

from trailmesh.demo.command import group

__all__ = ["group"]
