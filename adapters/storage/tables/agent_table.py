"""The table of agents. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports.records import AgentRecord
from adapters.storage.files import records
from adapters.storage.files.records import pack, unpack


def add(db: sqlite3.Connection, agent: AgentRecord) -> bool:
    """Implements ``Store.add_agent``."""
    sql = "INSERT INTO agents (name, token_hash, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    return db.execute(sql, (agent.name, agent.token_hash, pack(agent))).rowcount > 0


def every(db: sqlite3.Connection) -> list[AgentRecord]:
    """Implements ``Store.agents``."""
    return [unpack(body, AgentRecord) for (body,) in db.execute("SELECT body FROM agents ORDER BY name")]


def find(db: sqlite3.Connection, token_hash: bytes) -> AgentRecord | None:
    """Implements ``Store.agent``."""
    row = db.execute("SELECT body FROM agents WHERE token_hash = ?", (token_hash,)).fetchone()
    return unpack(row[0], AgentRecord) if row else None


def count_call(db: sqlite3.Connection, token_hash: bytes) -> AgentRecord:
    """Implements ``Store.count_agent_call``."""
    counted = records.with_call(find(db, token_hash))
    _keep(db, counted)
    return counted


def charge(db: sqlite3.Connection, token_hash: bytes, browser_ms: int) -> int:
    """Implements ``Store.charge_agent``."""
    before = find(db, token_hash)
    charged = records.with_browser_ms(before, browser_ms)
    _keep(db, charged)
    return charged.browser_ms - (before.browser_ms if before else 0)


def remove(db: sqlite3.Connection, name: str) -> bool:
    """Implements ``Store.remove_agent``."""
    return db.execute("DELETE FROM agents WHERE name = ?", (name,)).rowcount > 0


def _keep(db: sqlite3.Connection, agent: AgentRecord) -> None:
    db.execute("UPDATE agents SET body = ? WHERE name = ?", (pack(agent), agent.name))
