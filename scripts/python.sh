#!/usr/bin/env bash
# Prints the Python that trailmesh runs on: $PYTHON, else the first of 3.11 and 3.12 that is found.
set -euo pipefail

for candidate in ${PYTHON:-python3.11 python3.12 python3}; do
  if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null; then
    echo "$candidate"
    exit
  fi
done
echo "trailmesh needs Python 3.11 or 3.12 (automerge has wheels for no later one): apt-get install python3.11" >&2
exit 2
