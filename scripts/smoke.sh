#!/usr/bin/env bash
# Proves the main promises through the installed command, on the demo shop: one line for each, exit code 1 if one fails.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

work=$(mktemp -d)
pids=()
failed=0

cleanup() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# promise TEXT COMMAND…: run it and say whether it held. Inside COMMAND `set -e` does not act: its steps are joined by &&.
promise() {
  local text=$1
  shift
  if "$@" >"$work/last.log" 2>&1; then
    printf '%-72s ok\n' "$text"
  else
    printf '%-72s FAILED\n' "$text"
    tail -n 20 "$work/last.log" | sed 's/^/    /'
    failed=$((failed + 1))
  fi
}

# at NODE COMMAND…: a command of that node.
at() { trailmesh "${@:2}" --home "$work/$1"; }

# field NAME: one value of the JSON object on standard input.
field() { python -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# wait_for FILE…: until all exist, at most 30 s.
wait_for() {
  local tries
  for tries in $(seq 150); do
    ls "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  echo "not there after $((tries / 5)) s: $*"
  return 1
}

start_shop() {
  python -m trailmesh demo shop --effects-log "$work/effects.jsonl" --ready-file "$work/shop.json" >/dev/null 2>&1 &
  pids+=("$!")
  wait_for "$work/shop.json" && shop=$(field url <"$work/shop.json")
}

init() {
  local name
  for name in north south stranger; do
    at "$name" node init --name "$name" --config "$config" || return 1
  done
}

serve() {
  local name
  for name in north south; do
    trailmesh node serve --home "$work/$name" >"$work/$name.log" 2>&1 &
    pids+=("$!")
  done
  wait_for "$work/north/control.json" "$work/south/control.json"
}

pair() {
  local invite
  invite=$(at north node invite --grant explore,audit --json | field invite) &&
    at south node join --peer "$invite" --grant explore,audit
}

record() {
  cat >"$work/mugs.yaml" <<YAML
title: The blue mug
start: $shop/
steps:
  - click: {role: link, name: Mugs}
  - extract: {as: heading, role: heading, name: Mugs}
  - click: {role: link, name: Help}
YAML
  session=$(at north session record "$work/mugs.yaml" --json | field id)
}

show() { at north session show "$session" | grep 'click link'; }

hand_over() {
  at north session export "$session" --out "$work/session.tmsession" &&
    at south session import "$work/session.tmsession" &&
    at south session verify "$session"
}

re_drive() {
  at south session replay "$session" --out "$work/report.cose" &&
    at north session verify "$work/report.cose" --json >"$work/report.json" &&
    [ "$(field matched <"$work/report.json")" = "$(field steps <"$work/report.json")" ] &&
    [ "$(field verdict <"$work/report.json")" = pass ]
}

tamper() {
  python - "$work/session.tmsession" "$work/tampered.tmsession" <<'PYTHON' || return 1
import sys, zipfile
data = bytearray(open(sys.argv[1], "rb").read())
entry = zipfile.ZipFile(sys.argv[1]).getinfo("steps/000002.cbor")
data[entry.header_offset + 30 + len(entry.filename) + entry.file_size // 2] ^= 1
open(sys.argv[2], "wb").write(data)
PYTHON
  if at south session verify "$work/tampered.tmsession" --json >"$work/tampered.json"; then
    echo "the tampered bundle was accepted"
    return 1
  fi
  grep '"code": "bundle.element"' "$work/tampered.json" && grep '"element": "steps/000002.cbor"' "$work/tampered.json"
}

knock() {
  at north node status --json >"$work/status.json" &&
    at stranger node knock "$(field address <"$work/status.json")" --key "$(field public_key <"$work/status.json")"
}

explore() {
  at north explore run --goal "find a blue mug" --start "$shop/" --peer south --seconds 45 \
    --until '{url: "*/products/*", element: {role: heading, name: mug}}' --json >"$work/search.json" &&
    grep '"verified": true' "$work/search.json" && grep '"name": "south"' "$work/search.json"
}

log_in() {
  curl --silent --fail --output /dev/null --cookie-jar "$work/cookies.txt" \
    --data-urlencode "email=demo@fernwick.example" --data-urlencode "password=tea-and-toast" "$shop/login" &&
    at north capsule capture --from "$work/cookies.txt" --origin "$shop" --name shop --page "$shop/account" &&
    rm "$work/cookies.txt" && at north capsule check shop &&
    printf 'start: %s/account\nsteps:\n  - assert: {text: Sign out}\n' "$shop" >"$work/account.yaml" &&
    at north session record "$work/account.yaml" --capsule shop && at north capsule revoke shop --kill --yes
}

harmless() { [ ! -s "$work/effects.jsonl" ] || { cat "$work/effects.jsonl"; return 1; }; }

config=configs/solo.yaml
if [ "$(id -u)" = 0 ]; then
  config=configs/ci.yaml
  echo "running as root: Chromium starts without its sandbox ($config) and opens loopback pages only" >&2
fi
shop=""
session=""

promise "the demo shop starts" start_shop
promise "three nodes are created" init
promise "two of them serve peers" serve
promise "the doctor finds everything in order" at north node doctor
promise "they pair by an invite" pair
promise "a session is recorded" record
promise "it is shown step by step" show
promise "its bundle is verified and kept by the other node" hand_over
promise "driven again there, every step matches, and the report verifies here" re_drive
promise "a changed byte is refused, and the element named" tamper
promise "a stranger is refused" knock
promise "both search the site together; what is found is replayed" explore
promise "nothing changed on the site" harmless
promise "a recording begins with a login that is kept sealed, and ends it" log_in

if [ "$failed" -gt 0 ]; then
  echo "$failed of the promises FAILED" >&2
  exit 1
fi
