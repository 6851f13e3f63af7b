"""Addresses that change something when they are opened, and addresses that read, by application.

The judgement of requests was developed with ``developed.txt``. The other tables were written one after the other, and measured
before they served for development too: docs/adr/0041-requests-by-structure.md has the figures of that first look.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Final, NamedTuple

TABLES: Final = ("developed", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
SITE: Final = "https://app.example"
HERE: Final = Path(__file__).parent


class Row(NamedTuple):
    """One address."""

    application: str
    changes: bool
    url: str


def rows(table: str) -> list[Row]:
    """The addresses of one table, each once and none that stands in one before it."""
    before = {row.url for each in TABLES[: TABLES.index(table)] for row in rows(each)}
    found: dict[str, Row] = {}
    application = ""
    for line in (HERE / f"{table}.txt").read_text("utf-8").splitlines():
        if line.startswith("## "):
            application = line[3:]
        elif line[:2] in ("+ ", "- "):
            for path in _expanded(line[2:]):
                url = path if path.startswith(("http://", "https://")) else SITE + path
                if url not in before:
                    found.setdefault(url, Row(application, line[0] == "+", url))
    return list(found.values())


def _expanded(text: str) -> list[str]:
    """``text`` with each of the ways to choose: ``<a|b>`` is a or b."""
    parts = [part.split("|") if index % 2 else [part] for index, part in enumerate(re.split("[<>]", text))]
    return ["".join(chosen) for chosen in itertools.product(*parts)]
