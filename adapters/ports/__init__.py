"""The ports: one small interface for each external thing that trailmesh uses.

Adapters translate every foreign exception into ``MeshError`` at this border. Each port has a contract suite in
``tests/contract`` that runs over every adapter and over its in-memory twin.
"""

from adapters.ports.browser import (
    NOTHING,
    Blocked,
    Browser,
    BrowserState,
    Context,
    Given,
    GivenFile,
    OpenBrowser,
    Outcome,
    Page,
)
from adapters.ports.clock import Clock, Events, Notifier
from adapters.ports.discovery import Announcement, Discovery, Sighting
from adapters.ports.keys import KeyStore
from adapters.ports.records import (
    PAGE_BYTES,
    PAGE_ROWS,
    AgentRecord,
    ArtefactRecord,
    DeltaRecord,
    InviteRecord,
    LeaseRecord,
    LiveRecord,
    PeerRecord,
    SearchRecord,
)
from adapters.ports.search import NewTreeWriter, TreeWriter
from adapters.ports.store import (
    AgentStore,
    ArtefactStore,
    AuditStore,
    FeedStore,
    LiveStore,
    LogStore,
    MetaStore,
    PeerStore,
    ScheduleStore,
    SearchStore,
    SessionStore,
    Store,
)
from adapters.ports.transport import (
    PairingClient,
    PairingConnection,
    PairingServer,
    PeerAddress,
    PeerClient,
    PeerHandler,
    PeerServer,
)
from adapters.ports.watching import Heard, OpenWatched, Watched

__all__ = [
    "NOTHING",
    "PAGE_BYTES",
    "PAGE_ROWS",
    "AgentRecord",
    "AgentStore",
    "Announcement",
    "ArtefactRecord",
    "ArtefactStore",
    "AuditStore",
    "Blocked",
    "Browser",
    "BrowserState",
    "Clock",
    "Context",
    "DeltaRecord",
    "Discovery",
    "Events",
    "FeedStore",
    "Given",
    "GivenFile",
    "Heard",
    "InviteRecord",
    "KeyStore",
    "LeaseRecord",
    "LiveRecord",
    "LiveStore",
    "LogStore",
    "MetaStore",
    "NewTreeWriter",
    "Notifier",
    "OpenBrowser",
    "OpenWatched",
    "Outcome",
    "Page",
    "PairingClient",
    "PairingConnection",
    "PairingServer",
    "PeerAddress",
    "PeerClient",
    "PeerHandler",
    "PeerRecord",
    "PeerServer",
    "PeerStore",
    "ScheduleStore",
    "SearchRecord",
    "SearchStore",
    "SessionStore",
    "Sighting",
    "Store",
    "TreeWriter",
    "Watched",
]
