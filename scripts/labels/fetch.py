"""Brings the applications of ``sources.toml`` into a folder, with the ordinary clients of their registries, and unpacks them.

    python -m scripts.labels.fetch FOLDER

Nothing is installed and nothing of them is run: only their files of messages are read (``catalogues.py``).
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).with_name("sources.toml")
_CLIENTS: Final = {
    "pip": ["pip", "download", "--quiet", "--no-deps", "--dest", ".", "NAME"],
    "npm": ["npm", "pack", "--silent", "NAME"],
    "apt": ["apt-get", "download", "--quiet", "NAME"],
}
_TIMEOUT_S: Final = 600


def applications() -> dict[str, dict[str, str]]:
    """The entries of ``sources.toml`` by name."""
    return {entry["name"]: entry for entry in tomllib.loads(SOURCES.read_text())["application"]}


def folder_of(base: Path, name: str) -> Path:
    """Where the application ``name`` is unpacked."""
    return base / name.replace("/", "+")


def fetch(base: Path, entry: dict[str, str]) -> str:
    """Download and unpack one application unless it is there; what went wrong, empty if nothing did."""
    folder = folder_of(base, entry["name"])
    if (folder / "done").exists():
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    command = [entry["name"] if part == "NAME" else part for part in _CLIENTS[entry["client"]]]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_TIMEOUT_S)
        for archive in [item for item in folder.iterdir() if item.is_file()]:
            _unpack(archive, folder / "files")
    except (subprocess.SubprocessError, OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        return f"{type(error).__name__}: {getattr(error, 'stderr', b'')!r}"[:300]
    (folder / "done").touch()
    return ""


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)  # noqa: S202 -- zipfile keeps to its folder
    elif archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "--extract", str(archive), str(folder)], check=True, timeout=_TIMEOUT_S)
    elif archive.name.endswith((".tgz", ".tar.gz", ".tar.bz2")):
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    archive.unlink()


def main() -> None:
    base = Path(sys.argv[1])
    for name, entry in applications().items():
        wrong = fetch(base, entry)
        print(f"{name}: {wrong or 'here'}", flush=True)


if __name__ == "__main__":
    main()
