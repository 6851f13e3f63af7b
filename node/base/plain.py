"""Converts records to plain JSON values, with bytes as hex; formats counts with their nouns, nodes with their names, and times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """Convert ``value`` to dicts, lists, text and numbers."""
    return _hexed(msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True))


def counted(count: int, one: str, many: str = "") -> str:
    """``count`` with its noun: ``1 lease``, ``2 leases``; ``many``: the plural, if it is not formed with s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _hexed(value: Any) -> Any:
    match value:
        case bytes():
            return value.hex()
        case dict():
            return {key: _hexed(item) for key, item in value.items()}
        case list() | tuple():
            return [_hexed(item) for item in value]
        case _:
            return value


def called(node: str, names: dict[str, str]) -> str:
    """A node, for a person: its name here with the short form of its id, the own one as ``this node``. names: by node id."""
    name = names.get(node, "")
    return name if name == "this node" else f"{name} ({node[:7]})" if name else node[:7]


def moment(milliseconds: int) -> str:
    """A time in UTC, for display; empty for 0."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S}" if milliseconds else ""
