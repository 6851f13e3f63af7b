# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``passkey.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.passkey import PasskeyList, RemovedPasskey


class PasskeyVerbs(Calls):
    """The verbs ``passkey.*``."""

    async def list(self, *, progress: Progress | None = None) -> PasskeyList:
        """List the passkeys that this node has registered: site, account, when they were made and used, never a
        key.

        progress: is told what happens meanwhile.
        """
        found: PasskeyList = await self._call("passkey.list", {}, progress, PasskeyList)
        return found

    async def remove(self, passkey: str, *, progress: Progress | None = None) -> RemovedPasskey:
        """Destroy a passkey of this node. Nothing brings it back.

        passkey: Id of the passkey.
        progress: is told what happens meanwhile.
        """
        found: RemovedPasskey = await self._call("passkey.remove", {"passkey": passkey}, progress, RemovedPasskey)
        return found


class BlockingPasskeyVerbs(BlockingCalls):
    """The verbs ``passkey.*``, each of which waits until it is done."""

    def list(self, *, progress: Progress | None = None) -> PasskeyList:
        """List the passkeys that this node has registered: site, account, when they were made and used, never a
        key.

        progress: is told what happens meanwhile.
        """
        found: PasskeyList = self._call("passkey.list", {}, progress, PasskeyList)
        return found

    def remove(self, passkey: str, *, progress: Progress | None = None) -> RemovedPasskey:
        """Destroy a passkey of this node. Nothing brings it back.

        passkey: Id of the passkey.
        progress: is told what happens meanwhile.
        """
        found: RemovedPasskey = self._call("passkey.remove", {"passkey": passkey}, progress, RemovedPasskey)
        return found
