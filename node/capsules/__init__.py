"""The capsules of this node: logins that are kept sealed, used under their policy, exported to peers and revoked.

Owns the sealing keys and their files, the capsules and their ledger, and the passkeys that this node has registered. Every use is
judged, counted and signed before the state is opened. Makes capsules of logins that are done now, each proven in fresh browsers.
Never writes state in clear to a disk, a log or a result, but to the file that its owner has named for that (``unsealing``).
"""

from node.capsules.exchange.asking_work import WorkAsking
from node.capsules.exchange.exchange import CapsuleExchange
from node.capsules.exchange.handles import CookieHandles
from node.capsules.exchange.work import LoginWork
from node.capsules.logins.from_live import from_live
from node.capsules.logins.login import Logins
from node.capsules.logins.passkeys import DIRECTORY as PASSKEY_DIRECTORY
from node.capsules.logins.passkeys import Passkeys
from node.capsules.logins.upkeep import Upkeep
from node.capsules.mount.mounting import Mounting
from node.capsules.mount.unsealing import Unsealing
from node.capsules.seal.browser_state import from_browser, to_browser
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.clock import ahead
from node.capsules.seal.kept import Kept
from node.capsules.seal.login_state import digests
from node.capsules.seal.proving import Proving, Source
from node.capsules.seal.repolicy import Repolicy
from node.capsules.seal.sealing_keys import DIRECTORY as SEALING_DIRECTORY
from node.capsules.seal.sealing_keys import SealingKeys
from node.capsules.seal.uses import Mounted, Wanted

__all__ = [
    "PASSKEY_DIRECTORY",
    "SEALING_DIRECTORY",
    "CapsuleExchange",
    "Capsules",
    "CookieHandles",
    "Kept",
    "LoginWork",
    "Logins",
    "Mounted",
    "Mounting",
    "Passkeys",
    "Proving",
    "Repolicy",
    "SealingKeys",
    "Source",
    "Unsealing",
    "Upkeep",
    "Wanted",
    "WorkAsking",
    "ahead",
    "digests",
    "from_browser",
    "from_live",
    "to_browser",
]
