"""The configuration of a node: the only code that reads its file, environment variables and YAML written by people.

Owns ``config.yaml`` and knows where a passphrase comes from. Never acts on the settings, and never writes the file after
``node init``.
"""

from node.config import settings
from node.config.forms import in_words
from node.config.passphrase import Ask, new_source, remembered, source
from node.config.safe_yaml import Node, load
from node.config.settings import CONFIG_FILE, BrowserConfig, Config, ControlConfig, PolicyConfig, home_directory

__all__ = [
    "CONFIG_FILE",
    "Ask",
    "BrowserConfig",
    "Config",
    "ControlConfig",
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
