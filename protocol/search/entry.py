"""The entries that peers write about a search: keys of tree nodes, and the three kinds of map values.

A node of the search tree is an action after its parent, so its key is a hash of both. Peers that find the same action at the
same place compute the same key without communicating, and a receiver verifies the key. All numbers are integers; values between
0 and 1 are scaled by ``SCALE``. Unlike sums of floats, sums of integers do not depend on their order.
"""

from __future__ import annotations

import binascii
import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from protocol import limits
from protocol.errors import MeshError
from protocol.ids import LeaseId, NodeId
from protocol.page.actions.action import Action, Check, Click, Fill, Press, Scroll, Secret, Select
from protocol.wire import cbor

T = TypeVar("T")

SCALE: Final = 1_000_000
"""Values, priors and similarities are integers from 0 to ``SCALE``."""
KEY_BYTES: Final = 16
STATE_BYTES: Final = 16
STATE_UNKNOWN: Final = bytes(STATE_BYTES)
_KEY_CHARS: Final = 22
_DOMAIN: Final = b"trailmesh-tree-v1\x00"
_REGISTER: Final = struct.Struct("<IqqQIIB16s")
_URLSAFE: Final = bytes.maketrans(b"-_", b"+/")

REGISTER: Final = np.dtype(
    [
        ("visits", "<u4"),
        ("value_sum", "<i8"),
        ("best", "<i8"),
        ("cost_ms", "<u8"),
        ("successes", "<u4"),
        ("failures", "<u4"),
        ("closed", "u1"),
        ("state", "<u8", (2,)),
    ]
)
"""The wire layout of a register: packed, little endian, 53 bytes; the same as ``Register.pack``."""
assert REGISTER.itemsize == _REGISTER.size

Key = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]

TreeAction = Click | Fill | Select | Check | Press | Scroll
"""The actions of a search. Opening an address, waiting and extracting are allowed only in recordings: from a peer they could direct
this node's browser to an address, delay it, or collect page content.
"""


def root_key(search_id: str) -> bytes:
    """The key of the root of a search, 16 bytes."""
    return hashlib.sha256(_DOMAIN + b"root" + search_id.encode()).digest()[:KEY_BYTES]


def node_key(parent: bytes, action: bytes) -> bytes:
    """The key of the node that ``action`` (encoded) leads to from ``parent``, 16 bytes."""
    return hashlib.sha256(_DOMAIN + parent + action).digest()[:KEY_BYTES]


def key_text(key: bytes) -> str:
    """The key in the form of the maps: 22 characters of base64url."""
    return binascii.b2a_base64(key, newline=False)[:_KEY_CHARS].replace(b"+", b"-").replace(b"/", b"_").decode()


def parse_key(text: bytes) -> bytes:
    """The key written as ``text`` (ASCII). Errors: ``delta.invalid``."""
    try:
        key = binascii.a2b_base64(text.translate(_URLSAFE) + b"==", strict_mode=True)
    except binascii.Error as error:
        raise MeshError("delta.invalid", "a map key is not base64url") from error
    if len(key) != KEY_BYTES or key_text(key).encode() != text:
        raise MeshError("delta.invalid", "a map key is not 16 bytes in canonical base64url")
    return key


class NodeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A node as one peer names it. ``parent`` and ``action`` determine its key."""

    parent: Key
    action: Annotated[bytes, msgspec.Meta(max_length=limits.TREE_ACTION_BYTES_MAX)]
    """The strict CBOR of a ``protocol.page.actions.action.Action``."""
    prior: Annotated[int, msgspec.Meta(ge=0, le=SCALE)]
    """Probability, times ``SCALE``."""
    risk: Annotated[int, msgspec.Meta(ge=1, le=7)]

    @property
    def key(self) -> bytes:
        """The key of this node."""
        return node_key(self.parent, self.action)


class Register(msgspec.Struct, frozen=True, kw_only=True):
    """One peer's results at one node, summed since the epoch began."""

    visits: int = 0
    value_sum: int = 0
    """Sum of the values of all visits, times ``SCALE``."""
    best: int = 0
    """Highest value of a visit, times ``SCALE``."""
    cost_ms: int = 0
    successes: int = 0
    """Claimed successes; a claim has no effect until it has been replayed."""
    failures: int = 0
    closed: bool = False
    """True if nothing is left to try below this node."""
    state: bytes = STATE_UNKNOWN
    """State hash seen after the action; zeros if unknown."""

    def pack(self) -> bytes:
        """The 53 bytes of the wire layout."""
        return _REGISTER.pack(
            self.visits, self.value_sum, self.best, self.cost_ms, self.successes, self.failures, self.closed, self.state
        )

    @classmethod
    def unpack(cls, data: bytes) -> Register:
        """The register in 53 bytes that passed ``unpack_registers``."""
        visits, value_sum, best, cost_ms, successes, failures, closed, state = _REGISTER.unpack(data)
        return cls(
            visits=visits,
            value_sum=value_sum,
            best=best,
            cost_ms=cost_ms,
            successes=successes,
            failures=failures,
            closed=bool(closed),
            state=state,
        )


class LeaseEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The coordinator's record of the worker on a branch."""

    worker: NodeId
    """Node id."""
    lease: LeaseId
    """Lease id."""
    term: Annotated[int, msgspec.Meta(ge=1, le=limits.EPOCH_MAX)]
    live: bool


class TreeUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """Decoded and checked entries of one delta. Keys are 16 bytes; no key occurs twice in one part."""

    nodes: Mapping[bytes, NodeEntry] = {}
    stat_keys: Sequence[bytes] = ()
    stats: NDArray[Any] = np.empty(0, REGISTER)
    """Shape ``(len(stat_keys),)``, dtype ``REGISTER``."""
    leases: Mapping[bytes, LeaseEntry] = {}
    """By the key of the leased branch."""

    def __bool__(self) -> bool:
        return bool(self.nodes or len(self.stat_keys) or self.leases)


def make_update(
    nodes: Mapping[bytes, NodeEntry] | None = None,
    stats: Mapping[bytes, Register] | None = None,
    leases: Mapping[bytes, LeaseEntry] | None = None,
) -> TreeUpdate:
    """An update made from records, under the same rules as a received one. Errors: ``delta.invalid``."""
    stats = stats or {}
    for key, entry in (nodes or {}).items():
        _check_node(key, entry)
    registers = unpack_registers([register.pack() for register in stats.values()])
    return TreeUpdate(nodes=nodes or {}, stat_keys=tuple(stats), stats=registers, leases=leases or {})


def encode_action(action: Action) -> bytes:
    """The canonical encoding of ``action`` in a node. Errors: ``input.too_large``, ``delta.invalid`` (no action of a search)."""
    if not isinstance(action, TreeAction):
        raise MeshError("delta.invalid", "a search does not open addresses, wait or extract")
    _check_value(action)
    data = cbor.encode(action)
    if len(data) > limits.TREE_ACTION_BYTES_MAX:
        raise MeshError("input.too_large", "the encoded action is too large for the search tree", bytes=len(data))
    return data


def decode_action(data: bytes) -> TreeAction:
    """The action of a node. Errors: ``delta.invalid``."""
    try:
        action = cbor.decode_as(data, cast("type[TreeAction]", TreeAction), bytes_max=limits.TREE_ACTION_BYTES_MAX)
        if cbor.encode(action) != data:
            # An explicit default value would give one action two keys.
            raise MeshError("delta.invalid", "the action is not in its canonical encoding")
    except MeshError as error:
        raise MeshError("delta.invalid", f"action: {error.message}") from error
    _check_value(action)
    return action


def _check_value(action: TreeAction) -> None:
    if action.timeout_ms:
        raise MeshError("delta.invalid", "an action of a search has no time limit of its own: it could delay a node")
    if isinstance(action, Fill) and isinstance(action.value, Secret):
        raise MeshError("delta.invalid", "a search cannot type secrets")


def _check_node(key: bytes, entry: NodeEntry) -> None:
    decode_action(entry.action)
    if entry.key != key:
        raise MeshError("delta.invalid", "the key of a node does not follow from parent and action")


def decode_node(key: bytes, data: bytes) -> NodeEntry:
    """The node ``key``. Errors: ``delta.invalid`` if it is malformed or does not match its key."""
    entry = _decode(data, NodeEntry)
    _check_node(key, entry)
    return entry


def decode_lease(data: bytes) -> LeaseEntry:
    """A lease value. Errors: ``delta.invalid``."""
    return _decode(data, LeaseEntry)


def _decode(data: bytes, record: type[T]) -> T:
    try:
        return cbor.decode_as(data, record, bytes_max=limits.CHUNK_VALUE_BYTES_MAX, items_max=16, depth_max=1)
    except MeshError as error:
        raise MeshError("delta.invalid", f"{record.__name__}: {error.message}") from error


def unpack_registers(values: Sequence[bytes]) -> NDArray[Any]:
    """Registers, shape ``(len(values),)``, dtype ``REGISTER``, each within its bounds. Errors: ``delta.invalid``."""
    if any(len(value) != _REGISTER.size for value in values):
        raise MeshError("delta.invalid", f"a register must have {_REGISTER.size} bytes")
    table = np.frombuffer(b"".join(values), REGISTER)
    # int64: the sums below would overflow in the narrow types of the wire format.
    visits = table["visits"].astype(np.int64)
    bad = (
        (visits > limits.REGISTER_VISITS_MAX)
        | (table["value_sum"] < 0)
        | (table["value_sum"] > visits * SCALE)
        | (table["best"] < 0)
        | (table["best"] > np.where(visits > 0, SCALE, 0))
        | (table["cost_ms"] > limits.REGISTER_COST_MS_MAX)
        | (table["successes"] > visits)
        | (table["failures"] > visits)
        | (table["closed"] > 1)
    )
    if bad.any():
        raise MeshError("delta.invalid", "a register is out of bounds")
    return table
