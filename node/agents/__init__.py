"""Agents: programs that call this node with their own token, within their budgets.

Owns the agents, their tokens, and what is left of their calls and of their time with a browser. Never gives an agent a verb, an
origin or a capsule that its owner did not grant.
"""

from node.agents.agents import Agents

__all__ = ["Agents"]
