"""What trailmesh talks to: one small interface per outside thing.

Adapters translate every foreign exception into ``MeshError`` at this border. Each port has a contract suite in
``tests/contract`` that runs over every adapter and over its in-memory twin.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, NoReturn, Protocol

import msgspec
from nacl.signing import SigningKey

from adapters.audit_records import AuditLine, AuditQuery
from adapters.feed_records import FeedPage
from adapters.log_records import CosignedRecord, EquivocationRecord, HeadRecord, LeafRecord, LogRecord, Subtree
from adapters.schedule_records import RunRecord, ScheduleRecord
from protocol import limits
from protocol.audit import Draft, Head
from protocol.errors import MeshError
from protocol.feed import Change, News
from protocol.limits import MIB
from protocol.messages import Spend
from protocol.page.action import Action
from protocol.page.observation import Observation
from protocol.recording.session import BrowserInfo, Profile, Session, Step
from protocol.risk.classes import GuardPolicy
from protocol.search.delta import Delta
from protocol.search.entry import TreeUpdate
from protocol.trust.grants import Grants

# --- browser ---------------------------------------------------------------------------------------------------------


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What an action led to."""

    observation: Observation
    """The page once it was still (or once it had the expected state)."""
    extracted: str = ""
    blocked: tuple[str, ...] = ()
    """Requests the guard refused since the last outcome, as ``METHOD /path``."""
    dialogs: tuple[str, ...] = ()
    """Dialogs that were dismissed since the last outcome: their type."""
    settled: bool = True
    """False when the page was still changing at the settle timeout."""


class BrowserState(msgspec.Struct, frozen=True, kw_only=True):
    """Cookies and localStorage of a context. A secret: it can be a login. Never logged, never shown."""

    storage: bytes
    """JSON as Playwright's ``storage_state`` gives it. Errors when it is too long: ``input.too_large``."""

    def __post_init__(self) -> None:
        if len(self.storage) > limits.BROWSER_STATE_BYTES_MAX:
            raise MeshError("input.too_large", f"browser state of more than {limits.BROWSER_STATE_BYTES_MAX} bytes")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.storage)} bytes)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("bytes", len(self.storage))]


class Page(Protocol):
    """One page of a context. Used by one task at a time."""

    async def observe(self) -> Observation:
        """The page now. Errors: ``browser.crashed``, ``browser.timeout``, ``browser.unreadable``."""

    async def find(self, selector: str, frame: str = "") -> str | None:
        """The ref, in the last observation, of the one visible element that ``selector`` matches; None if it matches none.

        selector: ``css=…``, ``xpath=…`` or ``text=…``. frame: the frame to search, by its prefix in the observation (``f1``).
        An element without a ref is never exchanged for one around it, with one exception: the whole content of a link or
        button stands for it, since an action on either is received by the same element.
        Errors: ``action.target_ambiguous`` (several visible elements), ``action.not_possible`` (not visible, or no ref),
        ``action.target_missing`` (not a selector), ``browser.*``.
        """

    async def option_label(self, ref: str, value: str) -> str:
        """The label of the option with this ``value`` in the select with this ``ref``; empty if it has no such option.

        Errors: ``action.target_missing``, ``action.not_possible`` (another option has the label as well), ``browser.*``.
        """

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Mapping[str, str] | None = None,
        timeout_ms: int = 0,
    ) -> Outcome:
        """Do ``action`` and wait until the page is still.

        ref: the element, by its ref in the last observation; None for actions without a target.
        expect: a state hash; the wait ends as soon as the page has it.
        secrets: values of the secrets the action names; they appear in no observation, error or log.
        timeout_ms: 0 for the limit of the kind of action.
        Errors: ``browser.crashed``, ``browser.timeout``, ``browser.unreadable``, ``browser.navigation``,
        ``browser.scheme``, ``action.target_missing``, ``action.not_possible``, ``action.secret_literal``,
        ``action.secret_missing``.
        """

    async def screenshot(self) -> bytes:
        """A PNG of the viewport, animations stopped, caret hidden, password fields never readable."""

    async def close(self) -> None:
        """Close the page; its context stays. Never raises; twice is once."""


class Context(Protocol):
    """Pages that share cookies and storage, under one guard, isolated from every other context.

    A window that a page opens is no page of the context: it sends nothing, and where it leads is opened in the page itself.
    """

    @property
    def pages(self) -> tuple[Page, ...]:
        """The open pages, oldest first."""

    async def page(self) -> Page:
        """A new blank page.

        Errors: ``browser.crashed`` (also once the context is closed), ``browser.timeout``, ``browser.launch``.
        """

    async def state(self) -> BrowserState:
        """Cookies and storage now. Errors: ``browser.crashed``, ``browser.timeout``, ``input.too_large``."""

    async def close(self) -> None:
        """Close its pages, and forget its cookies and storage. Never raises; twice is once."""


class Browser(Protocol):
    """A running Chromium."""

    @property
    def info(self) -> BrowserInfo: ...

    async def open(self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None) -> Context:
        """A fresh isolated context under ``guard``, without a page.

        state: the cookies and localStorage that it begins with.
        Errors: ``browser.crashed``, ``browser.timeout``, ``browser.launch``; ``input.invalid`` (not a state).
        """

    async def ended(self) -> None:
        """Wait until the browser runs no more, whatever ended it."""

    async def close(self) -> None:
        """Stop what was started; leave running what was only attached to. Never raises; twice is once."""


OpenBrowser = Callable[[], Awaitable[Browser]]
"""Starts or attaches to a browser. Errors: ``browser.missing``, ``browser.launch``, ``browser.unreachable``."""

# --- store -----------------------------------------------------------------------------------------------------------


class PeerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A peer: whom we trust, for what, and where it listens."""

    node: str
    name: str
    public_key: bytes
    """The current one; the identity is ``node``."""
    addresses: tuple[str, ...]
    """``https://host:port``, best first; empty when it only connects to us."""
    grants: Grants
    """What it may do here."""
    granted_us: Grants = {}
    """What it said last that we may do there; it decides."""
    paired_ms: int
    seen_ms: int = 0
    key_log: bytes = b""
    """Its key log, encoded, with the proof of a contradiction if there is one; empty if it never showed one."""
    distrusted_ms: int = 0
    """When this node's owner distrusted it, milliseconds since 1970; 0 for a peer that is trusted."""
    distrust_reason: str = ""
    """In the owner's words."""
    parting: bool = False
    """It may act no longer, and what this node had to do with it is still being ended."""


class InviteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An open invite. The token itself is not stored."""

    token_hash: bytes
    expires_s: int
    grants: Grants
    failures: int = 0


class ArtefactRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A signed artefact that was made or received here."""

    digest: bytes
    """SHA-256 of ``envelope``."""
    kind: str
    subject: str
    """Id of what it is about: a session, a search, a lease."""
    issuer: str
    issued_s: int
    envelope: bytes


class SearchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A search this node takes part in."""

    id: str
    coordinator: str
    status: str
    """``running``, ``done``, ``failed``, ``stopped``; ``declined``: the owner of this node takes no part in it any more."""
    created_ms: int
    updated_ms: int
    spec: bytes
    """The encoded ``protocol.messages.SearchSpec``."""
    state: bytes
    """What its owner keeps about it, encoded; opaque to the store."""
    caller: str = ""
    """Who had it started here, ``str`` of a ``node.verbs.Caller``; empty if that was not written down."""


class DeltaRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One signed delta as it was received or made."""

    search: str
    peer: str
    epoch: int
    seq: int
    envelope: bytes


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A lease, as seen by the coordinator or by the worker."""

    id: str
    search: str
    branch: bytes
    worker: str
    status: str
    """``live``, ``done``, ``expired``, ``revoked``."""
    expires_ms: int
    assignment: bytes
    """The signed assignment envelope; empty for the coordinator's own work."""
    result: bytes = b""
    """The signed result envelope, once there is one."""
    spend: Spend = Spend()
    """What its worker last said that it has cost."""
    caller: str = ""
    """Who asked for the work: at the coordinator, who runs the search; at a worker, the coordinator. Never sent to anybody."""


class AgentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent: a program that the owner made a token for. The token itself is not stored."""

    name: str
    token_hash: bytes
    """SHA-256 of the token."""
    scopes: tuple[str, ...]
    origins: tuple[str, ...]
    """Patterns of the only origins its browser runs may contact; empty for all that the configuration allows."""
    created_ms: int
    expires_ms: int
    calls_max: int
    """How many calls it may make; 0 for any number."""
    browser_ms_max: int
    """How long it may use a browser, all runs together; 0 for any time."""
    calls: int = 0
    """How many it has made."""
    browser_ms: int = 0
    """How long it has used a browser. What a run has not used of the time it took in advance is given back at its end."""


PAGE_ROWS: Final = 1_000
"""Rows of a page of a list; whoever wants all of a list walks it (``node/base/paging.py``)."""
PAGE_BYTES: Final = 8 * MIB
"""Bytes of a page of deltas."""


class LiveRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A live session: whose it is, how long it may go on, and how it ended. Nothing of what was seen or done in it."""

    id: str
    caller: str
    """Who opened it: ``owner``, ``agent:NAME``."""
    opened_ms: int
    ttl_s: int
    idle_s: int
    actions_max: int
    pages_max: int
    sessions: tuple[str, ...] = ()
    """Ids of the sessions that are recorded of it, one for each page that was used."""
    actions: int = 0
    """How many were tried; counted when it ends."""
    ended_ms: int = 0
    """0 while it is open."""
    reason: str = ""
    """Why it ended."""


class Store(Protocol):
    """What a node remembers. Every method is one transaction; a crash at any line leaves a store that opens.

    Errors of every method: ``store.corrupt``, ``store.full``, ``node.stopped`` (after ``close``); of those that write a
    record, ``input.invalid`` and ``input.too_large`` (it could not be read back). A missing record is ``None`` or an empty
    list.

    news: what the method changes, as the feed tells it: written in the same transaction if something was changed. A change that
    could not be written to the feed is done all the same.
    """

    @property
    def waiting(self) -> int:
        """How many calls have begun and not ended."""

    async def get_meta(self, key: str) -> bytes | None: ...
    async def put_meta(self, key: str, value: bytes) -> None: ...

    async def put_peer(self, peer: PeerRecord, *, news: News | None = None) -> None:
        """Insert or replace."""

    async def peers(self) -> list[PeerRecord]:
        """All peers, by pairing time."""

    async def remove_peer(self, node: str) -> bool: ...

    async def put_invite(self, invite: InviteRecord) -> None: ...
    async def invites(self) -> list[InviteRecord]: ...

    async def take_invite(self, token_hash: bytes) -> InviteRecord | None:
        """Remove and return: at most one caller ever gets an invite."""

    async def put_session(self, session: Session) -> None:
        """Insert or replace the container; the steps stay."""

    async def append_step(self, session_id: str, step: Step) -> None:
        """Add the next step. Errors: ``input.not_found``, ``input.invalid`` (its index is not the next one)."""

    async def commit_session(
        self, session: Session, artefacts: Sequence[ArtefactRecord], *, news: News | None = None
    ) -> None:
        """Replace the container and keep its artefacts, both or neither."""

    async def import_session(
        self,
        session: Session,
        steps: Sequence[Step],
        artefacts: Sequence[ArtefactRecord],
        *,
        news: News | None = None,
    ) -> None:
        """Insert a whole session, its steps and artefacts, all or nothing; replaces one of the same id."""

    async def session(self, session_id: str) -> Session | None: ...
    async def steps(self, session_id: str) -> list[Step]: ...
    async def sessions(self, *, text: str = "", limit: int = 100) -> list[Session]:
        """Newest first; ``text`` is searched in title, start address and id, without regard to case."""

    async def count_sessions(self) -> int:
        """How many sessions there are."""

    async def remove_session(self, session_id: str, remains: bytes = b"", *, news: News | None = None) -> bool:
        """Forget a session, its steps, the artefacts about it and the blobs that no other step names; whether there was one.

        remains: what is kept of it, for ``session_remains``.
        """

    async def session_remains(self, session_id: str) -> bytes | None:
        """What was kept of a session when it was removed; None of one that never was."""

    async def put_artefact(self, artefact: ArtefactRecord, *, news: News | None = None) -> None: ...
    async def artefact(self, digest: bytes) -> ArtefactRecord | None: ...
    async def artefacts(
        self, *, subject: str = "", kind: str = "", after: ArtefactRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[ArtefactRecord]:
        """Oldest first; an empty filter matches all. after: the last one of the page before."""

    async def put_search(self, search: SearchRecord, *, news: News | None = None) -> None: ...
    async def search(self, search_id: str) -> SearchRecord | None: ...
    async def searches(
        self, *, status: str = "", after: SearchRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[SearchRecord]:
        """Newest first. after: the last one of the page before."""

    async def remove_search(self, search_id: str, *, news: News | None = None) -> bool:
        """Forget a search, its deltas, its leases and every meta value whose key begins with ``search/<id>/``; whether there
        was one. That it was removed is remembered."""

    async def search_removed(self, search_id: str) -> bool: ...

    async def append_delta(self, delta: DeltaRecord) -> bool:
        """Keep a delta; False if the same bytes are there already. Errors: ``delta.equivocation`` for other bytes."""

    async def deltas(
        self,
        search_id: str,
        *,
        peer: str = "",
        epoch: int = 0,
        after_seq: int = 0,
        after: DeltaRecord | None = None,
        limit: int = PAGE_ROWS,
        bytes_max: int = PAGE_BYTES,
    ) -> list[DeltaRecord]:
        """By peer, epoch and sequence number; ``epoch`` 0 means every epoch.

        A page ends before ``limit`` or ``bytes_max`` is passed, and holds one delta at least if there is one; ``after`` is the last
        one of the page before.
        """

    async def newest_deltas(self, search_id: str) -> list[DeltaRecord]:
        """The last delta of each peer that has any, by peer."""

    async def drop_deltas(self, search_id: str, peer: str, *, before_epoch: int = 0) -> int:
        """Forget a peer's deltas (all, or those of earlier epochs); how many there were."""

    async def put_lease(self, lease: LeaseRecord, *, news: News | None = None) -> None: ...
    async def lease(self, lease_id: str) -> LeaseRecord | None: ...
    async def leases(self, search_id: str, *, status: str = "") -> list[LeaseRecord]: ...

    async def put_live(self, live: LiveRecord) -> None:
        """Insert or replace."""

    async def live(self, live_id: str) -> LiveRecord | None: ...
    async def lives(self, *, caller: str = "", open_only: bool = False, limit: int = 100) -> list[LiveRecord]:
        """Newest first; an empty caller matches all."""

    async def add_agent(self, agent: AgentRecord) -> bool:
        """Keep a new agent; False if one has its name or its token already, which stays."""

    async def agents(self) -> list[AgentRecord]:
        """By name."""

    async def agent(self, token_hash: bytes) -> AgentRecord | None: ...

    async def count_agent_call(self, token_hash: bytes) -> AgentRecord:
        """Count a call of an agent before it is made; the agent as it is then. Durable when it returns.

        Errors: ``input.not_found``, ``agent.budget`` (nothing is counted).
        """

    async def charge_agent(self, token_hash: bytes, browser_ms: int) -> int:
        """Count time with a browser, before it is used: as much of ``browser_ms`` as is left (returned). Durable when it returns.

        A negative time is given back. Errors: ``input.not_found``, ``agent.budget`` (nothing is left).
        """

    async def remove_agent(self, name: str) -> bool: ...

    async def keep_schedule(self, record: ScheduleRecord, *, was: int, runs: Sequence[RunRecord] = ()) -> bool:
        """Insert a schedule (``was`` 0) or replace version ``was`` of it, and insert records of due times; all or nothing.

        False, and nothing is changed, if the schedule has another version or one of the due times a record. Of each schedule
        the newest ``SCHEDULE_RUNS_MAX`` records stay, and those that run.
        """

    async def schedules(self) -> list[ScheduleRecord]:
        """Oldest first."""

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None: ...

    async def remove_schedule(self, schedule_id: str) -> bool:
        """Forget a schedule and the records of its due times; whether there was one."""

    async def keep_run(self, run: RunRecord, *, was: int) -> bool:
        """Replace version ``was`` of the record of a due time; False if it has another version or is not there."""

    async def runs_of(self, schedule_id: str, *, limit: int) -> list[RunRecord]:
        """The newest records of a schedule, newest first."""

    async def running_runs(self) -> list[RunRecord]:
        """The records of every schedule that say ``running``, by schedule and due time."""

    async def append_log(self, log: LogRecord, leaves: Sequence[LeafRecord], subtrees: Mapping[Subtree, bytes]) -> None:
        """Add ``leaves`` to a log and replace its record, all or nothing; index 0 begins a log.

        Errors: ``input.invalid`` when ``leaves`` do not follow what is there, or do not end at ``log.size``.
        """

    async def logs(self) -> list[LogRecord]:
        """Every log of this node, by number."""

    async def log_subtrees(self, log: int, places: Sequence[Subtree]) -> list[bytes]:
        """The hashes at ``places``, in their order. Errors: ``store.corrupt`` when one is missing."""

    async def log_leaf(self, digest: bytes) -> LeafRecord | None: ...
    async def log_leaves(self, log: int, *, first: int = 0, limit: int = 1_000) -> list[LeafRecord]:
        """By index, from ``first``."""

    async def put_head(self, head: HeadRecord) -> None: ...
    async def heads(self) -> list[HeadRecord]:
        """By node id."""

    async def put_cosigned(self, cosigned: CosignedRecord) -> None: ...
    async def cosigned(self) -> list[CosignedRecord]:
        """By node id of the peer; one of each."""

    async def drop_cosigned(self, witness: str) -> bool:
        """Forget what a peer has cosigned; whether there was anything."""

    async def put_equivocation(self, found: EquivocationRecord) -> bool:
        """Keep a proof; False if there is one about this node already, which stays."""

    async def equivocations(self) -> list[EquivocationRecord]:
        """By node id."""

    async def append_audit(self, draft: Draft) -> AuditLine:
        """Add a row to the audit trail, chained to the last one. Rows are never changed nor removed."""

    async def audit_head(self) -> Head:
        """The end of the audit trail."""

    async def audit_lines(self, *, after: int = 0, limit: int = 1_000) -> list[AuditLine]:
        """By number, those above ``after``; as they are stored, whatever state they are in."""

    async def audit_find(self, query: AuditQuery) -> list[AuditLine]:
        """The newest rows that fit, oldest first."""

    async def append_feed(self, news: News) -> Change:
        """Add a change to the feed, under the next number; the oldest beyond ``limits.FEED_ROWS_MAX`` go."""

    async def feed(self, *, after: int | None = None, limit: int = 100, kind: str = "") -> FeedPage:
        """The first changes with a number above ``after``, the last ones if it is None; in their order.

        kind: the name of one, or the beginning of names up to a dot: ``session`` fits ``session.recorded``.
        """

    async def usage(self) -> dict[str, int]:
        """Bytes that are kept of each peer, by node id: deltas, searches it coordinates, leases, its rows of the trail."""

    async def put_blob(self, data: bytes) -> bytes:
        """Keep ``data`` under its SHA-256 (returned), written atomically."""

    async def blob(self, digest: bytes) -> bytes:
        """The bytes, checked against their hash. Errors: ``blob.missing``."""

    async def check(self) -> list[str]:
        """Faults of the store in words; empty when sound."""

    async def close(self) -> None: ...


# --- search tree -----------------------------------------------------------------------------------------------------


class TreeWriter(Protocol):
    """Writes this node's own document of one search and epoch. One task at a time."""

    @property
    def full(self) -> bool:
        """Whether it is time for a new epoch."""

    def flush(self, update: TreeUpdate) -> list[Delta]:
        """The deltas that say ``update``, in order; none if there is nothing new. Errors: ``input.too_large``."""


NewTreeWriter = Callable[[bytes, str, int], TreeWriter]
"""``(public key, search id, epoch) -> writer``"""

# --- transport -------------------------------------------------------------------------------------------------------


class PeerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a peer listens, and the key it must hold there."""

    node: str
    public_key: bytes
    addresses: tuple[str, ...]


class PeerClient(Protocol):
    """Calls other nodes over the authenticated channel."""

    async def call(
        self, peer: PeerAddress, route: str, body: bytes, *, content_type: str, timeout_s: float = 0
    ) -> bytes:
        """POST ``body`` to ``/peer/v1/<route>``; the answer's body.

        Over the way that was good last time, else over its addresses in order, else over a connection it keeps open.
        Errors: ``peer.unreachable``, ``peer.refused_us``, ``peer.identity``, ``peer.clock``, ``peer.protocol``, or the code the
        peer answered.
        """

    async def look(self, peer: PeerAddress) -> tuple[bytes, ...]:
        """The keys (32 bytes) under which nodes that call themselves ``peer.node`` listen there, as its addresses are ordered.

        Proves nothing about whose keys they are. Errors: ``peer.unreachable``.
        """

    async def introduce(self, peer: PeerAddress, body: bytes) -> None:
        """Show ``body`` to ``peer``, which need not know our key: as nobody in particular, over ``keys/introduce``.

        Errors: ``peer.unreachable``, ``peer.identity``, ``peer.clock``, ``peer.refused_us`` (too many visitors), ``peer.unknown``
        (it did not take it, for whatever reason), ``peer.protocol``.
        """

    def rekey(self, key: SigningKey) -> None:
        """Call as the same node under another witness key, from the next call on."""

    def way(self, node: str) -> str:
        """The address that took the last call to ``node``, or ``held``; empty if nothing did."""

    async def hold(self, peer: PeerAddress, handler: PeerHandler, *, opened: Callable[[], None]) -> NoReturn:
        """Keep a connection to ``peer`` open over which it calls us, until cancelled or until an error (as of ``call``) ends it."""

    async def drop(self, node: str) -> None:
        """End every connection that was opened to ``node``, at once; calls that run fail with ``peer.unreachable``."""

    async def close(self) -> None: ...


PeerHandler = Callable[[str, str, bytes], Awaitable[bytes]]
"""``(node id the channel authenticated, route, body) -> answer``. Raises ``MeshError`` to refuse.

The node id is empty for a caller nobody knows, over ``keys/introduce``; it does not learn why it was refused.
"""


class PeerServer(Protocol):
    """The authenticated listener of a node."""

    async def start(self, handler: PeerHandler) -> str:
        """Listen; the address peers can use. Errors: ``node.address_in_use``."""

    def trust(self, keys: Mapping[str, bytes]) -> None:
        """Replace the set of peers (node id to public key) whose connections are accepted; acts on open ones too."""

    def rekey(self, key: SigningKey) -> None:
        """Answer as the same node under another witness key, from the next connection on."""

    @property
    def held(self) -> frozenset[str]:
        """The peers that keep a connection open over which they can be called."""

    @property
    def peers(self) -> frozenset[str]:
        """The peers that have a connection to this listener open now."""

    @property
    def refusals(self) -> Mapping[str, int]:
        """How many connections and requests were refused, by reason."""

    async def close(self) -> None: ...


class PairingServer(Protocol):
    """The separate listener that is open only while an invite or a window for pairing is."""

    async def start(self, handler: Callable[[bytes, bytes], Awaitable[bytes]]) -> str:
        """Listen; ``handler(request body, SHA-256 of our TLS leaf) -> answer``. The address for the invite."""

    async def close(self) -> None: ...


class PairingClient(Protocol):
    """Reaches another node's pairing listener."""

    def connect(self, url: str) -> AbstractAsyncContextManager[PairingConnection]:
        """Errors: ``invite.url``, ``peer.unreachable``, ``peer.identity`` (no witness key signed the listener's leaf)."""


class PairingConnection(Protocol):
    """One TLS connection to a pairing listener, not yet trusted."""

    @property
    def leaf(self) -> bytes:
        """The TLS leaf certificate (DER) of the listener."""

    @property
    def signer(self) -> bytes:
        """The witness key (32 bytes) that signed the leaf, as its signature shows; whose it is, the pairing exchange decides."""

    async def call(self, body: bytes) -> bytes:
        """Errors: ``peer.unreachable``, ``invite.refused``, ``invite.expired``, ``pairing.refused``, ``pairing.expired``,
        ``peer.limit``, ``peer.protocol``.
        """


# --- keys ------------------------------------------------------------------------------------------------------------


class KeyStore(Protocol):
    """Where the seeds of a node's witness keys are at rest.

    It holds one seed, and two while a key is changed: the key log says which is current, so a crash between the two
    writes loses neither.
    """

    @property
    def form(self) -> str:
        """``file``, ``passphrase``, ``keyring``, ``memory``: how the seeds are kept, for people."""

    def load(self) -> tuple[bytes, ...]:
        """The seeds, 32 bytes each. Errors: ``node.not_initialised``, ``store.corrupt``, ``key.locked``,
        ``key.passphrase``, ``key.keyring``.
        """

    def save(self, seeds: Sequence[bytes]) -> None:
        """Keep one or two seeds in the place of those that were kept, whole or not at all.

        Errors: ``store.full``, ``key.locked``, ``key.keyring``.
        """


# --- discovery -------------------------------------------------------------------------------------------------------


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says about itself to everybody on the local network: nothing that anybody could trust."""

    short: str
    addresses: tuple[str, ...]
    """IP addresses as text."""
    port: int


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody on the local network says about a node and its ``https://host:port``. Known, not trusted."""

    short: str
    addresses: tuple[str, ...]


class Discovery(Protocol):
    """Nodes on the local network."""

    async def announce(self, announcement: Announcement) -> None:
        """Say it until ``close``; a second one replaces the first. Errors: ``discovery.unavailable``."""

    async def browse(self, seconds: float) -> list[Sighting]:
        """Who was heard within ``seconds``, by short id. Errors: ``discovery.unavailable``."""

    async def close(self) -> None:
        """Say that this node is gone. Never raises; twice is once."""


# --- clock, randomness -----------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Time and randomness, so that tests can own both."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""

    def random(self, count: int) -> bytes:
        """``count`` unpredictable bytes."""

    async def sleep(self, seconds: float) -> None: ...


class Notifier(Protocol):
    """Tells somebody outside of an event. What is told holds ids, states and codes only."""

    async def post(self, url: str, body: bytes) -> None:
        """Send JSON by POST; one more try if the first one fails. No redirect is followed, no answer is read.

        Errors: ``schedule.notify``.
        """

    async def run(self, command: Sequence[str], body: bytes) -> None:
        """Run a program with JSON on its standard input, without a shell and without the secrets of this process.

        Errors: ``schedule.notify`` (it did not start, did not end in time, or ended with another status than 0).
        """


Events = AsyncIterator[dict[str, object]]
"""Progress of a long verb: plain values, ready for JSON."""
