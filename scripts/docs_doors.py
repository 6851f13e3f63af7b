"""Writes ``docs/doors.md``, the ways into a node, from the records in ``node/doors/``."""

from __future__ import annotations

from node.doors import DOORS, Door
from protocol import limits

_INTRODUCTION = """\
# Doors

Every way into a node: where it listens, whom it admits and with which credential, and its limits ([ADR 72](adr/0072-doors.md)).
What a caller may do once it is in is declared by the [verbs](verbs.md).

A door that speaks HTTP checks each request in one order: `Host` (against DNS rebinding), `Origin` and `Sec-Fetch-Site` (against
pages of other sites), credential, rate, size. Without a credential nothing is answered, not even a version.
"""
_HTTP = """\
## Calls over HTTP

`doors.http.serve: true` of the [configuration](configuration.md) opens it. A node that a command makes on the fly has it open.
`POST /v1/<verb>` takes the parameters of a [verb](verbs.md) as JSON and answers with one envelope; `GET /api/version` names the
version; `/mcp` and `/mcp/full` are for [clients of MCP](mcp.md).

```sh
curl -s http://127.0.0.1:PORT/v1/live.list -H "Authorization: Bearer $(cat shopper.token)" -d '{"limit": 3}'
```

```json
{"ok": true, "data": {"sessions": []}, "meta": {"verb": "live.list", "version": "0.1.0"}
{"ok": false, "error": {"code": "node.busy", "message": "…", "retryable": true, "stage": "door", "task_id": null, "remedy": "…"}
```

`stage` is `door` if the call was not begun, and `call` if it was. With the status 429 or 503 and `retryable`, `Retry-After` says
when to come again. The header `Idempotency-Key` names a call: the same call with the same key is done once
([keys](mcp.md#a-call-that-is-repeated)). A client that closes the connection ends its call. `task_id` is the task that a call
is about.

`GET /v1/tasks/<task>/events` follows a [task](tasks.md) with server-sent events, until it has ended:

```text
id: 2
event: state
data: {"number": 2, "at_ms": 1764338531000, "kind": "state", "said": "running"}
```

The kinds are those of the task's events, `state` and `progress`; further `dropped` (its data names the first and last event that
are no longer kept) and `error` (why the stream ends before the task). A client that has lost the connection sends
`Last-Event-ID`, or `?after=`, and goes on after that event; 204 says that nothing will follow. After {ping} s without an event a
comment says that the stream is there. A caller follows at most {streams} tasks at a time.

Loopback is no boundary between the accounts of a machine: the token is. Another address than loopback needs
`doors.http.public: true`, and a proxy in front that adds TLS.
"""
_NUMBERS = {"{ping}": limits.STREAM_PING_S, "{streams}": limits.STREAMS_PER_CALLER_MAX}


def doors_page(notice: str) -> str:
    """The page, below ``notice``."""
    http = _HTTP
    for name, number in _NUMBERS.items():
        http = http.replace(name, str(number))
    return "\n".join([notice, _INTRODUCTION, *(line for door in DOORS for line in _door(door)), http]).rstrip() + "\n"


def _door(door: Door) -> list[str]:
    bounds = [
        f"{door.calls_per_s} calls in a second of one caller, {door.calls_in_a_row} in a row"
        if door.calls_per_s
        else "",
        f"{door.calls_at_once} calls of one agent at a time" if door.calls_at_once else "",
        f"{door.connections} connections" if door.connections else "",
        f"{door.body_bytes_max // limits.KIB} KiB a call" if door.body_bytes_max else "",
    ]
    rows = [
        ("listens at", door.listens),
        ("admits", door.admits),
        ("credential", door.credential),
        ("web pages", door.origin),
        ("at most", "; ".join(filter(None, bounds))),
    ]
    return [f"## {door.name}", "", "| | |", "|---|---|", *(f"| {name} | {said} |" for name, said in rows), ""]
