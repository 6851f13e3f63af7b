"""What people and scripts are given to read: records as plain JSON values, where bytes become hex; numbers of things."""

from __future__ import annotations

from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """``value`` as dicts, lists, text and numbers."""
    return _hexed(msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True))


def counted(count: int, one: str, many: str = "") -> str:
    """``count`` with its noun: ``1 lease``, ``2 leases``; ``many`` where an s at the end does not make the plural."""
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
