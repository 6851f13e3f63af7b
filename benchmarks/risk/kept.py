"""The truth that is kept in the repository, so that a version of the product can be measured without collecting it anew.

A file for each application, of JSON lines: a ``Head``, then a ``Truth`` for each action. It holds no secret, not even of the
disposable copies: ``reduced`` leaves them out.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.risk.correcting import corrected
from benchmarks.risk.records import Request, Truth

FOLDER: Final = Path(__file__).parent / "truth"
_SECRET: Final = re.compile(r"csrf|token|sectok|password|secret|session|nonce|authenticity", re.IGNORECASE)
_NAMED: Final = re.compile(rf'("[^"]*(?:{_SECRET.pattern})[^"]*":\s*)"[^"]*"', re.IGNORECASE)
_RANDOM: Final = re.compile(r'"[0-9a-f]{32,}"')
_BODY_CHARS_MAX: Final = 2_000


class Head(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts that apply to all actions of one application."""

    origin: str
    """At which the application was served."""
    noise: tuple[str, ...] = ()
    """Kinds of changes that come without acting."""
    loads: tuple[Request, ...] = ()
    """The requests sent by loading its pages."""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about one application."""

    head: Head
    truths: tuple[Truth, ...]


def reduced(request: Request) -> Request:
    """``request`` without the values of fields for secrets, and without the parts of a form with files."""
    body = "" if "multipart" in request.content_type else request.body[:_BODY_CHARS_MAX]
    if "urlencoded" in request.content_type:
        body = _without_secrets(body)
    elif request.kind == "websocket" or request.content_type.startswith("text/plain"):
        body = _RANDOM.sub('"x"', _NAMED.sub(r'\1"x"', body))
    address, sign, query = request.url.partition("?")
    return msgspec.structs.replace(request, url=address + sign + _without_secrets(query), body=body)


def _without_secrets(pairs: str) -> str:
    kept = []
    for pair in pairs.split("&"):
        name, sign, _ = pair.partition("=")
        kept.append(f"{name}{sign}x" if sign and _SECRET.search(name) else pair)
    return "&".join(kept)


def write(name: str, collected: Collected, folder: Path = FOLDER) -> Path:
    """Keep ``collected`` of the application ``name``; where."""
    head = msgspec.structs.replace(collected.head, loads=_once(map(reduced, collected.head.loads)))
    truths = [
        msgspec.structs.replace(truth, requests=tuple(map(reduced, truth.requests)), seconds=0)
        for truth in collected.truths
    ]
    lines = [msgspec.json.encode(each) for each in (head, *sorted(truths, key=lambda truth: truth.key))]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.jsonl.gz"
    file.write_bytes(gzip.compress(b"\n".join(lines) + b"\n", mtime=0))
    return file


def _once(requests: Iterable[Request]) -> tuple[Request, ...]:
    return tuple(dict.fromkeys(requests))


def read(name: str, origin: str, folder: Path = FOLDER) -> Collected | None:
    """The stored facts about the application ``name``, corrected, as if it had been served at ``origin``; None if nothing is
    stored.
    """
    file = folder / f"{name}.jsonl.gz"
    if not file.is_file():
        return None
    first, *rest = gzip.decompress(file.read_bytes()).splitlines()
    served = msgspec.json.decode(first, type=Head).origin
    lines: Sequence[bytes] = [line.replace(served.encode(), origin.encode()) for line in (first, *rest)]
    head = msgspec.json.decode(lines[0], type=Head)
    truths = (msgspec.json.decode(line, type=Truth) for line in lines[1:])
    return Collected(head=head, truths=tuple(corrected(truths, head.loads)))
