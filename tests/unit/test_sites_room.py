"""Sites: sessions and searches are counted by the origin at which they began."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.ports.records import SearchRecord
from adapters.ports.store import Store
from node.process.setup import init_home
from node.process.wiring import open_node
from node.sessions.keeping.archive import Archive
from node.sites import Sites
from node.verbs import Caller, CallerKind, called_by
from node.verbs.sites import site as verbs
from node.verbs.sites.site import ListParams, ShowParams
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.messages import KIND_SEARCH, SearchSpec
from protocol.recording.records.session import Profile
from protocol.recording.records.verdict import Verdict
from protocol.wire import cbor, envelope
from tests.session_samples import KEY, NODE, sample_session

SHOP, WIKI = "https://shop.example", "http://wiki.example:8080"
RECORDED = (
    (f"{SHOP}/", Verdict.PASS, 100),
    (f"{SHOP}:443/mugs?by=price", Verdict.FAIL, 300),
    (f"{WIKI}/", Verdict.PASS, 200),
    ("about:blank", Verdict.FAIL, 900),
)


@asynccontextmanager
async def _stored(tmp_path: Path) -> AsyncIterator[Sites]:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    async with open_node(home) as node:
        await _put(node.rooms.store)
        yield Sites(node.rooms.sessions.reading, node.rooms.store)


async def _put(store: Store) -> None:
    session = sample_session(())
    for number, (url, verdict, at_ms) in enumerate(RECORDED):
        name = f"ses-{number}"
        await store.put_session(
            msgspec.structs.replace(session, id=name, start_url=url, verdict=verdict, created_ms=at_ms)
        )
    for number, (url, status) in enumerate(((f"{SHOP}/help", "done"), ("https://other.example/", "failed"))):
        spec = SearchSpec(
            id=ids.make_id("sea", bytes([number]) * ids.ID_RANDOM_BYTES),
            coordinator=NODE,
            goal="find a mug",
            start_url=url,
            condition=Condition(url="*"),
            profile=Profile(),
            participants=(NODE,),
            seconds=1,
            created_ms=1,
            seed=0,
        )
        header = envelope.EnvelopeHeader(issuer=NODE, issued_s=1, unique=b"u" * 16)
        sealed = envelope.seal(cbor.encode(spec), kind=KIND_SEARCH, key=KEY, header=header)
        await store.put_search(
            SearchRecord(
                id=spec.id, coordinator=NODE, status=status, created_ms=50, updated_ms=60, spec=sealed, state=b""
            )
        )
    await Archive(store).put("ses-0", archived=True)


async def _shown(sites: Sites, site: str, **more: Any) -> Any:
    return await sites.bound[verbs.SHOW](ShowParams(site=site, **more), lambda event: None)


async def _listed(sites: Sites, **more: Any) -> Any:
    return await sites.bound[verbs.LIST](ListParams(**more), lambda event: None)


async def test_sites_are_listed_with_their_counts_the_last_one_first(tmp_path: Path) -> None:
    async with _stored(tmp_path) as sites:
        listed, (first,) = await _listed(sites), (await _listed(sites, limit=1)).sites
    counts = [
        (site.origin, site.sessions, site.passed, site.searches, site.done, site.first_ms, site.last_ms)
        for site in listed.sites
    ]
    assert counts == [
        (SHOP, 2, 1, 1, 1, 50, 300),
        (WIKI, 1, 1, 0, 0, 200, 200),
        ("https://other.example", 0, 0, 1, 0, 50, 50),
    ]
    assert listed.more is False
    assert first.origin == SHOP


async def test_an_agent_learns_of_no_site_whose_sessions_it_may_not_see(tmp_path: Path) -> None:
    agent = Caller(kind=CallerKind.AGENT, name="anna", scopes=frozenset({"read"}), origins=(WIKI,))
    async with _stored(tmp_path) as sites:
        with called_by(agent):
            listed = await _listed(sites)
            shown = await _shown(sites, SHOP)
    assert [(site.origin, site.sessions) for site in listed.sites if site.sessions] == [(WIKI, 1)]
    assert (shown.site.sessions, shown.sessions, len(shown.searches)) == (0, (), 1)


async def test_a_site_is_found_by_its_host_and_by_any_of_its_addresses(tmp_path: Path) -> None:
    async with _stored(tmp_path) as sites:
        for site in ("shop.example", "SHOP.example/mugs", f"{SHOP}:443/", f"{SHOP}/mugs?by=price"):
            shown = await _shown(sites, site)
            assert [session.id for session in shown.sessions] == ["ses-1", "ses-0"], site
            assert [(search.status, search.goal) for search in shown.searches] == [("done", "find a mug")]
        one = await _shown(sites, "shop.example", limit=1)
        assert (len(one.sessions), one.site.sessions) == (1, 2)
        for site, code in (
            ("wiki.example", "input.not_found"),
            ("no host", "input.invalid"),
            ("about:x", "input.invalid"),
        ):
            with pytest.raises(MeshError) as refused:
                await _shown(sites, site)
            assert refused.value.code == code, site


async def test_sessions_that_are_not_counted_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with _stored(tmp_path) as sites:
        monkeypatch.setattr(limits, "LIST_ROWS_MAX", 2)
        listed = await _listed(sites)
    assert (sum(site.sessions for site in listed.sites), listed.more) == (1, True)
