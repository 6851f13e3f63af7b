"""The code is held to ``messages.json`` and ``lease.json``."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from protocol import limits, messages
from protocol.errors import MeshError
from protocol.page.actions.action import Action
from protocol.routes import ROUTES
from protocol.search.lease import Event, Lease, LeaseBook, check_spend
from protocol.wire import cbor, frames
from tests.vectors import message_vectors as vectors
from tests.vectors.generate import FOLDER

MESSAGES, LEASES, SPENDS = (
    json.loads((FOLDER / name).read_text(encoding="utf-8")) for name in ("messages.json", "lease.json", "spend.json")
)
RECORDS: dict[str, Any] = vars(messages) | vars(frames) | {"Action": Action}


def test_the_files_are_what_the_generator_writes() -> None:
    for name, text in vectors.files().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text


def test_every_record_of_a_route_has_a_vector() -> None:
    told = {case["record"] for case in MESSAGES}
    same_form = {"SearchClose", "BranchAssign", "BranchRevoke", "BranchReturn", "KeysAsk", "EchoAsk", "LogConsistency"}
    asked = {record.__name__ for route in ROUTES.values() for record in (route.request, route.answer)}
    assert asked - told <= same_form | {"LogProven"}


@pytest.mark.parametrize("case", MESSAGES, ids=lambda case: case["name"])
def test_a_record_is_read_or_refused_with_its_code(case: dict[str, Any]) -> None:
    data, record = bytes.fromhex(case["hex"]), RECORDS[case["record"]]
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            cbor.decode_as(data, record, bytes_max=limits.PEER_BODY_BYTES_MAX)
        assert caught.value.code == case["code"]
        return
    assert vectors.plain(_whole(cbor.decode_as(data, record, bytes_max=limits.PEER_BODY_BYTES_MAX))) == case["value"]


def _whole(value: Any) -> Any:
    """A record as a map of all its fields, defaults included."""
    match value:
        case msgspec.Struct():
            config = value.__struct_config__
            tag = {config.tag_field: config.tag} if config.tag_field else {}
            names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
            return tag | {sent: _whole(getattr(value, field)) for field, sent in names}
        case tuple() | list():
            return [_whole(item) for item in value]
        case dict():
            return {key: _whole(item) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("case", LEASES, ids=lambda case: case["name"])
def test_a_lease_goes_its_way_or_is_refused(case: dict[str, Any]) -> None:
    book = LeaseBook()
    try:
        for event in case["events"]:
            lease = _done(book, event)
    except MeshError as error:
        assert error.code == case.get("code")
        return
    assert "code" not in case
    assert (lease.state, lease.term, lease.expires_ms) == (case["state"], case["term"], case["expires_ms"])


@pytest.mark.parametrize("case", SPENDS, ids=lambda case: case["name"])
def test_what_a_lease_has_cost_is_believed_or_refused(case: dict[str, Any]) -> None:
    allowed, spend = messages.BranchLimits(**case["limits"]), messages.Spend(**case["spend"])
    try:
        check_spend(allowed, spend, passed_ms=case["passed_ms"])
    except MeshError as error:
        assert error.code == case.get("code")
        return
    assert "code" not in case


def _done(book: LeaseBook, event: dict[str, Any]) -> Lease:
    times = {"now_ms": event["now_ms"], "lifetime_ms": event.get("lifetime_ms", 0)}
    match event["do"]:
        case "grant":
            more = {"worker": event["worker"], "latest_ms": event["latest_ms"]} | times
            return book.grant(event["lease"], branch=event["branch"].encode(), **more)
        case "renew":
            return book.renew(event["lease"], worker=event["worker"], **times)
        case "expire":
            book.expire_due(event["now_ms"])
            return book.get(event["lease"])
        case other:
            return book.close(event["lease"], Event(other))
