"""Logs for tests: trees in memory, signed checkpoints, proofs."""

from __future__ import annotations

from nacl.signing import SigningKey

from protocol import ids
from protocol.log import witness_log
from protocol.log.merkle import leaf_hash
from protocol.log.merkle_growth import Frontier, Part, Subtree, consistency_parts, folded, inclusion_parts, root_parts
from protocol.log.witness_log import Checkpoint, Link

KEY = SigningKey(bytes([1]) * 32)
PUBLIC = bytes(KEY.verify_key)
NODE = ids.node_id(PUBLIC)


class Tree:
    """A growing tree with everything of it kept."""

    def __init__(self, leaves: list[bytes] | None = None) -> None:
        self.frontier = Frontier()
        self.stored: dict[Subtree, bytes] = {}
        for leaf in leaves or ():
            self.append(leaf)

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash."""
        self.stored.update(self.frontier.append(leaf))

    def hashes(self, parts: list[Part]) -> list[bytes]:
        """What ``parts`` fold to."""
        return folded(parts, [self.stored[place] for part in parts for place in part])

    def root(self, size: int) -> bytes:
        """The root at a size of at least 1."""
        return self.hashes(root_parts(size))[0]

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """The proof of a leaf."""
        return self.hashes(inclusion_parts(index, size))

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The proof between two sizes."""
        return self.hashes(consistency_parts(old, new))

    def link(self, old: int, new: int) -> Link:
        """As the owner of this tree would tell it."""
        return Link(base_size=old, base_root=self.root(old), proof=tuple(self.consistency(old, new)))

    def checkpoint(self, size: int = 0, *, number: int = 0) -> Checkpoint:
        """Unsigned; of all leaves by default."""
        size = size or self.frontier.count
        return Checkpoint(node=NODE, number=number, size=size, root=self.root(size))

    def note(self, size: int = 0, *, number: int = 0, key: SigningKey = KEY) -> bytes:
        """Signed."""
        return witness_log.sign(self.checkpoint(size, number=number), key).encode()


def tree(count: int, *, fork_at: int | None = None) -> Tree:
    """``count`` leaves; from ``fork_at`` on they are others than those of the tree without a fork."""
    fork = count if fork_at is None else fork_at
    return Tree([leaf_hash(f"{number}{'' if number < fork else ' forked'}".encode()) for number in range(count)])
