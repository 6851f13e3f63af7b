#!/usr/bin/env bash
# Locked dependencies into .venv, and Chromium where none is found. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(scripts/python.sh)
packages=()
"$python" -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome || [ -n "${TRAILMESH_BROWSER:-}" ]; }
find_chromium >/dev/null || packages+=(chromium)
if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${packages[*]} …"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
  else
    echo "please install first: apt-get install ${packages[*]}" >&2
    exit 2
  fi
fi

[ -x .venv/bin/python ] || "$python" -m venv .venv
echo "installing the locked dependencies …"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
# The project itself, without letting pip look for anything that is not in the lock file.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
touch .venv/.ready
