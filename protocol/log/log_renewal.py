"""Checks whether the openings of later logs account for the checkpoint that a reader holds of a former one.

A node starts a new log when its store was restored from a backup, or when its owner wants one. It must not get rid of earlier
checkpoints in this way. So the signed opening of the new log names the last checkpoints of the former logs. The rules:

1. The opening of log 0 names nothing. The opening of log n > 0 names as ``previous`` a checkpoint of log n-1.
2. It may also name ``others``: checkpoints of former logs that ``previous`` does not continue. A node needs this only if it has
   lost entries.
3. Every log between the one that a reader holds and the new one is named. For that, the openings of the logs in between are
   sent along.
4. The checkpoint that the reader holds is named, or a proof shows that a named checkpoint continues it.
5. A named checkpoint of the same size with another root than the one held is equivocation: the node signed both.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.errors import MeshError
from protocol.log import merkle
from protocol.log.note import Note
from protocol.log.witness_log import Checkpoint, Link, Opening, Standing, open_checkpoint, parse_origin

Signed = tuple[Checkpoint, Note]


def named_by(opening: Opening, node: str, *keys: bytes) -> tuple[Signed, ...]:
    """The checkpoints that an opening names, ``previous`` first; none for a node's first log.

    Checks, in order: the log is one of ``node``; log 0 names nothing, a later one names ``previous``; each is of ``node`` and
    signed by one of its ``keys``; ``previous`` is of the log just before, the others are of former ones (rules 1 and 2).
    Errors: ``log.invalid``.
    """
    owner, number = parse_origin(opening.log)
    if owner != node:
        raise MeshError("log.invalid", "the opening is of another node's log")
    if number == 0 and (opening.previous or opening.others):
        raise MeshError("log.invalid", "the opening of a node's first log must not name a former log")
    if number == 0:
        return ()
    if not opening.previous:
        raise MeshError("log.invalid", "the opening of a later log must name the log before it")
    named = tuple(open_checkpoint(data, node, *keys) for data in (opening.previous, *opening.others))
    if named[0][0].number != number - 1:
        raise MeshError("log.invalid", "the number of a log must be one higher than that of the log it replaces")
    if any(told.number >= number for told, _ in named[1:]):
        raise MeshError("log.invalid", "an opening may name only former logs")
    return named


def account(
    held: Checkpoint, number: int, named: Sequence[Checkpoint], link: Link
) -> tuple[Standing, Checkpoint | None]:
    """Judge if the checkpoints ``named`` by the openings up to log ``number`` account for the held one, and return the one that
    does.

    ``link``: the proof how the held log continued; its ``base_root`` is ignored.

    SAME: it is named. AHEAD: a named one continues it. CONTRADICTS: the returned one has another root (rule 5).
    UNCONNECTED: the proof starts at another size; ask again. UNPROVEN: nothing accounts for it (rules 3 and 4).
    """
    assert held.number < number
    ours = [told for told in named if told.number == held.number]
    # Checked first: a contradiction must not be hidden by another checkpoint that does account for the held one.
    against = next((told for told in ours if told.size == held.size and told.root != held.root), None)
    if against is not None:
        return Standing.CONTRADICTS, against
    numbers = {told.number for told in named if held.number <= told.number < number}
    if len(numbers) != number - held.number:  # compared by count, because a peer can choose a very large number
        return Standing.UNPROVEN, None
    if held in ours:
        return Standing.SAME, held
    # The root is the held one and not that of the proof, so a valid proof shows that the held history was continued.
    larger = [told for told in ours if told.size > held.size]
    if larger and link.base_size != held.size:
        return Standing.UNCONNECTED, None
    for told in larger:
        if merkle.proves_consistency(held.size, told.size, held.root, told.root, link.proof):
            return Standing.AHEAD, told
    return Standing.UNPROVEN, None
