"""Sites: sessions and searches are counted by the origin at which they began."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from adapters.ports.records import SearchRecord
from node.sites import Sites
from node.verbs.sites import site as verbs
from node.verbs.sites.site import ListParams, ShowParams
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.messages import KIND_SEARCH, SearchSpec
from protocol.recording.records.session import Profile, Verdict
from protocol.wire import cbor, envelope
from tests.session_samples import KEY, NODE, sample_session
from tests.twins.storage import MemoryStore

SHOP, WIKI = "https://shop.example", "http://wiki.example:8080"
RECORDED = (
    (f"{SHOP}/", Verdict.PASS, 100),
    (f"{SHOP}:443/mugs?by=price", Verdict.FAIL, 300),
    (f"{WIKI}/", Verdict.PASS, 200),
    ("about:blank", Verdict.FAIL, 900),
)


async def _stored() -> Sites:
    store, session = MemoryStore(), sample_session(())
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
        header = envelope.Header(issuer=NODE, issued_s=1, unique=b"u" * 16)
        sealed = envelope.seal(cbor.encode(spec), kind=KIND_SEARCH, key=KEY, header=header)
        await store.put_search(
            SearchRecord(
                id=spec.id, coordinator=NODE, status=status, created_ms=50, updated_ms=60, spec=sealed, state=b""
            )
        )
    return Sites(store)


async def _shown(sites: Sites, site: str, **more: Any) -> Any:
    return await sites.bound[verbs.SHOW](ShowParams(site=site, **more), lambda event: None)


async def test_sites_are_listed_with_their_counts_the_last_one_first() -> None:
    listed = await (await _stored()).bound[verbs.LIST](ListParams(), lambda event: None)
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
    (first,) = (await (await _stored()).bound[verbs.LIST](ListParams(limit=1), lambda event: None)).sites
    assert first.origin == SHOP


async def test_a_site_is_found_by_its_host_and_by_any_of_its_addresses() -> None:
    sites = await _stored()
    for site in ("shop.example", "SHOP.example/mugs", f"{SHOP}:443/", f"{SHOP}/mugs?by=price"):
        shown = await _shown(sites, site)
        assert [session.id for session in shown.sessions] == ["ses-1", "ses-0"], site
        assert [(search.status, search.goal) for search in shown.searches] == [("done", "find a mug")]
    assert len((await _shown(sites, "shop.example", limit=1)).sessions) == 1
    assert (await _shown(sites, "shop.example", limit=1)).site.sessions == 2
    for site, code in {
        "wiki.example": "input.not_found",
        "no host": "input.invalid",
        "about:blank": "input.invalid",
    }.items():
        with pytest.raises(MeshError) as refused:
            await _shown(sites, site)
        assert refused.value.code == code, site


async def test_sessions_that_are_not_counted_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LIST_ROWS_MAX", 2)
    listed = await (await _stored()).bound[verbs.LIST](ListParams(), lambda event: None)
    assert (sum(site.sessions for site in listed.sites), listed.more) == (1, True)
