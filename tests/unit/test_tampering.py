"""A store that is edited while its node is stopped gives nobody the owner's key, and brings no answer and no use back.

The tables say what is done to the file with SQL, as any process of the same account can do it, and what the node then says.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.log_records import LogRecord
from adapters.storage.files.records import pack, unpack
from adapters.storage.sqlite import SqliteStore
from node.approvals import end_answers
from node.approvals.stored import QuestionRecord
from node.verbs.nodes.approve import ShowParams
from protocol.approval.owners import Owners
from protocol.wire import envelope
from tests.owners import ANNA, BEN
from tests.unit.test_approvals_room import Asks, code_of
from tests.unit.test_live_sessions import ANNA as AGENT
from tests.unit.test_live_sessions import ORIGIN

MALLORY = SigningKey(bytes([9]) * 32)


class Stopped(NamedTuple):
    """A node that does not run: Anna is its owner, Ben was one."""

    home: Path
    used: str
    """A question with a yes that is used up."""
    withdrawn: str
    """One with a yes for the site, and a no after it."""
    open: str
    """One of an agent, with a yes for once that was not used yet."""


async def node_in(home: Path) -> Asks:
    """The node whose store is in ``home``, started."""
    return await Asks(cast(Any, SimpleNamespace(store=await SqliteStore.open(home)))).ready()


async def stop(node: Asks) -> None:
    await node.live.close()
    await node.store.close()


async def ask(node: Asks, session: str) -> str:
    await node.call("navigate", session, url=f"{ORIGIN}/")
    return str((await node.doubt(session)).detail["question"])


@pytest.fixture
async def stopped(tmp_path: Path) -> Stopped:
    home = tmp_path / "home"
    home.mkdir()
    node = await node_in(home)
    await node.change(ANNA, "anna")
    await node.change(BEN, "ben", by="owner", signer=ANNA)
    await node.change(BEN, "ben", act="revoke", by="owner", signer=ANNA)
    session = (await node.open()).session
    used = await ask(node, session)
    await node.say(used)
    assert (await node.buy(session)).blocked == ()
    withdrawn = await ask(node, session)
    await node.say(withdrawn, scope="site")
    await node.say(withdrawn, yes=False)
    with_yes = (await node.doubt((await node.open(by=AGENT)).session, by=AGENT)).detail["question"]
    await node.say(with_yes)
    await stop(node)
    return Stopped(home, used, withdrawn, with_yes)


def edit(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "store.db", isolation_level=None)) as db:
        assert sum(db.execute(statement).rowcount for statement in statements) > 0


def state_of(home: Path, question: str, **fields: Any) -> None:
    """Write other fields into the row of a question."""
    with closing(sqlite3.connect(home / "store.db", isolation_level=None)) as db:
        record = unpack(
            db.execute("SELECT body FROM questions WHERE id = ?", (question,)).fetchone()[0], QuestionRecord
        )
        body = pack(msgspec.structs.replace(record, **fields))
        db.execute("UPDATE questions SET body = ? WHERE id = ?", (body, question))


EDITS = {
    "an artefact": ["DELETE FROM artefacts WHERE kind = 'owners'"],
    "the last of them, a revocation": ["DELETE FROM artefacts WHERE seq = (SELECT max(seq) FROM artefacts WHERE kind = 'owners')"],
    "artefacts and entries": ["DELETE FROM artefacts WHERE kind = 'owners'", "DELETE FROM log_leaves WHERE kind = 'owners'"],
    "an artefact, and its entry is called another kind": [
        "DELETE FROM artefacts WHERE kind = 'owners'",
        "UPDATE log_leaves SET kind = 'delta', subject = 'sea-1' WHERE kind = 'owners'",
    ],
    "an artefact of another content": ["UPDATE artefacts SET envelope = x'd284' WHERE kind = 'owners'"],
    "an entry about somebody else": ["UPDATE log_leaves SET subject = 'other' WHERE kind = 'owners'"],
    "answers": ["DELETE FROM artefacts WHERE kind = 'approval'"],
    "uses": ["DELETE FROM artefacts WHERE kind = 'approval-use'"],
    "entries of uses": ["DELETE FROM log_leaves WHERE kind = 'approval-use'"],
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
async def test_what_was_signed_about_owners_and_answers_cannot_be_taken_out_of_the_store(
    stopped: Stopped, name: str
) -> None:
    """Guard: node/signing/witness.py, Witness.check_untampered."""
    edit(stopped.home, *EDITS[name])
    node = await node_in(stopped.home)
    assert node.witness.tampered == await node.witness.tampering() != ()
    assert await code_of(node.keys.listed()) == "store.tampered"
    for owners in (node.keys.owners, Owners(node=node.witness.node)):
        node.keys.owners = owners
        assert await code_of(node.change(MALLORY, "mallory")) == "store.tampered"
    assert await code_of(node.say(stopped.open)) == "store.tampered"
    session = (await node.open(by=AGENT)).session
    assert (await node.doubt(session, by=AGENT)).code == "risk.refused", "no answer allows anything"
    await stop(node)
    # Nothing that the node signs since makes it good.
    again = await node_in(stopped.home)
    assert again.witness.tampered
    await stop(again)


async def test_the_signature_over_the_entries_cannot_be_taken_away(stopped: Stopped) -> None:
    """Guard: node/signing/register.py, tampering."""
    with closing(sqlite3.connect(stopped.home / "store.db", isolation_level=None)) as db:
        log = unpack(db.execute("SELECT body FROM logs").fetchone()[0], LogRecord)
        assert log.register
        db.execute("UPDATE logs SET body = ?", (pack(msgspec.structs.replace(log, register=b"")),))
    node = await node_in(stopped.home)
    assert node.witness.tampered == ("the signature over the entries of log 0 is missing",)
    await stop(node)


async def test_changes_of_owners_are_read_in_the_order_of_the_log(stopped: Stopped) -> None:
    """A revocation that is read first would not continue the chain, and be left out.

    Guard: node/approvals/owner_keys.py, OwnerKeys.load.
    """
    edit(stopped.home, "UPDATE artefacts SET issued_s = issued_s - seq WHERE kind = 'owners'")
    node = await node_in(stopped.home)
    assert [(each.name, each.state) for each in (await node.keys.listed()).owners] == [
        ("anna", "active"),
        ("ben", "revoked"),
    ]
    await stop(node)


async def test_a_used_up_yes_stays_used_and_a_withdrawn_one_stays_ended(stopped: Stopped) -> None:
    """Guard: node/approvals/keeping.py, KeptQuestions._as_logged. Guard: node/approvals/keeping.py, KeptQuestions._check_logged."""
    with closing(sqlite3.connect(stopped.home / "store.db")) as db:
        rows = db.execute(
            "SELECT envelope FROM artefacts WHERE kind = 'approval' AND subject = ? ORDER BY seq", (stopped.withdrawn,)
        )
        yes, no = (envelope.peek(row[0]).payload for row in rows)
    edits: list[tuple[str, dict[str, Any], str]] = [
        (stopped.used, {"state": "yes", "uses": 0}, "used"),
        (stopped.withdrawn, {"state": "yes", "approval": yes}, "over"),
        (stopped.withdrawn, {"state": "yes", "approval": no}, "no"),
        (stopped.open, {"state": "yes"}, "yes"),
    ]
    for question, fields, wanted in edits:
        copy = stopped.home.with_name("copy")
        shutil.copytree(stopped.home, copy)
        state_of(copy, question, **fields)
        node = await node_in(copy)
        assert node.witness.tampered == ()
        assert (await node.approvals.show(ShowParams(question=question))).state == wanted
        await stop(node)
        shutil.rmtree(copy)


async def test_a_copy_that_is_restored_holds_no_yes(stopped: Stopped) -> None:
    """Guard: node/approvals/keeping.py, end_answers."""
    store = await SqliteStore.open(stopped.home)
    assert await end_answers(store) == 1
    await store.close()
    node = await node_in(stopped.home)
    assert (await node.approvals.show(ShowParams(question=stopped.open))).state == "over"
    assert (await node.doubt((await node.open(by=AGENT)).session, by=AGENT)).code == "risk.refused"
    await stop(node)
