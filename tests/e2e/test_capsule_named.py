"""A capsule that an action file names, and one that is proposed where work meets the form of a login."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.api.node import Node
from node.verbs.caller import OWNER
from protocol.errors import MeshError
from tests.e2e.logins import SHOWN, KeptLogin, actions, ask, leaks, refusal
from tests.login_site import LoginSite

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def named(site: LoginSite, *steps: str, capsule: str = "shop") -> str:
    return f"capsule: {capsule}\n{actions(site, *steps)}"


async def noted(node: Node, verb: str, **params: Any) -> tuple[Any, list[str]]:
    """Result or error of a verb, and the notes it told."""
    told: list[str] = []
    try:
        done: Any = await node.dispatch(
            verb, msgspec.json.encode(params), lambda event: told.append(str(event.get("note", ""))), OWNER
        )
    except MeshError as error:
        done = error
    return done, [each for each in told if "--capsule" in each]


async def test_the_file_names_the_login_and_the_option_may_not_contradict_it(logins: KeptLogin, tmp_path: Path) -> None:
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        recorded = await ask(node, "session.record", actions=named(site, SHOWN))
        (kept,) = (await ask(node, "capsule.list")).capsules
        assert (recorded.verdict, recorded.capsule, kept.uses) == ("pass", kept.id, 1), recorded.reason
        both = await ask(node, "session.record", actions=named(site, SHOWN), capsule="shop")
        assert both.capsule == kept.id
        other = await refusal(node, "session.record", actions=named(site, SHOWN), capsule=kept.id)
        assert other.code == "input.invalid" and "names the capsule" in other.message
        unknown = await refusal(node, "session.record", actions=named(site, SHOWN, capsule="bank"))
        assert unknown.code == "input.not_found"
        elsewhere = await refusal(
            node, "session.record", actions="capsule: shop\nstart: http://127.0.0.2:1/\nsteps:\n  - back:\n"
        )
        assert elsewhere.code == "capsule.origin", "the same checks as by the option"
        login = await refusal(node, "capsule.login", url=site.origin + "/", actions=named(site, SHOWN))
        assert login.code == "input.invalid"
        follows = await refusal(node, "session.fork", session=recorded.id, actions="capsule: shop\nsteps:\n  - back:\n")
        assert follows.code == "input.invalid" and "have begun already" in follows.message
    assert leaks(tmp_path) == []


async def test_a_form_that_is_met_without_a_login_proposes_the_capsule_of_its_site(
    logins: KeptLogin, tmp_path: Path
) -> None:
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        recorded, told = await noted(node, "session.record", actions=actions(site, SHOWN))
        assert isinstance(recorded, MeshError) and recorded.detail["proposes"] == "shop"
        assert told and told[0].endswith("--capsule shop")
        plain, told = await noted(node, "session.record", actions=f"start: {site.origin}/login\nsteps:\n  - back:\n")
        assert (plain.proposes if not isinstance(plain, MeshError) else plain.detail["proposes"]) == "shop" and told
        with_it, told = await noted(node, "session.record", actions=actions(site, SHOWN), capsule="shop")
        assert (with_it.proposes, told) == ("", [])
        replayed, told = await noted(node, "session.replay", session=with_it.id)
        assert replayed.proposes == "shop" and told[-1].endswith("--capsule shop")
        search = {
            "goal": "find the orders",
            "start": site.origin + "/",
            "until": {"title": "Orders of anna"},
            "seconds": 8,
        }
        failed, _ = await noted(node, "explore.run", **search)
        assert isinstance(failed, MeshError) and failed.detail["proposes"] == "shop", failed
        assert "--capsule shop" in failed.message
        shown = await ask(node, "explore.show", search=failed.detail["search"])
        assert shown.proposes == "shop"
        await ask(node, "capsule.remove", capsule="shop")
        nothing, told = await noted(node, "session.replay", session=with_it.id)
        assert nothing.proposes == "" and len(told) == 1, "only that the recording had a login"
