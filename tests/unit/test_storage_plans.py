"""Every statement of the store finds what it wants by an index: a node that is years old lists as fast as a new one."""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from adapters.audit_records import AuditQuery
from adapters.log_records import LeafRecord, LogRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from protocol.audit import AuditDraft, AuditOutcome
from protocol.feed import FeedKind, News
from tests.contract.test_store import artefact, delta, lease, peer, search, session, step
from tests.contract.test_store_agents import agent
from tests.contract.test_store_capsules import capsule, ledger, taken
from tests.contract.test_store_schedules import run
from tests.memory_rooms import sample, tables
from tests.schedules import SCHEDULE, schedule

SMALL: Final = {
    "peers": "limits.PEERS_MAX",
    "agents": "limits.AGENTS_MAX",
    "schedules": "limits.SCHEDULES_MAX",
    "capsules": "limits.CAPSULES_MAX",
    "capsule_ledger": "limits.CAPSULE_LEDGER_MAX",
    "logs": "one for each time a log was renewed",
    "feed": "limits.FEED_ROWS_MAX",
    "sqlite_sequence": "one of each table whose numbers are never given again",
    "tables": "one of each table that a room describes",
} | {table.name: table.bound for table in tables() if table.bound}
"""Tables that are read whole, and what bounds them."""
WHOLE: Final = {
    "SELECT count(*) FROM sessions": "counted, not read",
    "SELECT session, number, snapshot FROM steps": "the check of the whole store (`node doctor`)",
    "SELECT peer, sum(length(envelope)) FROM deltas": "what peers take up: at the start, and at most once a minute",
    "SELECT who, count(*) FROM audit": "as above",
    "SELECT body FROM searches": "as above",
    "SELECT body FROM schedule_runs WHERE status = 'running'": "at the start, by an index that has nothing but those",
    "SELECT search, sum(length(body)) FROM leases": "as above",
    "SELECT subject, names FROM artefacts": "the check of the whole store (`node doctor`)",
    "SELECT body FROM sessions WHERE instr": "a text is looked for from the newest on, until there are enough",
    "SELECT number, digest FROM audit ORDER BY number DESC LIMIT 1": "the last row by its primary key",
    "SELECT number, at_ms, who, what, line, digest FROM audit": "from the end by the primary key, until there are enough",
}
"""How statements begin that read a whole table on purpose, and why."""
SORTED: Final = {
    "SELECT body FROM peers": "limits.PEERS_MAX",
    "SELECT session, number, snapshot FROM steps": "the check of the whole store",
    "SELECT subject, names FROM artefacts": "the check of the whole store",
    "SELECT number, at_ms, who, what, line, digest FROM audit WHERE at_ms >= 1 AND at_ms < 9": "rows of the time asked for",
    "SELECT log, number, digest, kind, subject FROM log_leaves": "entries of one artefact: one of each log",
}
"""How statements begin that sort what they read, and what bounds that."""


async def fill(store: Store) -> None:
    """A row in every table."""
    await store.hold(tables())
    for table in tables():
        await store.rows(table).put(sample(table))
    await store.put_meta("key", b"value")
    await store.put_peer(peer("A", 1))
    await store.put_session(session())
    await store.append_step("ses-1", step(1, snapshot=await store.put_blob(b"data")))
    await store.put_artefact(artefact())
    await store.put_search(search())
    await store.append_delta(delta())
    await store.put_lease(lease())
    await store.add_agent(agent())
    await store.keep_schedule(schedule(), was=0, runs=[run(1)])
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    await _logs(store)
    await _audit(store)
    await _feed(store)


async def _everything(store: Store) -> None:
    """Call every method of the port, lists with each of their filters."""
    await _tables(store)
    await store.put_meta("key", b"")
    await store.get_meta("key")
    await store.put_peer(peer("A", 1))
    await store.peers()
    await store.remove_peer("A")
    await store.put_session(session())
    await store.append_step("ses-1", step(1, snapshot=await store.put_blob(b"data")))
    await store.amend_step("ses-1", step(1, screenshot=await store.put_blob(b"picture")))
    await store.commit_session(session(), [artefact()])
    await store.import_session(session(2), [step(1)], [artefact("b", subject="ses-2")])
    await store.session("ses-1")
    await store.steps("ses-1")
    await store.step_bodies("ses-1")
    await store.step("ses-1", 1)
    await store.step("ses-1")
    await store.sessions()
    await store.sessions(text="Title")
    await store.count_sessions()
    await store.put_artefact(artefact("c"))
    await store.artefact(artefact("c").digest)
    await store.put_search(search())
    await store.search("sea-1")
    await store.append_delta(delta())
    for after in (None, artefact("c")):
        for subject in ("", "ses-1"):
            for kind in ("", "manifest"):
                await store.artefacts(subject=subject, kind=kind, after=after)
    for status in ("", "running"):
        await store.searches(status=status)
        await store.searches(status=status, after=search())
        await store.leases("sea-1", status=status)
    for name in ("", "P"):
        await store.deltas("sea-1", peer=name)
        await store.deltas("sea-1", peer=name, after=delta())
    await store.deltas("sea-1", peer="P", epoch=1, after_seq=1)
    await store.newest_deltas("sea-1")
    await store.drop_deltas("sea-1", "P")
    await store.drop_deltas("sea-1", "P", before_epoch=2)
    await store.put_lease(lease())
    await store.add_agent(agent("other", b"o" * 32))
    await store.agents()
    await store.agent(b"o" * 32)
    await store.count_agent_call(b"o" * 32)
    await store.charge_agent(b"o" * 32, 1)
    await store.remove_agent("other")
    await _schedules(store)
    await _capsules(store)
    await store.lease("lea-1")
    await _logs(store)
    await _audit(store)
    await _feed(store)
    await store.usage()
    await store.search_removed("sea-1")
    await store.remove_search("sea-1")
    await store.session_remains("ses-1")
    await store.remove_session("ses-1")
    await store.check()


async def _tables(store: Store) -> None:
    await store.hold(tables())
    for table in tables():
        rows, record = store.rows(table), sample(table)
        key = getattr(record, table.key)
        await rows.put(record)
        await rows.add(record)
        await rows.get(key)
        if table.bound:
            await rows.find()
        await rows.find(newest=True, limit=10)
        for count in range(1, len(table.filters) + 1):
            for names in itertools.combinations(table.filters, count):
                await rows.find(newest=True, **{name: getattr(record, name) for name in names})
        await rows.take(key)
        await rows.remove(key)


async def _capsules(store: Store) -> None:
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    await store.capsule(capsule().id)
    await store.capsules()
    await store.capsule_stream(capsule().id)
    await store.raise_ledger(ledger())
    await store.ledger(capsule().id)
    await store.revoked_as("shop")
    await store.take_capsule(capsule().id, taken())
    await store.give_back_capsule(capsule().id, "one")
    await store.put_clock_back(capsule().id, 1)
    await store.remove_capsule(capsule().id)
    await store.prune_ledger(10)


async def _schedules(store: Store) -> None:
    await store.keep_schedule(schedule(), was=0)
    await store.keep_schedule(schedule(version=2), was=1, runs=[run(1)])
    await store.schedules()
    await store.schedule(SCHEDULE)
    await store.keep_run(run(1, version=1), was=0)
    await store.runs_of(SCHEDULE, limit=1)
    await store.running_runs()
    await store.remove_schedule(SCHEDULE)


async def _logs(store: Store) -> None:
    leaf = LeafRecord(log=0, index=0, digest=bytes(32), kind="delta", subject="")
    await store.append_log(LogRecord(number=0, size=1, checkpoint=b""), [leaf], {(0, 0): bytes(32)})
    await store.logs()
    await store.log_subtrees(0, [(0, 0)])
    await store.log_leaf(bytes(32))
    await store.log_leaves(0)
    await store.leaves_of(["approval", "owners"])


async def _audit(store: Store) -> None:
    draft = AuditDraft(at_ms=1, what="node.invite", who="owner", outcome=AuditOutcome.BEGUN, key="", key_events=0)
    await store.append_audit(draft)
    await store.audit_head()
    await store.audit_lines()
    for who in ("", "owner"):
        for what in ("", "node"):
            for since_ms, until_ms in ((0, 0), (1, 0), (0, 9), (1, 9)):
                await store.audit_find(AuditQuery(since_ms=since_ms, until_ms=until_ms, who=who, what=what, limit=10))


async def _feed(store: Store) -> None:
    await store.append_feed(News(at_ms=1, kind=FeedKind.NODE_SERVING, ids=("A",), who="node"))
    for after in (None, 0):
        for kind in ("", "node"):
            await store.feed(after=after, kind=kind)


async def _plans(directory: Path, calls: Callable[[Store], Awaitable[None]]) -> dict[str, list[str]]:
    """The plan of every statement that ``calls`` has a store on disk run, by statement."""
    store = await SqliteStore.open(directory)
    said: set[str] = set()
    await store._database.run(lambda: store._database._db.set_trace_callback(said.add))
    await calls(store)
    await store._database.run(lambda: store._database._db.set_trace_callback(None))

    def explained(db: sqlite3.Connection) -> dict[str, list[str]]:
        wanted = sorted(sql for sql in said if re.match(r"SELECT|DELETE|UPDATE|INSERT", sql))
        return {sql: [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")] for sql in wanted}

    plans = await store._database.read(explained)
    await store.close()
    return plans


def _faults(plans: dict[str, list[str]]) -> list[str]:
    found = []
    for sql, plan in plans.items():
        for line in plan:
            scan = re.match(r"SCAN (?!CONSTANT ROW)(\w+)", line)
            whole = scan and scan[1] not in SMALL and not any(sql.startswith(begin) for begin in WHOLE)
            # A list that walks an index in its order stops at its limit; without a limit it reads everything.
            if whole and not ("USING" in line and "LIMIT" in sql and "WHERE" not in sql):
                found.append(f"{sql}: {line}")
            if "TEMP B-TREE" in line and not any(sql.startswith(begin) for begin in SORTED):
                found.append(f"{sql}: {line}")
    return found


async def test_every_statement_of_the_store_uses_an_index(tmp_path: Path) -> None:
    plans = await _plans(tmp_path, _everything)
    assert len(plans) > 80
    assert _faults(plans) == []


async def test_every_method_of_the_port_has_its_plans_read(tmp_path: Path) -> None:
    """What is added to the port is added above."""
    called: set[str] = set()

    class Watched:
        def __init__(self, store: Store) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            called.add(name)
            return getattr(self._store, name)

    async def calls(store: Store) -> None:
        await _everything(Watched(store))

    await _plans(tmp_path, calls)
    port = {name for part in Store.__mro__[:-1] for name in vars(part) if not name.startswith("_")}
    assert port - called == {"waiting", "close", "copy_to", "blob"}, "these ask the database nothing"


async def test_a_statement_without_an_index_would_be_seen(tmp_path: Path) -> None:
    async def calls(store: Store) -> None:
        await _everything(store)
        assert isinstance(store, SqliteStore)
        await store._database.write(lambda db: db.execute("DROP INDEX artefacts_by_kind"))

    assert any("WHERE kind = " in fault for fault in _faults(await _plans(tmp_path, calls)))
