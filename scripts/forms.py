"""Pins the records of every format to its version: ``python -m scripts.forms`` (``make forms``; ``--check`` only compares).

``tests/vectors/forms.json`` has, for each format, the released version and a digest of each record of the present one. A released
version never changes: who changes one of its records raises the version in ``protocol/wire/formats.py`` first. A version that was
raised since the release is still open, and this script notes what it has become. ``--release`` closes them all.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
from msgspec import inspect as types

from node.health.backup_file import Contents
from protocol import audit, clock, messages
from protocol.approval import approval, owners, question
from protocol.capsule import artefacts, attestation, capsule, contents, state, work
from protocol.keys import key_event, keylog
from protocol.log import log_proof, register, witness_log
from protocol.pairing import by_digits, by_invite, invite
from protocol.recording.records import bundle, session
from protocol.search import delta, entry
from protocol.wire import frames
from protocol.wire.formats import FORMATS

FILE: Final = Path(__file__).resolve().parent.parent / "tests" / "vectors" / "forms.json"
Records = tuple[type[msgspec.Struct], ...]

ARTEFACTS: Final[Mapping[str, Records]] = {
    "approval": (approval.Approval, question.Question),
    "approval-use": (approval.ApprovalUse,),
    "assignment": (messages.Assignment, *get_args(entry.TreeAction)),
    "audit-head": (audit.HeadStatement, audit.Row),
    "capsule": (capsule.SealedPayload, capsule.CapsuleHeader, state.CapsuleState),
    "capsule-consent": (artefacts.Consent, artefacts.Terms),
    "capsule-contents": (contents.Contents,),
    "capsule-revocation": (artefacts.Revocation,),
    "capsule-use": (artefacts.Use,),
    "clock-acceptance": (clock.ClockAcceptance,),
    "cookie-attestation": (attestation.Attestation,),
    "delta": (delta.Delta, entry.NodeEntry, entry.LeaseEntry, *get_args(entry.TreeAction)),
    "distrust-notice": (messages.DistrustNotice,),
    "key-accept": get_args(key_event.Statement),
    "key-event": get_args(key_event.Statement),
    "log-opening": (witness_log.Opening,),
    "log-register": (register.Register,),
    "owner-change": (owners.OwnerChange,),
    "owners": (owners.OwnerEntry,),
    "replay-report": (session.ReplayReport,),
    "result": (messages.BranchResult, *get_args(entry.TreeAction)),
    "sealing-key": (artefacts.SealingCertificate,),
    "search": (messages.SearchSpec,),
    "session": (),  # the hash of a manifest, whose version is that of "bundle"
    "work-verdict": (work.WorkVerdict,),
}
_ON_NO_ROUTE: Final = frozenset(
    {
        "approval",
        "approval-use",
        "audit-head",
        "capsule-contents",
        "clock-acceptance",
        "log-register",
        "owner-change",
        "owners",
        "replay-report",
    }
)
"""Artefacts that no route carries: they are kept, or travel in files."""


def _public(module: Any) -> Records:
    return tuple(
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == module.__name__
    )


RECORDS: Final[Mapping[str, Records]] = {
    **ARTEFACTS,
    "backup": (Contents,),
    "bundle": (bundle.Manifest, bundle.BundleFile, session.Step),
    "capsule-file": (),  # three byte strings after a head
    "invite": (invite.Invite, *_public(by_invite)),
    "key-log": (keylog._Log,),
    "log-equivocation": (log_proof.Equivocation,),
    "log-inclusion": (log_proof.InclusionProof,),
    "trust-key": (),  # a line of text
    "protocol": (
        *_public(messages),
        *_public(frames),
        *_public(by_digits),
        # A peer that cannot read an artefact would take its sender for dishonest, so these travel under the same number.
        *(record for kind, records in ARTEFACTS.items() if kind not in _ON_NO_ROUTE for record in records),
        keylog._Log,
        log_proof.InclusionProof,
        log_proof.Equivocation,
    ),
}
"""What each format consists of; the records within these count too."""


def forms() -> dict[str, dict[str, str]]:
    """Of each format, the digest of each of its records by name."""
    return {name: dict(sorted(_digests(records))) for name, records in sorted(RECORDS.items())}


def _digests(records: Iterable[type[msgspec.Struct]]) -> Iterator[tuple[str, str]]:
    seen: dict[type[msgspec.Struct], types.StructType] = {}
    for record in records:
        _meet(types.type_info(record), seen)
    for record, told in seen.items():
        fields = sorted(f"{each.encode_name}: {_text(each.type)} = {_default(each)}" for each in told.fields)
        said = "\n".join((f"{told.tag_field}={told.tag}", f"array={told.array_like}", *fields))
        name = f"{record.__module__.rpartition('.')[2]}.{record.__name__}"
        yield name, hashlib.sha256(said.encode()).hexdigest()[:12]


def _meet(found: types.Type, seen: dict[type[msgspec.Struct], types.StructType]) -> None:
    """Note every record in ``found``, in whatever it lies."""
    if isinstance(found, types.StructType):
        if found.cls not in seen:
            seen[found.cls] = found
            for field in found.fields:
                _meet(field.type, seen)
        return
    for inner in _parts(found):
        _meet(inner, seen)


def _parts(found: types.Type) -> list[types.Type]:
    """The types that another one is made of."""
    values = [getattr(found, name) for name in found.__struct_fields__]
    flat = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
    return [each for each in flat if isinstance(each, types.Type)]


def _text(found: types.Type) -> str:
    """A type with its bounds, as text that stays the same as long as the same values are taken."""
    if isinstance(found, types.StructType):
        return found.cls.__name__
    if isinstance(found, types.EnumType):
        return f"Enum {sorted(each.value for each in found.cls)}"
    if isinstance(found, types.UnionType):
        return " | ".join(sorted(map(_text, found.types)))
    if isinstance(found, types.Metadata) and "shown" in (found.extra or {}):
        # A label is for people, and decides nothing about the values that are taken.
        left = {name: value for name, value in (found.extra or {}).items() if name != "shown"}
        return _text(types.Metadata(type=found.type, extra=left) if left else found.type)
    bounds = {name: getattr(found, name) for name in found.__struct_fields__}
    plain = {name: value for name, value in bounds.items() if value is not None and not _parts_of(value)}
    return f"{type(found).__name__} {plain} [{', '.join(map(_text, _parts(found)))}]"


def _parts_of(value: object) -> bool:
    return isinstance(value, types.Type) or (isinstance(value, tuple) and any(isinstance(e, types.Type) for e in value))


def _default(field: types.Field) -> str:
    """What a field is where it is left out."""
    if field.required:
        return "required"
    return repr(field.default if field.default is not msgspec.NODEFAULT else field.default_factory)


def broken(pinned: Mapping[str, Any], found: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Which released versions are not what they were, one sentence for each format, with what to do about it."""
    told = []
    for name, records in found.items():
        kept, version = pinned.get(name), FORMATS[name].version
        if kept and version == kept["version"] <= kept["released"] and records != kept["records"]:
            changed = sorted({each for each, _ in records.items() ^ kept["records"].items()})
            told.append(
                f"{name}: {', '.join(changed)} changed, and version {version} is released: raise its version in"
                " protocol/wire/formats.py, then run `make forms`"
            )
        if kept and version < kept["version"]:
            told.append(f"{name}: version {version} is lower than the pinned one: a version never goes back")
    return told


def render(pinned: Mapping[str, Any], found: Mapping[str, Mapping[str, str]], *, release: bool = False) -> str:
    """The file for what is found now."""
    made = {}
    for name, records in found.items():
        version = FORMATS[name].version
        released = version if release else pinned[name]["released"] if name in pinned else 0
        made[name] = {"version": version, "released": released, "records": records}
    return json.dumps(made, indent=1) + "\n"


def main(arguments: list[str]) -> int:
    """0, or 1 if a released version was changed or ``--check`` finds a difference."""
    text = FILE.read_text(encoding="utf-8")
    pinned, found = json.loads(text), forms()
    told = broken(pinned, found)
    made = render(pinned, found, release="--release" in arguments)
    if not told and "--check" in arguments and made != text:
        told = [f"{FILE.name}: records of a version that is not released yet changed: run `make forms`"]
    print("\n".join(told), end="\n" if told else "")
    if not told and "--check" not in arguments:
        FILE.write_text(made, encoding="utf-8")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
