"""Install the applications of ``make bench-drift`` and ``make bench-risk``, each version into an environment of its own.

    python scripts/drift_apps.py install [NAME]   make what is missing (again, if its lock file changed); NAME: only this one
    python scripts/drift_apps.py lock NAME        write the lock file of an environment that was made by hand

A lock file has one line for each package, with the hash of the file that was installed: those of CPython 3.11 on Linux. That of
npm has the integrity of each package. One that ends in ``.deb`` names packages of Debian 12, which are fetched with ``apt-get
download`` and unpacked, not installed. Those need PHP, which is not installed either: ``apt-get install --no-install-recommends
php-cli php-sqlite3 php-mbstring php-xml php-intl``. Nothing else is installed. ``TRAILMESH_DRIFT_APPS`` moves the directory
(default: ``.venv-drift``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LOCKS = REPOSITORY / "benchmarks" / "drift" / "locks"
ENVIRONMENTS = Path(os.environ.get("TRAILMESH_DRIFT_APPS", REPOSITORY / ".venv-drift"))
INSTALL_TIMEOUT_S = 900


class Missing(RuntimeError):
    """The system has not what an application needs."""


def install(only: str = "") -> int:
    """Make what is missing or was made from another lock file."""
    locks = {lock.name.removesuffix(lock.suffix): lock for lock in sorted(LOCKS.iterdir())}
    if only and only not in locks:
        print(f"there is no lock file for {only}; there are: {', '.join(locks)}", file=sys.stderr)
        return 2
    for name, lock in locks.items():
        if only not in ("", name):
            continue
        target = ENVIRONMENTS / name
        made_from = hashlib.sha256(lock.read_bytes()).hexdigest()
        mark = target / "made-from"
        if mark.is_file() and mark.read_text(encoding="utf-8") == made_from:
            continue
        print(f"{name}: installing", flush=True)
        shutil.rmtree(target, ignore_errors=True)
        try:
            {".json": _npm, ".deb": _deb}.get(lock.suffix, _pip)(lock, target)
        except Missing as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
            shutil.rmtree(target, ignore_errors=True)
            continue
        # Written last: an interrupted installation is made anew.
        mark.write_text(made_from, encoding="utf-8")
    return 0


def _pip(lock: Path, target: Path) -> None:
    venv.EnvBuilder(with_pip=True).create(target)
    python = target / "bin" / "python"
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--requirement", str(lock)]
    subprocess.run([str(python), "-m", "pip", "install", *options], check=True, timeout=INSTALL_TIMEOUT_S)


def _npm(lock: Path, target: Path) -> None:
    target.mkdir(parents=True)
    locked = json.loads(lock.read_text(encoding="utf-8"))
    (target / "package.json").write_text(json.dumps(locked["packages"][""]), encoding="utf-8")
    shutil.copy(lock, target / "package-lock.json")
    subprocess.run(["npm", "ci", "--silent", "--ignore-scripts"], check=True, timeout=INSTALL_TIMEOUT_S, cwd=target)


def _deb(lock: Path, target: Path) -> None:
    """``root`` gets what the packages hold, ``bin`` the PHP of the system."""
    php = shutil.which("php")
    if php is None or not shutil.which("apt-get"):
        raise Missing("since php or apt-get is missing (see the text of this script)")
    target = target.absolute()
    files = target / "files"
    files.mkdir(parents=True)
    for line in lock.read_text(encoding="utf-8").splitlines():
        package, known = line.split()
        subprocess.run(["apt-get", "download", "--quiet", package], check=True, timeout=INSTALL_TIMEOUT_S, cwd=files)
        (file,) = files.glob("*.deb")
        if f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" != known:
            raise RuntimeError(f"{package} is another file than that of the lock")
        subprocess.run(
            ["dpkg-deb", "--extract", str(file), str(target / "root")], check=True, timeout=INSTALL_TIMEOUT_S
        )
        file.unlink()
    files.rmdir()
    for link in [each for each in (target / "root").rglob("*") if each.is_symlink() and each.readlink().is_absolute()]:
        within = target / "root" / link.readlink().relative_to("/")  # not that of an installed package
        link.unlink()
        link.symlink_to(within)
    for script in [each for each in (target / "root").rglob("*.php") if each.is_file() and not each.is_symlink()]:
        text = script.read_bytes()
        if b"'/usr/share/" in text:
            script.write_bytes(text.replace(b"'/usr/share/", f"'{target / 'root'}/usr/share/".encode()))
    (target / "bin").mkdir()
    (target / "bin" / "php").symlink_to(php)


def lock(name: str) -> int:
    """Write the lock file from ``report.json`` of pip, or from the lock file of npm without addresses; one of Debian's packages is
    written by hand.
    """
    made = ENVIRONMENTS / name
    npm = made / "package-lock.json"
    if npm.is_file():
        locked = json.loads(npm.read_text(encoding="utf-8"))
        for package in locked["packages"].values():
            for told in ("resolved", "license", "funding", "engines"):  # none of them is needed to install it
                package.pop(told, None)
        asked = json.loads((made / "package.json").read_text(encoding="utf-8"))
        if "overrides" in asked:  # npm leaves them out, and takes no lock without them
            locked["packages"][""]["overrides"] = asked["overrides"]
        (LOCKS / f"{name}.json").write_text(json.dumps(locked, indent=1) + "\n", encoding="utf-8")
        return 0
    report = json.loads((made / "report.json").read_text(encoding="utf-8"))
    lines = []
    for item in report["install"]:
        package, archive = item["metadata"], item["download_info"]["archive_info"]
        lines.append(f"{package['name']}=={package['version']} --hash=sha256:{archive['hashes']['sha256']}")
    (LOCKS / f"{name}.lock").write_text("\n".join(sorted(lines, key=str.lower)) + "\n", encoding="utf-8")
    return 0


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description="Install the applications of the drift benchmark.")
    parser.add_argument("command", choices=("install", "lock"))
    parser.add_argument("name", nargs="?", default="")
    options = parser.parse_args()
    return lock(options.name) if options.command == "lock" else install(options.name)


if __name__ == "__main__":
    sys.exit(main())
