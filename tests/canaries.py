"""Finds a secret in bytes, however it was written down."""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, quote_plus

_EMBEDDED = re.compile(rb"base64,([A-Za-z0-9+/=]+)")


def forms(secret: bytes) -> dict[str, bytes]:
    """The ways in which ``secret`` may stand in text or bytes, by name."""
    found = {"plain": secret, "hex": secret.hex().encode(), "HEX": secret.hex().upper().encode()}
    for shift in range(3):
        # Inside of something longer, base64 begins at one of three places; what its neighbours decide is cut off.
        coded = base64.b64encode(bytes(shift) + secret)
        inner = coded[-(-shift * 8 // 6) : len(coded) // 4 * 4 - 4]
        found[f"base64, shift {shift}"] = inner
        found[f"base64url, shift {shift}"] = inner.replace(b"+", b"-").replace(b"/", b"_")
    found["base32"] = base64.b32encode(secret).rstrip(b"=")[:-1]
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        return found
    found |= {
        "url-encoded": quote(text, safe="").encode(),
        "form-encoded": quote_plus(text).encode(),
        "escaped": json.dumps(text)[1:-1].encode(),
        "utf-16-le": text.encode("utf-16-le"),
        "utf-16-be": text.encode("utf-16-be"),
    }
    return found


def found_in(data: bytes, secrets: Mapping[str, bytes]) -> list[str]:
    """Which of ``secrets`` (by name) stand in ``data``, and in which form."""
    return [
        f"{name} ({form})"
        for name, secret in secrets.items()
        for form, written in forms(secret).items()
        if written in data
    ]


def layers(data: bytes) -> Iterator[bytes]:
    """``data``, and what lies inside it: entries of an archive, pictures in a page, compressed streams of a picture."""
    yield data
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield from layers(archive.read(name))
    if data[:1] == b"\x78":
        with suppress(zlib.error):
            yield zlib.decompress(data)  # a snapshot
    for embedded in _EMBEDDED.findall(data):
        yield from layers(base64.b64decode(embedded))
    if data[:4] == b"\x89PNG":
        for kind in (b"iTXt", b"zTXt"):
            at = data.find(kind)
            if at >= 0:
                yield zlib.decompressobj().decompress(data[at + 4 :].partition(b"\0\0")[2])


def files_with(folder: Path, secrets: dict[str, bytes]) -> dict[str, list[str]]:
    """The files below ``folder`` that hold one of ``secrets``, by their path in it."""
    hits = {
        path.relative_to(folder).as_posix(): [
            hit for layer in layers(path.read_bytes()) for hit in found_in(layer, secrets)
        ]
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {name: hit for name, hit in hits.items() if hit}
