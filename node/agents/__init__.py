"""Agents: programs that call this node with their own token, within their budgets.

Owns the agents, their tokens, what is left of their calls and of their time with a browser, and the results of calls that have a
key. Never gives an agent a verb, an origin or a capsule that its owner did not grant.
"""

from node.agents.agents import Agents
from node.agents.keyed_calls import KEYED_CALLS, KeyedCalls

__all__ = ["KEYED_CALLS", "Agents", "KeyedCalls"]
