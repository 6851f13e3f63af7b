"""Seals logins, keeps them, and judges their use."""

from node.capsules.seal.browser_state import from_browser, to_browser
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.clock import ahead
from node.capsules.seal.endings import Endings
from node.capsules.seal.kept import Kept
from node.capsules.seal.login_state import digests
from node.capsules.seal.proving import Proving, StateSource
from node.capsules.seal.repolicy import Repolicy
from node.capsules.seal.sealing_keys import DIRECTORY as SEALING_DIRECTORY
from node.capsules.seal.sealing_keys import SealingKeys
from node.capsules.seal.uses import Mounted, Wanted

__all__ = [
    "SEALING_DIRECTORY",
    "Capsules",
    "Endings",
    "Kept",
    "Mounted",
    "Proving",
    "Repolicy",
    "SealingKeys",
    "StateSource",
    "Wanted",
    "ahead",
    "digests",
    "from_browser",
    "to_browser",
]
