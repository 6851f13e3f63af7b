"""Records that were stored under what is no id, before ids of others were checked: their owner can look at, end and remove them."""

from __future__ import annotations

import io
from collections.abc import Awaitable
from typing import Any, cast

import pytest

from adapters.ports.records import ArtefactRecord, SearchRecord
from node.explorer.showing.show import Parts, summarise
from node.live.browsers.browsers import Browsers
from node.sessions.serving.sessions import Sessions
from protocol import ids
from protocol.errors import MeshError
from protocol.messages import KIND_SEARCH, Done, SearchOpen
from protocol.recording.records.bundle import KIND, make_manifest, verify_bundle
from protocol.recording.records.session import Session
from protocol.wire.line import one_line
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.session_samples import find_key, sample_bundle, sample_session, sample_steps, sign
from tests.twins.browser import MemoryBrowser, MemorySite
from tests.unit.test_explorer_refusals import _spec
from tests.vectors.bundle_vectors import _renamed

pytestmark = pytest.mark.virtual_time

BAD = ("../../../../x", "sea-\x1b[2J\x00\n", "s" * 80, "sea-AAAAAAAAAAAAAAAAAAAAB")


async def _refused(work: object) -> str:
    with pytest.raises(MeshError) as refused:
        await work  # type: ignore[misc]
    return refused.value.code


async def _ends_with(work: Awaitable[object]) -> str:
    """The code ``work`` ends with; empty if it is done."""
    try:
        await work
    except MeshError as error:
        return error.code
    return ""


async def _stored(anna: MemoryNode, bruno: MemoryNode, bad: str) -> None:
    """``bruno`` has stored a search of anna's with this id, as running."""
    spec = _spec(anna, bruno, id=bad)
    await bruno.store.put_search(
        SearchRecord(
            id=bad,
            coordinator=anna.id,
            status="running",
            created_ms=1,
            updated_ms=1,
            spec=anna.identity.artefact(KIND_SEARCH, "s", spec).envelope,
            state=b"",
        )
    )


def _parts(node: MemoryNode) -> Parts:
    """What a summary asks; no session belongs to it."""
    return Parts(node.explorer, cast(Any, None), node.peers, node.store, node.mesh.clock, node.name)


@pytest.mark.parametrize("bad", BAD, ids=repr)
async def test_a_search_whose_id_is_none_is_not_opened(bad: str) -> None:
    """Guard: protocol/wire/cbor.py, convert."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = _spec(anna, bruno, id=bad)
        sealed = SearchOpen(spec=anna.identity.artefact(KIND_SEARCH, "s", spec).envelope)
        assert await _refused(anna.calls.call(bruno.id, "search/open", sealed, Done)) == "message.invalid"
        assert await bruno.store.searches() == []


@pytest.mark.parametrize("printed", [False, True], ids=["as stored", "as printed"])
@pytest.mark.parametrize("bad", BAD, ids=repr)
async def test_a_stored_search_whose_id_is_none_can_be_shown_stopped_and_removed(bad: str, printed: bool) -> None:
    """Guard: node/base/stored_ids.py, find_stored."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        await _stored(anna, bruno, bad)
        await bruno.stop()
        await bruno.start()
        assert bruno.explorer.running == 0, "it is not taken up again"
        typed = one_line(bad) if printed else bad
        assert await _ends_with(bruno.explorer.stop(typed)) == ""
        assert await bruno.store.searches(status="declined")
        assert (await summarise(_parts(bruno), typed)).status == "declined"
        await bruno.explorer.remove(typed)
        assert await bruno.store.searches() == []


async def test_a_coordinator_is_put_out_although_a_stored_search_of_it_has_no_id() -> None:
    """Guard: node/explorer/open_searches.py, stored_spec."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        await _stored(anna, bruno, BAD[0])
        assert await _ends_with(bruno.explorer.drop_peer(anna.id)) == ""
        assert [found.status for found in await bruno.store.searches()] == ["declined"]


@pytest.mark.parametrize("bad", BAD[:3], ids=repr)
async def test_a_stored_session_whose_id_is_none_can_be_shown_and_removed(bad: str) -> None:
    async with memory_mesh("anna") as (anna,):
        steps, blobs = sample_steps()
        session = Session(
            **{name: getattr(sample_session(steps), name) for name in Session.__struct_fields__} | {"id": bad}
        )
        for blob in blobs.values():
            await anna.store.put_blob(blob)
        manifest = make_manifest(session, steps, {digest: len(blob) for digest, blob in blobs.items()})
        await anna.store.put_blob(manifest)
        signed = ArtefactRecord(
            digest=bytes(32), kind=KIND, subject=bad, issuer=session.node, issued_s=1, envelope=sign(manifest)
        )
        await anna.store.import_session(session, steps, [signed])
        browsers = Browsers(lambda: _no_browser())
        sessions = Sessions(anna.witness, anna.config, anna.store, anna.mesh.clock, browsers, anna.peers)
        for typed in (bad, one_line(bad)):
            assert (await sessions.reading.show(typed)).session.id == bad
            assert await sessions.reading.remains(typed) is None
        assert (await sessions.purge(one_line(bad), referenced=False)).session == bad
        assert await anna.store.sessions() == []


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_a_bundle_whose_session_has_no_id_is_refused(bad: str) -> None:
    """Guard: protocol/recording/records/bundle.py, _check_session."""
    for field in ("id", "parent", "search"):
        with pytest.raises(MeshError) as refused:
            verify_bundle(io.BytesIO(_renamed(sample_bundle(), **{field: bad})), find_key)
        assert refused.value.code == "bundle.invalid"


async def _no_browser() -> MemoryBrowser:
    return MemoryBrowser(MemorySite({}))


async def test_a_mistyped_id_is_still_refused_as_mistyped() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        await _stored(anna, bruno, BAD[0])
        for typed in ("sea-AAAAAAAAAAAAAAAAAAAAB", "x y", ""):
            assert await _refused(bruno.explorer.stop(typed)) == "id.invalid"
        assert ids.is_id("sea", "sea-AAAAAAAAAAAAAAAAAAAAA")
