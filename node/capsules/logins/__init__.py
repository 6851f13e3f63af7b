"""Makes capsules of logins and looks after them."""

from node.capsules.logins.capturing import Capturing
from node.capsules.logins.from_live import from_live
from node.capsules.logins.login import Logins
from node.capsules.logins.passkeys import DIRECTORY as PASSKEY_DIRECTORY
from node.capsules.logins.passkeys import Passkeys
from node.capsules.logins.upkeep import Upkeep

__all__ = [
    "PASSKEY_DIRECTORY",
    "Capturing",
    "Logins",
    "Passkeys",
    "Upkeep",
    "from_live",
]
