"""The configuration of a node: the only code that reads its file, environment variables and YAML written by people.

Owns ``config.yaml`` and knows where a passphrase comes from. Never acts on the settings, and never writes the file after
``node init``.
"""

from node.config import settings
from node.config.forms import invalid_in_words
from node.config.passphrase import (
    AskPassphrase,
    asked_once,
    new_owner_passphrase,
    new_passphrase_source,
    owner_passphrase,
    passphrase_source,
)
from node.config.safe_yaml import YamlValue, load_yaml
from node.config.settings import (
    CONFIG_FILE,
    BrowserConfig,
    Config,
    ControlConfig,
    PolicyConfig,
    home_directory,
    starting,
)

__all__ = [
    "CONFIG_FILE",
    "AskPassphrase",
    "BrowserConfig",
    "Config",
    "ControlConfig",
    "PolicyConfig",
    "YamlValue",
    "asked_once",
    "home_directory",
    "invalid_in_words",
    "load_yaml",
    "new_owner_passphrase",
    "new_passphrase_source",
    "owner_passphrase",
    "passphrase_source",
    "settings",
    "starting",
]
