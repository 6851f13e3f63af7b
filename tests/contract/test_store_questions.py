"""What every store promises about questions to the owner."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.ports.records import QuestionRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from protocol.feed import Kind, News
from tests.twins.storage import MemoryStore


@pytest.fixture(params=("sqlite", "memory"))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = await SqliteStore.open(tmp_path) if request.param == "sqlite" else MemoryStore()
    yield opened
    await opened.close()


def question(id: str = "que-1") -> QuestionRecord:
    """A question that nobody has answered."""
    return QuestionRecord(id=id, asked_ms=1, question=b"encoded")


async def test_questions_come_in_the_order_in_which_they_were_asked(store: Store) -> None:
    for id in ("que-2", "que-1", "que-3"):
        await store.put_question(question(id))
    answered = msgspec.structs.replace(question("que-2"), state="yes", approval=b"signed", uses=2)
    await store.put_question(answered)
    assert await store.questions() == [answered, question("que-1"), question("que-3")]


async def test_a_question_is_removed_once(store: Store) -> None:
    await store.put_question(question())
    assert await store.remove_question("que-1")
    assert not await store.remove_question("que-1")
    assert await store.questions() == []


async def test_a_question_and_what_the_feed_tells_of_it_are_stored_together(store: Store) -> None:
    told = News(at_ms=5, kind=Kind.QUESTION_ASKED, ids=("que-AAAAAAAAAAAAAAAAAAAAA",), who="owner")
    await store.put_question(question(), news=told)
    page = await store.feed(after=0, limit=10)
    assert [change.kind for change in page.changes] == [Kind.QUESTION_ASKED]
