"""Converts records to plain JSON values, with bytes as hex, and formats counts with their nouns."""

from __future__ import annotations

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
