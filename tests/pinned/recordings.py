"""What comes of recordings of the Chrome DevTools Recorder and of action files, as they are and with one thing changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.action import describe

_FOLDER = Path(__file__).parents[1] / "vectors" / "recordings"
_CHANGES = 160
_VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 2.5, 10**9, "", "x", "main", "secondary", [], ["x"], [["x"], []], [[1]], {}, {"secret": "s"},
    "aria/Mugs[role=\"link\"]", [["aria/Mugs[role=\"nothing\"]"]], "Enter", "Shift", "http://shop.example/other", "click",
    "doubleClick",    "hover", "waitForExpression", "close", "keyDown", "keyUp", "emulateNetworkConditions",
)  # fmt: skip
_MORE: tuple[dict[str, Any], ...] = (
    {"type": "hover", "selectors": [["aria/Mugs"]]},
    {"type": "doubleClick", "selectors": [["aria/Mugs"]], "offsetX": 1, "offsetY": 1},
    {"type": "close"},
    {"type": "waitForExpression", "expression": "true"},
    {"type": "waitForElement", "selectors": [["aria/Mugs[role=\"heading\"]"]], "operator": ">=", "count": 2, "visible": True},
    {"type": "waitForElement", "selectors": [["aria/Mugs[role=\"heading\"]"]], "operator": "==", "count": 0},
    {"type": "emulateNetworkConditions", "download": 1, "upload": 1, "latency": 1},
    {"type": "customStep", "name": "x", "parameters": {}},
    {"type": "keyDown", "key": "Meta"},
    {"type": "keyUp", "key": "Meta"},
    {"type": "change", "value": "on", "selectors": [["aria/Agree[role=\"checkbox\"]"]]},
    {"type": "change", "value": "x", "selectors": [["#only-css"]]},
    {"type": "click", "selectors": [["xpath//html/body/a"]], "button": "secondary", "offsetX": 1, "offsetY": 1},
    {"type": "scroll", "y": -5},
    {"type": "scroll", "selectors": [["aria/List"]], "x": 1, "y": 1},
    {"type": "navigate", "url": "http://other.example/"},
    {"type": "setViewport", "width": 100, "height": 100, "deviceScaleFactor": 2, "isMobile": True, "hasTouch": True},
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, inner in items for found in _places(inner, (*path, key)))]


def changed(chance: random.Random, recording: Any) -> tuple[str, Any]:
    """A recording with one thing left out, replaced, doubled or put in; and which."""
    made = copy.deepcopy(recording)
    if chance.random() < 0.3:
        at, step = chance.randrange(1, len(made["steps"]) + 1), copy.deepcopy(chance.choice(_MORE))
        made["steps"].insert(at, step)
        return f"steps {at} put in {step['type']}", made
    path = chance.choice([each for each in _places(made) if each])
    parent = made
    for key in path[:-1]:
        parent = parent[key]
    named = ".".join(map(str, path))
    kind = chance.randrange(5)
    if kind == 0:
        del parent[path[-1]]
        return f"{named} left out", made
    if kind == 1 and isinstance(parent, dict):
        parent["unknown"] = 1
        return f"{named} beside an unknown key", made
    if kind == 2 and isinstance(parent, list):
        parent.insert(path[-1], copy.deepcopy(parent[path[-1]]))
        return f"{named} doubled", made
    parent[path[-1]] = value = chance.choice(_VALUES)
    return f"{named} = {json.dumps(value)}", made


def _read(text: str) -> Iterator[str]:
    try:
        file = parse_actions(text.encode(), "recording")
    except MeshError as error:
        yield f"  {error.code}: {error.message}"
        return
    yield f"  {file.title!r} {file.start_url} {file.profile.width_px}x{file.profile.height_px} {file.secrets}"
    yield f"  {'; '.join(map(describe, file.actions))}"
    yield f"  {dict(file.arrivals)} {file.notes}"


def lines() -> Iterator[str]:
    """Each recording as it is, then with changes: of these only what differs."""
    for path in sorted(_FOLDER.glob("*.json")):
        recording, chance = json.loads(path.read_bytes()), random.Random(path.name)
        plain = list(_read(json.dumps(recording)))
        yield path.name
        yield from plain
        for _ in range(_CHANGES):
            what, made = changed(chance, recording)
            yield f"{path.name}: {what}"
            yield from (line for line in _read(json.dumps(made)) if line not in plain)
