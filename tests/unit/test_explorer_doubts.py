"""A search leaves alone what needs an approval, asks the owner, explores on elsewhere, and returns when the answer is yes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from node.verbs.approve import AnswerParams, Asked, ListParams, ShowParams
from node.verbs.owner import ChangeParams
from protocol.approval.question import Question
from protocol.goal.condition import Condition
from protocol.page.observation import Element, Traits
from protocol.wire import cbor
from tests.mesh_memory import NEVER, ORIGIN, MemoryNode, memory_mesh, until
from tests.owners import ANNA, answer, entry
from tests.twins.browser import Control, Document, Effect, MemorySite

pytestmark = pytest.mark.virtual_time

BEHIND = Condition(url="*/behind")
_BUTTON = Traits(tag="button")


def link(name: str, url: str) -> Control:
    return Control(element=Element(ref="", role="link", name=name, url=url))


def button(name: str, effect: Effect | None = None) -> Control:
    return Control(element=Element(ref="", role="button", name=name, traits=_BUTTON), effect=effect or Effect())


def warehouse(more: tuple[Control, ...] = ()) -> MemorySite:
    """A site whose goal lies behind a button that nobody understands; ``more`` stands on its start page."""
    pages = {
        "/": ("Home", (link("Hall", f"{ORIGIN}/hall"), button("Frobnicate", Effect(post="/behind")), *more)),
        "/hall": ("Hall", (link("Yard", f"{ORIGIN}/yard"),)),
        "/yard": ("Yard", (link("Home", f"{ORIGIN}/"),)),
        "/behind": ("Behind", (link("Home", f"{ORIGIN}/"),)),
    }
    return MemorySite(
        {ORIGIN + path: Document(title=title, controls=controls) for path, (title, controls) in pages.items()}
    )


@contextlib.asynccontextmanager
async def asking(*names: str, site: MemorySite | None = None) -> AsyncIterator[list[MemoryNode]]:
    """Nodes whose owners are asked; the owner of each has Anna's key."""
    async with memory_mesh(*names, site=site or warehouse()) as nodes:
        nodes[0].mesh.asks = True
        for node in nodes:
            await node.stop()
            await node.start()
            made = entry(node.approvals.keys.owners, ANNA)
            await node.approvals.keys.change(
                ChangeParams(by="first", change=made.change.hex(), signed=made.signed.hex())
            )
        yield nodes


async def questions(node: MemoryNode) -> tuple[Asked, ...]:
    return (await node.approvals.listed(ListParams())).questions


async def say(node: MemoryNode, id: str, **more: Any) -> None:
    """Answer a question of a search: yes for the search, unless ``more`` says otherwise."""
    shown = await node.approvals.show(ShowParams(question=id))
    question = cbor.decode_as(bytes.fromhex(shown.question), Question)
    now_s = node.mesh.clock.now_ms() // 1000
    given: dict[str, Any] = {"scope": "search", "expires_ms": (now_s + 10_000) * 1000} | more
    signed = answer(question, now_s=now_s, **given)
    await node.approvals.answer(AnswerParams(question=id, signed=signed.hex()))


async def test_a_search_asks_about_what_it_does_not_understand_and_explores_elsewhere() -> None:
    async with asking("anna") as (anna,):
        found = await anna.run(BEHIND, seconds=600)
        (asked,) = await questions(anna)
        assert found.status == "failed"
        assert (asked.does, asked.search, asked.caller) == (
            f"click button “Frobnicate” on {ORIGIN}/",
            found.id,
            "owner",
        )
        assert anna.explorer.questions(found.id) == 1
        assert "GET /yard" in anna.site.reached
        assert not any("/behind" in request for request in anna.site.reached)


async def test_a_yes_brings_the_search_back_to_the_branch_and_the_claim_is_checked_under_it() -> None:
    async with asking("anna") as (anna,):
        searching = asyncio.create_task(anna.run(BEHIND, seconds=4_000))
        asked = (await until(lambda: questions(anna), "a question"))[0]
        await say(anna, asked.id)
        found = await searching
        assert found.status == "done"
        (session,) = await anna.store.sessions()
        assert session.search == found.id
        assert "POST /behind" in anna.site.reached


async def test_a_search_that_had_tried_everything_goes_on_when_it_is_resumed_after_the_yes() -> None:
    async with asking("anna") as (anna,):
        found = await anna.run(BEHIND, seconds=600)
        await say(anna, (await questions(anna))[0].id)
        await anna.stop()
        await anna.start()
        again = await anna.explorer.resume(found.id, seconds=600, tell=lambda event: None)
        assert again.status == "done"


async def test_a_no_and_a_yes_for_another_question_open_nothing() -> None:
    more = (button("Quux", Effect(post="/quux")),)
    async with asking("anna", site=warehouse(more)) as (anna,):
        found = await anna.run(BEHIND, seconds=600)
        by_name = {asked.does.partition("“")[2].partition("”")[0]: asked for asked in await questions(anna)}
        await say(anna, by_name["Frobnicate"].id, yes=False)
        await say(anna, by_name["Quux"].id)
        again = await anna.explorer.resume(found.id, seconds=600, tell=lambda event: None)
        assert again.status == "failed"
        assert "POST /quux" in anna.site.reached
        assert "POST /behind" not in anna.site.reached


async def test_a_yes_for_the_site_holds_in_the_next_search_without_a_question() -> None:
    async with asking("anna") as (anna,):
        await anna.run(BEHIND, seconds=600)
        await say(anna, (await questions(anna))[0].id, scope="site")
        assert (await anna.run(BEHIND, seconds=600)).status == "done"
        assert await questions(anna) == ()


async def test_a_control_that_stands_on_every_page_is_asked_about_once_at_a_time() -> None:
    site = warehouse()
    for path in ("/hall", "/yard"):
        page = site.documents[ORIGIN + path]
        site.documents[ORIGIN + path] = Document(title=page.title, controls=(*page.controls, button("Frobnicate")))
    async with asking("anna", site=site) as (anna,):
        await anna.run(NEVER, seconds=600)
        (asked,) = await questions(anna)
        assert asked.times >= 3
        assert asked.page in [ORIGIN + path for path in ("/", "/hall", "/yard")]


async def test_a_search_does_not_ask_whether_it_shall_delete_or_pay() -> None:
    more = (button("Delete account"), button("Pay now"), button("Change password"))
    async with asking("anna", site=warehouse(more)) as (anna,):
        await anna.run(BEHIND, seconds=600)
        assert [asked.risk for asked in await questions(anna)] == [4]


async def test_a_search_with_a_peer_takes_up_what_was_approved_itself() -> None:
    more = tuple(link(f"Shelf {number}", f"{ORIGIN}/shelf/{number}") for number in range(3))
    site = warehouse(more)
    site.documents |= {
        f"{ORIGIN}/shelf/{number}": Document(title=f"Shelf {number}", controls=(button("Frobnicate"),))
        for number in range(3)
    }
    async with asking("anna", "bruno", site=site) as (anna, bruno):
        searching = asyncio.create_task(anna.run(NEVER, seconds=400))
        asked = (await until(lambda: questions(anna), "a question"))[0]
        await say(anna, asked.id)
        found = await searching
        leases = await anna.store.leases(found.id)
        opened = set(_branches(anna))
        assert anna.id in {lease.worker for lease in leases if lease.branch in opened}
        assert bruno.id in {lease.worker for lease in leases}
        assert bruno.id not in {lease.worker for lease in leases if lease.branch in opened}


def _branches(node: MemoryNode) -> list[bytes]:
    return [key for item in node.approvals._items.values() for key in item.record.branches]
