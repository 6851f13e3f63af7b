"""The effects log: one line for each change of state on the server, none for a read."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from trailmesh.shop.config import ShopConfig


@dataclass(frozen=True, slots=True)
class ShopEffect:
    """One change of state that a request caused."""

    kind: str
    category: str
    path: str
    method: str
    time: float


EFFECTS: Final = web.AppKey("effects", list[ShopEffect])
CONFIG: Final = web.AppKey("config", ShopConfig)


def record(request: web.Request, kind: str, category: str) -> None:
    """Note an effect in the application's list and, if the shop has one, in its log file."""
    effect = ShopEffect(kind, category, request.path_qs, request.method, time.time())
    request.app[EFFECTS].append(effect)
    log = request.app[CONFIG].effects_log
    if log is not None:
        append_line(log, effect)


def append_line(log: Path, effect: ShopEffect) -> None:
    """Append the effect as one JSON line; opened for each line so that a reader always sees whole lines."""
    with log.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(effect)) + "\n")
