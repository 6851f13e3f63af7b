"""The port of choosers: a rule in Python and a program behind HTTP."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from adapters.choosing.over_http import HttpChooser
from adapters.ports.choosing import Chooser, FirstChooser, Offer, Offers
from node.explorer.working.choosing import preferred
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import candidates
from protocol.page.actions.action import describe
from protocol.page.secrets.secrets import NO_SECRETS, GivenSecret, Secrets
from protocol.page.seen.observation import Element, Traits
from tests.unit.test_heuristics import link, page

SHOP = page(
    link("a", "Mugs", "/mugs"),
    link("b", "Imprint", "/i"),
    Element(ref="c", role="button", name="Delete", traits=Traits()),
)
GOAL = parse_goal("find a mug")


class Program:
    """A chooser behind HTTP, which answers what it was told to."""

    def __init__(self) -> None:
        self.url = ""
        self.says: Any = lambda asked: web.json_response({"id": asked["offers"][0]["id"] if asked["offers"] else None})
        self.asked: list[dict[str, Any]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        self.asked.append(await request.json())
        said: web.StreamResponse = self.says(self.asked[-1])
        return said


@pytest.fixture
async def program() -> AsyncIterator[Program]:
    made = Program()
    app = web.Application()
    app.router.add_post("/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield made
    await runner.cleanup()


@pytest.fixture(params=["rule", "http"])
def chooser(request: pytest.FixtureRequest, program: Program) -> Chooser:
    return FirstChooser() if request.param == "rule" else HttpChooser(program.url, timeout_s=5)


async def test_a_chooser_names_one_of_the_offers_or_none(chooser: Chooser) -> None:
    offers = (Offer(id="1", line="click link “Mugs”"), Offer(id="2", line="click link “Imprint”"))
    assert await chooser.choose(Offers(url="", title="", offers=offers), "a mug") == "1"
    assert await chooser.choose(Offers(url="", title="", offers=()), "a mug") is None


_SAID = [
    b'{"id": "9"}',
    b'{"id": 1}',
    b"{",
    b'{"id": "2"}' + b" " * limits.CHOOSER_ANSWER_BYTES_MAX,
]


async def test_an_answer_that_is_none_of_the_offers_chooses_nothing(program: Program) -> None:
    """Guard: adapters/choosing/over_http.py, HttpChooser.choose."""
    offers = (Offer(id="1", line="a"), Offer(id="2", line="b"))
    table = Offers(url="", title="", offers=offers)
    chosen = {}
    for said in [*_SAID, b'{"id": "2"}']:
        program.says = lambda asked, said=said: web.Response(body=said)
        chosen[said[:12]] = await HttpChooser(program.url).choose(table, "a mug")
    program.says = lambda asked: web.HTTPFound(f"{program.url}elsewhere")
    assert await HttpChooser(program.url).choose(table, "a mug") is None
    assert len(program.asked) == len(_SAID) + 2, "no redirect is followed"
    assert [each for each in chosen.values() if each] == ["2"]


async def test_a_chooser_is_on_this_machine_whatever_its_name_says() -> None:
    """Guard: adapters/choosing/over_http.py, _socket_to."""
    for url in ("https://127.0.0.1:1/", "file:///etc/passwd", "http:///", "127.0.0.1"):
        with pytest.raises(MeshError, match=r"input\.invalid"):
            HttpChooser(url)
    elsewhere = socket.socket()
    address = _own_address()
    with elsewhere:
        elsewhere.bind((address, 0))
        elsewhere.listen()
        elsewhere.setblocking(False)
        url = f"http://{address}:{elsewhere.getsockname()[1]}/"
        offers = (Offer(id="1", line="a"),)
        assert await HttpChooser(url, timeout_s=2).choose(Offers(url="", title="", offers=offers), "a mug") is None
        with pytest.raises(BlockingIOError):
            elsewhere.accept()


def _own_address() -> str:
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address than loopback")
        return str(probe.getsockname()[0])


async def test_the_chosen_action_comes_first_and_what_needs_an_approval_is_not_offered(program: Program) -> None:
    """Guard: node/explorer/working/choosing.py, preferred."""
    program.says = lambda asked: web.json_response(
        {"id": next(each["id"] for each in asked["offers"] if "Imprint" in each["line"])}
    )
    rated = candidates(GOAL, SHOP)
    assert any(not each.selectable for each in rated)
    own = await preferred(FirstChooser(), rated, SHOP, GOAL, NO_SECRETS)
    assert own == rated
    found = await preferred(HttpChooser(program.url), rated, SHOP, GOAL, NO_SECRETS)
    assert "Imprint" in describe(found[0].action)
    assert sorted(each.prior for each in found) == sorted(each.prior for each in rated)
    (asked,) = program.asked
    assert (asked["goal"], asked["url"], asked["title"]) == (GOAL.text, SHOP.url, SHOP.title)
    assert len(asked["offers"]) == sum(each.selectable for each in rated)
    assert "Delete" not in str(asked)


async def test_no_secret_stands_in_an_offer(program: Program) -> None:
    secrets = Secrets({"pin": GivenSecret(value="hunter2", origins=("http://shop.test",))}, begins="http://shop.test/")
    shop = page(link("a", "Mugs of hunter2", "/mugs"), link("b", "Imprint", "/i"))
    await preferred(HttpChooser(program.url), candidates(GOAL, shop), shop, GOAL, secrets)
    assert len(program.asked[0]["offers"]) == 2
    assert "hunter2" not in str(program.asked)
