"""The rooms of a node over in-memory ports: assembled as the product assembles them."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import msgspec
from nacl.signing import SigningKey

from adapters.keys import words
from adapters.keys.file import MemoryKeyStore
from adapters.ports.browser import Browser
from adapters.ports.clock import Clock
from adapters.ports.tables import Table
from adapters.search.writer import TreeWriter
from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from node.config.settings import Config
from node.rooms import Ports, Rooms, assemble
from node.signing import Identity
from tests.twins.clock import ManualClock
from tests.twins.discovery import MemoryDiscovery, MemoryNeighbourhood
from tests.twins.notify import MemoryNotifier
from tests.twins.storage import MemoryStore
from tests.twins.transport import MemoryNetwork


class LastingStore(MemoryStore):
    """A store that a restart finds as it was."""

    async def close(self) -> None:
        """The store stays as it is."""


def home_of(owner: object) -> Path:
    """A new directory, which goes when ``owner`` does."""
    made = Path(tempfile.mkdtemp(prefix="node-"))
    weakref.finalize(owner, shutil.rmtree, made, True)
    return made


async def no_browser() -> Browser:
    """For a node that opens none."""
    raise AssertionError("this node opens no browser")


def memory_ports(own: Identity, clock: Clock, **given: Any) -> Ports:
    """Ports of ``own`` without disk and network. given: fields of ``Ports`` that differ, and the server and the client."""
    usual: dict[str, Any] = {
        "store": MemoryStore(),
        "clock": clock,
        "keys": MemoryKeyStore(),
        "open_browser": no_browser,
        "pairing_server": lambda: TlsPairingServer(own.key, "127.0.0.1"),
        "pairing_client": TlsPairingClient(),
        "discovery": MemoryDiscovery(MemoryNeighbourhood()),
        "tree_writer": TreeWriter,
        "notifier": MemoryNotifier(),
        "to_words": bytes.hex,
        "from_words": words.from_words,
    }
    return Ports(**usual | given)


def lone_rooms(home: Path = Path("/nowhere")) -> Rooms:
    """The rooms of a node that has not started."""
    clock = ManualClock(seed=1)
    own = Identity(SigningKey(hashlib.sha256(b"lone").digest()), clock)
    network = MemoryNetwork()
    address = "https://lone.invalid:443"
    server, client = network.server(own.node, own.public_key, address), network.client(own.node, own.public_key)
    return assemble(home, Config(name="lone"), own, memory_ports(own, clock, server=server, client=client))


def tables() -> tuple[Table[Any], ...]:
    """Every table that a room of the product describes."""
    return lone_rooms().tables


def sample(table: Table[Any], number: int = 1) -> Any:
    """A record of ``table`` with the required fields alone; its key and order differ by ``number``."""
    made: dict[str, Any] = {}
    for field in msgspec.structs.fields(table.record):
        if field.required or field.name in table.columns:
            made[field.name] = _value(
                msgspec.inspect.type_info(field.type), number if field.name in table.columns else 1
            )
    return table.record(**made)


def _value(kind: msgspec.inspect.Type, number: int) -> Any:
    match kind:
        case msgspec.inspect.IntType():
            return number
        case msgspec.inspect.StrType():
            return f"text-{number}"
        case msgspec.inspect.BytesType():
            return number.to_bytes(32)
        case msgspec.inspect.VarTupleType() | msgspec.inspect.TupleType():
            return ()
        case msgspec.inspect.DictType():
            return {}
    raise AssertionError(f"a sample of {kind} is not made yet: add it here")
