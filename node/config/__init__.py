"""The configuration of a node: the only code that reads its file and YAML written by people.

Owns ``config.yaml``. Never acts on the settings, and never writes the file after ``node init``.
"""

from node.config import settings
from node.config.forms import invalid_in_words
from node.config.safe_yaml import YamlValue, load_yaml
from node.config.settings import (
    CONFIG_FILE,
    BrowserConfig,
    Config,
    ControlConfig,
    DoorsConfig,
    HttpConfig,
    PageConfig,
    PolicyConfig,
    ProxyConfig,
    starting,
)

__all__ = [
    "CONFIG_FILE",
    "BrowserConfig",
    "Config",
    "ControlConfig",
    "DoorsConfig",
    "HttpConfig",
    "PageConfig",
    "PolicyConfig",
    "ProxyConfig",
    "YamlValue",
    "invalid_in_words",
    "load_yaml",
    "settings",
    "starting",
]
