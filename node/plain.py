"""Records as plain JSON values for people and scripts: bytes become hex."""

from __future__ import annotations

from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """``value`` as dicts, lists, text and numbers."""
    return _hexed(msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True))


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
