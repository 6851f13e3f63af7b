"""Every record that nodes send each other. Which route carries which: ``protocol.routes``.

A message is the payload of a signed envelope bound to its route and its reader. Artefacts (kinds ``search``, ``delta``,
``assignment``, ``result``, ``session``, ``replay-report``, ``distrust-notice``, ``log-opening``) are envelopes that stand on
their own and travel inside messages as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec

from protocol import limits
from protocol.goal.condition import Condition
from protocol.ids import LeaseId, NodeId, SearchId
from protocol.kinds import AuthorAddress, AuthorText, Plain
from protocol.log.witness_log import TAG_BYTES, Hash, Hashes, NoteBytes
from protocol.recording.records.session import Profile
from protocol.trust.grants import GRANTABLE
from protocol.wire import formats
from protocol.wire.line import LINE_PATTERN

PROTOCOL_VERSION: Final = formats.version_of("protocol")

KIND_MESSAGE: Final = "message"
KIND_SEARCH: Final = "search"
KIND_DELTA: Final = "delta"
KIND_ASSIGNMENT: Final = "assignment"
KIND_RESULT: Final = "result"
KIND_SESSION: Final = "session"
KIND_REPLAY_REPORT: Final = "replay-report"
KIND_DISTRUST_NOTICE: Final = "distrust-notice"

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Key = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
Envelope = Annotated[bytes, msgspec.Meta(max_length=limits.ARTEFACT_BYTES_MAX)]
CapsuleArtefact = Annotated[bytes, msgspec.Meta(max_length=limits.CAPSULE_ARTEFACT_BYTES_MAX)]
KeyLogBytes = Annotated[bytes, msgspec.Meta(max_length=limits.KEY_LOG_BYTES_MAX)]
ActionBytes = Annotated[bytes, msgspec.Meta(max_length=limits.CHUNK_VALUE_BYTES_MAX)]
Path = Annotated[tuple[ActionBytes, ...], msgspec.Meta(max_length=limits.TREE_DEPTH_MAX)]


Tag = Annotated[bytes, msgspec.Meta(min_length=TAG_BYTES, max_length=TAG_BYTES)]
LogProof = Annotated[bytes, msgspec.Meta(max_length=limits.LOG_PROOF_BYTES_MAX)]


_Origin = Annotated[Plain, msgspec.Meta(max_length=limits.ORIGIN_CHARS_MAX)]
_Origins = Annotated[tuple[_Origin, ...], msgspec.Meta(min_length=1, max_length=limits.GRANT_ORIGINS_MAX)]
GrantMap = Annotated[Mapping[Plain, _Origins], msgspec.Meta(max_length=len(GRANTABLE))]
"""``protocol.trust.grants.Grants``; ``check_grants`` checks the rest."""


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


BranchOutcome = Literal["claim", "spent", "closed", "failed"]


class BranchLimits(_Record, frozen=True, kw_only=True):
    """The limits of one lease; the worker stops by itself when it reaches one."""

    iterations: Annotated[int, msgspec.Meta(ge=1, le=1_000)]
    steps: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    milliseconds: Annotated[int, msgspec.Meta(ge=1_000, le=3_600_000)]


class SearchSpec(_Record, frozen=True, kw_only=True):
    """A search, as its coordinator announces it; signed as an artefact of kind ``search``."""

    id: SearchId
    coordinator: NodeId
    goal: Annotated[AuthorText, msgspec.Meta(max_length=limits.GOAL_CHARS_MAX, pattern=LINE_PATTERN)]
    start_url: Annotated[AuthorAddress, msgspec.Meta(max_length=limits.URL_CHARS_MAX)]
    condition: Condition
    profile: Profile
    participants: Annotated[tuple[NodeId, ...], msgspec.Meta(max_length=limits.SEARCH_PARTICIPANTS_MAX)]
    """Node ids that merge deltas: each once, the coordinator among them."""
    seconds: Annotated[int, msgspec.Meta(ge=1, le=86_400)]
    created_ms: Count
    seed: Count
    login: bool = False
    """True if the search continues behind a login: each node explores with a login of its own."""


class Assignment(_Record, frozen=True, kw_only=True):
    """A leased branch: explore below ``prefix`` until the limits or the expiry."""

    search: SearchId
    lease: LeaseId
    branch: Key
    prefix: Path
    """Actions from the start page to the branch."""
    prefix_state: Annotated[bytes, msgspec.Meta(max_length=16)]
    """State hash at the end of the prefix; empty if nobody was there yet."""
    limits: BranchLimits
    expires_ms: Count


class Spend(_Record, frozen=True, kw_only=True):
    """The cost of exploring."""

    iterations: Count = 0
    steps: Count = 0
    milliseconds: Count = 0


class BranchResult(_Record, frozen=True, kw_only=True):
    """How a lease ended."""

    search: SearchId
    lease: LeaseId
    branch: Key
    outcome: BranchOutcome
    """claim: the goal was reached along ``claim``; spent: limits used up; closed: nothing left below; failed: could not work."""
    spend: Spend
    claim: Path = ()
    error: Annotated[Plain, msgspec.Meta(max_length=64)] = ""


class StatusAsk(_Record, frozen=True, kw_only=True):
    """Who are you? Any peer may ask."""


class StatusTell(_Record, frozen=True, kw_only=True):
    """The answer; ``now_ms`` lets the asker compare clocks."""

    node: NodeId
    name: Annotated[Plain, msgspec.Meta(max_length=limits.PEER_NAME_CHARS_MAX)]
    version: Annotated[Plain, msgspec.Meta(max_length=32)]
    protocol: Count
    now_ms: Count
    grants: GrantMap
    """The grants of the asker here: scope to origins ([pairing](pairing.md))."""


class GrantsPush(_Record, frozen=True, kw_only=True):
    """The grants of the reader at the sender from now on."""

    grants: GrantMap
    """Scope to origins ([pairing](pairing.md))."""


class KeysPush(_Record, frozen=True, kw_only=True):
    """The key log of the sender, or of another node that both know: it proves itself."""

    log: KeyLogBytes


class KeysAsk(_Record, frozen=True, kw_only=True):
    """Which keys were yours? Asked when a peer answers under a key that is not known here."""


class KeysTell(_Record, frozen=True, kw_only=True):
    """The key log of the answering node."""

    log: KeyLogBytes


class CapsuleKeyAsk(_Record, frozen=True, kw_only=True):
    """To which key may I seal a capsule for you?"""


class CapsuleKeyTell(_Record, frozen=True, kw_only=True):
    """The sealing key of the answering node."""

    certificate: CapsuleArtefact
    """An artefact of kind ``sealing-key``."""


class CapsuleUsed(_Record, frozen=True, kw_only=True):
    """A holder tells the tenant that it is about to use a capsule."""

    use: CapsuleArtefact
    """An artefact of kind ``capsule-use``, by the sender."""


class CapsuleStands(_Record, frozen=True, kw_only=True):
    """The tenant knows of no reason against it."""

    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    """The newest that it has."""


class CapsuleRevoked(_Record, frozen=True, kw_only=True):
    """The tenant ends a capsule."""

    revocation: CapsuleArtefact
    """An artefact of kind ``capsule-revocation``."""


class CookiesAsk(_Record, frozen=True, kw_only=True):
    """Seal me the cookies of a login that you have offered to me."""

    origin: Annotated[Plain, msgspec.Meta(max_length=limits.ORIGIN_CHARS_MAX)]
    """Where they are to be used."""
    certificate: CapsuleArtefact
    """An artefact of kind ``sealing-key``, by the sender: what the answer is sealed to."""


class CookiesTell(_Record, frozen=True, kw_only=True):
    """A capsule without storage, for the sender of the question."""

    file: Annotated[bytes, msgspec.Meta(max_length=limits.COOKIES_FILE_BYTES_MAX)]
    """As `capsule export` writes it ([capsule](capsule.md#file))."""
    attestation: Annotated[bytes, msgspec.Meta(max_length=limits.ATTESTATION_BYTES_MAX)]
    """An artefact of kind ``cookie-attestation`` about it, by its tenant."""


WorkTask = Literal["record", "replay"]


class WorkAsk(_Record, frozen=True, kw_only=True):
    """Do this with a login of yours, and tell the verdict. The login stays where it is."""

    id: Key
    """Random, by the sender: asking again starts nothing new."""
    task: WorkTask
    actions: Annotated[AuthorText, msgspec.Meta(max_length=limits.WORK_BYTES_MAX)] = ""
    """An action file to record."""
    session: Annotated[Plain, msgspec.Meta(max_length=64)] = ""
    """Id of a session to replay: one that the reader recorded for the sender, or that the sender signed."""


class WorkLook(_Record, frozen=True, kw_only=True):
    """How is the work?"""

    id: Key


class WorkTell(_Record, frozen=True, kw_only=True):
    """The state of a work."""

    done: bool
    verdict: CapsuleArtefact = b""
    """Once it is done, an artefact of kind ``work-verdict``, by the sender."""


class WorkFetch(_Record, frozen=True, kw_only=True):
    """Send a part of the bundle of the session of a work that is done."""

    id: Key
    offset: Count


class WorkPart(_Record, frozen=True, kw_only=True):
    """A part of a bundle."""

    total: Count
    data: Annotated[bytes, msgspec.Meta(max_length=limits.WORK_PART_BYTES)]


class DistrustNotice(_Record, frozen=True, kw_only=True):
    """The signer distrusts another node, or no longer does; advice only. Signed as an artefact of kind ``distrust-notice``."""

    about: NodeId
    """Node id."""
    since_ms: Count
    """When the signer began to distrust it, milliseconds since 1970."""
    reason: Annotated[AuthorText, msgspec.Meta(max_length=limits.DISTRUST_REASON_CHARS_MAX)] = ""
    lifted: bool = False
    """The signer trusts it again: takes the place of an earlier notice."""


class NoticePush(_Record, frozen=True, kw_only=True):
    """A signed ``DistrustNotice`` of the sender."""

    notice: Envelope


class EchoAsk(_Record, frozen=True, kw_only=True):
    """Call me back, and say how that went. Any peer may ask."""


class EchoTell(_Record, frozen=True, kw_only=True):
    """How the call back went."""

    reached: bool
    way: Annotated[Plain, msgspec.Meta(max_length=300, pattern=LINE_PATTERN)] = ""
    """The address that took the call, or ``held`` for a connection the asker keeps open; empty when nothing did."""
    milliseconds: Count = 0
    code: Annotated[Plain, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)] = ""
    """Why it was not reached."""
    message: Annotated[Plain, msgspec.Meta(max_length=300, pattern=LINE_PATTERN)] = ""


class SearchOpen(_Record, frozen=True, kw_only=True):
    """A signed ``SearchSpec``: take part."""

    spec: Envelope


class SearchClose(_Record, frozen=True, kw_only=True):
    """The coordinator has ended the search."""

    search: SearchId


class BranchAssign(_Record, frozen=True, kw_only=True):
    """A signed ``Assignment``."""

    assignment: Envelope


class BranchRenew(_Record, frozen=True, kw_only=True):
    """Still at work."""

    search: SearchId
    lease: LeaseId
    spend: Spend


class BranchRenewed(_Record, frozen=True, kw_only=True):
    """``live`` is False when the work is no longer wanted."""

    live: bool
    expires_ms: Count = 0


class BranchReturn(_Record, frozen=True, kw_only=True):
    """A signed ``BranchResult``."""

    search: SearchId
    result: Envelope


class BranchRevoke(_Record, frozen=True, kw_only=True):
    """Stop working on a lease."""

    search: SearchId
    lease: LeaseId


class DeltaPush(_Record, frozen=True, kw_only=True):
    """The sender's own deltas, in order, each a signed artefact."""

    search: SearchId
    deltas: Annotated[tuple[Envelope, ...], msgspec.Meta(max_length=limits.DELTAS_PER_MESSAGE_MAX)]


class DeltaHave(_Record, frozen=True, kw_only=True):
    """The deltas of the asking node that the answering node has."""

    epoch: Count
    seq: Count


class ShareHead(_Record, frozen=True, kw_only=True):
    """Where the share of one writer ends with the sender."""

    writer: NodeId
    epoch: Count
    seq: Count
    digest: Hash
    """SHA-256 of the payload of that delta."""


ShareHeads = Annotated[tuple[ShareHead, ...], msgspec.Meta(max_length=limits.SEARCH_PARTICIPANTS_MAX)]


class DeltaPull(_Record, frozen=True, kw_only=True):
    """Ask for the answering node's own deltas after this point."""

    search: SearchId
    epoch: Count
    after_seq: Count
    heads: ShareHeads = ()
    """Of the writers other than the two of them, as the asker knows them."""


class DeltaBatch(_Record, frozen=True, kw_only=True):
    """The answer to a pull; ``more`` when it did not fit."""

    deltas: Annotated[tuple[Envelope, ...], msgspec.Meta(max_length=limits.DELTAS_PER_MESSAGE_MAX)]
    more: bool = False
    heads: ShareHeads = ()
    """As in the pull, as the answering node knows them."""


class DeltaShow(_Record, frozen=True, kw_only=True):
    """Show the delta of a third writer that the answering node holds under a number."""

    search: SearchId
    writer: NodeId
    epoch: Count
    seq: Annotated[int, msgspec.Meta(ge=1, le=limits.EPOCH_DELTAS_MAX)]


class DeltaShown(_Record, frozen=True, kw_only=True):
    """A signed delta."""

    delta: Envelope


class DeltaProof(_Record, frozen=True, kw_only=True):
    """Two signed deltas of one writer under one number: it tells participants different things."""

    search: SearchId
    one: Envelope
    other: Envelope


class KeyHead(_Record, frozen=True, kw_only=True):
    """Where the key log of a node ends, as the sender knows it."""

    tag: Tag
    """Which node (``witness_log.acquaintance``)."""
    head: Hash
    """Digest of its last event; 32 zero bytes while the log is frozen."""


class LogSync(_Record, frozen=True, kw_only=True):
    """Ask and answer alike: the sender's newest checkpoint, and the newest it holds of the reader's log."""

    head: NoteBytes = b""
    """The sender's own checkpoint; empty while it has not heard yet which one the reader holds."""
    opening: Envelope = b""
    """The artefact that opened the sender's log."""
    base_size: Count = 0
    """Size at which the proof begins: what the sender takes to be held by the reader."""
    base_root: Annotated[bytes, msgspec.Meta(max_length=32)] = b""
    hashes: Hashes = ()
    openings: Annotated[tuple[Envelope, ...], msgspec.Meta(max_length=limits.LOG_OPENINGS_SHOWN_MAX)] = ()
    """The artefacts that opened the logs between the one the reader holds and the sender's, oldest first."""
    former_size: Count = 0
    """After a renewal: the size the reader holds of the former log."""
    former_hashes: Hashes = ()
    """How that log went on to its last checkpoint, as its sender knows it."""
    yours: NoteBytes = b""
    """The reader's checkpoint that the sender holds, cosigned by the sender; empty if it holds none."""
    later: NoteBytes = b""
    """A checkpoint of a later log of the reader that others showed the sender and that it does not hold; empty if there is none."""
    tags: Annotated[tuple[Tag, ...], msgspec.Meta(max_length=limits.PEERS_MAX)] = ()
    """Whom the sender knows (``witness_log.acquaintance``)."""
    notes: Annotated[tuple[NoteBytes, ...], msgspec.Meta(max_length=limits.LOG_GOSSIP_NOTES_MAX)] = ()
    """Checkpoints of nodes that both know."""
    proofs: Annotated[tuple[LogProof, ...], msgspec.Meta(max_length=limits.LOG_GOSSIP_PROOFS_MAX)] = ()
    """Proofs of equivocation by nodes that both know."""
    key_heads: Annotated[tuple[KeyHead, ...], msgspec.Meta(max_length=limits.PEERS_MAX)] = ()
    """Where the key logs of nodes that both know end."""
    key_logs: Annotated[tuple[KeyLogBytes, ...], msgspec.Meta(max_length=limits.LOG_GOSSIP_KEY_LOGS_MAX)] = ()
    """Key logs of nodes that both know and whose end the reader knows otherwise; those of revoked nodes first."""


class LogConsistencyAsk(_Record, frozen=True, kw_only=True):
    """Show that the answering node's log of ``old_size`` leaves became the one of ``new_size``."""

    log: Count
    old_size: Annotated[int, msgspec.Meta(ge=1, le=limits.LOG_SIZE_MAX)]
    new_size: Annotated[int, msgspec.Meta(ge=1, le=limits.LOG_SIZE_MAX)]


class LogConsistency(_Record, frozen=True, kw_only=True):
    """The root at the old size, and the hashes that lead from there to the new one."""

    old_root: Hash
    hashes: Hashes


class LogProveAsk(_Record, frozen=True, kw_only=True):
    """Prove that an artefact of the answering node is in its log."""

    digest: Hash


class LogProven(_Record, frozen=True, kw_only=True):
    """The answer: a file of ``protocol.log.log_proof``."""

    proof: LogProof


class Done(_Record, frozen=True, kw_only=True):
    """Understood and done."""
