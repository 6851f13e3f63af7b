"""The state of a copy and its changes: rows of SQLite by table, other files by content."""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

_MAGIC: Final = b"SQLite format 3\x00"
_BESIDE: Final = ("-wal", "-shm", "-journal")
_NOISY_FILE: Final = re.compile(
    r"(^|/)(__pycache__|\.?cache|\.local|\.npm|\.jupyter|\.ipython|logs?)/|\.(log|pid|lock|pyc|tmp|sock|idx)$|\.Radicale\.(cache|lock)"
    r"|twistd|nbsignatures|jpserver|nbserver",
    re.I,
)
_NOISY_TABLE: Final = re.compile(
    r"session|otks?|cache|(^|_)logs?$|_log$|logentry|visit|throttle|fts|analytics|(user|page|item|topic|product)_?views?$",
    re.I,
)
_SESSION_TABLE: Final = re.compile("session", re.I)
_NOISY_COLUMN: Final = re.compile(
    r"last_?(login|seen|used|active|activity|access|viewed|ip)|accessed|(num|count)_?(\w+_)?views?|views?_?(count|num)|hits|atime|online",
    re.I,
)
_BUSY_TIMEOUT_S: Final = 5


def is_sqlite(file: Path) -> bool:
    """True if it is a database of SQLite."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _files(folder: Path) -> dict[str, Path]:
    found = {}
    for file in folder.rglob("*"):
        name = str(file.relative_to(folder))
        if file.is_file() and not file.is_symlink() and not name.endswith(_BESIDE) and not _NOISY_FILE.search(name):
            found[name] = file
    return found


def _empty_folders(root: Path) -> frozenset[str]:
    """Those that hold nothing: of the others the files tell."""
    found = (f"{each.relative_to(root)}/" for each in root.rglob("*") if each.is_dir() and not any(each.iterdir()))
    return frozenset(name for name in found if not _NOISY_FILE.search(name))


def _copied(source: Path, target: Path) -> None:
    """``target`` gets the rows of ``source``, even while a server has it open."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target, timeout=_BUSY_TIMEOUT_S)) as new:
        old.backup(new)


class Kept:
    """The content of a folder at one moment, which can be compared and restored."""

    def __init__(self, live: Path, kept: Path) -> None:
        """Keep ``live`` in ``kept``, which is emptied."""
        self._live, self._kept = live, kept
        shutil.rmtree(kept, ignore_errors=True)
        self._empty = _empty_folders(live)
        self._known: dict[str, str] = {}
        self._seen: dict[str, tuple[int, ...]] = {}
        for name, file in _files(live).items():
            target = kept / name
            target.parent.mkdir(parents=True, exist_ok=True)
            _copied(file, target) if is_sqlite(file) else shutil.copy2(file, target)
            self._known[name] = _digest(target)
            self._seen[name] = _stamp(file)

    def changes(self) -> list[str]:
        """The kinds since then: ``FILE:TABLE:insert|delete``, ``FILE:TABLE:update:COLUMNS``, ``FILE:changed|new|gone``; of an empty
        folder ``FOLDER/:new|gone``.
        """
        empty = _empty_folders(self._live)
        found = [f"{name}:new" for name in sorted(empty - self._empty)]
        found += [f"{name}:gone" for name in sorted(self._empty - empty) if not (self._live / name).is_dir()]
        live = _files(self._live)
        for name in sorted(live.keys() | self._known.keys()):
            file = live.get(name)
            if file is None:
                found.append(f"{name}:gone")
            elif name not in self._known:
                found.append(f"{name}:new")
            elif _stamp(file) != self._seen.get(name):
                changed = self._changed(name, file)
                found += changed
                if not changed:
                    self._seen[name] = _stamp(file)
        return found

    def _changed(self, name: str, file: Path) -> list[str]:
        if is_sqlite(file):
            return [f"{name}:{change}" for change in table_changes(self._kept / name, file)]
        return [f"{name}:changed"] if _digest(file) != self._known[name] else []

    def restore(self) -> None:
        """Put back what was kept, into the open files."""
        live = _files(self._live)
        for name, file in live.items():
            if name not in self._known:
                file.unlink(missing_ok=True)
            elif _stamp(file) != self._seen.get(name):
                # With its time, which some applications compare with what they have noted of it.
                _copied(self._kept / name, file) if is_sqlite(file) else shutil.copy2(self._kept / name, file)
                self._seen[name] = _stamp(file)
        for name in self._known.keys() - live.keys():
            target = self._live / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._kept / name, target)
            self._seen[name] = _stamp(target)
        for name in self._empty:
            (self._live / name).mkdir(parents=True, exist_ok=True)
        while fresh := _empty_folders(self._live) - self._empty:  # without them the folder around may be empty
            for name in fresh:
                (self._live / name).rmdir()


def _stamp(file: Path) -> tuple[int, ...]:
    stamps: list[int] = []
    for each in (file, Path(f"{file}-wal")):
        try:
            stat = each.stat()
        except OSError:
            continue
        stamps += [stat.st_mtime_ns, stat.st_size]
    return tuple(stamps)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def table_changes(before: Path, after: Path) -> list[str]:
    """Which tables differ between two databases, and how."""
    found: list[str] = []
    with closing(sqlite3.connect(after, timeout=_BUSY_TIMEOUT_S)) as database:
        database.execute("ATTACH ? AS old", (str(before),))
        tables = _tables(database, "main")
        for table in sorted(tables & _tables(database, "old")):
            try:
                found += [f"{table}:{change}" for change in _rows(database, table)]
            except sqlite3.Error:
                continue  # a virtual table whose module is not built in
        found += [f"{table}:table" for table in sorted(tables ^ _tables(database, "old"))]
        # Views, triggers, indexes, and columns of tables that were there before.
        other = _schema(database, "main") ^ _schema(database, "old")
        found += sorted({f"{name}:{kind}" for kind, name, _ in other} - set(found))
    return found


def _schema(database: sqlite3.Connection, schema: str) -> set[tuple[str, str, str]]:
    return set(database.execute(f"SELECT type, name, sql FROM {schema}.sqlite_master WHERE name NOT LIKE 'sqlite_%'"))


def _tables(database: sqlite3.Connection, schema: str) -> set[str]:
    rows = database.execute(f"SELECT name FROM {schema}.sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'")
    return {row[0] for row in rows}


def _rows(database: sqlite3.Connection, table: str) -> list[str]:
    name = '"' + table.replace('"', '""') + '"'
    columns = [row[1] for row in database.execute(f"PRAGMA main.table_info({name})")]
    new = Counter(database.execute(f"SELECT * FROM main.{name} EXCEPT SELECT * FROM old.{name}").fetchall())
    old = Counter(database.execute(f"SELECT * FROM old.{name} EXCEPT SELECT * FROM main.{name}").fetchall())
    if not new and not old:
        return []
    key = _key(database, name)
    then = {tuple(row[place] for place in key): row for row in old}
    now = {tuple(row[place] for place in key): row for row in new}
    found = set()
    for each, row in now.items():
        if each not in then:
            found.add("insert")
            continue
        differs = [columns[place] for place in range(len(columns)) if row[place] != then[each][place]]
        found.add(f"update:{','.join(differs)}")
    found |= {"delete"} if then.keys() - now.keys() else set()
    return sorted(found)


def _key(database: sqlite3.Connection, name: str) -> list[int]:
    """The places of the columns that tell rows apart: the primary key, else the first column."""
    places = [row[0] for row in database.execute(f"PRAGMA main.table_info({name})") if row[5]]
    return places or [0]


def noisy_by_name(change: str) -> bool:
    """True if a change is noise in any application. A deleted session is not, because it ended a login."""
    parts = change.split(":")
    if len(parts) < 3:
        return False
    table, kind = parts[1], parts[2]
    if _SESSION_TABLE.search(table) and kind == "delete":
        return False
    if _NOISY_TABLE.search(table):
        return True
    return kind == "update" and all(map(_NOISY_COLUMN.search, parts[3].split(",")))


def effects(changes: Iterable[str], noise: frozenset[str]) -> list[str]:
    """Those ``changes`` that are no noise. An update counts by columns that are noise in neither way."""
    quiet = {
        change.rpartition(":")[0]: set(change.rpartition(":")[2].split(",")) for change in noise if ":update:" in change
    }
    found = []
    for change in changes:
        if change in noise or noisy_by_name(change):
            continue
        head, _, columns = change.rpartition(":")
        left = [
            each for each in columns.split(",") if each not in quiet.get(head, ()) and not _NOISY_COLUMN.search(each)
        ]
        if ":update:" in change and not left:
            continue
        found.append(change)
    return found


def learned(loads: Iterable[Iterable[str]], pages_min: int = 3) -> frozenset[str]:
    """The changes that come with loading pages: insertions and updates in ``pages_min`` of the ``loads``. A deletion is never
    noise, nor is a logout.
    """
    count = Counter(change for load in loads for change in set(load))
    return frozenset(
        change
        for change, times in count.items()
        if times >= pages_min and ":" in change and not change.endswith((":delete", ":gone"))
    )
