"""Fingerprints of browser state, to compare two states without their values."""

from __future__ import annotations

import hashlib

import msgspec

from protocol.capsule.state import CapsuleState


def digests(state: CapsuleState) -> frozenset[tuple[str, ...]]:
    """Each cookie and storage entry by name, with a digest of its value. This is enough to find new ones."""
    cookies = {
        ("cookie", each.domain, each.path, each.partition, each.name, _digest(each.value)) for each in state.cookies
    }
    entries = {
        (kind, each.origin, each.key, item.name, _digest(item.value))
        for each in state.storage
        for kind, items in (("local", each.local), ("session", each.session))
        for item in items
    }
    bases = {
        ("database", each.origin, each.key, base.name, _digest(msgspec.json.encode(base).decode()))
        for each in state.storage
        for base in each.databases
    }
    logins = {("basic", each.origin, _digest(f"{each.user}:{each.password}")) for each in state.basic}
    return frozenset(cookies | entries | bases | logins)


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
