"""The configuration of a node: the one reader of its file, of environment variables and of YAML that people write.

Owns ``config.yaml`` and where a passphrase comes from. Never decides anything by what it reads, and never writes after ``init``.
"""

from node.config import settings
from node.config.forms import in_words
from node.config.passphrase import Ask, new_source, remembered, source
from node.config.safe_yaml import Node, load
from node.config.settings import CONFIG_FILE, BrowserConfig, Config, PolicyConfig, home_directory

__all__ = [
    "CONFIG_FILE",
    "Ask",
    "BrowserConfig",
    "Config",
    "Node",
    "PolicyConfig",
    "home_directory",
    "in_words",
    "load",
    "new_source",
    "remembered",
    "settings",
    "source",
]
