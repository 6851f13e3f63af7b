"""The call itself: input, configuration, the process of a node, callers and their budgets."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _E, _O = Blame.CALLER, Blame.ENVIRONMENT, Blame.OUTCOME

NODE: Final[dict[str, Code]] = {
    # input
    "input.invalid": Code(
        _C,
        False,
        "An argument, a field or a file does not have the required form.",
        "Change the argument or field that the message names, then repeat the command. Add `--help` to the command to see the required form.",
    ),
    "input.too_large": Code(
        _C,
        False,
        "The input is larger than the limit for its kind.",
        "Send less, or close what is no longer needed, such as a page (`trailmesh live tab close`)."
        " docs/protocol/limits.md lists every limit.",
    ),
    "input.not_found": Code(
        _C,
        False,
        "This node has nothing stored under this id or name.",
        "List what there is, and copy the id or name from there: `trailmesh session ls`, `trailmesh live ls`, `trailmesh live tab`,"
        " `trailmesh agent ls`, `trailmesh capsule ls`, `trailmesh capsule passkey ls`, `trailmesh explore show`, `trailmesh explore schedule ls` or `trailmesh node peers`.",
    ),
    "input.no_file": Code(
        _C,
        False,
        "The file cannot be read.",
        "Check the path and that you may read the file, then repeat the command.",
    ),
    "config.invalid": Code(
        _C,
        False,
        "The configuration file is not valid.",
        "Edit `config.yaml` in the data directory at the field that the message names; the files in `configs/` are valid examples.",
    ),
    # node
    "node.not_initialised": Code(
        _C,
        False,
        "The data directory does not contain a node.",
        "Create one with `trailmesh node init`, or name the right directory with `--home`.",
    ),
    "node.already_initialised": Code(
        _C,
        False,
        "The data directory already contains a node.",
        "Use the existing node, or choose another directory with `--home`.",
    ),
    "node.incomplete": Code(
        _E,
        False,
        "A file of this node is missing or empty. The directory contains a node; nothing was created in place of the file.",
        "`trailmesh node doctor` says how to go on: with a backup, or without one. Do not run `trailmesh node init` there.",
    ),
    "node.exposed": Code(
        _E,
        False,
        "Another account of this machine can change what the node runs from: its data directory, configuration or sockets.",
        "Run the command at the end of the message (with sudo where the folder is not yours), run trailmesh as the account that owns the"
        " folder, or name another data directory with `--home`.",
    ),
    "node.python": Code(
        _E,
        False,
        "This version of Python is not supported.",
        "Install trailmesh with Python 3.11 or 3.12, for example `uv tool install --python 3.12 trailmesh`.",
    ),
    "node.locked": Code(
        _E,
        True,
        "Another process is using the data directory.",
        "Commands wait for it for five minutes. Run `trailmesh node serve`, and commands work side by side through that node; or stop the other process: the message gives its process id if it is known.",
    ),
    "node.stopping": Code(
        _E,
        True,
        "The node was told to stop and has not ended yet.",
        "Wait: it signs what it records. `trailmesh node logs` shows the end of its log.",
    ),
    "node.busy": Code(
        _E,
        True,
        "The node has as much to do as it takes on at a time, in total or for this caller.",
        "Try again after `detail.retry_after_s` seconds (over HTTP: `Retry-After`). `trailmesh task ls --open` shows what runs and waits.",
    ),
    "node.not_serving": Code(
        _C,
        False,
        "The command needs a running node, and this node is not running.",
        "Start it: `trailmesh node start` in the background, or `trailmesh node serve` in another terminal.",
    ),
    "node.stopped": Code(
        _E,
        True,
        "The running node stopped before it answered the command.",
        "Start it again with `trailmesh node serve`, then repeat the command. Committed work is kept.",
    ),
    "node.address_in_use": Code(
        _E,
        True,
        "Another program already listens on the node's address and port.",
        "Set another `listen.port` in the configuration, or stop the other program (`ss -ltnp` shows it).",
    ),
    "control.unauthorised": Code(
        _C,
        False,
        "The token for the control API is missing or wrong.",
        "Run the command as the user that owns the data directory; an agent needs a token of `trailmesh agent add`.",
    ),
    "door.host": Code(
        _C,
        False,
        "The request names a host that is not this node, as a page in a browser does that has bound a name of its own to this machine.",
        "Call the door by its address: `http://127.0.0.1:PORT`, with the port that `doors.http.port` of the configuration names.",
    ),
    "door.origin": Code(
        _C,
        False,
        "The request comes from a web page, which may not call this node.",
        "Call the door from a program. A page in a browser cannot.",
    ),
    "call.key_reused": Code(
        _C,
        False,
        "Another call was made with this key.",
        "Give each call a key of its own; a key is repeated only with the same parameters.",
    ),
    "call.unknown": Code(
        _O,
        False,
        "The call with this key began and did not end, so nobody knows how much of it was done.",
        "Look at the page, then decide: another key does it again.",
    ),
    "caller.refused": Code(
        _C,
        False,
        "This caller is not authorised for the operation: its token or schedule lacks the scope, or only the owner may do it.",
        "Run it as the owner, or create a token with what the message names: `trailmesh agent add --help`. `trailmesh node whoami` says what this one may do.",
    ),
    "agent.expired": Code(
        _C,
        False,
        "The time of the agent's token is over.",
        "Let the owner make a new one: `trailmesh agent rm NAME`, then `trailmesh agent add NAME`.",
    ),
    "agent.budget": Code(
        _C,
        False,
        "The agent has used up the calls or the browser time that it was given.",
        "`trailmesh agent ls` shows what it used; let the owner remove the agent and add it again with more.",
    ),
    "agent.busy": Code(
        _C,
        True,
        "The agent has too many calls at a time, or too many wrong tokens are being tried.",
        "Wait until a call has ended, then repeat this one.",
    ),
    "task.secret": Code(
        _C,
        False,
        "A secret seems to stand in the text of the task. Nothing was started, and the text was not stored.",
        "Give it as a secret, by its name (docs/secrets.md), or start the task with `--with-secret`.",
    ),
    "task.budget": Code(
        _O,
        False,
        "The task has used up its time, its pictures or its navigations, and was ended.",
        "Start it with more: `--seconds`, `--pictures`, `--navigations`; one that runs is given more by `trailmesh task more`. What it has recorded until then is kept.",
    ),
    "task.not_paused": Code(
        _C,
        False,
        "The task waits for nobody, so there is nothing to resume.",
        "`trailmesh task show TASK` says what it does.",
    ),
    "site.busy": Code(
        _E,
        True,
        "The site asked to come back later than the task may wait. Nothing was sent twice.",
        "Try again after `detail.retry_after_s` seconds, or start the task with more `--seconds`.",
    ),
    "site.person": Code(
        _E,
        False,
        "The site asks to prove that a person is there, and nobody answered.",
        "Use the site at a pace that it takes, with a login (docs/capsules.md), or with a browser that you see (`browser.headless: false`).",
    ),
    "feed.gap": Code(
        _O,
        False,
        "The feed does not go on after this number: what followed it was cut off, or was never written.",
        "Look at what there is now (`session ls`, `node peers`, `explore show`), and read the feed on without `--since`.",
    ),
    "internal.fault": Code(
        _E,
        False,
        "A defect in trailmesh itself.",
        "Open an issue of the project (CONTRIBUTING.md) and attach the report that the message names. It contains places in the program and nothing of your data.",
    ),
    "internal.cancelled": Code(
        _C,
        True,
        "The command was interrupted before it finished.",
        "Go on as the message says, or run the command again.",
    ),
}
