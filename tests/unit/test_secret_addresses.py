"""Secrets in addresses: written, opened, recorded by name, replayed; and addresses of which a part is not stored."""

from __future__ import annotations

from typing import Any

import pytest

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.page.secrets.redaction import is_incomplete, redact_url, reveal_address, secrets_named
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.wire import cbor
from tests.tables import each
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

VALUE = "s3cret/value"
FILE = f'start: "{ORIGIN}/?token={{secret: door}}"\nsteps:\n- scroll: down'


def secrets(*, origin: str = ORIGIN, text: bool = True) -> Secrets:
    return Secrets({"door": GivenSecret(value=VALUE, origins=(origin,), text=text)})


@pytest.fixture
async def bench() -> Bench:
    return await node_of()


def test_a_secret_in_an_address_is_kept_by_its_name() -> None:
    (action, _) = parse_actions(FILE.encode()).actions
    assert action == Goto(url=f"{ORIGIN}/?token=‹secret:door›")
    assert secrets_named(action) == ("door",)
    assert redact_url(f"{ORIGIN}/?token=‹secret:door›") == f"{ORIGIN}/?token=‹secret:door›"
    assert redact_url(f"{ORIGIN}/?token=‹secret:door›x") == f"{ORIGIN}/?token=REDACTED"
    assert reveal_address(f"{ORIGIN}/?token=‹secret:door›", secrets()) == f"{ORIGIN}/?token=s3cret%2Fvalue"


@each("start", ["http://{secret: door}/", "http://{secret: door}.test/", "{secret: door}"])
def test_a_secret_is_no_part_of_a_host(start: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse_actions(f'start: "{start}"\nsteps: [scroll: down]'.encode())
    assert caught.value.code == "input.invalid"


@each(
    ("url", "given", "code"),
    [
        ("http://else.test/?token=‹secret:door›", {}, "action.secret_elsewhere"),
        ("http://‹secret:door›.test/", {}, "action.secret_elsewhere"),
        (f"{ORIGIN}/?token=‹secret:door›", {"text": False}, "action.secret_elsewhere"),
        (f"{ORIGIN}/?token=‹secret:other›", {}, "action.secret_missing"),
    ],
)
def test_an_address_gets_a_secret_only_at_the_origin_it_is_for(url: str, given: dict[str, Any], code: str) -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets.value_in."""
    with pytest.raises(MeshError) as caught:
        reveal_address(url, secrets(**given))
    assert caught.value.code == code


async def test_the_value_reaches_the_site_and_no_record_and_a_replay_needs_it_again(bench: Bench) -> None:
    given = {"door": {"value": VALUE, "text": True}}
    done = await bench.record(FILE, secrets=given)
    assert bench.site.reached == ["GET /?token=s3cret%2Fvalue"]
    steps = await bench.store.steps(done.id)
    assert (done.start_url, done.secrets) == (f"{ORIGIN}/?token=‹secret:door›", ("door",))
    assert [step.url for step in steps] == [f"{ORIGIN}/?token=‹secret:door›"] * 2
    assert "s3cret" not in f"{bench.told}{done}{[cbor.encode(step) for step in steps]}"
    assert (await bench.refused("replay", session=done.id)).code == "action.secret_missing"
    assert (await bench.call("replay", session=done.id, secrets=given)).report.verdict == "pass"
    elsewhere = await bench.call(
        "replay", session=done.id, secrets=given | {"door": given["door"] | {"origins": ["http://else.test"]}}
    )
    assert elsewhere.report.steps[0].error == "action.secret_elsewhere"


async def test_an_address_of_which_a_part_is_not_stored_is_told_of(bench: Bench) -> None:
    done = await bench.record(f"start: {ORIGIN}/?token=abc\nsteps: [scroll: down]")
    assert is_incomplete(done.start_url)
    notes = [event["note"] for event in bench.told if "note" in event]
    assert notes == [
        f"{ORIGIN}/?token=REDACTED has a part that is not stored, so a replay opens another address: write `{{secret: NAME}}` there"
    ]
    bench.told.clear()
    await bench.call("replay", session=done.id)
    assert [event for event in bench.told if "note" in event] == [{"note": notes[0]}]
