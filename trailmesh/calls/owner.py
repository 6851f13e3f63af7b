# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``owner.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from typing import Literal

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.owner import Changed, OwnerList


class OwnerVerbs(Calls):
    """The verbs ``owner.*``."""

    async def list(self, *, progress: Progress | None = None) -> OwnerList:
        """List the keys of the owners of this node, revoked ones too.

        progress: is told what happens meanwhile.
        """
        found: OwnerList = await self._call("owner.list", {}, progress, OwnerList)
        return found

    async def change(
        self,
        *,
        by: Literal["first", "owner", "recovery"],
        change: str,
        signed: str = "",
        key_file: str = "",
        words_file: str = "",
        progress: Progress | None = None,
    ) -> Changed:
        """Add or revoke the key of an owner: `trailmesh owner add` and `owner revoke` sign the change and call
        this.

        by: Who vouches: the first key for itself, an active owner, or the recovery key of the node.
        change: The change, encoded (docs/protocol/approval.md), in hexadecimal.
        signed: An envelope over the same bytes, in hexadecimal; empty if none is needed.
        key_file: The recovery key: the file of `node init`.
        words_file: The recovery key: 24 words, numbered or not.
        progress: is told what happens meanwhile.
        """
        found: Changed = await self._call(
            "owner.change",
            {"by": by, "change": change, "signed": signed, "key_file": key_file, "words_file": words_file},
            progress,
            Changed,
        )
        return found


class BlockingOwnerVerbs(BlockingCalls):
    """The verbs ``owner.*``, each of which waits until it is done."""

    def list(self, *, progress: Progress | None = None) -> OwnerList:
        """List the keys of the owners of this node, revoked ones too.

        progress: is told what happens meanwhile.
        """
        found: OwnerList = self._call("owner.list", {}, progress, OwnerList)
        return found

    def change(
        self,
        *,
        by: Literal["first", "owner", "recovery"],
        change: str,
        signed: str = "",
        key_file: str = "",
        words_file: str = "",
        progress: Progress | None = None,
    ) -> Changed:
        """Add or revoke the key of an owner: `trailmesh owner add` and `owner revoke` sign the change and call
        this.

        by: Who vouches: the first key for itself, an active owner, or the recovery key of the node.
        change: The change, encoded (docs/protocol/approval.md), in hexadecimal.
        signed: An envelope over the same bytes, in hexadecimal; empty if none is needed.
        key_file: The recovery key: the file of `node init`.
        words_file: The recovery key: 24 words, numbered or not.
        progress: is told what happens meanwhile.
        """
        found: Changed = self._call(
            "owner.change",
            {"by": by, "change": change, "signed": signed, "key_file": key_file, "words_file": words_file},
            progress,
            Changed,
        )
        return found
