"""Sessions that are forked, archived and purged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.ports.records import SearchRecord
from node.live.sessions.stored import LIVES, LiveRecord
from node.sessions.keeping.archive import Archive
from node.verbs.sessions.session_results import RecordedSession, SessionList, ShownSession
from protocol.feed import FeedKind
from protocol.page.actions.action import Click, Fill, Goto
from protocol.page.seen.observation import Element, Traits
from protocol.recording.records.verdict import Verdict
from protocol.wire import cbor
from tests.session_samples import SESSION_ID
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_sessions_handover import node_of, pair
from tests.unit.test_sessions_room import ORIGIN, UNKNOWN, Bench, stored

HOME = f"{ORIGIN}/"
FILE = f"""
title: Order
start: {HOME}
inputs: {{customer: Ada}}
steps:
- fill: {{role: searchbox, name: Customer, value: "${{customer}}"}}
- extract: {{as: greeting, role: heading, name: Welcome}}
- click: {{role: link, name: Details, nth: 1}}
"""
MORE = """
title: Another ending
steps:
- fill: {role: searchbox, name: Customer, value: "${customer} ${greeting}"}
- scroll: down
"""
SEARCH = "sea-AAAAAAAAAAAAAAAAAAAAA"


def rows(*names: str) -> Document:
    field = Element(ref="", role="searchbox", name="Customer", traits=Traits(tag="input", input_type="search"))
    controls = [Control(element=field), Control(element=Element(ref="", role="heading", name="Welcome"))]
    for name in names:
        link = Element(ref="", role="link", name="Details", url=f"/{name}")
        controls += [
            Control(element=Element(ref="", role="row", name=name)),
            Control(element=Element(ref="", role="cell", name=name), level=1),
            Control(element=link, level=1, effect=Effect(go=f"/{name}")),
        ]
    return Document(title="Orders", controls=tuple(controls))


@pytest.fixture
async def bench() -> Bench:
    made = await node_of()
    made.site.documents |= {HOME: rows("tea", "milk")}
    made.site.documents |= {f"{ORIGIN}/{name}": rows(name) for name in ("tea", "milk", "rum")}
    return made


# --- forked ----------------------------------------------------------------------------------------------------------


async def test_a_fork_performs_the_first_steps_anew_and_goes_on_from_there(bench: Bench, tmp_path: Path) -> None:
    done = await bench.record(FILE)
    fork: RecordedSession = await bench.call("fork", session=done.id, until=3, actions=MORE)
    steps = await bench.store.steps(fork.id)
    assert [type(step.action).__name__ for step in steps] == ["Goto", "Fill", "Extract", "Fill", "Scroll"]
    assert (fork.parent, fork.title, fork.verdict) == (done.id, "Another ending", Verdict.PASS)
    assert fork.id != done.id and fork.inputs == done.inputs
    # Its lineage is signed: what a bundle says of it is verified.
    out = tmp_path / "fork.tmsession"
    await bench.call("export", session=fork.id, out=str(out))
    other = await node_of(9)
    await pair(other, bench)
    await other.call("import", path=str(out))
    assert (await other.store.session(fork.id)) == (await bench.store.session(fork.id))
    # And it is a recording like any other.
    assert (await bench.call("replay", session=fork.id, inputs={"customer": "Bob"})).report.verdict == "pass"


async def test_without_more_a_fork_is_the_session_recorded_again(bench: Bench) -> None:
    done = await bench.record(FILE)
    fork: RecordedSession = await bench.call("fork", session=done.id, inputs={"customer": "Bob"})
    assert (fork.steps, fork.title, fork.inputs[0].value) == (4, "Order", "Bob")
    (goto, fill, *_) = await bench.store.steps(fork.id)
    assert isinstance(goto.action, Goto) and isinstance(fill.action, Fill)
    assert fill.action.value == "${customer}"


async def test_a_fork_acts_on_the_recorded_row_and_on_no_other(bench: Bench) -> None:
    done = await bench.record(FILE)
    assert isinstance((await bench.store.steps(done.id))[-1].action, Click)
    bench.site.documents[HOME] = rows("milk", "tea")  # it moved
    fork = await bench.call("fork", session=done.id)
    assert (await bench.store.steps(fork.id))[-1].url == f"{ORIGIN}/milk"
    bench.site.documents[HOME] = rows("tea", "rum")  # it is gone
    refused = await bench.refused("fork", session=done.id)
    assert refused.code == "action.target_differs"
    assert (await bench.store.session(refused.detail["session"])).parent == done.id  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"until": 9}, "no step 9"),
        ({"actions": f"start: {HOME}\nsteps:\n- scroll: down\n"}, "leave out `start`"),
        ({"until": 2, "actions": MORE}, "“greeting” is no input"),
        ({"actions": "inputs: {customer: Eve}\nsteps:\n- scroll: down\n"}, "“customer” is known already"),
        ({"inputs": {"nobody": "x"}}, "no input “nobody”"),
    ],
)
async def test_a_fork_that_cannot_be_is_refused_before_anything_is_done(
    bench: Bench, given: dict[str, Any], words: str
) -> None:
    done = await bench.record(FILE)
    refused = await bench.refused("fork", session=done.id, **given)
    assert refused.code == "input.invalid"
    assert words in refused.message
    assert len(await bench.store.sessions()) == 1


async def test_only_what_is_here_signed_and_whole_is_forked(bench: Bench) -> None:
    assert (await bench.refused("fork", session=UNKNOWN)).code == "input.not_found"
    await bench.store.put_session(stored(1, verdict=Verdict.INTERRUPTED))
    (session,) = await bench.store.sessions()
    assert (await bench.refused("fork", session=session.id)).code == "session.not_committed"


# --- archived --------------------------------------------------------------------------------------------------------


async def test_an_archived_session_is_kept_and_left_out_of_the_list(bench: Bench) -> None:
    first, second = await bench.record(FILE), await bench.record(FILE)

    async def listed(**given: Any) -> list[str]:
        found: SessionList = await bench.call("list", **given)
        return [session.id for session in found.sessions]

    done = await bench.call("archive", session=first.id)
    assert (done.session, done.title, done.archived, done.changed) == (first.id, "Order", True, True)
    assert not (await bench.call("archive", session=first.id)).changed
    assert (await listed(), await listed(archived=True)) == ([second.id], [first.id])
    assert (await listed(limit=1), await listed(text="order")) == ([second.id], [second.id])
    shown: ShownSession = await bench.call("show", session=first.id)
    assert shown.archived and not (await bench.call("show", session=second.id)).archived
    assert (await bench.call("replay", session=first.id)).report.verdict == "pass"
    # Another process of the same store knows it too.
    again = Bench(store=bench.store, seed=1)
    assert [session.id for session in (await again.call("list", archived=True)).sessions] == [first.id]
    assert (await bench.call("unarchive", session=first.id)).changed
    assert not (await bench.call("unarchive", session=first.id)).changed
    assert (await listed(), await listed(archived=True)) == ([second.id, first.id], [])
    kinds = [kind for kind, ids in await bench.kinds() if ids == (first.id,)]
    assert kinds == [FeedKind.SESSION_RECORDED, FeedKind.SESSION_ARCHIVED, FeedKind.SESSION_UNARCHIVED]
    assert (await bench.refused("archive", session=UNKNOWN)).code == "input.not_found"


@pytest.mark.parametrize("damaged", [b"", b"\xff", cbor.encode({"ids": 3}), cbor.encode(["a"])])
async def test_what_is_archived_and_cannot_be_read_hides_nothing(bench: Bench, damaged: bytes) -> None:
    done = await bench.record(FILE)
    await bench.call("archive", session=done.id)
    (key,) = [key for key in ("sessions/archived",) if await bench.store.get_meta(key)]
    await bench.store.put_meta(key, damaged)
    assert [session.id for session in (await bench.call("list")).sessions] == [done.id]
    assert (await bench.call("archive", session=done.id)).changed
    assert await Archive(bench.store).ids() == {done.id}


# --- purged ----------------------------------------------------------------------------------------------------------


async def test_a_session_that_something_names_is_purged_only_if_it_is_said(bench: Bench) -> None:
    done = await bench.record(FILE)
    fork = await bench.call("fork", session=done.id)
    refused = await bench.refused("purge", session=done.id)
    assert refused.code == "session.referenced"
    assert refused.detail["names"] == [f"session {fork.id} names it as its parent"]
    await bench.call("purge", session=fork.id)
    await bench.call("archive", session=done.id)
    await bench.call("purge", session=done.id)
    assert (await bench.call("list")).sessions == [] == (await bench.call("list", archived=True)).sessions
    assert await Archive(bench.store).ids() == frozenset()


async def test_what_names_a_session_is_told(bench: Bench) -> None:
    found = msgspec.structs.replace(stored(1), search=SEARCH, node=bench.node)
    await bench.store.put_session(found)
    assert (await bench.call("purge", session=found.id)).may_hold == ()  # the search itself is gone
    await bench.store.put_session(found)
    search = SearchRecord(
        id=SEARCH, coordinator=bench.node, status="done", created_ms=1, updated_ms=1, spec=b"", state=b""
    )
    await bench.store.put_search(search)
    refused = await bench.refused("purge", session=found.id)
    assert refused.message == f"search {SEARCH} found it"
    await bench.call("purge", session=found.id, referenced=True)
    assert await bench.store.session(found.id) is None


async def test_a_peer_that_replayed_a_session_is_named_when_it_is_purged(bench: Bench, tmp_path: Path) -> None:
    done = await bench.record(FILE)
    bundle, out = tmp_path / "a.tmsession", tmp_path / "report"
    await bench.call("export", session=done.id, out=str(bundle))
    other = await node_of(9)
    other.site.documents |= bench.site.documents
    await pair(other, bench)
    await pair(bench, other)
    await other.call("import", path=str(bundle))
    await other.call("replay", session=done.id, out=str(out))
    await bench.call("replay", session=done.id)  # a report of its own is no reason
    await bench.call("verify", target=str(out))
    refused = await bench.refused("purge", session=done.id)
    assert refused.message == "1 replay report of other nodes is about it"
    purged = await bench.call("purge", session=done.id, referenced=True)
    assert [(holder.node, holder.name) for holder in purged.may_hold] == [(other.node, "bruno")]
    # Of a session of somebody else, its recorder holds one.
    await other.call("replay", session=done.id)
    assert [holder.node for holder in (await other.call("purge", session=done.id)).may_hold] == [bench.node]


async def test_a_live_session_that_is_open_keeps_its_recording(bench: Bench) -> None:
    kept = stored(1)
    await bench.store.put_session(kept)
    live = LiveRecord(
        id="liv-AAAAAAAAAAAAAAAAAAAAA",
        caller="owner",
        opened_ms=1,
        ttl_s=9,
        idle_s=9,
        actions_max=9,
        pages_max=1,
        sessions=(kept.id, SESSION_ID),
    )
    await bench.store.rows(LIVES).put(live)
    assert (await bench.refused("purge", session=kept.id)).code == "session.referenced"
    await bench.store.rows(LIVES).put(msgspec.structs.replace(live, ended_ms=3, reason="closed"))
    await bench.call("purge", session=kept.id)
