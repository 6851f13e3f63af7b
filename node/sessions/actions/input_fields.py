"""Reads ``inputs:`` of an action file: names with the recorded values, which a replay can change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, get_args

import msgspec

from node.config import YamlValue, invalid_in_words
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.inputs import require_kind
from protocol.recording.records.session import Input, InputKind

_KINDS: Final[tuple[str, ...]] = get_args(InputKind)


def read_inputs(node: YamlValue, bad: Callable[[YamlValue, str], MeshError]) -> tuple[Input, ...]:
    """The inputs that ``node`` lists as ``name: value`` or ``name: {value: …, type: number}``. bad: creates the error for a wrong
    value.
    """
    if not isinstance(node.value, dict) or not node.value:
        raise bad(node, "`inputs` must be `name: value` pairs")
    if len(node.value) > limits.INPUTS_MAX:
        raise bad(node, f"a session can have at most {limits.INPUTS_MAX} inputs")
    return tuple(_input(name, item, bad) for name, item in node.value.items())


def _input(name: str, node: YamlValue, bad: Callable[[YamlValue, str], MeshError]) -> Input:
    plain: dict[str, object] = {"name": name, "value": node.value}
    if isinstance(node.value, dict):
        if unknown := sorted(node.value.keys() - {"value", "type"}):
            raise bad(node, f"unknown key “{unknown[0][:40]}” of an input; known: type, value")
        if "value" not in node.value:
            raise bad(node, f"the input “{name[:40]}” needs `value:`, which the recording uses")
        plain = {"name": name} | {{"type": "kind"}.get(key, key): item.value for key, item in node.value.items()}
        if plain.get("kind", "text") not in _KINDS:
            raise bad(node, f"`type` of an input must be one of {', '.join(_KINDS)}")
    try:
        made = msgspec.convert(plain, Input)
        require_kind(made.kind, made.name, made.value)
    except msgspec.ValidationError as error:
        raise bad(node, invalid_in_words(error, Input)) from error
    except MeshError as error:
        raise bad(node, error.message) from error
    return made
