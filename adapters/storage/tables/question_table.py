"""The table of questions to the owner. Its functions run inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports.records import QuestionRecord
from adapters.storage.files.database import Database
from adapters.storage.files.records import pack, unpack
from adapters.storage.tables.feed_table import told
from protocol.feed import News


def put(db: sqlite3.Connection, question: QuestionRecord) -> None:
    """Implements ``Store.put_question``."""
    db.execute(
        "INSERT INTO questions (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
        (question.id, pack(question)),
    )


def every(db: sqlite3.Connection) -> list[QuestionRecord]:
    """Implements ``Store.questions``."""
    return [unpack(body, QuestionRecord) for (body,) in db.execute("SELECT body FROM questions ORDER BY seq")]


def remove(db: sqlite3.Connection, question_id: str) -> bool:
    """Implements ``Store.remove_question``."""
    return db.execute("DELETE FROM questions WHERE id = ?", (question_id,)).rowcount > 0


class QuestionMethods:
    """The methods of ``SqliteStore`` about questions."""

    _database: Database

    async def put_question(self, question: QuestionRecord, *, news: News | None = None) -> None:
        await self._database.write(told(lambda db: put(db, question), news))

    async def questions(self) -> list[QuestionRecord]:
        return await self._database.read(every)

    async def remove_question(self, question_id: str) -> bool:
        return await self._database.write(lambda db: remove(db, question_id))
