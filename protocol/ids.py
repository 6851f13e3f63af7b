"""Identifiers that can be read aloud and typed safely: base32 with check digits (Luhn mod 32).

Node ids are hashes of the genesis key, printed as eight groups of seven characters, each pair of groups ending in a check
digit (the form of Syncthing's device ids). Other ids are ``<kind>-<20 characters><check digit>``, 100 random bits.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from typing import Annotated, Any, Final

import msgspec
from msgspec import inspect as types

from protocol.errors import MeshError
from protocol.kinds import Plain

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_VALUE = {char: value for value, char in enumerate(ALPHABET)}
_NODE_DOMAIN = b"trailmesh-node-v1\x00"
_TEXT_CHARS_MAX: Final = 256
"""Longer than any id that a person types with spaces and hyphens."""
_ID_CHARS = 20
ID_RANDOM_BYTES = 13
"""How many random bytes ``make_id`` takes; it uses their first 100 bits."""

KINDS = frozenset({"ses", "sea", "lea", "rep", "inv", "liv", "sch", "que", "own", "cap", "tas"})
"""session, search, lease, replay report, invite, live session, schedule, question, key of an owner, capsule, task"""
NODE: Final = "node"
"""Stands for node ids where the others have their kind."""

# Field types of records. ``cbor.convert`` refuses a record in which one of them is not an id in its canonical form.
NodeId = Annotated[Plain, msgspec.Meta(extra={"id": NODE})]
SearchId = Annotated[Plain, msgspec.Meta(extra={"id": "sea"})]
LeaseId = Annotated[Plain, msgspec.Meta(extra={"id": "lea"})]
SessionId = Annotated[Plain, msgspec.Meta(extra={"id": "ses"})]
ReportId = Annotated[Plain, msgspec.Meta(extra={"id": "rep"})]
QuestionId = Annotated[Plain, msgspec.Meta(extra={"id": "que"})]
CapsuleId = Annotated[Plain, msgspec.Meta(extra={"id": "cap"})]


def check_digit(text: str) -> str:
    """The Luhn mod 32 check digit of base32 ``text``: finds every single typo and most swaps of neighbours."""
    total, factor = 0, 1
    for char in text:
        product = factor * _VALUE[char]
        total += product // 32 + product % 32
        factor = 3 - factor
    return ALPHABET[-total % 32]


def node_id(public_key: bytes) -> str:
    """The id of the node whose genesis witness key (32 bytes, Ed25519) this is."""
    digest = hashlib.sha256(_NODE_DOMAIN + public_key).digest()
    text = base64.b32encode(digest).decode().rstrip("=")
    parts = [text[i : i + 13] for i in range(0, len(text), 13)]
    checked = "".join(part + check_digit(part) for part in parts)
    return "-".join(checked[i : i + 7] for i in range(0, 56, 7))


def parse_node_id(text: str) -> str:
    """``text`` in canonical form. Errors: ``id.invalid``."""
    plain = text[:_TEXT_CHARS_MAX].upper().replace("-", "").replace(" ", "")
    if len(text) > _TEXT_CHARS_MAX or len(plain) != 56 or any(char not in _VALUE for char in plain):
        raise MeshError("id.invalid", "a node id has eight groups of seven letters or digits 2-7")
    for i in range(0, 56, 14):
        if check_digit(plain[i : i + 13]) != plain[i + 13]:
            raise MeshError("id.invalid", f"mistyped near {plain[i : i + 7]}-{plain[i + 7 : i + 14]}")
    return "-".join(plain[i : i + 7] for i in range(0, 56, 7))


def short(node: str) -> str:
    """The first group of a node id: sufficient to distinguish peers, never sufficient to trust one."""
    return node[:7]


def make_id(kind: str, random: bytes) -> str:
    """An id of ``kind`` from ``ID_RANDOM_BYTES`` random bytes."""
    assert kind in KINDS and len(random) == ID_RANDOM_BYTES
    body = base64.b32encode(random).decode()[:_ID_CHARS]
    return f"{kind}-{body}{check_digit(body)}"


def parse_id(kind: str, text: str) -> str:
    """``text`` in canonical form. Errors: ``id.invalid``."""
    prefix, _, body = text[:_TEXT_CHARS_MAX].strip().partition("-")
    body = body.upper()
    if (
        len(text) > _TEXT_CHARS_MAX
        or prefix.lower() != kind
        or len(body) != _ID_CHARS + 1
        or any(char not in _VALUE for char in body)
    ):
        raise MeshError(
            "id.invalid", f"an id of this kind looks like {kind}- and {_ID_CHARS + 1} letters or digits 2-7"
        )
    if check_digit(body[:-1]) != body[-1]:
        raise MeshError("id.invalid", "the check digit does not match: one character is mistyped")
    return f"{kind}-{body}"


def is_id(kind: str, text: str) -> bool:
    """True if ``text`` is an id of ``kind`` (one of ``KINDS``, or ``NODE``) in its canonical form, the only one on the wire."""
    try:
        return (parse_node_id(text) if kind == NODE else parse_id(kind, text)) == text
    except MeshError:
        return False


def check_ids(record: object) -> None:
    """Check that every field of ``record`` that is declared as an id contains one. Errors: ``message.invalid``."""
    record_type: Any = type(record)
    for name, kind, many in _id_fields(record_type):
        value = getattr(record, name)
        for each in value if many else (value,):
            if not kind:
                check_ids(each)
            elif not is_id(kind, each):
                raise MeshError(
                    "message.invalid", f"the field {name} does not contain a {kind} id in its canonical form"
                )


@functools.cache
def _id_fields(record: Any) -> tuple[tuple[str, str, bool], ...]:
    """The fields of a record that hold ids, or records with such fields: name, kind (empty for a record), whether a list."""
    if not issubclass(record, msgspec.Struct):
        return ()
    told = types.type_info(record)
    assert isinstance(told, types.StructType)
    found = []
    for field in told.fields:
        inner = _unlabelled(field.type)
        many = isinstance(inner, types.VarTupleType)
        match _unlabelled(inner.item_type) if isinstance(inner, types.VarTupleType) else inner:
            case types.Metadata(extra={"id": str(kind)}):
                found.append((field.name, kind, many))
            case types.StructType(cls=held) if held is not record and _id_fields(held):
                found.append((field.name, "", many))
    return tuple(found)


def _unlabelled(found: types.Type) -> types.Type:
    """``found`` without what only says how people read it (``protocol.shown``)."""
    while isinstance(found, types.Metadata) and "id" not in (found.extra or {}):
        found = found.type
    return found
