"""Agents: programs that call this node with their own token, within their budgets."""

from node.agents.agents import Agents

__all__ = ["Agents"]
