"""The settings of the environment: the data directory, and the files and socket that a command uses.

They are read without the configuration, whose types take a command longer to load than its call.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import platformdirs

HOME_VARIABLE: Final = "TRAILMESH_HOME"
PASSPHRASE_VARIABLE: Final = "TRAILMESH_PASSPHRASE_FILE"  # noqa: S105 (a name, no passphrase)
TOKEN_VARIABLE: Final = "TRAILMESH_TOKEN_FILE"  # noqa: S105 (a name, no token)
SOCKET_VARIABLE: Final = "TRAILMESH_SOCKET"


def home_directory(given: str | None) -> Path:
    """The data directory: the option, else ``TRAILMESH_HOME``, else the user's data directory."""
    if given:
        return Path(given).expanduser().absolute()
    if from_environment := os.environ.get(HOME_VARIABLE):
        return Path(from_environment).expanduser().absolute()
    return Path(platformdirs.user_data_dir("trailmesh"))


def token_file_from_environment() -> str:
    """Token file of an agent, from the environment; empty if not set."""
    return os.environ.get(TOKEN_VARIABLE, "")


def socket_from_environment() -> str:
    """Socket for agents, from the environment; empty if not set."""
    return os.environ.get(SOCKET_VARIABLE, "")


def passphrase_file_from_environment() -> str:
    """Passphrase file of the witness key, from the environment; empty if not set."""
    return os.environ.get(PASSPHRASE_VARIABLE, "")
