# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``node.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Sequence

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.node import (
    AcceptedClock,
    ChangedKey,
    Distrusted,
    Health,
    Invited,
    Knocked,
    MadeBackup,
    Met,
    MetNode,
    Metrics,
    Myself,
    NearbyList,
    NoticeList,
    OtherNode,
    PeerList,
    RecoveredKey,
    Regranted,
    RevokedKey,
    Status,
    Trusted,
)


class NodeVerbs(Calls):
    """The verbs ``node.*``."""

    async def status(self, *, progress: Progress | None = None) -> Status:
        """Show who this node is, whether it runs, and what it is doing.

        progress: is told what happens meanwhile.
        """
        found: Status = await self._call("node.status", {}, progress, Status)
        return found

    async def whoami(self, *, progress: Progress | None = None) -> Myself:
        """Show which caller this command acts as, and which verbs that caller may call.

        progress: is told what happens meanwhile.
        """
        found: Myself = await self._call("node.whoami", {}, progress, Myself)
        return found

    async def peers(self, *, progress: Progress | None = None) -> PeerList:
        """List the peers of this node and their grants; distrusted peers come last.

        progress: is told what happens meanwhile.
        """
        found: PeerList = await self._call("node.peers", {}, progress, PeerList)
        return found

    async def metrics(self, *, progress: Progress | None = None) -> Metrics:
        """Print the node's metrics in the text format of Prometheus, or with --json as values.

        progress: is told what happens meanwhile.
        """
        found: Metrics = await self._call("node.metrics", {}, progress, Metrics)
        return found

    async def doctor(self, *, browser: bool = True, progress: Progress | None = None) -> Health:
        """Check everything this node needs, and give a remedy for each fault.

        browser: Do not start a browser for the check.
        progress: is told what happens meanwhile.
        """
        found: Health = await self._call("node.doctor", {"browser": browser}, progress, Health)
        return found

    async def discover(self, *, seconds: int = 3, progress: Progress | None = None) -> NearbyList:
        """List the nodes that announce themselves on the local network.

        seconds: How long to listen.
        progress: is told what happens meanwhile.
        """
        found: NearbyList = await self._call("node.discover", {"seconds": seconds}, progress, NearbyList)
        return found

    async def knock(
        self, address: str, *, public_key: str, node: str = "", progress: Progress | None = None
    ) -> Knocked:
        """Send a signed delta to a node that is not a peer, and show how it refuses.

        address: Address of the other node.
        public_key: Public key of the other node (`node status --json` there shows it).
        node: Its node id (shown by the same command); required if it has changed its key.
        progress: is told what happens meanwhile.
        """
        found: Knocked = await self._call(
            "node.knock", {"address": address, "public_key": public_key, "node": node}, progress, Knocked
        )
        return found

    async def backup(self, out: str, *, progress: Progress | None = None) -> MadeBackup:
        """Write a backup of this node to FILE, also while it serves.

        out: File to write; one that exists is replaced.
        progress: is told what happens meanwhile.
        """
        found: MadeBackup = await self._call("node.backup", {"out": out}, progress, MadeBackup)
        return found

    async def rotate(self, *, progress: Progress | None = None) -> ChangedKey:
        """Replace the witness key by a new one. The node id stays the same, and peers need not pair again. Peers
        that can be reached receive the new key at once, the others when they next connect.

        progress: is told what happens meanwhile.
        """
        found: ChangedKey = await self._call("node.rotate", {}, progress, ChangedKey)
        return found

    async def recover(
        self,
        *,
        key_file: str = "",
        words_file: str = "",
        since_s: int = 0,
        recovery_out: str = "",
        progress: Progress | None = None,
    ) -> RecoveredKey:
        """Replace a lost or stolen witness key by means of the recovery key.

        key_file: The recovery key: the file of `node init`.
        words_file: The recovery key: 24 words, numbered or not.
        since_s: UTC time from which nothing signed by the lost key is believed (2025-03-01T12:00); not before
        this node was made. [default: now]
        recovery_out: Write a new recovery key to this file; the one used now becomes invalid.
        progress: is told what happens meanwhile.
        """
        found: RecoveredKey = await self._call(
            "node.recover",
            {"key_file": key_file, "words_file": words_file, "since_s": since_s, "recovery_out": recovery_out},
            progress,
            RecoveredKey,
        )
        return found

    async def revoke_self(
        self, *, key_file: str = "", words_file: str = "", since_s: int = 0, progress: Progress | None = None
    ) -> RevokedKey:
        """Revoke this node: peers that receive the revocation refuse it and reject everything it signs from then
        on.

        key_file: The recovery key: the file of `node init`.
        words_file: The recovery key: 24 words, numbered or not.
        since_s: UTC time from which nothing signed by the lost key is believed (2025-03-01T12:00); not before
        this node was made. [default: now]
        progress: is told what happens meanwhile.
        """
        found: RevokedKey = await self._call(
            "node.revoke_self",
            {"key_file": key_file, "words_file": words_file, "since_s": since_s},
            progress,
            RevokedKey,
        )
        return found

    async def accept_clock(self, *, progress: Progress | None = None) -> AcceptedClock:
        """Say that the clock of this machine was ahead, and is right now.

        progress: is told what happens meanwhile.
        """
        found: AcceptedClock = await self._call("node.accept_clock", {}, progress, AcceptedClock)
        return found

    async def invite(
        self, *, grant: Sequence[str] = (), ask: Sequence[str] = (), minutes: int = 10, progress: Progress | None = None
    ) -> Invited:
        """Print an invite for one other node. An invite works once and for a few minutes. Whoever has it can pair.

        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        minutes: How long the invite is valid.
        progress: is told what happens meanwhile.
        """
        found: Invited = await self._call(
            "node.invite", {"grant": grant, "ask": ask, "minutes": minutes}, progress, Invited
        )
        return found

    async def join(
        self, *, invite: str, grant: Sequence[str] = (), ask: Sequence[str] = (), progress: Progress | None = None
    ) -> MetNode:
        """Pair with the node that printed an invite.

        invite: The invite that the other node printed (tmi1.…).
        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        progress: is told what happens meanwhile.
        """
        found: MetNode = await self._call(
            "node.join", {"invite": invite, "grant": grant, "ask": ask}, progress, MetNode
        )
        return found

    async def pair_wait(
        self,
        *,
        grant: Sequence[str] = (),
        ask: Sequence[str] = (),
        fingerprint: str = "",
        seconds: int = 600,
        progress: Progress | None = None,
    ) -> Met:
        """Listen at an address until one other node joins to pair without an invite.

        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        fingerprint: The other node's id or public key (`node id` there shows them), for use in scripts: it
        replaces the comparison of digits.
        seconds: How long to wait.
        progress: is told what happens meanwhile.
        """
        found: Met = await self._call(
            "node.pair_wait",
            {"grant": grant, "ask": ask, "fingerprint": fingerprint, "seconds": seconds},
            progress,
            Met,
        )
        return found

    async def pair_begin(
        self,
        *,
        address: str,
        grant: Sequence[str] = (),
        ask: Sequence[str] = (),
        fingerprint: str = "",
        progress: Progress | None = None,
    ) -> Met:
        """Connect to a node that waits at an address, to pair without an invite.

        address: The address that `node pair` printed there (https://…).
        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        fingerprint: The other node's id or public key (`node id` there shows them), for use in scripts: it
        replaces the comparison of digits.
        progress: is told what happens meanwhile.
        """
        found: Met = await self._call(
            "node.pair_begin",
            {"address": address, "grant": grant, "ask": ask, "fingerprint": fingerprint},
            progress,
            Met,
        )
        return found

    async def pair_confirm(self, *, meeting: str, agreed: bool, progress: Progress | None = None) -> OtherNode:
        """Confirm or reject a pairing, then wait for the decision of the person at the other node.

        meeting: The id that `node.pair_wait` or `node.pair_begin` returned.
        agreed: Whether the digits are the same and the node is the intended one.
        progress: is told what happens meanwhile.
        """
        found: OtherNode = await self._call(
            "node.pair_confirm", {"meeting": meeting, "agreed": agreed}, progress, OtherNode
        )
        return found

    async def grant(
        self, peer: str, grants: Sequence[str], *, only: bool = False, progress: Progress | None = None
    ) -> Regranted:
        """Grant more scopes to a peer. Takes effect at once. A scope without origins covers every site.
        `https://*.shop.example` covers every host below that domain, not the domain itself.

        peer: The peer: its name, short id or id.
        grants: The scopes; an origin limits the scope before it.
        only: Replace the origins of these scopes instead of adding to them.
        progress: is told what happens meanwhile.
        """
        found: Regranted = await self._call(
            "node.grant", {"peer": peer, "grants": grants, "only": only}, progress, Regranted
        )
        return found

    async def ungrant(self, peer: str, grants: Sequence[str], *, progress: Progress | None = None) -> Regranted:
        """Withdraw scopes from a peer. Takes effect at once: searches and leases that depended on the scope are
        ended. A scope named without origins is withdrawn completely. The peer stays a peer and keeps `status`.

        peer: The peer: its name, short id or id.
        grants: The scopes; an origin limits the scope before it.
        progress: is told what happens meanwhile.
        """
        found: Regranted = await self._call("node.ungrant", {"peer": peer, "grants": grants}, progress, Regranted)
        return found

    async def distrust(
        self, peer: str, *, reason: str = "", notify: bool = False, progress: Progress | None = None
    ) -> Distrusted:
        """Stop trusting a peer at once.

        peer: The peer: its name, short id or id.
        reason: The reason, in one line; stored here and included in the notice.
        notify: Send a signed notice to the peers that know it. A notice is advice; no node acts on it
        automatically.
        progress: is told what happens meanwhile.
        """
        found: Distrusted = await self._call(
            "node.distrust", {"peer": peer, "reason": reason, "notify": notify}, progress, Distrusted
        )
        return found

    async def trust(self, peer: str, *, notify: bool = False, progress: Progress | None = None) -> Trusted:
        """Trust a distrusted peer again, with the scopes it had.

        peer: The peer: its name, short id or id.
        notify: Tell the peers that know it that an earlier notice is withdrawn.
        progress: is told what happens meanwhile.
        """
        found: Trusted = await self._call("node.trust", {"peer": peer, "notify": notify}, progress, Trusted)
        return found

    async def notices(self, about: str = "", *, progress: Progress | None = None) -> NoticeList:
        """List the notices of distrust from peers and from this node. With ABOUT: only those about that node.

        about: Only notices about this node; empty for all.
        progress: is told what happens meanwhile.
        """
        found: NoticeList = await self._call("node.notices", {"about": about}, progress, NoticeList)
        return found


class BlockingNodeVerbs(BlockingCalls):
    """The verbs ``node.*``, each of which waits until it is done."""

    def status(self, *, progress: Progress | None = None) -> Status:
        """Show who this node is, whether it runs, and what it is doing.

        progress: is told what happens meanwhile.
        """
        found: Status = self._call("node.status", {}, progress, Status)
        return found

    def whoami(self, *, progress: Progress | None = None) -> Myself:
        """Show which caller this command acts as, and which verbs that caller may call.

        progress: is told what happens meanwhile.
        """
        found: Myself = self._call("node.whoami", {}, progress, Myself)
        return found

    def peers(self, *, progress: Progress | None = None) -> PeerList:
        """List the peers of this node and their grants; distrusted peers come last.

        progress: is told what happens meanwhile.
        """
        found: PeerList = self._call("node.peers", {}, progress, PeerList)
        return found

    def metrics(self, *, progress: Progress | None = None) -> Metrics:
        """Print the node's metrics in the text format of Prometheus, or with --json as values.

        progress: is told what happens meanwhile.
        """
        found: Metrics = self._call("node.metrics", {}, progress, Metrics)
        return found

    def doctor(self, *, browser: bool = True, progress: Progress | None = None) -> Health:
        """Check everything this node needs, and give a remedy for each fault.

        browser: Do not start a browser for the check.
        progress: is told what happens meanwhile.
        """
        found: Health = self._call("node.doctor", {"browser": browser}, progress, Health)
        return found

    def discover(self, *, seconds: int = 3, progress: Progress | None = None) -> NearbyList:
        """List the nodes that announce themselves on the local network.

        seconds: How long to listen.
        progress: is told what happens meanwhile.
        """
        found: NearbyList = self._call("node.discover", {"seconds": seconds}, progress, NearbyList)
        return found

    def knock(self, address: str, *, public_key: str, node: str = "", progress: Progress | None = None) -> Knocked:
        """Send a signed delta to a node that is not a peer, and show how it refuses.

        address: Address of the other node.
        public_key: Public key of the other node (`node status --json` there shows it).
        node: Its node id (shown by the same command); required if it has changed its key.
        progress: is told what happens meanwhile.
        """
        found: Knocked = self._call(
            "node.knock", {"address": address, "public_key": public_key, "node": node}, progress, Knocked
        )
        return found

    def backup(self, out: str, *, progress: Progress | None = None) -> MadeBackup:
        """Write a backup of this node to FILE, also while it serves.

        out: File to write; one that exists is replaced.
        progress: is told what happens meanwhile.
        """
        found: MadeBackup = self._call("node.backup", {"out": out}, progress, MadeBackup)
        return found

    def rotate(self, *, progress: Progress | None = None) -> ChangedKey:
        """Replace the witness key by a new one. The node id stays the same, and peers need not pair again. Peers
        that can be reached receive the new key at once, the others when they next connect.

        progress: is told what happens meanwhile.
        """
        found: ChangedKey = self._call("node.rotate", {}, progress, ChangedKey)
        return found

    def recover(
        self,
        *,
        key_file: str = "",
        words_file: str = "",
        since_s: int = 0,
        recovery_out: str = "",
        progress: Progress | None = None,
    ) -> RecoveredKey:
        """Replace a lost or stolen witness key by means of the recovery key.

        key_file: The recovery key: the file of `node init`.
        words_file: The recovery key: 24 words, numbered or not.
        since_s: UTC time from which nothing signed by the lost key is believed (2025-03-01T12:00); not before
        this node was made. [default: now]
        recovery_out: Write a new recovery key to this file; the one used now becomes invalid.
        progress: is told what happens meanwhile.
        """
        found: RecoveredKey = self._call(
            "node.recover",
            {"key_file": key_file, "words_file": words_file, "since_s": since_s, "recovery_out": recovery_out},
            progress,
            RecoveredKey,
        )
        return found

    def revoke_self(
        self, *, key_file: str = "", words_file: str = "", since_s: int = 0, progress: Progress | None = None
    ) -> RevokedKey:
        """Revoke this node: peers that receive the revocation refuse it and reject everything it signs from then
        on.

        key_file: The recovery key: the file of `node init`.
        words_file: The recovery key: 24 words, numbered or not.
        since_s: UTC time from which nothing signed by the lost key is believed (2025-03-01T12:00); not before
        this node was made. [default: now]
        progress: is told what happens meanwhile.
        """
        found: RevokedKey = self._call(
            "node.revoke_self",
            {"key_file": key_file, "words_file": words_file, "since_s": since_s},
            progress,
            RevokedKey,
        )
        return found

    def accept_clock(self, *, progress: Progress | None = None) -> AcceptedClock:
        """Say that the clock of this machine was ahead, and is right now.

        progress: is told what happens meanwhile.
        """
        found: AcceptedClock = self._call("node.accept_clock", {}, progress, AcceptedClock)
        return found

    def invite(
        self, *, grant: Sequence[str] = (), ask: Sequence[str] = (), minutes: int = 10, progress: Progress | None = None
    ) -> Invited:
        """Print an invite for one other node. An invite works once and for a few minutes. Whoever has it can pair.

        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        minutes: How long the invite is valid.
        progress: is told what happens meanwhile.
        """
        found: Invited = self._call("node.invite", {"grant": grant, "ask": ask, "minutes": minutes}, progress, Invited)
        return found

    def join(
        self, *, invite: str, grant: Sequence[str] = (), ask: Sequence[str] = (), progress: Progress | None = None
    ) -> MetNode:
        """Pair with the node that printed an invite.

        invite: The invite that the other node printed (tmi1.…).
        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        progress: is told what happens meanwhile.
        """
        found: MetNode = self._call("node.join", {"invite": invite, "grant": grant, "ask": ask}, progress, MetNode)
        return found

    def pair_wait(
        self,
        *,
        grant: Sequence[str] = (),
        ask: Sequence[str] = (),
        fingerprint: str = "",
        seconds: int = 600,
        progress: Progress | None = None,
    ) -> Met:
        """Listen at an address until one other node joins to pair without an invite.

        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        fingerprint: The other node's id or public key (`node id` there shows them), for use in scripts: it
        replaces the comparison of digits.
        seconds: How long to wait.
        progress: is told what happens meanwhile.
        """
        found: Met = self._call(
            "node.pair_wait",
            {"grant": grant, "ask": ask, "fingerprint": fingerprint, "seconds": seconds},
            progress,
            Met,
        )
        return found

    def pair_begin(
        self,
        *,
        address: str,
        grant: Sequence[str] = (),
        ask: Sequence[str] = (),
        fingerprint: str = "",
        progress: Progress | None = None,
    ) -> Met:
        """Connect to a node that waits at an address, to pair without an invite.

        address: The address that `node pair` printed there (https://…).
        grant: What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more. [default: nothing but
        status]
        ask: Scopes to request at the other node. They are shown there; only the person there can grant them.
        fingerprint: The other node's id or public key (`node id` there shows them), for use in scripts: it
        replaces the comparison of digits.
        progress: is told what happens meanwhile.
        """
        found: Met = self._call(
            "node.pair_begin",
            {"address": address, "grant": grant, "ask": ask, "fingerprint": fingerprint},
            progress,
            Met,
        )
        return found

    def pair_confirm(self, *, meeting: str, agreed: bool, progress: Progress | None = None) -> OtherNode:
        """Confirm or reject a pairing, then wait for the decision of the person at the other node.

        meeting: The id that `node.pair_wait` or `node.pair_begin` returned.
        agreed: Whether the digits are the same and the node is the intended one.
        progress: is told what happens meanwhile.
        """
        found: OtherNode = self._call("node.pair_confirm", {"meeting": meeting, "agreed": agreed}, progress, OtherNode)
        return found

    def grant(
        self, peer: str, grants: Sequence[str], *, only: bool = False, progress: Progress | None = None
    ) -> Regranted:
        """Grant more scopes to a peer. Takes effect at once. A scope without origins covers every site.
        `https://*.shop.example` covers every host below that domain, not the domain itself.

        peer: The peer: its name, short id or id.
        grants: The scopes; an origin limits the scope before it.
        only: Replace the origins of these scopes instead of adding to them.
        progress: is told what happens meanwhile.
        """
        found: Regranted = self._call("node.grant", {"peer": peer, "grants": grants, "only": only}, progress, Regranted)
        return found

    def ungrant(self, peer: str, grants: Sequence[str], *, progress: Progress | None = None) -> Regranted:
        """Withdraw scopes from a peer. Takes effect at once: searches and leases that depended on the scope are
        ended. A scope named without origins is withdrawn completely. The peer stays a peer and keeps `status`.

        peer: The peer: its name, short id or id.
        grants: The scopes; an origin limits the scope before it.
        progress: is told what happens meanwhile.
        """
        found: Regranted = self._call("node.ungrant", {"peer": peer, "grants": grants}, progress, Regranted)
        return found

    def distrust(
        self, peer: str, *, reason: str = "", notify: bool = False, progress: Progress | None = None
    ) -> Distrusted:
        """Stop trusting a peer at once.

        peer: The peer: its name, short id or id.
        reason: The reason, in one line; stored here and included in the notice.
        notify: Send a signed notice to the peers that know it. A notice is advice; no node acts on it
        automatically.
        progress: is told what happens meanwhile.
        """
        found: Distrusted = self._call(
            "node.distrust", {"peer": peer, "reason": reason, "notify": notify}, progress, Distrusted
        )
        return found

    def trust(self, peer: str, *, notify: bool = False, progress: Progress | None = None) -> Trusted:
        """Trust a distrusted peer again, with the scopes it had.

        peer: The peer: its name, short id or id.
        notify: Tell the peers that know it that an earlier notice is withdrawn.
        progress: is told what happens meanwhile.
        """
        found: Trusted = self._call("node.trust", {"peer": peer, "notify": notify}, progress, Trusted)
        return found

    def notices(self, about: str = "", *, progress: Progress | None = None) -> NoticeList:
        """List the notices of distrust from peers and from this node. With ABOUT: only those about that node.

        about: Only notices about this node; empty for all.
        progress: is told what happens meanwhile.
        """
        found: NoticeList = self._call("node.notices", {"about": about}, progress, NoticeList)
        return found
