"""A login that goes over several origins: what the capsule keeps of it, and what is said where the browser may not follow."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.auth_site import PASSWORD, USER, AuthSite
from tests.canaries import found_in
from tests.mesh_nodes import Node, cli, refusal

pytestmark = pytest.mark.browser


@contextlib.asynccontextmanager
async def sites() -> AsyncIterator[tuple[AuthSite, AuthSite, AuthSite]]:
    """An application, a broker that does its logins, and the identity provider that does those of the broker."""
    async with contextlib.AsyncExitStack() as up:
        idp = await up.enter_async_context(AuthSite("127.0.0.3"))
        broker = await up.enter_async_context(AuthSite("127.0.0.2", upstream=idp))
        yield await up.enter_async_context(AuthSite("127.0.0.1", upstream=broker)), broker, idp


def login(directory: Path, application: AuthSite, idp: AuthSite) -> list[str]:
    flow = directory / "sso.yaml"
    flow.write_text(
        f"title: Log in\nstart: {application.origin}/account\nsteps:\n"
        f"  - fill: {{role: textbox, name: Name, value: {USER}}}\n"
        "  - fill: {role: textbox, name: Password, value: {secret: word}}\n"
        "  - click: {role: button, name: Log in}\n"
        "  - assert: Welcome anna\n"
    )
    (directory / "word").write_text(PASSWORD + "\n")
    return [
        *("capsule", "login", f"{application.origin}/account", "--with", str(flow)),
        *("--secret", f"word@{idp.origin}=file:{directory}/word"),
        *("--allow", f"POST {idp.origin}/login", "--approve-class", "7"),
    ]


async def done(*arguments: str, home: Path) -> Any:
    status, out, err = await asyncio.to_thread(cli, *arguments, "--json", home=home, timeout_s=120)
    assert status == 0, out + err
    return json.loads(out)


async def refused(*arguments: str, home: Path) -> tuple[str, dict[str, Any]]:
    code, _, error = await asyncio.to_thread(refusal, *arguments, home=home, timeout_s=120)
    return code, error


async def test_a_flow_over_three_origins_keeps_those_that_the_policy_names(anna: Node, tmp_path: Path) -> None:
    async with sites() as (application, broker, idp):
        flow = login(tmp_path, application, idp)
        alone = await done(*flow, "--name", "alone", home=anna.home)
        assert [each["origin"] for each in alone["origins"]] == [application.origin]
        assert alone["proof"] == ["without the state, the page leads to another site"]
        every = [word for site in (application, broker, idp) for word in ("--origin", site.origin)]
        whole = await done(*flow, "--name", "whole", *every, home=anna.home)
        kept = sorted(each["origin"] for each in whole["origins"])
        assert kept == sorted((application.origin, broker.origin, idp.origin))
        # The session of the application ends. What holds the provider's login too is renewed without a person.
        actions = tmp_path / "account.yaml"
        actions.write_text(f"start: {application.origin}/account\nsteps:\n  - assert: Welcome anna\n")
        application.end_sessions()
        broker.end_sessions()
        before = len(idp.reached)
        renewed = await done("session", "record", str(actions), "--capsule", "whole", home=anna.home)
        assert renewed["verdict"] == "pass" and len(idp.reached) > before
        application.end_sessions()
        code, error = await refused("session", "record", str(actions), "--capsule", "alone", home=anna.home)
        chain = f"{application.origin} → {broker.origin}"
        assert code == "capsule.logged_out" and chain in error["message"], error
        assert error["detail"]["chain"] == [application.origin, broker.origin]
        # Two of the three: the chain is as long as it went.
        application.end_sessions()
        broker.end_sessions()
        both = [word for site in (application, broker) for word in ("--origin", site.origin)]
        pair = await done(*flow, "--name", "pair", *both, home=anna.home)
        application.end_sessions()
        broker.end_sessions()
        code, error = await refused("session", "record", str(actions), "--capsule", pair["id"], home=anna.home)
        assert error["detail"]["chain"] == [application.origin, broker.origin, idp.origin], error
        assert "state=" not in json.dumps(error) and "code=" not in json.dumps(error)
    files = {str(path): path.read_bytes() for path in anna.home.rglob("*") if path.is_file()}
    secrets = {"word": PASSWORD.encode()}
    assert not [name for name, data in files.items() if found_in(data, secrets)]


async def test_a_login_whose_page_goes_on_to_another_origin_is_refused_with_the_chain(
    anna: Node, tmp_path: Path
) -> None:
    """The application takes each session once: already the proof is sent to the provider again."""
    async with sites() as (application, broker, idp):
        application.short = 1
        code, error = await refused(*login(tmp_path, application, idp), home=anna.home)
        assert code == "capsule.unproven", error
        assert f"{application.origin} → {broker.origin}" in error["message"], error
        assert "--origin" in error["message"]
