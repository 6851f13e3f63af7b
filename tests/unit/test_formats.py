"""Versions of formats: every record is pinned to one, and a reader tells which side is older."""

from __future__ import annotations

import base64
import importlib
import io
import json
import pkgutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

import protocol
from node.health.backup_file import CONTENTS_FILE, unpack
from node.sessions.keeping.reports import open_report
from node.sessions.shared.replay_plan import ReplaySource
from protocol.capsule import file as capsule_file
from protocol.errors import MeshError
from protocol.keys.key_event import read_event
from protocol.keys.keylog import KeyLog
from protocol.log import log_proof
from protocol.messages import KIND_MESSAGE
from protocol.pairing.invite import parse_invite
from protocol.recording.records.bundle import Bundle, Manifest, verify_bundle
from protocol.trust.trust_key import read_trust_keys
from protocol.wire import cbor, envelope, formats
from protocol.wire.formats import FORMATS, Format
from scripts import forms
from tests.session_samples import KEY, NODE, find_key, sample_bundle, sign
from tests.tables import each
from tests.vectors.bundle_vectors import _parts, _signed
from tests.vectors.generate import FOLDER

HEADER = envelope.EnvelopeHeader(issuer=NODE, issued_s=1_700_000_001, unique=bytes(16))
OLDER = json.loads((FOLDER / "older.json").read_text(encoding="utf-8"))


def code_of(read: Callable[[], object]) -> str:
    """The code that ``read`` fails with; empty if it does not."""
    try:
        read()
    except MeshError as error:
        return error.code
    return ""


def test_every_format_is_pinned_and_no_released_version_was_changed() -> None:
    pinned, found = json.loads(forms.FILE.read_text(encoding="utf-8")), forms.forms()
    assert forms.broken(pinned, found) == []
    assert forms.render(pinned, found) == forms.FILE.read_text(encoding="utf-8"), "run `make forms`"


def test_every_kind_of_artefact_has_a_version_and_pinned_records() -> None:
    kinds = set()
    for found in pkgutil.walk_packages(protocol.__path__, "protocol."):
        module = importlib.import_module(found.name)
        kinds |= {value for name, value in vars(module).items() if name.startswith("KIND") and isinstance(value, str)}
    assert kinds - {KIND_MESSAGE} == forms.ARTEFACTS.keys()
    assert forms.RECORDS.keys() == FORMATS.keys()


def test_a_field_more_breaks_a_released_version_and_is_noted_in_one_that_is_not() -> None:
    found = forms.forms()
    pinned = {name: {"version": FORMATS[name].version, "released": 1, "records": found[name]} for name in found}
    for name, records in found.items():
        for record in records:
            told = forms.broken(pinned, found | {name: records | {record: "another"}})
            if FORMATS[name].version > 1:
                assert told == []  # raised since the release: it is noted
                continue
            assert [fault.partition(":")[0] for fault in told] == [name]
            assert record in told[0] and "protocol/wire/formats.py" in told[0]


def test_a_digest_changes_with_fields_defaults_and_bounds() -> None:
    def digest(**fields: Any) -> str:
        record = msgspec.defstruct("Record", list(fields.values()), module="protocol.x")
        return dict(forms._digests([record]))["x.Record"]

    bounded = msgspec.Meta(max_length=3)

    made = {
        digest(a=("a", str)),
        digest(a=("a", int)),
        digest(a=("a", str), b=("b", bool, False)),
        digest(a=("a", str), b=("b", bool, True)),
        digest(a=("a", Annotated[str, bounded])),
        digest(a=("a", str | None)),
        digest(a=("a", tuple[str, ...])),
    }
    assert len(made) == 7


@pytest.mark.parametrize("kind", sorted(forms.ARTEFACTS))
def test_an_artefact_of_a_newer_version_is_told_as_newer(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(formats, "FORMATS", {**FORMATS, kind: Format(FORMATS[kind].version + 1)})
        sealed = envelope.seal(cbor.encode({"more": 1}), kind=kind, key=KEY, header=HEADER)
    assert code_of(lambda: envelope.verify(sealed, kinds=frozenset({kind}), find_key=find_key)) == "format.newer"
    assert code_of(lambda: envelope.verify(sealed, kinds=frozenset({"probe"}), find_key=find_key)) == "envelope.kind"
    if kind == "key-event":
        assert code_of(lambda: read_event(sealed)) == "format.newer"
        log = cbor.encode({"version": 1, "events": (sealed,)})
        assert code_of(lambda: KeyLog.read(log)) == "format.newer"


def test_a_version_that_is_no_longer_read_is_told_as_older() -> None:
    assert code_of(lambda: formats.check_version("protocol", FORMATS["protocol"].oldest - 1)) == "format.older"


@each("text", ["search.1", "search.02", "search.", ".2", "search.x", "search.2.3", "Search.2"])
def test_what_is_no_mark_is_a_kind_of_its_own(text: str) -> None:
    assert formats.read_mark(text) == (text, 1)


def test_every_kind_is_read_from_the_mark_that_it_is_written_with() -> None:
    for name, known in FORMATS.items():
        assert formats.read_mark(formats.mark(name)) == (name, known.version)


def bundle_saying(**fields: Any) -> bytes:
    manifest = cbor.decode(_parts(sample_bundle())[2][1])
    return _signed(sample_bundle(), cbor.encode(manifest | fields))


def _verify(data: bytes) -> Bundle:
    return verify_bundle(io.BytesIO(data), find_key)


def test_a_file_of_another_version_is_told_as_newer_before_its_form_is_judged(tmp_path: Path) -> None:
    proof = json.dumps({"format": "trailmesh-log-inclusion-v2", "more": 1}).encode()
    backup = _backup(tmp_path / "x.tmbackup", {"format": 2, "more": 1})
    (tmp_path / "new").mkdir()
    found = {
        "bundle": lambda: _verify(bundle_saying(version=FORMATS["bundle"].version + 1, more=1)),
        "key log": lambda: KeyLog.read(cbor.encode({"version": 2, "more": 1})),
        "proof": lambda: log_proof.decode(proof),
        "capsule": lambda: capsule_file.unpack(capsule_file.MAGIC + (2).to_bytes(4, "big") + bytes(8)),
        "invite": lambda: parse_invite("tmi2.AAAA", 0),
        "trust key": lambda: read_trust_keys("trailmesh-key-2:x", now_s=0),
        "backup": lambda: unpack(backup, tmp_path / "new"),
    }
    assert {name: code_of(read) for name, read in found.items()} == dict.fromkeys(found, "format.newer")


def _backup(path: Path, contents: dict[str, Any]) -> Path:

    data = json.dumps(contents).encode()
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(CONTENTS_FILE)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return path


@each("version", [None, 0, -1, "1", True])
def test_a_bundle_that_does_not_say_its_version_is_invalid(version: object) -> None:
    assert code_of(lambda: _verify(bundle_saying(version=version))) == "bundle.invalid"


def test_a_bundle_of_the_present_version_that_breaks_a_rule_is_invalid() -> None:
    assert code_of(lambda: _verify(bundle_saying(more=1))) == "bundle.invalid"
    assert code_of(lambda: _verify(bundle_saying(version=1, more=1))) == "format.older"


def _report(sealed: bytes) -> object:
    bundle = _verify(base64.b64decode(OLDER["cases"][0]["file"]))
    recorded = ReplaySource(session=bundle.session, steps=bundle.steps(), manifest=bundle.manifest_digest)
    return open_report(sealed, find_key, recorded)


_READERS: dict[str, Callable[[bytes], object]] = {"bundle": _verify, "replay-report": _report}


@pytest.mark.parametrize("case", OLDER["cases"], ids=lambda case: f"{case['format']}: {case['name']}")
def test_a_form_of_an_older_version_is_read_or_refused_as_written(case: dict[str, Any]) -> None:
    name, data = case["format"], base64.b64decode(case["file"])

    def artefact(sealed: bytes) -> object:
        opened = envelope.verify(sealed, kinds=frozenset({name}), find_key=find_key)
        assert opened.version == case["version"] < FORMATS[name].version
        return cbor.decode_as(opened.payload, forms.RECORDS[name][0])

    assert code_of(lambda: _READERS.get(name, artefact)(data)) == case["code"]


def test_each_version_before_the_present_one_has_a_form_that_is_kept() -> None:
    kept = {(case["format"], case["version"]) for case in OLDER["cases"]}
    past = {(name, version) for name, known in FORMATS.items() for version in range(1, known.version)}
    assert past - {("protocol", 1)} == kept  # nodes of different protocols exchange nothing but ``status``


def test_the_sample_manifest_has_the_present_version() -> None:
    manifest = cbor.decode_as(_parts(sample_bundle())[2][1], Manifest)
    assert manifest.version == FORMATS["bundle"].version and sign(b"") == sign(b"")
