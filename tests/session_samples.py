"""Sessions, steps and keys made by hand, the same on every run."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path

from nacl.signing import SigningKey, VerifyKey

from protocol import ids
from protocol.page.actions.action import Action, Click, Extract, Fill, Goto, Locator, Secret, Within
from protocol.page.actions.evidence import ElementEvidence
from protocol.recording.records.bundle import KIND, make_manifest, write_bundle
from protocol.recording.records.manifest import effect_of
from protocol.recording.records.session import BrowserInfo, Input, Profile, Session, Step, StepMatch
from protocol.recording.records.verdicts import judge_recording
from protocol.wire import envelope

DIRECTORY = Path(__file__).parent
KEY = SigningKey(bytes(range(32)))
PUBLIC = bytes(KEY.verify_key)
NODE = ids.node_id(PUBLIC)
BROWSER = BrowserInfo(backend="launched", name="Chromium", version="156.0.0.0")
SESSION_ID = ids.make_id("ses", bytes(range(ids.ID_RANDOM_BYTES)))
ACTIONS: tuple[Action, ...] = (
    Goto(url="http://shop.example:8000/"),
    Click(
        target=Locator(role="link", name="Mugs", selectors=("css=#mugs",), within=Within(role="listitem", text="Mugs"))
    ),
    Fill(target=Locator(role="textbox", name="Password"), value=Secret(secret="password")),
    Extract(name="price", target=Locator(role="status", name="Total")),
)

LINK = ElementEvidence(
    role="link",
    name="Mugs",
    label="Shelves",
    alike=1,
    group="listitem",
    cells=("12 kinds", "from 4.50"),
    telling=(0, 1),
    only=(1,),
    links=("http://shop.example:8000/mugs",),
    attributes=(("id", "mugs"),),
)
SENT = effect_of(
    "POST",
    "http://shop.example:8000/seen/7?list=mugs",
    "application/x-www-form-urlencoded",
    "op=see&at=1",
    chosen=("next-action: a1",),
)


def find_key(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
    """Trusts the sample node, and nobody else."""
    return KEY.verify_key if issuer == NODE and key_id == envelope.key_id(PUBLIC) else None


def blob_for(text: str) -> bytes:
    """A stand-in for a picture or a snapshot."""
    return f"sample blob: {text}\n".encode() * 3


def sample_steps(actions: Sequence[Action] = ACTIONS) -> tuple[list[Step], dict[bytes, bytes]]:
    """One step for each action, with a snapshot each and one picture for all; and the blobs by hash."""
    blobs: dict[bytes, bytes] = {}

    def keep(data: bytes) -> bytes:
        digest = hashlib.sha256(data).digest()
        blobs[digest] = data
        return digest

    steps = [
        Step(
            index=number,
            action=action,
            ok=True,
            url=f"http://shop.example:8000/page/{number}",
            title=f"Page {number}",
            state=hashlib.sha256(bytes([number])).digest()[:16],
            risk=1,
            started_ms=100 * number,
            duration_ms=40,
            snapshot=keep(blob_for(f"snapshot {number}")),
            screenshot=keep(blob_for("picture")),
            extracted="9.90" if isinstance(action, Extract) else "",
            evidence=LINK if isinstance(action, Click) else None,
            effects=(SENT,) if isinstance(action, Click) else (),
        )
        for number, action in enumerate(actions, 1)
    ]
    return steps, blobs


def sample_session(steps: Sequence[Step], *, title: str = "Mugs under ten pounds") -> Session:
    """A committed session of these steps."""
    return Session(
        id=SESSION_ID,
        node=NODE,
        created_ms=1_700_000_000_000,
        title=title,
        start_url="http://shop.example:8000/",
        profile=Profile(),
        browser=BROWSER,
        verdict=judge_recording(steps).verdict,
        steps=len(steps),
        duration_ms=1_000,
        secrets=("password",),
        caller="agent:bruno",
        inputs=(Input(name="customer", value="Ada"),),
    )


def sign(manifest: bytes, *, key: SigningKey = KEY, issuer: str = NODE, kind: str = KIND) -> bytes:
    """The envelope over a manifest, always with the same header."""
    header = envelope.EnvelopeHeader(issuer=issuer, issued_s=1_700_000_001, unique=bytes(16))
    return envelope.seal(hashlib.sha256(manifest).digest(), kind=kind, key=key, header=header)


def sample_manifest(steps: Sequence[Step], blobs: dict[bytes, bytes]) -> bytes:
    """The manifest of the sample session."""
    return make_manifest(sample_session(steps), steps, {digest: len(data) for digest, data in blobs.items()})


def sample_bundle() -> bytes:
    """The sample session as a bundle."""
    steps, blobs = sample_steps()
    manifest = sample_manifest(steps, blobs)
    out = io.BytesIO()
    write_bundle(out, signature=sign(manifest), manifest=manifest, steps=steps, read_blob=blobs.__getitem__)
    return out.getvalue()


def matched(step: Step, duration_ms: int = 1) -> StepMatch:
    """What a replay says of a step in which everything was as recorded."""
    return StepMatch(
        index=step.index,
        performed=True,
        state=True,
        url=True,
        title=True,
        extracted=True,
        matched=True,
        duration_ms=duration_ms,
        text="same" if step.snapshot else "",
    )
