"""``page.snapshot`` says which requests of the page went wrong."""

from __future__ import annotations

from adapters.ports.browser import Blocked
from node.config import Config
from node.live.browsers.browsers import Browsers
from node.sessions.actions.looking import PageVerbs
from node.verbs.sessions.page import SNAPSHOT, SnapshotParams
from tests.carriers import TOKEN
from tests.twins.browser import Document, MemoryBrowser, MemoryPage
from tests.unit.test_sessions_room import ORIGIN, Bench


async def test_a_page_that_the_site_answered_with_an_error_is_said_to_be_one() -> None:
    bench = Bench()
    await bench.witness.load()
    bench.site.documents |= {f"{ORIGIN}/": Document(title="Oops", status=500), f"{ORIGIN}/well": Document(title="Well")}
    snapshot = PageVerbs(bench.witness, Config(name="here"), bench.browsers).bound[SNAPSHOT]
    broken = await snapshot(SnapshotParams(url=f"{ORIGIN}/"), bench.told.append)
    assert broken.faults == ("GET / was answered with 500",)
    assert (await snapshot(SnapshotParams(url=f"{ORIGIN}/well"), bench.told.append)).faults == ()


class _Refused(MemoryPage):
    """A page of which the guard refuses something whose address holds a token."""

    def blocked(self) -> Blocked:
        return Blocked((f"POST /hook/{TOKEN}?token={TOKEN}",), ("request.method",), ())


async def test_no_token_of_an_address_is_printed() -> None:
    bench = Bench()
    await bench.witness.load()
    bench.site.documents[f"{ORIGIN}/reset/{TOKEN}"] = Document(title="Oops", status=500)

    async def started() -> MemoryBrowser:
        browser = MemoryBrowser(bench.site)
        browser.new_page = lambda guard, kept: _Refused(bench.site, guard, kept)  # type: ignore[method-assign]
        return browser

    snapshot = PageVerbs(bench.witness, Config(name="here"), Browsers(started)).bound[SNAPSHOT]
    seen = await snapshot(SnapshotParams(url=f"{ORIGIN}/reset/{TOKEN}?token={TOKEN}"), bench.told.append)
    assert (len(seen.refused), len(seen.faults)) == (1, 1)
    assert TOKEN not in repr(seen)
