"""Keys, nodes, registers and leases as peers write them: their form, their limits, and what is said of each fault."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Check,
    Click,
    Extract,
    Fill,
    Goto,
    Locator,
    Press,
    Scroll,
    Secret,
    Select,
    Wait,
)
from protocol.search import entry
from protocol.search.entry import REGISTER, SCALE, LeaseEntry, NodeEntry, Register, TreeUpdate, make_update
from protocol.wire import cbor
from tests.tables import each
from tests.trees import ROOT_KEY, SEARCH, click, lease, node, public_key

FIELD = Locator(role="textbox", name="Name")


def refused(call: Any, *given: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        call(*given)
    return caught.value


def told(call: Any, *given: Any) -> str:
    error = refused(call, *given)
    assert error.code == "delta.invalid"
    return error.message


# --- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_is_half_a_hash_of_the_parent_and_the_action_and_of_no_other_order() -> None:
    assert entry.root_key("sea-1").hex() == "3ec2dab9129727c20655d3dab167351a"
    keys = [entry.root_key(SEARCH), entry.node_key(ROOT_KEY, b"a"), entry.node_key(b"a", ROOT_KEY)]
    assert [len(key) for key in keys] == [16] * 3
    assert len(set(keys)) == 3


def test_a_key_is_written_in_the_alphabet_of_addresses_and_read_back() -> None:
    key = bytes.fromhex("fbefbefffffffbefbe00000000000001")
    assert entry.key_text(key) == "----____----AAAAAAAAAQ"
    assert entry.parse_key(b"----____----AAAAAAAAAQ") == key


@each(
    ("text", "said"),
    [
        (b"*" * 22, "a map key is not base64url"),
        (b"A" * 21, "a map key is not base64url"),
        (b"A" * 21 + b"B", "a map key is not 16 bytes in canonical base64url"),
        (b"A" * 18, "a map key is not 16 bytes in canonical base64url"),
        (b"A" * 26, "a map key is not 16 bytes in canonical base64url"),
        (b"+" * 21 + b"A", "a map key is not 16 bytes in canonical base64url"),
        (b"", "a map key is not base64url"),
    ],
)
def test_a_key_in_any_other_form_is_refused(text: bytes, said: str) -> None:
    assert told(entry.parse_key, text) == said


# --- actions ---------------------------------------------------------------------------------------------------------


@each(
    "action",
    [
        Click(target=FIELD),
        Fill(target=FIELD, value="Maria"),
        Select(target=FIELD, option="Blue"),
        Check(target=FIELD, checked=False),
        Press(key="Enter"),
        Scroll(direction="up"),
    ],
)
def test_what_a_search_performs_is_encoded_and_read_back(action: Action) -> None:
    assert entry.decode_action(entry.encode_action(action)) == action


@each(
    ("action", "said"),
    [
        (Goto(url="http://shop.test/"), "a search does not open addresses, wait or extract"),
        (Wait(), "a search does not open addresses, wait or extract"),
        (Extract(name="x"), "a search does not open addresses, wait or extract"),
        (Fill(target=FIELD, value=Secret(secret="shop")), "a search cannot type secrets"),
    ],
)
def test_what_no_search_performs_is_not_encoded(action: Action, said: str) -> None:
    assert told(entry.encode_action, action) == said


@each(
    ("data", "said"),
    [
        (cbor.encode(Goto(url="http://shop.test/")), "action: Invalid value 'goto' - at `$.type`"),
        (cbor.encode(Fill(target=FIELD, value=Secret(secret="shop"))), "a search cannot type secrets"),
        (
            cbor.encode({"type": "press", "key": "a", "target": None}),
            "action: the action is not in its canonical encoding",
        ),
        (b"\xff", "action: indefinite length or reserved form"),
    ],
)
def test_what_no_search_performs_is_not_read(data: bytes, said: str) -> None:
    assert told(entry.decode_action, data) == said


def named(length: int) -> Click:
    return Click(target=Locator(role="link", name="x" * length))


def test_an_action_exactly_as_long_as_allowed_is_a_node_and_a_longer_one_is_not() -> None:
    room = limits.TREE_ACTION_BYTES_MAX - len(cbor.encode(named(1_000))) + 1_000
    longest = entry.encode_action(named(room))
    assert len(longest) == limits.TREE_ACTION_BYTES_MAX
    assert entry.decode_action(longest) == named(room)
    error = refused(entry.encode_action, named(room + 1))
    assert (error.code, error.detail) == ("input.too_large", {"bytes": limits.TREE_ACTION_BYTES_MAX + 1})
    assert told(entry.decode_action, cbor.encode(named(room + 1))) == "action: 2049 bytes where 2048 are allowed"


# --- nodes and leases ------------------------------------------------------------------------------------------------


def record(**changed: Any) -> dict[str, Any]:
    return {"parent": ROOT_KEY, "action": click("a"), "prior": 1, "risk": 1} | changed


def read(fields: dict[str, Any]) -> NodeEntry:
    return entry.decode_node(entry.node_key(fields["parent"], fields["action"]), cbor.encode(fields))


@each("changed", [{"prior": 0}, {"prior": SCALE}, {"risk": 1}, {"risk": 7}])
def test_a_node_at_the_bounds_of_its_numbers_is_taken(changed: dict[str, int]) -> None:
    assert msgspec.structs.asdict(read(record(**changed))) == record(**changed)


@each(
    ("changed", "said"),
    [
        ({"prior": -1}, "NodeEntry: Expected `int` >= 0 - at `$.prior`"),
        ({"prior": SCALE + 1}, "NodeEntry: Expected `int` <= 1000000 - at `$.prior`"),
        ({"risk": 0}, "NodeEntry: Expected `int` >= 1 - at `$.risk`"),
        ({"risk": 8}, "NodeEntry: Expected `int` <= 7 - at `$.risk`"),
        ({"parent": bytes(15)}, "NodeEntry: Expected `bytes` of length >= 16 - at `$.parent`"),
        ({"parent": bytes(17)}, "NodeEntry: Expected `bytes` of length <= 16 - at `$.parent`"),
        ({"more": 1}, "NodeEntry: Object contains unknown field `more`"),
        ({"more": {"a": 1}}, "NodeEntry: deeper than 1"),
        ({"more": bytes(limits.CHUNK_VALUE_BYTES_MAX)}, None),
        ({f"m{number}": 1 for number in range(4)}, "NodeEntry: more than 16 items"),
    ],
)
def test_a_node_that_is_not_in_its_form_is_refused(changed: dict[str, Any], said: str | None) -> None:
    size = len(cbor.encode(record(**changed)))
    assert told(read, record(**changed)) == (said or f"NodeEntry: {size} bytes where 4096 are allowed")


def test_the_largest_values_that_are_looked_at_have_sixteen_items_and_four_kibibytes() -> None:
    most = record(**{f"m{number}": 1 for number in range(3)})
    assert told(read, most).startswith("NodeEntry: Object contains unknown field")
    room = limits.CHUNK_VALUE_BYTES_MAX - len(cbor.encode(record(more=bytes(3_000)))) + 3_000
    assert told(read, record(more=bytes(room))) == "NodeEntry: Object contains unknown field `more`"
    assert told(read, record(more=bytes(room + 1))) == "NodeEntry: 4097 bytes where 4096 are allowed"


def test_a_node_under_the_key_of_another_is_refused() -> None:
    said = "the key of a node does not follow from parent and action"
    assert told(entry.decode_node, ROOT_KEY, cbor.encode(record())) == said
    assert told(make_update, {ROOT_KEY: node("a")}) == said
    opened = NodeEntry(parent=ROOT_KEY, action=cbor.encode(Wait()), prior=1, risk=1)
    assert told(make_update, {opened.key: opened}) == "action: Invalid value 'wait' - at `$.type`"


@each(
    ("changed", "said"),
    [
        ({"term": 0}, "LeaseEntry: Expected `int` >= 1 - at `$.term`"),
        ({"term": limits.EPOCH_MAX + 1}, "LeaseEntry: Expected `int` <= 2147483647 - at `$.term`"),
        ({"live": 1}, "LeaseEntry: Expected `bool`, got `int` - at `$.live`"),
    ],
)
def test_a_lease_that_is_not_in_its_form_is_refused(changed: dict[str, Any], said: str) -> None:
    fields = msgspec.structs.asdict(lease(1)) | changed
    assert told(entry.decode_lease, cbor.encode(fields)) == said


@each("term", [1, limits.EPOCH_MAX])
def test_a_lease_is_read_back(term: int) -> None:
    written: LeaseEntry = lease(3, live=False, term=term)
    assert written.worker == ids.node_id(public_key("bob"))
    assert entry.decode_lease(cbor.encode(written)) == written


# --- registers -------------------------------------------------------------------------------------------------------

FULL = Register(
    visits=2, value_sum=3, best=4, cost_ms=5, successes=1, failures=2, closed=True, state=bytes(range(1, 17))
)


def test_a_register_is_packed_without_gaps_in_little_endian_order() -> None:
    assert FULL.pack().hex() == (
        "02000000" "0300000000000000" "0400000000000000" "0500000000000000" "01000000" "02000000" "01"
        "0102030405060708090a0b0c0d0e0f10"
    )  # fmt: skip
    assert Register().pack() == bytes(53)
    assert REGISTER.itemsize == 53


def test_a_register_is_read_back_with_truth_as_truth() -> None:
    assert Register.unpack(FULL.pack()) == FULL
    assert Register.unpack(FULL.pack()).closed is True
    assert Register.unpack(bytes(53)) == Register()
    assert Register.unpack(bytes(53)).closed is False


def test_registers_become_a_table_of_one_row_each() -> None:
    table = entry.unpack_registers([FULL.pack(), bytes(53)])
    assert (table.shape, table.dtype) == ((2,), REGISTER)
    assert [table[name].tolist() for name in ("visits", "value_sum", "best", "cost_ms")] == [
        [2, 0],
        [3, 0],
        [4, 0],
        [5, 0],
    ]
    assert [table[name].tolist() for name in ("successes", "failures", "closed")] == [[1, 0], [2, 0], [1, 0]]
    assert table["state"].tobytes() == FULL.state + bytes(16)
    assert entry.unpack_registers([]).shape == (0,)


MOST = Register(
    visits=limits.REGISTER_VISITS_MAX,
    value_sum=limits.REGISTER_VISITS_MAX * SCALE,
    best=SCALE,
    cost_ms=limits.REGISTER_COST_MS_MAX,
    successes=limits.REGISTER_VISITS_MAX,
    failures=limits.REGISTER_VISITS_MAX,
    closed=True,
)


@each(
    "register",
    [
        MOST,
        Register(cost_ms=limits.REGISTER_COST_MS_MAX, closed=True),
        Register(visits=1, value_sum=SCALE, best=SCALE),
        Register(visits=1),
    ],
)
def test_registers_at_their_bounds_are_taken(register: Register) -> None:
    update = make_update(stats={ROOT_KEY: register})
    assert Register.unpack(update.stats[0].tobytes()) == register


@each(
    ("register", "changed"),
    [
        (MOST, {"visits": limits.REGISTER_VISITS_MAX + 1}),
        (MOST, {"value_sum": limits.REGISTER_VISITS_MAX * SCALE + 1}),
        (MOST, {"value_sum": -1}),
        (MOST, {"best": SCALE + 1}),
        (MOST, {"best": -1}),
        (MOST, {"cost_ms": limits.REGISTER_COST_MS_MAX + 1}),
        (MOST, {"successes": limits.REGISTER_VISITS_MAX + 1}),
        (MOST, {"failures": limits.REGISTER_VISITS_MAX + 1}),
        (Register(), {"best": 1}),
        (Register(), {"value_sum": 1}),
        (Register(), {"successes": 1}),
        (Register(), {"failures": 1}),
        (FULL, {"successes": 3}),
        (FULL, {"failures": 3}),
        (FULL, {"closed": 2}),
    ],
)
def test_a_register_beyond_one_of_its_bounds_is_refused_whatever_stands_beside_it(
    register: Register, changed: dict[str, int]
) -> None:
    wrong = msgspec.structs.replace(register, **changed)
    said = "a register is out of bounds"
    assert told(make_update, None, {ROOT_KEY: wrong}) == said
    assert told(entry.unpack_registers, [FULL.pack(), wrong.pack()]) == said


@each("size", [0, 52, 54])
def test_a_register_of_another_size_is_refused(size: int) -> None:
    assert told(entry.unpack_registers, [FULL.pack(), bytes(size)]) == "a register must have 53 bytes"


# --- updates ---------------------------------------------------------------------------------------------------------


def test_an_update_says_something_if_any_part_of_it_does() -> None:
    assert not TreeUpdate()
    assert not make_update()
    assert make_update({node("a").key: node("a")})
    assert make_update(stats={ROOT_KEY: Register()})
    assert make_update(leases={ROOT_KEY: lease(1)})


def test_an_update_holds_what_it_was_made_of_in_the_order_given() -> None:
    below = node("b", node("a").key)
    update = make_update({below.key: below}, {below.key: FULL, ROOT_KEY: Register()}, {ROOT_KEY: lease(1)})
    assert (update.nodes, update.stat_keys, update.leases) == (
        {below.key: below},
        (below.key, ROOT_KEY),
        {ROOT_KEY: lease(1)},
    )
    assert np.array_equal(update.stats, entry.unpack_registers([FULL.pack(), bytes(53)]))
    assert (make_update().nodes, make_update().stat_keys, make_update().leases) == ({}, (), {})
