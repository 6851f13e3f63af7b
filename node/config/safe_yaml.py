"""Parses the subset of YAML that action files use: maps, lists and text, with line numbers.

Every scalar stays text, so ``name: Yes`` and ``value: 007`` are not converted to a boolean and a number. Aliases, tags and
duplicate keys are refused: aliases can expand a small file to a huge one, tags construct objects, duplicates hide a value.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from protocol import limits
from protocol.errors import MeshError


class YamlValue(msgspec.Struct, frozen=True):
    """One value and the line (from 1) it begins on."""

    value: str | list[YamlValue] | dict[str, YamlValue]
    line: int

    def plain(self) -> Any:
        """The value without lines: text, lists and maps."""
        match self.value:
            case list(items):
                return [item.plain() for item in items]
            case dict(pairs):
                return {key: item.plain() for key, item in pairs.items()}
            case text:
                return text


def load_yaml(text: str) -> YamlValue:
    """The one document in ``text``. Errors: ``input.invalid``, with the line."""
    try:
        # Check the event stream against the limits first: composing the document would already expand aliases and nesting.
        check_events(text)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _bad(mark.line + 1 if mark is not None else 1, error.problem or "not YAML") from error
    except (yaml.YAMLError, ValueError) as error:
        raise _bad(1, "not YAML") from error
    if root is None:
        raise _bad(1, "the file is empty")
    return _plain(root)


def check_keys(text: str) -> None:
    """Check that no map in ``text`` has a key twice, or one that merges another map into it: readers differ on which value counts.

    The text has passed ``check_events``. Errors: ``input.invalid`` with the line, ``yaml.YAMLError``.
    """
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    if root is not None:
        _plain(root)


def _bad(line: int, reason: str) -> MeshError:
    return MeshError("input.invalid", f"line {line}: {reason}", line=line)


def check_events(text: str) -> None:
    """Check ``text`` as an event stream, without building values. Errors: ``input.invalid`` with the line, ``yaml.YAMLError``."""
    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _bad(line, "only one document is allowed")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            nodes += 1
            if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
                raise _bad(line, "anchors and aliases are not allowed")
            if getattr(event, "tag", None) is not None:
                raise _bad(line, "tags are not allowed")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
        if depth > limits.YAML_DEPTH_MAX or nodes > limits.YAML_NODES_MAX:
            raise _bad(line, f"nested deeper than {limits.YAML_DEPTH_MAX}, or more than {limits.YAML_NODES_MAX} values")


def _plain(node: yaml.Node) -> YamlValue:
    line = node.start_mark.line + 1
    match node:
        case yaml.ScalarNode():
            return YamlValue(node.value, line)
        case yaml.SequenceNode():
            return YamlValue([_plain(item) for item in node.value], line)
        case yaml.MappingNode():
            pairs: dict[str, YamlValue] = {}
            for key, item in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise _bad(key.start_mark.line + 1, "a key must be text")
                if key.value == "<<":
                    raise _bad(key.start_mark.line + 1, "maps are not merged: write out what << would bring")
                if key.value in pairs:
                    raise _bad(key.start_mark.line + 1, f"the key “{key.value[:40]}” occurs twice")
                pairs[key.value] = _plain(item)
            return YamlValue(pairs, line)
        case _:
            raise _bad(line, "a value of an unknown kind")
