"""Valid inputs of every decoder: where fuzzing begins. Made from the samples and the committed vectors."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Final

import msgspec

from protocol import ids
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.messages import Assignment, BranchLimits, BranchResult, DistrustNotice, SearchSpec
from protocol.page.seen.observation import Element, Observation
from protocol.recording.records.session import Profile, ReplayReport, Session, Step
from protocol.recording.records.verdict import Verdict
from protocol.routes import ROUTES
from protocol.search.delta import decode_delta
from protocol.wire import cbor
from tests.session_samples import (
    BROWSER,
    NODE,
    SESSION_ID,
    matched,
    sample_bundle,
    sample_manifest,
    sample_session,
    sample_steps,
)

VECTORS: Final = Path(__file__).parent.parent / "vectors"
MANIFEST_DIGEST: Final = bytes(32)
PATH: Final = (cbor.encode({"type": "click", "target": {"role": "link", "name": "Mugs"}}),)


def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of a committed vector file."""
    content = json.loads((VECTORS / f"{name}.json").read_bytes())
    cases: list[dict[str, Any]] = content["cases"] if isinstance(content, dict) else content
    return cases


def hexes(name: str) -> tuple[bytes, ...]:
    """The inputs of a vector file that holds them in hexadecimal."""
    return tuple(bytes.fromhex(case["hex"]) for case in vectors(name) if len(case.get("hex", "")) < 4_000)


def deltas() -> tuple[bytes, ...]:
    """Delta payloads, accepted ones and refused ones."""
    accepted = [item["payload"] for case in vectors("delta_accepted") for item in case["payloads"]]
    refused = [case["payload"] for case in vectors("delta_refused")]
    return tuple(bytes.fromhex(text) for text in [*accepted, *refused] if len(text) < 8_000)


def chunks() -> tuple[bytes, ...]:
    """The change chunks inside the deltas."""
    found = []
    for payload in deltas():
        try:
            found.append(decode_delta(payload).chunk)
        except MeshError:
            continue
    return tuple(found)


def blank(record: type[msgspec.Struct]) -> dict[str, Any]:
    """A plain value with the fields of ``record``: right names, mostly right types."""
    by_type = {str: "x", int: 1, bytes: bytes(16), bool: True, tuple: []}
    plain: dict[str, Any] = {}
    for field in msgspec.structs.fields(record):
        kind = field.type
        while not isinstance(kind, type):
            kind = getattr(kind, "__origin__", str)
        plain[field.encode_name] = by_type.get(kind, {})
    return plain


def messages(record: type[msgspec.Struct]) -> tuple[bytes, ...]:
    """Encodings that have the shape of ``record``."""
    return (cbor.encode(blank(record)), cbor.encode({}))


def artefacts() -> dict[str, tuple[type[msgspec.Struct], tuple[bytes, ...]]]:
    """What stands inside signed artefacts of a search: type and valid payloads by kind."""
    spec = SearchSpec(
        id="sea-AAAAAAAAAAAAAAAAAAAAA",
        coordinator=NODE,
        goal="find the cheapest mug",
        start_url="http://shop.example/",
        condition=Condition(any=(Condition(url="*/cart"), Condition(not_=Condition(text="mug")))),
        profile=Profile(),
        participants=(NODE,),
        seconds=60,
        created_ms=1,
        seed=7,
    )
    leased = Assignment(
        search=spec.id,
        lease="lea-AAAAAAAAAAAAAAAAAAAAA",
        branch=bytes(16),
        prefix=PATH,
        prefix_state=b"",
        limits=BranchLimits(iterations=1, steps=10, milliseconds=1_000),
        expires_ms=1,
    )
    result = msgspec.convert(blank(BranchResult) | {"outcome": "claim", "claim": PATH, "spend": {}}, BranchResult)
    return {
        "search": (SearchSpec, (cbor.encode(spec),)),
        "assignment": (Assignment, (cbor.encode(leased),)),
        "result": (BranchResult, (cbor.encode(result),)),
        "distrust-notice": (DistrustNotice, (cbor.encode(DistrustNotice(about=NODE, since_ms=1, reason="stolen")),)),
    }


def report() -> ReplayReport:
    """A report that fits the sample session."""
    steps = recorded()[1]
    seen = tuple(matched(step) for step in steps)
    return ReplayReport(
        id=ids.make_id("rep", bytes(ids.ID_RANDOM_BYTES)),
        session=SESSION_ID,
        manifest=MANIFEST_DIGEST,
        node=NODE,
        replayed_ms=1,
        browser=BROWSER,
        steps=seen,
        matched=len(seen),
        verdict=Verdict.PASS,
        duration_ms=1,
    )


@functools.cache
def recorded() -> tuple[Session, list[Step]]:
    """The session that reports are held against."""
    steps, _ = sample_steps()
    return sample_session(steps), steps


@functools.cache
def bundle() -> bytes:
    """The sample session as a file."""
    return sample_bundle()


@functools.cache
def manifest() -> bytes:
    """The manifest of the sample session."""
    steps, blobs = sample_steps()
    return sample_manifest(steps, blobs)


def page() -> bytes:
    """An observation with look-alikes, numbers and states."""
    elements = tuple(
        Element(ref=f"e{number}", role=role, name=name, states=("checked",), url=f"http://a/{number}?id={number}")
        for number, (role, name) in enumerate([("link", "Mugs"), ("link", "mugs  "), ("button", "Add 3"), ("", "")], 1)
    )
    return cbor.encode(Observation(url="http://a.example/p/1?q=2&q=3#x", title="Page 1", text="x", elements=elements))


def routes() -> dict[str, type[msgspec.Struct]]:
    """Every record that comes in over a route: ``<route>`` what is asked, ``<route>.answer`` what is answered."""
    asked = {route: known.request for route, known in ROUTES.items()}
    return asked | {f"{route}.answer": known.answer for route, known in ROUTES.items()}
