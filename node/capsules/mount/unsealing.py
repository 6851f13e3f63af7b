"""Writes a login of this node in clear, if its owner asks for it. State never leaves unsealed in any other way.

It is counted and signed like any use, and noted in the audit trail and the feed before the first byte is written. The file must be
new.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

import msgspec

from node.capsules.seal.browser_state import to_browser
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.uses import Mounted, Wanted
from node.verbs import Bound
from node.verbs.capsules import capsule_unseal as verbs
from node.verbs.capsules.capsule_unseal import UNSEALED_WARNING, UnsealedCapsule, UnsealParams
from protocol import ids
from protocol.capsule.slices import NO_SLICE
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.feed import FeedKind

_LEASE_S: Final = 60
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Unsealing:
    """Writes logins in clear for Playwright scripts."""

    def __init__(self, capsules: Capsules) -> None:
        self._capsules, self._kept = capsules, capsules.kept
        self.bound: Bound = {verbs.UNSEAL: lambda params, tell: self.unseal(params)}

    async def unseal(self, given: UnsealParams) -> UnsealedCapsule:
        """Write the login of a capsule in clear.

        Checks, in order: captured here; the file can be made; then everything that ``Capsules.using`` checks. Errors:
        ``input.not_found``, ``capsule.*`` (``capsule.issuer`` of a peer's), ``input.invalid``, ``keylog.*``, ``log.rollback``,
        ``store.*``.
        """
        record = await self._kept.find(given.capsule)
        header = self._kept.open(record).header
        self._kept.witness.trail.about(record.id)
        if header.tenant != self._kept.witness.node:
            # The policy binds this node only: nothing would bind the copy.
            raise MeshError("capsule.issuer", "only the node that captured a capsule unseals it", tenant=header.tenant)
        # A copy needs no browser, so any task that the policy names covers it.
        holder = f"unseal-{self._kept.clock.random(ids.ID_RANDOM_BYTES).hex()}"
        wanted = Wanted(
            origins=header.policy.origins,
            task=header.policy.tasks[0],
            level=1,
            holder=holder,
            seconds=_LEASE_S,
            work="unseal",
        )
        # The file is made first, so that no use is spent on a place that cannot be written.
        with _new(given.out) as file:
            async with self._capsules.using(record.id, wanted) as mounted:
                return await self._written(given.out, file, mounted)

    async def _written(self, out: str, file: IO[bytes], mounted: Mounted) -> UnsealedCapsule:
        header = mounted.header
        given = pages_of(mounted.state)
        data = (await asyncio.to_thread(to_browser, given, now_s=self._kept.clock.now_ms() // 1000)).storage
        # Noted before the first byte: nobody would know of a copy without a row.
        note = {"generation": str(header.generation), "number": str(mounted.number)}
        await self._kept.witness.trail.write("capsule.unsealed", subject=header.id, note=note)
        await self._kept.witness.feed.tell(FeedKind.CAPSULE_UNSEALED, header.id)
        try:
            await asyncio.to_thread(_fill, file, data)
        except OSError as error:
            raise _unwritten(out, error) from error
        row = await self._kept.store.ledger(header.id)
        stored = msgspec.json.decode(data)
        return UnsealedCapsule(
            id=header.id,
            name=header.name,
            generation=header.generation,
            out=out,
            bytes=len(data),
            cookies=len(stored["cookies"]),
            origins=tuple(each["origin"] for each in stored["origins"]),
            left_out=tuple(left_out(mounted.state)),
            uses_left=max(0, header.policy.replays_max - (row.used if row else 0)),
            warning=UNSEALED_WARNING,
        )


def pages_of(state: CapsuleState) -> CapsuleState:
    """``state`` without the parts that Playwright reads from no file: sessionStorage, the storage of frames, files of a profile,
    and credentials for basic authentication.
    """
    pages = tuple(msgspec.structs.replace(each, session=()) for each in state.storage if not each.key)
    return msgspec.structs.replace(state, storage=pages, slice=NO_SLICE, basic=())


def left_out(state: CapsuleState) -> Iterable[str]:
    """Names of the parts of ``state`` that ``pages_of`` drops, and of those that the capture could not take; no values."""
    for each in state.storage:
        if each.key:
            yield f"storage of a frame: {each.key}"
        elif each.session:
            yield f"sessionStorage: {each.origin}"
    for folder in state.slice.folders:
        yield f"files of the profile: {folder.origin}, {folder.size_bytes} bytes"
    for login in state.basic:
        yield f"basic authentication: {login.origin}"
    for lost in state.lost:
        yield f"not captured: {lost.origin}: {lost.what}"


@contextlib.contextmanager
def _new(out: str) -> Iterator[IO[bytes]]:
    """A new file for its owner alone; it is removed again if the block fails. Errors: ``input.invalid``."""
    path = Path(out)
    if path.name == "-":
        raise MeshError("input.invalid", "a login in clear goes to a file, never to standard output")
    try:
        file = os.fdopen(os.open(path, _FLAGS, 0o600), "wb")
    except FileExistsError:
        raise MeshError("input.invalid", f"{out} is there already: a login is written to a new file only") from None
    except OSError as error:
        raise _unwritten(out, error) from error
    with file:
        try:
            yield file
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _fill(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _unwritten(out: str, error: OSError) -> MeshError:
    return MeshError("input.invalid", f"{out} cannot be written: {error.strerror}")
