"""The capsules of this node: logins that are kept sealed, used under their policy, exported to peers and revoked.

Owns the sealing keys and their files, the capsules and their ledger, and the passkeys that this node has registered. Every use is
judged, counted and signed before the state is opened. Makes capsules of logins that are done now, each proven in fresh browsers.
Never writes state in clear to a disk, a log or a result, but to the file that its owner has named for that (``unsealing``).
"""

from node.capsules.asking_work import WorkAsking
from node.capsules.browser_state import from_browser, to_browser
from node.capsules.capsules import Capsules
from node.capsules.clock import ahead
from node.capsules.exchange import CapsuleExchange
from node.capsules.from_live import from_live
from node.capsules.handles import CookieHandles
from node.capsules.kept import Kept
from node.capsules.login import Logins
from node.capsules.login_state import digests
from node.capsules.mounting import Mounting
from node.capsules.passkeys import DIRECTORY as PASSKEY_DIRECTORY
from node.capsules.passkeys import Passkeys
from node.capsules.proving import Proving, Source
from node.capsules.repolicy import Repolicy
from node.capsules.sealing_keys import DIRECTORY as SEALING_DIRECTORY
from node.capsules.sealing_keys import SealingKeys
from node.capsules.unsealing import Unsealing
from node.capsules.upkeep import Upkeep
from node.capsules.uses import Mounted, Wanted
from node.capsules.work import LoginWork

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
