"""``page.snapshot`` says which requests of the page went wrong."""

from __future__ import annotations

from node.config import Config
from node.sessions.looking import PageVerbs
from node.verbs.page import SNAPSHOT, SnapshotParams
from tests.twins.browser import Document
from tests.unit.test_sessions_room import ORIGIN, Bench


async def test_a_page_that_the_site_answered_with_an_error_is_said_to_be_one() -> None:
    bench = Bench()
    await bench.witness.load()
    bench.site.documents |= {f"{ORIGIN}/": Document(title="Oops", status=500), f"{ORIGIN}/well": Document(title="Well")}
    snapshot = PageVerbs(bench.witness, Config(name="here"), bench.browsers).bound[SNAPSHOT]
    broken = await snapshot(SnapshotParams(url=f"{ORIGIN}/"), bench.told.append)
    assert broken.faults == ("GET / was answered with 500",)
    assert (await snapshot(SnapshotParams(url=f"{ORIGIN}/well"), bench.told.append)).faults == ()
