"""Encodes store records as strict CBOR, with the checks shared by all store implementations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from adapters.log_records import LeafRecord, LogRecord, Subtree
from adapters.ports.records import AgentRecord, DeltaRecord
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.session import Session, Step
from protocol.wire import cbor

T = TypeVar("T", bound=msgspec.Struct)

RECORD_BYTES_MAX: Final = 64 * limits.MIB
"""Upper limit for one record, far above every valid one; wire limits are checked before data reaches the store."""
RECORD_ITEMS_MAX: Final = 1_000_000
_BOUNDS: Final = {"bytes_max": RECORD_BYTES_MAX, "items_max": RECORD_ITEMS_MAX}


def pack(record: msgspec.Struct) -> bytes:
    """The body of ``record``, after checking that ``unpack`` reads the same record back.

    msgspec checks field limits only when it decodes. Without this check, a record with too long a text would be stored and
    could never be read again. Errors: ``input.invalid``, ``input.too_large``.
    """
    try:
        body = cbor.encode(record)
        cbor.decode_as(body, type(record), **_BOUNDS)
    except MeshError as error:
        code = "input.too_large" if error.code == "cbor.limit" else "input.invalid"
        raise MeshError(code, f"{type(record).__name__}: {error.message}") from error
    except (
        TypeError,
        ValueError,
        OverflowError,
    ) as error:  # from msgspec and cbor2, for values that they cannot encode
        raise MeshError("input.invalid", f"{type(record).__name__}: {error}"[:200]) from error
    return body


def blob(value: object) -> bytes:
    """``value``, if it is bytes: a damaged page gives values of any type, despite the schema. Errors: ``store.corrupt``."""
    if not isinstance(value, bytes):
        raise MeshError("store.corrupt", f"the store contains {type(value).__name__} where bytes are expected")
    return value


def unpack(body: bytes, record: type[T]) -> T:
    """The record that ``pack`` encoded as ``body``. Errors: ``store.corrupt``."""
    try:
        return cbor.decode_as(blob(body), record, **_BOUNDS)
    except MeshError as error:
        raise MeshError("store.corrupt", f"a stored {record.__name__} cannot be read: {error.message}") from error


def of_columns(record: type[T], row: Sequence[object]) -> T:
    """The record whose fields are the columns of ``row``. Errors: ``store.corrupt`` for a column of another type."""
    try:
        return msgspec.convert(dict(zip(record.__struct_fields__, row, strict=True)), record, builtin_types=(bytes,))
    except (msgspec.ValidationError, UnicodeError) as error:
        raise MeshError("store.corrupt", f"a stored {record.__name__} cannot be read: {error}"[:200]) from error


def fitting(deltas: Iterable[DeltaRecord], bytes_max: int) -> list[DeltaRecord]:
    """The first of ``deltas`` that fit into ``bytes_max`` bytes together, at least one; no others are read."""
    found: list[DeltaRecord] = []
    total = 0
    for delta in deltas:
        total += len(delta.envelope)
        if found and total > bytes_max:
            break
        found.append(delta)
    return found


def where(conditions: Sequence[str]) -> str:
    """The WHERE clause of ``conditions``, none of which may come from outside."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def integer(value: int) -> int:
    """``value``, if it fits the database. Errors: ``input.invalid``."""
    if not -(2**63) <= value < 2**63:
        raise MeshError("input.invalid", "a number is outside the range that can be stored")
    return value


def with_call(agent: AgentRecord | None) -> AgentRecord:
    """``agent`` with one more call. Errors: ``input.not_found``, ``agent.budget``."""
    if agent is None:
        raise _no_agent()
    if agent.calls_max and agent.calls >= agent.calls_max:
        raise MeshError("agent.budget", f"all of its {agent.calls_max} calls are used up", agent=agent.name)
    return msgspec.structs.replace(agent, calls=agent.calls + 1)


def with_browser_ms(agent: AgentRecord | None, browser_ms: int) -> AgentRecord:
    """``agent`` with as much of ``browser_ms`` added as it has left; a negative time is a refund.

    Errors: ``input.not_found``, ``agent.budget``.
    """
    if agent is None:
        raise _no_agent()
    if agent.browser_ms_max and browser_ms > 0:
        browser_ms = min(browser_ms, agent.browser_ms_max - agent.browser_ms)
        if browser_ms <= 0:
            told = f"all of its {agent.browser_ms_max // 1000} s of browser time are used up"
            raise MeshError("agent.budget", told, agent=agent.name)
    return msgspec.structs.replace(agent, browser_ms=max(0, agent.browser_ms + browser_ms))


def _no_agent() -> MeshError:
    return MeshError("input.not_found", "no agent has this token")


def search_text(session: Session) -> str:
    """The text that a session search looks in; both sides are case-folded here, as SQLite folds only ASCII."""
    return "\n".join((session.title, session.start_url, session.id)).casefold()


def check_limit(limit: int) -> int:
    """``limit``, if it is a valid count. Errors: ``input.invalid``."""
    if limit < 0:
        raise MeshError("input.invalid", "a limit must be 0 or greater", limit=limit)
    return integer(limit)


def check_next(session_id: str, last: int, step: Step) -> None:
    """Check that ``step`` follows number ``last``. Errors: ``input.invalid``."""
    if step.index != last + 1:
        raise MeshError("input.invalid", f"step {step.index} does not follow step {last}", session=session_id)


def check_whole(session: Session, steps: Sequence[Step]) -> None:
    """Check that ``steps`` are numbered from 1 without gaps. Errors: ``input.invalid``."""
    for last, step in enumerate(steps):
        check_next(session.id, last, step)


def check_leaves(log: LogRecord, leaves: Sequence[LeafRecord], size_before: int) -> None:
    """Check that ``leaves`` lead from ``size_before`` to ``log.size``. Errors: ``input.invalid``."""
    numbered = [(leaf.log, leaf.index) for leaf in leaves]
    if not leaves or numbered != [(log.number, index) for index in range(size_before, log.size)]:
        raise MeshError("input.invalid", f"the leaves do not follow the {size_before} of the log", size=size_before)


def no_subtree(log: int, place: Subtree) -> MeshError:
    """The error for a missing hash of a log."""
    return MeshError("store.corrupt", f"subtree {place[1]} of level {place[0]} of log {log} is missing")


def no_session(session_id: str) -> MeshError:
    """The error for a step of a missing session."""
    return MeshError("input.not_found", f"no session {session_id}", session=session_id)


def no_step(session_id: str, index: int) -> MeshError:
    """The error for a picture of a missing step."""
    return MeshError("input.not_found", f"no step {index} of session {session_id}", session=session_id)


def equivocation(delta: DeltaRecord) -> MeshError:
    """The error for other bytes under the sequence number of ``delta``."""
    return MeshError("delta.equivocation", search=delta.search, peer=delta.peer, epoch=delta.epoch, seq=delta.seq)


def missing_blob(session_id: str, number: int, digest: bytes) -> str:
    """The fault of a step whose blob is missing."""
    return f"step {number} of {session_id} refers to blob {digest.hex()[:16]}…, which is missing"


def missing_manifest(session_id: str, digest: bytes) -> str:
    """The fault of a signed session whose manifest is missing."""
    return f"the signature of {session_id} refers to manifest {digest.hex()[:16]}…, which is missing"


def closed() -> MeshError:
    """The error of every method after ``close``."""
    return MeshError("node.stopped", "the store is closed")
