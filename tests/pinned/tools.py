"""The names and schemas of the tools for clients of MCP, in their order. ``*`` marks a parameter that a call must have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from node.doors.tools.profiles import PROFILES, offered
from node.verbs.catalogue import CATALOGUE

_HINTS = ("read_only", "destructive", "open_world")


def lines() -> Iterator[str]:
    """A line for each tool, with its hints, and below it a line for each parameter."""
    for profile in PROFILES:
        yield f"# {profile}"
        for tool in offered(profile, set(CATALOGUE)):
            hints = [name for name in _HINTS if tool.annotations and getattr(tool.annotations, f"{name}_hint")]
            yield f"{tool.name}: {', '.join(hints)}"
            if profile == "default" or tool.name not in PROFILES["default"]:
                yield from _parameters(tool.input_schema)


def _parameters(schema: dict[str, Any]) -> Iterator[str]:
    required = schema["required"]
    for name, told in schema["properties"].items():
        kind = told.get("type") or told.get("enum") or [each.get("type") for each in told.get("anyOf", ())] or "object"
        yield f"  {name}{'*' if name in required else ''}: {kind if isinstance(kind, str) else json.dumps(kind)}"
