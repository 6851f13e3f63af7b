"""Every failure of trailmesh: one exception type, one register of codes.

A code never changes its meaning and is never reused. ``docs/errors.md`` is printed from ``CODES`` (``make docs``). Exit codes
and the HTTP status of the control API come from a code in ``node/base/statuses.py``, the status on the peer channel in
``adapters/transport/answers.py``.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple


class Blame(enum.StrEnum):
    """Whose move it is to change something."""

    CALLER = "caller"
    """The input of the person or program that called."""
    PEER = "peer"
    """Another node broke the protocol, or may not do what it asked."""
    ENVIRONMENT = "environment"
    """Disk, network, browser or clock."""
    OUTCOME = "outcome"
    """Everything worked and the answer is no: a check failed, a search found nothing."""


class Code(NamedTuple):
    """What is known about one error code."""

    blame: Blame
    retryable: bool
    meaning: str
    remedy: str


_C, _P, _E, _O = Blame.CALLER, Blame.PEER, Blame.ENVIRONMENT, Blame.OUTCOME

CODES: dict[str, Code] = {
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
        "Send less, or close what is no longer needed, such as a page (`trailmesh live pages SESSION close`)."
        " docs/protocol/limits.md lists every limit.",
    ),
    "input.not_found": Code(
        _C,
        False,
        "This node has nothing stored under this id or name.",
        "List what there is, and copy the id or name from there: `trailmesh session ls`, `trailmesh live ls`, `trailmesh live pages`,"
        " `trailmesh agent ls`, `trailmesh capsule ls`, `trailmesh explore show`, `trailmesh explore schedule ls` or `trailmesh node peers`.",
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
    "node.not_serving": Code(
        _C,
        False,
        "The command needs a running node, and this node is not running.",
        "Start it in another terminal: `trailmesh node serve`.",
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
    "caller.refused": Code(
        _C,
        False,
        "This caller is not authorised for the operation: its token or schedule lacks the scope, or only the owner may do it.",
        "Run it as the owner, or create a token with the required scope: `trailmesh agent add --help`.",
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
        _C, True, "The command was interrupted before it finished.", "Run it again. Committed work is kept."
    ),
    # cbor, ids, envelopes
    "cbor.invalid": Code(
        _P,
        False,
        "The bytes are not deterministic CBOR of the required form.",
        "The sender must encode as docs/protocol/cbor.md specifies. Between two trailmesh nodes: install the same version on both.",
    ),
    "cbor.limit": Code(
        _P,
        False,
        "The CBOR value exceeds the limit on size, depth or number of items.",
        "The sender must split the data or send less. docs/protocol/limits.md lists the limits.",
    ),
    "message.invalid": Code(
        _P,
        False,
        "The decoded record does not have the fields that its type requires.",
        "Install the same version of trailmesh on both machines (`trailmesh --version`), then try again.",
    ),
    "id.invalid": Code(
        _C, False, "The id is mistyped: its form or its check digit is wrong.", "Copy the whole id again."
    ),
    "envelope.invalid": Code(
        _P,
        False,
        "The bytes are not a signed envelope of the allowed form.",
        "The sender must sign as docs/protocol/envelope.md specifies. Between two trailmesh nodes: install the same version on both.",
    ),
    "envelope.kind": Code(
        _P,
        False,
        "The envelope has a different kind from the one required here.",
        "Send the kind that docs/protocol/messages.md requires for this route. For a file, check that it is the right file.",
    ),
    "envelope.key_unknown": Code(
        _P,
        False,
        "No trusted key matches the issuer, key id and issue time of the envelope.",
        "Pair with the signer first: `trailmesh node invite` on its machine, `trailmesh node join --peer` here.",
    ),
    "trust.invalid": Code(
        _C,
        False,
        "What --trust names is not a key.",
        "Run `trailmesh session trust-key` on the node that recorded, and commit its output as it is.",
    ),
    "trust.not_signed": Code(
        _P,
        False,
        "No key that --trust names has signed the file.",
        "Do not replay it. If its recorder is to be trusted: run `trailmesh session trust-key` there, compare the node id with a person, then name that key.",
    ),
    "envelope.signature": Code(
        _P,
        False,
        "The signature does not verify: the content was changed after signing, or another key signed it.",
        "Do not use it. Ask the signer for a new copy, and compare where the two differ.",
    ),
    "envelope.issuer": Code(
        _P,
        False,
        "The envelope names an issuer that is not the node that sent or should have signed it.",
        "The sender must sign with its own node id and key. If you did not expect this, ask the owner of the sending node.",
    ),
    "envelope.audience": Code(
        _P,
        False,
        "The message is addressed to another node.",
        "The sender must sign a message with this node's id as audience; `trailmesh node id` prints it.",
    ),
    "envelope.time": Code(
        _P,
        True,
        "The message has expired, is too old, or was issued in the future.",
        "Set the clocks of both machines (`timedatectl set-ntp true`); `trailmesh node doctor` compares them.",
    ),
    "envelope.replayed": Code(
        _P,
        False,
        "This message was accepted before (replay protection).",
        "The sender must sign a new message, with a new unique id, for every attempt.",
    ),
    "envelope.replay_window_full": Code(
        _E,
        True,
        "The replay window is full: too many messages arrived within a few minutes.",
        "Wait a few minutes, then send the message again.",
    ),
    # trust, pairing, channel
    "peer.unknown": Code(
        _P,
        False,
        "The calling node is not a peer of this node.",
        "Pair first: `trailmesh node invite` on one machine, then `trailmesh node join --peer` with the printed invite on the other.",
    ),
    "peer.scope": Code(
        _P,
        False,
        "The peer has not been granted the scope that this operation needs, or not for this site.",
        "The owner of the refusing node can grant it there: `trailmesh node grant PEER SCOPE[=ORIGIN,…]`.",
    ),
    "peer.distrusted": Code(
        _P,
        False,
        "The owner of this node distrusts the peer. The node accepts nothing from it and sends it nothing.",
        "To trust the peer again, run `trailmesh node trust NAME`.",
    ),
    "peer.unreachable": Code(
        _E,
        True,
        "The peer does not answer at any known address.",
        "Check that it runs (`trailmesh node status` on its machine) and that this machine can reach its address."
        " For an invite that has ended, ask for a new one: `trailmesh node invite`.",
    ),
    "peer.failed": Code(
        _P,
        False,
        "The peer answered with an error. `detail.peer` names the peer and `detail.code` gives its error code.",
        "The peer's owner has to fix the cause there. Run `trailmesh node doctor` here to rule out a cause on this side.",
    ),
    "peer.refused_us": Code(
        _P,
        False,
        "The peer closed the connection because it does not know this node's key or no longer trusts it.",
        "Ask the peer's owner what `trailmesh node peers` says there: to trust this node again (`trailmesh node trust`), or, if it is missing there, for a new invite. `trailmesh node doctor` has the commands.",
    ),
    "peer.identity": Code(
        _P,
        False,
        "The node at this address has a different key from the expected one.",
        "Do not continue. Compare the peer's node id with its owner (`trailmesh node id` on its machine) and check the address.",
    ),
    "peer.protocol": Code(
        _P,
        False,
        "The peer's answer does not have the form that the protocol requires.",
        "Install the same version of trailmesh on both machines (`trailmesh --version`), then try again.",
    ),
    "peer.version": Code(
        _P,
        False,
        "The two nodes use different protocol versions. They exchange nothing except `status`.",
        "Install the same version of trailmesh on both machines; `trailmesh node doctor` shows the peer's version.",
    ),
    "peer.quota": Code(
        _P,
        False,
        "The peer has used all the disk space that this node allows it.",
        "Raise `policy.peer_disk_mib` in the configuration, or remove searches with `trailmesh explore rm`; `trailmesh node status` shows the usage.",
    ),
    "peer.limit": Code(
        _P,
        True,
        "The peer exceeded a limit on size, rate, time or number.",
        "Wait, then send fewer or smaller requests. The message names the limit; docs/protocol/limits.md lists all of them.",
    ),
    "peer.clock": Code(
        _E,
        True,
        "The clocks of the two nodes differ by more than messages and certificates tolerate.",
        "Set the clock of the machine that is wrong: `timedatectl set-ntp true`; `trailmesh node doctor` compares them.",
    ),
    "peer.signature": Code(
        _P,
        False,
        "The HTTP message lacks the signature that this address requires, or the signature is wrong.",
        "Use the same kind of address on both nodes: one that starts with `signed+https://` accepts signed HTTP only.",
    ),
    "discovery.unavailable": Code(
        _E,
        True,
        "The local network cannot be searched, because multicast does not work on this interface.",
        "Choose an interface with `discovery.interfaces` in the configuration, or pair by invite (`trailmesh node invite`).",
    ),
    "invite.invalid": Code(
        _C,
        False,
        "The invite cannot be read: it is incomplete or mistyped.",
        "Copy the whole invite again; it starts with `tmi1.`.",
    ),
    "invite.expired": Code(
        _C, False, "The invite has expired.", "Ask the other owner for a new one: `trailmesh node invite`."
    ),
    "invite.refused": Code(
        _P,
        False,
        "The inviting node refused the invite: it was used or withdrawn just now, or the proof is wrong.",
        "Ask the other owner for a new one: `trailmesh node invite`. If that node distrusts this one, no invite helps until its owner runs `trailmesh node trust` there.",
    ),
    "invite.url": Code(
        _C,
        False,
        "The peer address is not an https:// URL with host and port.",
        "Use the invite, or the address that `trailmesh node pair` printed, without changes.",
    ),
    "pairing.refused": Code(
        _P,
        False,
        "The other node refused this pairing: its window is closed, another node joined first, or three attempts failed.",
        "Run `trailmesh node pair` on the other machine, then `trailmesh node join --peer` with the address that it prints.",
    ),
    "pairing.declined": Code(
        _O,
        False,
        "One of the two people declined the pairing; nothing was stored on this side.",
        "If the digits differed, someone may be intercepting the connection: pair by invite instead (`trailmesh node invite`).",
    ),
    "pairing.expired": Code(
        _O,
        True,
        "The pairing window closed before a node joined and both people confirmed; nothing was stored on this side.",
        "Start again: `trailmesh node pair` on the other machine, `trailmesh node join --peer` here.",
    ),
    "pairing.unconfirmed": Code(
        _C,
        False,
        "Nobody can compare the digits, because there is no terminal. An address alone is never trusted.",
        "Pass the other node's id with `--fingerprint` (`trailmesh node id` on its machine prints it), or use an invite.",
    ),
    "keylog.invalid": Code(
        _P,
        False,
        "The key log or key event breaks a rule on form, order or signatures.",
        "Do not accept it. Ask the owner of that node; docs/protocol/keylog.md has the rules.",
    ),
    "keylog.gap": Code(
        _P,
        True,
        "A key event before this one is missing.",
        "The sender must send its whole key log; `trailmesh log audit` asks every peer again.",
    ),
    "keylog.fork": Code(
        _P,
        False,
        "Two signed key events of the node contradict each other, so someone else may hold one of its keys.",
        "Its owner must run `trailmesh node recover` with the recovery key. Until then this node accepts nothing from it.",
    ),
    "keylog.revoked": Code(
        _P,
        False,
        "The node has revoked itself. Nothing that it signed after that is accepted.",
        "Pair with the node that replaces it. If it is this node, `trailmesh node doctor` explains what to do.",
    ),
    "keylog.full": Code(
        _C,
        False,
        "The key log has no room for another rotation.",
        "Create a new node with `trailmesh node init` and pair it again; a key log holds 56 rotations.",
    ),
    "key.locked": Code(
        _C,
        False,
        "The witness key is encrypted with a passphrase, and no passphrase was given.",
        "Run the command in a terminal, set TRAILMESH_PASSPHRASE_FILE, or start `trailmesh node serve --passphrase-file FILE`.",
    ),
    "key.passphrase": Code(
        _C,
        False,
        "The passphrase does not decrypt the witness key.",
        "Repeat the command with the right passphrase. If nobody knows it, `trailmesh node recover` replaces the key; its `--help` says how.",
    ),
    "key.clock": Code(
        _E,
        True,
        "This node has signed artefacts that are dated later than now: its clock was ahead and was set back.",
        "Rotate after the time in the message, so that peers still accept what the present key signed. If the key is stolen, do not wait: run `trailmesh node recover`.",
    ),
    "key.keyring": Code(
        _E,
        False,
        "The keyring of this user is not available.",
        "Unlock the keyring. On a machine without a desktop, create the node without `--keyring`.",
    ),
    "owner.unknown": Code(
        _C,
        False,
        "This node knows no key of an owner under this name.",
        "List the keys with `trailmesh owner ls`. Add the first one with `trailmesh owner add NAME`, in a terminal.",
    ),
    "owner.refused": Code(
        _C,
        False,
        "The signature is not of an owner of this node who may sign this.",
        "Sign with an active key (`trailmesh owner ls`) of an owner who may approve this class. Only an owner who may approve every"
        " class adds and revokes keys.",
    ),
    "owner.locked": Code(
        _C,
        False,
        "The owner's key opens only with its passphrase, typed in a terminal.",
        "Run the command in a terminal. No option, file or variable takes this passphrase: programs of this account could read it too."
        " For a key that is kept elsewhere, use `approve show --statement` and `approve yes --signature`.",
    ),
    "owner.passphrase": Code(
        _C,
        False,
        "The passphrase does not open the owner's key.",
        "Repeat the command with the right passphrase. If nobody knows it, add another key with the recovery key of the node:"
        " `trailmesh owner add NAME --words-file FILE`, then revoke the lost one.",
    ),
    "owner.change": Code(
        _C,
        False,
        "The key cannot be added or revoked like this.",
        "Read the message: it names the rule. `trailmesh owner ls` shows the keys; without an owner's key, use the recovery key of the"
        " node (`--key-file` or `--words-file`).",
    ),
    "approval.invalid": Code(
        _C,
        False,
        "The signed answer does not fit the question.",
        "Look at the question again with `trailmesh approve show`, and answer that.",
    ),
    "approval.closed": Code(
        _C,
        False,
        "The question waits for no answer: it was answered, or its time is over.",
        "List what is open with `trailmesh approve ls`. What is still wanted is asked again when it is tried again.",
    ),
    "recovery.invalid": Code(
        _C,
        False,
        "This is not the node's recovery key: the words or the file are mistyped, incomplete or of another node.",
        "Compare them with what `trailmesh node init` printed: 24 words in their order, or the recovery file.",
    ),
    # store
    "store.corrupt": Code(
        _E,
        False,
        "The database or a key file cannot be opened, or fails its integrity check.",
        "Restore the data directory from a backup. The failed check changed nothing.",
    ),
    "store.unwritable": Code(
        _E,
        False,
        "This user cannot write to the data directory: it is read-only, lacks permission, or is not a directory.",
        "Make the named path writable for this user (`ls -ld`, `findmnt --target`), or choose another with `--home`. Nothing in it is damaged.",
    ),
    "store.newer": Code(
        _E, False, "The database was written by a newer version of trailmesh.", "Install that version or a later one."
    ),
    "store.full": Code(
        _E,
        True,
        "The disk is full, or the database has reached its size limit.",
        "Free disk space (`df -h`), then run the command again.",
    ),
    "blob.missing": Code(
        _E,
        False,
        "A stored file is missing, or its content does not match its hash.",
        "Import the session again from its bundle: `trailmesh session import`.",
    ),
    # backups
    "backup.invalid": Code(
        _C,
        False,
        "The file is not a complete backup of a node.",
        "Use another copy of the file, or another backup. Nothing was written.",
    ),
    "backup.changed": Code(
        _E,
        True,
        "The keys of the node changed each time while it was being copied.",
        "Repeat the command once the change of keys is done.",
    ),
    # witness log
    "log.invalid": Code(
        _P,
        False,
        "A checkpoint, proof or cosignature is malformed or does not verify.",
        "Do not rely on it. If it is a proof, ask its sender for a new one (`trailmesh log prove` there). If it came from a peer by itself, run `trailmesh log audit --peer NAME`.",
    ),
    "log.rollback": Code(
        _E,
        False,
        "A peer holds a later state of this node's witness log than this node does, so the data directory was probably restored from a backup.",
        "Ask every peer for what it holds (`trailmesh log audit`), then start a new log: `trailmesh log renew`.",
    ),
    "log.equivocation": Code(
        _P,
        False,
        "The peer signed two contradictory states of its witness log. The peer is frozen, and both states are kept as proof.",
        "Write the proof to a file with `trailmesh log show --peer NAME --out FILE`. Pair only with a new node of its owner, if at all.",
    ),
    "log.unproven": Code(
        _P,
        True,
        "The peer could not prove that its witness log continues the state this node had verified. It is suspended until it does.",
        "Ask the peer again: `trailmesh log audit --peer NAME`.",
    ),
    "log.silent": Code(
        _P,
        True,
        "The peer does not show its witness log, or shows an older state than this node holds. The policy of this node freezes it until it does.",
        "Ask the peer again with `trailmesh log audit --peer NAME`. If a warning is enough, set `policy.log_silence: warn` in the configuration.",
    ),
    "log.not_logged": Code(
        _O,
        False,
        "The artefact is not in the witness log of its signer.",
        "Do not rely on it. A node logs every artefact before sending it, so ask its owner why this one is missing.",
    ),
    # browser
    "browser.missing": Code(
        _E,
        False,
        "No Chromium was found.",
        "Install it (`apt-get install chromium`), or set `browser.executable` in the configuration.",
    ),
    "browser.launch": Code(
        _E,
        True,
        "Chromium was found but did not start.",
        "Run `trailmesh node doctor` for the cause. As root, Chromium starts only with `browser.sandbox: false`, which removes its isolation.",
    ),
    "browser.unreachable": Code(
        _E,
        True,
        "No browser answers at the configured CDP address.",
        "Start Chromium with `--remote-debugging-port`, and set `browser.cdp_url` in the configuration to that address.",
    ),
    "browser.crashed": Code(
        _E, True, "The browser or the page crashed.", "Run the command again; it starts a new browser."
    ),
    "browser.timeout": Code(
        _E,
        True,
        "The page or the action did not finish within the time limit.",
        "Check the address. For a slow site, raise `browser.step_timeout_ms` in the configuration.",
    ),
    "browser.navigation": Code(
        _E,
        True,
        "The page could not be loaded.",
        "Check the address, and that the site is reachable from this machine.",
    ),
    "browser.refused": Code(
        _C,
        False,
        "The network guard did not let the browser open the address: a rule of this node, no fault of the network.",
        "The message gives the rule. The owner can name the site: for an agent with `agent add --origin`, for all callers with"
        " `policy.origins` in the configuration. `--allow` helps only where the rule is the method or what the address says.",
    ),
    "browser.no_passkeys": Code(
        _E,
        False,
        "The browser has no authenticator for the passkeys of this node.",
        "Use a Chromium that this node starts: leave `browser.cdp_url` out of the configuration. A passkey may also be damaged: register another.",
    ),
    "browser.scheme": Code(
        _C, False, "Only http and https pages can be opened.", "Use an address that starts with http:// or https://."
    ),
    "browser.unreadable": Code(
        _O,
        False,
        "The page cannot be read, because a form field has the name of a DOM property.",
        "Use another page of the site, or ask its developers to rename the field. `detail.name` gives the name.",
    ),
    "action.target_missing": Code(
        _O,
        False,
        "The element of the action is not on the page.",
        "Look at the page (`trailmesh live snapshot`, or `trailmesh session show` for a recorded step), and name an element that is there."
        " If the site has changed, correct the locator in the action file, or record the session again.",
    ),
    "action.target_ambiguous": Code(
        _O,
        False,
        "The locator matches several elements, or in a replay several that agree with what was recorded.",
        "Make the locator unique: a longer name, `within` (the row, card or dialog it is in), `nth`, or a more specific selector; in a replay, record the session again.",
    ),
    "action.target_differs": Code(
        _O,
        False,
        "The element that was found has another role or name than the action gives, or stands in another row than the recorded one.",
        "Look at the page of that step with `trailmesh session show`. If the new element is the right one, record the session again.",
    ),
    "action.not_possible": Code(
        _O,
        False,
        "The element cannot take this action: it is hidden, disabled, covered or of another kind.",
        "Look at the page (`trailmesh live snapshot`, or `trailmesh session show` for a recorded step): another action may have to reveal"
        " or enable the element first.",
    ),
    "action.tab_missing": Code(
        _O,
        False,
        "There is no tab with this number: none was opened, or it has closed.",
        "Name one of the tabs that the message lists with `switch_tab`. If an earlier step opened the tab before and does so no longer,"
        " see what that step did: `trailmesh session show`.",
    ),
    "action.text_missing": Code(
        _O,
        False,
        "The text did not appear in the time that the action waits for it.",
        "Look at the page: the text may be written differently. If it only comes late, wait longer (`live wait --time`, `timeout_ms` in an action file).",
    ),
    "action.assertion_failed": Code(
        _O,
        False,
        "What the action asserts, or waits for, did not come true in its time.",
        "Compare what was expected with what was found: the message and `trailmesh session show` give both. If the page is right, correct"
        " the `assert` or `wait` of the action file. If it only comes late, give it a longer `timeout_ms`.",
    ),
    "action.upload": Code(
        _O,
        False,
        "A file is not uploaded: it is not in the folders that this node uploads from, or it is too large.",
        "Put the file into a folder of `browser.upload_folders` in `config.yaml`, not by a symbolic link, and name it relative to that"
        " folder; a new setting counts from the next start of the node.",
    ),
    "action.upload_differs": Code(
        _O,
        False,
        "The file to upload is not the one that was recorded.",
        "Put the recorded file in its place: the message names it and its SHA-256. If the new file is meant, record the session again.",
    ),
    "action.dialog": Code(
        _O,
        False,
        "The action was to cause a dialog, and caused none or another one. A dialog that is not expected is dismissed.",
        "Compare what was expected with what was found: the message and `trailmesh session show` give both. Correct `dialog` of `expect` in"
        " the action file; if the dialog asks for more than the approved risk class, approve a higher one.",
    ),
    "action.not_of_type": Code(
        _O,
        False,
        "The text that the action read has no value of the type that it extracts.",
        "Look at the text in the message: extract it from another element, or change `type` (and `pattern`) of the `extract`.",
    ),
    "action.arrival_differs": Code(
        _O,
        False,
        "The page after the action is not the one that the action file asserts.",
        "Look at the page of that step with `trailmesh session show`. If the page is right, correct the asserted address or title in the action file.",
    ),
    "action.secret_literal": Code(
        _C,
        False,
        "The action would type a literal value into a field for a password, a one-time code or a card.",
        "Name a secret instead: `value: {secret: NAME}` in an action, `--secret NAME` of `live type`. The value is given with"
        " `--secret NAME@https://shop.example=SOURCE`, for a field that is no password field with `NAME:text@…`.",
    ),
    "secret.literal": Code(
        _C,
        False,
        "The value of a secret stands on the command line, where other users of the machine can see it. It was not used.",
        "Name where it is kept: `NAME=prompt:`, `NAME=env:VARIABLE`, `NAME=keyring:SERVICE/USER`, `NAME=cmd:PROGRAM …` or `NAME=file:PATH`. Choose another"
        " value if this one is in a history file.",
    ),
    "secret.unread": Code(
        _E,
        False,
        "A secret could not be read from where it is kept.",
        "The message says why. Try the same by hand; nothing that a program says of it is shown here.",
    ),
    "secret.late": Code(
        _E,
        True,
        "The program or the keyring that a secret is read from did not answer in time.",
        "It may wait for a person: unlock what it reads, and try again.",
    ),
    "secret.totp": Code(
        _C,
        False,
        "What was given for one-time codes is no seed of them.",
        "Give the seed as the site shows it: letters A to Z and digits 2 to 7, or the address `otpauth://totp/…` of its QR code.",
    ),
    "action.secret_missing": Code(
        _C,
        False,
        "The action needs a secret that was not given.",
        "Pass it with `--secret NAME@https://shop.example=SOURCE`, for example `=prompt:` (docs/risk.md).",
    ),
    "action.secret_elsewhere": Code(
        _C,
        False,
        "The secret may not be typed into this field: it was given for another site, or for password fields only.",
        "If it belongs there, name the site: `--secret NAME@https://shop.example=SOURCE`; for a field that is no password field: `--secret NAME:text@https://shop.example=SOURCE`.",
    ),
    "action.clipboard": Code(
        _C,
        False,
        "Keys that copy, cut or paste are not pressed: all sessions of a browser share one clipboard.",
        "Type the text with `fill`, and read text with `extract`.",
    ),
    "action.hits_another": Code(
        _O,
        False,
        "Another control lies within this element, where it would be clicked.",
        "Click that control itself. Its role and name are in the snapshot (`trailmesh live snapshot`, `trailmesh session show`).",
    ),
    "risk.refused": Code(
        _O,
        False,
        "The action's risk class needs the approval of a person.",
        "Only the owner of the node can approve it: with `trailmesh approve yes QUESTION`, if the message names a question, and then try"
        " again; or with `--approve-class` of `session record`, `session replay`, `live open` and `live act`. docs/approvals.md says more."
        " An agent cannot approve.",
    ),
    "replay.diverged": Code(
        _O,
        False,
        "The step was not performed: it would change data, and an earlier step did not match the recording.",
        "Look at the first step that did not match. To perform the later steps anyway, use `session replay --on-mismatch go`,"
        " or `--on-mismatch ask` to decide on each of them.",
    ),
    # live sessions
    "live.not_found": Code(
        _C,
        False,
        "The caller has no live session with this id.",
        "`trailmesh live ls --all` shows those that there are; open one with `trailmesh live open`.",
    ),
    "live.ended": Code(
        _O,
        False,
        "The live session has ended; `detail.reason` says why. What was done in it is kept.",
        "Open another one: `trailmesh live open`. `trailmesh live show` names the recorded sessions.",
    ),
    "live.stale_ref": Code(
        _O,
        True,
        "The ref is of an older observation, or its page has changed since: nothing was done.",
        "Look again (`trailmesh live snapshot`), and use a ref of that observation.",
    ),
    "live.busy": Code(
        _E,
        True,
        "No room for the call now: all places for browser contexts are taken or the queue for them is full, this caller has as many live sessions open as it may, or an earlier call still runs in this live session.",
        "Call again later, or close a live session that is done (`trailmesh live ls`, `trailmesh live close`). If the contexts are used up, the owner can raise `browser.contexts_max`.",
    ),
    # tools for clients of the Model Context Protocol
    "mcp.missing": Code(
        _E, False, "The package `mcp` is not installed.", "Install it: `python -m pip install 'trailmesh[mcp]'`."
    ),
    # capsules
    "capsule.invalid": Code(
        _P,
        False,
        "The capsule, or the file that holds it, does not have the required form.",
        "Have it exported again: `trailmesh capsule export`. docs/protocol/capsule.md describes the form.",
    ),
    "capsule.suite": Code(
        _P,
        False,
        "The capsule is sealed with a method that this program does not know.",
        "Update trailmesh on this node, then repeat the command.",
    ),
    "capsule.issuer": Code(
        _P,
        False,
        "It is signed by another node than the one it names: a capsule that was received cannot be passed on.",
        "Ask the node that captured it to export it to this node: `trailmesh capsule export ID --to NAME`.",
    ),
    "capsule.altered": Code(
        _P,
        False,
        "Header, policy or wrapped key of the capsule were changed after it was sealed.",
        "Do not use the file. Have the node that captured it export it again, and ask who changed it.",
    ),
    "capsule.recipient": Code(
        _C,
        False,
        "The capsule is not sealed to a key of this node.",
        "Have it exported to this node by its name: `trailmesh capsule export ID --to NAME`.",
    ),
    "capsule.stripped": Code(
        _P,
        False,
        "The capsule does not have a key for each recipient it names: one was taken out.",
        "Do not use the file. Have the node that captured it export it again.",
    ),
    "capsule.truncated": Code(
        _P,
        False,
        "The end of the sealed state is missing.",
        "Copy the file again, and compare the sizes.",
    ),
    "capsule.chunks": Code(
        _P,
        False,
        "A part of the sealed state was changed, moved or added.",
        "Do not use the file. Have the node that captured it export it again.",
    ),
    "capsule.stream": Code(
        _P,
        False,
        "The sealed state is not the one that the capsule was signed with.",
        "Copy the file again; if that does not help, have it exported again.",
    ),
    "capsule.key_ended": Code(
        _O,
        False,
        "The sealing key that the capsule is sealed to has ended, and its private half was destroyed.",
        "Have it exported again: the export asks for the present key of the node.",
    ),
    "capsule.clock": Code(
        _E,
        False,
        "The clock of this machine is behind a time at which the capsule was seen before: its policy cannot be judged.",
        "Correct the clock, then repeat the command.",
    ),
    "capsule.expired": Code(
        _O,
        False,
        "The capsule has expired.",
        "Log in again and capture a new one: `trailmesh capsule capture`.",
    ),
    "capsule.stale": Code(
        _O,
        True,
        "The node that issued the capsule has not been heard of within the time that the policy allows.",
        "Connect to that node (`trailmesh node peers` shows whether it is reached), then repeat the command.",
    ),
    "capsule.origin": Code(
        _C,
        False,
        "The work goes to an origin that the capsule's policy does not name.",
        "Limit the work to the origins that `trailmesh capsule show` lists, or capture a capsule with another policy.",
    ),
    "capsule.task": Code(
        _C,
        False,
        "The capsule's policy does not allow this kind of work.",
        "Use it for what `trailmesh capsule show` lists, or have a capsule issued with this task.",
    ),
    "capsule.class": Code(
        _C,
        False,
        "The work may perform actions of a higher risk class than the capsule's policy allows.",
        "Approve lower classes only, or have a capsule issued with a higher class.",
    ),
    "capsule.replays": Code(
        _O,
        False,
        "The capsule has been used as often as its policy allows.",
        "Ask its issuer for a new one, or capture one: `trailmesh capsule capture`.",
    ),
    "capsule.mfa": Code(
        _O,
        False,
        "The policy demands a second factor that is more recent than the one of this login.",
        "Log in again with the second factor, and capture the state with `--mfa-now`.",
    ),
    "capsule.device": Code(
        _O,
        False,
        "The capsule may only be used on the machine where it was captured.",
        "Use it there, or have one issued with `--cross-device`.",
    ),
    "capsule.installation": Code(
        _O,
        False,
        "The capsule may only be used by the node that captured it.",
        "Let that node do the work, or have one issued with `--cross-installation`.",
    ),
    "capsule.consent": Code(
        _O,
        False,
        "The policy demands the signed consent of a person, and there is none that holds for these terms.",
        "Let an owner of the node that captured it sign: `trailmesh capsule consent ID` (with `--to NAME` for an export).",
    ),
    "capsule.generation": Code(
        _O,
        False,
        "There is newer state of this login: an older generation is never used again.",
        "Use the newest one; have it exported again if another node holds it.",
    ),
    "capsule.held": Code(
        _O,
        True,
        "The capsule is in use: one holder at a time, because sites end logins that two browsers share.",
        "Wait until the other use has ended, then repeat the command.",
    ),
    "capsule.revoked": Code(
        _O,
        False,
        "The capsule was revoked by the node that captured it.",
        "Ask the owner of that node for another one.",
    ),
    "capsule.logged_out": Code(
        _O,
        False,
        "The site does not take the login of the capsule any more.",
        "Log in again: `trailmesh capsule login URL` makes a new capsule,"
        " `trailmesh capsule capture --replaces ID --from FILE` keeps newer state under the same policy.",
    ),
    "capsule.copied": Code(
        _O,
        False,
        "The capsule was sealed before this node began its present witness log, as after a restore: its uses cannot be trusted to be complete.",
        "Have it exported again, or capture it again.",
    ),
    "capsule.counted": Code(
        _O,
        False,
        "The issuer of the capsule has counted another use under the same number: the node that uses it runs on an older store, or on a"
        " copy of one.",
        "If the store of this node was restored, repeat the command: the count goes on where its issuer's is. If a copy of its data"
        " directory runs elsewhere, stop one of the two.",
    ),
    "capsule.not_logged_in": Code(
        _O,
        False,
        "The login did not succeed, as far as the page and the browser's state show: nothing was kept.",
        "The message says what is missing. Log in again; give --until if the page cannot tell by itself.",
    ),
    "capsule.unproven": Code(
        _O,
        False,
        "A fresh browser that was given the captured state is not logged in, or that cannot be told: nothing was kept.",
        "Name an address that only the login opens, or --until. If the site binds the login to its browser"
        " (`trailmesh capsule probe URL`), let this node do the work.",
    ),
    "capsule.no_passkey": Code(
        _C,
        False,
        "This node has no passkey for the site, or the site has not made one while it was to be registered.",
        "Register one once: log in with a file whose steps add a passkey, and --register-passkey. No other node's passkey can be used.",
    ),
    "capsule.attestation": Code(
        _E,
        False,
        "There is no signed scan of the capsule's present state that holds: it is not used, or not kept. `detail.because` says why.",
        "Seal it anew, which scans it: `trailmesh capsule rotate ID`. If that is refused, capture it again. What a peer handed over"
        " is for its owner to explain: nothing of it was kept.",
    ),
    "capsule.not_offered": Code(
        _C,
        False,
        "The peer has offered this node the cookies of no login for this origin, or that login has ended.",
        "Ask its owner to offer one there: `trailmesh capsule offer CAPSULE --to PEER`. Or let that node do the work:"
        " `trailmesh capsule work PEER`.",
    ),
    # work where a login is
    "work.no_login": Code(
        _C,
        False,
        "The node has no login for this address that may be used for this kind of work.",
        "Ask its owner to log in there (`trailmesh capsule login URL`), and name the origins that the work needs.",
    ),
    "work.busy": Code(
        _O,
        True,
        "The node already does as much work for others as it accepts at once.",
        "Wait until a work has ended, then repeat the command.",
    ),
    "work.unknown": Code(
        _O,
        False,
        "The node does not know of this work, or not any longer: it forgets what it did an hour ago.",
        "Ask for the work again.",
    ),
    "work.interrupted": Code(
        _O,
        False,
        "The node stopped before the work was done: there is no verdict.",
        "Ask for the work again.",
    ),
    "work.late": Code(
        _O,
        True,
        "There is no verdict about the work within the time that was given for it.",
        "Give more time (`--seconds`), or ask for less work at once.",
    ),
    "work.verdict": Code(
        _P,
        False,
        "What the peer signed is not the verdict about the work that it was asked for.",
        "Do not rely on it. Ask the owner of the other node; `trailmesh node distrust NAME` ends the cooperation.",
    ),
    # session, bundle, report
    "session.not_committed": Code(
        _C,
        False,
        "The session is still being recorded, or its recording was interrupted.",
        "Wait until the recording ends. An interrupted session can be shown but not exported; record it again.",
    ),
    "session.unlike": Code(
        _O,
        False,
        "The pages of this run are not as they were recorded, besides numbers that may be masked, so nothing was learned from it.",
        "The message and the detail say what differs. Bring the data back to the state of the recording and try again; or, if the site"
        " has changed, record the session anew.",
    ),
    "session.referenced": Code(
        _C,
        False,
        "Something else names the session: a search, a fork of it, an open live session, or a replay report of another node.",
        "Look at what the message names. If the session is to go all the same, add `--referenced` to `session purge`. To keep it out"
        " of the list only, use `trailmesh session archive`.",
    ),
    "bundle.invalid": Code(
        _P,
        False,
        "The file is not a session bundle of the one canonical form.",
        "Export it again on the recording node: `trailmesh session export`.",
    ),
    "bundle.element": Code(
        _P,
        False,
        "An element of the bundle does not match the signed manifest: it was changed or damaged.",
        "Do not use the file. Ask for the bundle again; `detail.element` names the element.",
    ),
    "report.invalid": Code(
        _P,
        False,
        "The replay report contradicts itself or does not belong to this session.",
        "Ask the node that replayed the session for a new report: `trailmesh session replay` there.",
    ),
    # search
    "condition.invalid": Code(
        _C,
        False,
        "The success condition (`--until`) cannot be read.",
        "See `trailmesh explore run --help` for the accepted forms.",
    ),
    "search.not_found_goal": Code(
        _O,
        False,
        "The search reached its limits without a verified success.",
        "Give it more time (`--seconds`), or start nearer to the goal (`--start`).",
    ),
    "search.exhausted": Code(
        _O,
        False,
        "The search has tried every action it found, without a verified success.",
        "Change the start address or the condition; more time does not help. Pages that differ only in numbers count as one page.",
    ),
    "search.state": Code(
        _C,
        False,
        "The search is in a state that does not allow this operation.",
        "See its state with `trailmesh explore show`. A running search must be ended first: `trailmesh explore stop`.",
    ),
    "search.start_failed": Code(
        _E,
        True,
        "The start page of the search could not be opened.",
        "Check the address, and that the site is reachable from this machine.",
    ),
    "search.full": Code(
        _E,
        True,
        "The open searches of the node together hold the maximum number of pages in memory.",
        "End a search on that node (`trailmesh explore show` lists them, `trailmesh explore stop` ends one), then try again.",
    ),
    # schedules
    "schedule.running": Code(
        _O,
        True,
        "The run of the schedule before this one has not ended.",
        "Wait for its end, or end it with `trailmesh explore schedule pause`.",
    ),
    "schedule.late": Code(
        _E,
        False,
        "The due time passed while the node did not run, or its clock jumped over it.",
        "Keep the node serving; `--misfire run-once` runs the last due time that passed.",
    ),
    "schedule.withdrawn": Code(
        _C,
        True,
        "The schedule was paused or removed, or it expired, before its run had ended.",
        "Resume it (`trailmesh explore schedule resume`), or add it again.",
    ),
    "schedule.failing": Code(
        _O,
        False,
        "The schedule was paused because too many of its runs failed in a row.",
        "See why with `trailmesh explore schedule show`, then `trailmesh explore schedule resume`.",
    ),
    "schedule.expired": Code(
        _C, False, "The schedule has expired: it runs no more.", "Add it again with a later `--expires`."
    ),
    "schedule.notify": Code(
        _E,
        True,
        "The end of a run could not be told to the webhook or command of its schedule.",
        "Check that the webhook answers with a status of 200 to 299, or that the command exits with 0.",
    ),
    "delta.invalid": Code(
        _P,
        False,
        "The delta contains a change that this protocol does not allow.",
        "Install the same version of trailmesh on both machines (`trailmesh --version`), then try again.",
    ),
    "delta.gap": Code(
        _P,
        True,
        "A delta before this one is missing.",
        "The sender must continue from the epoch and sequence number given in `detail`.",
    ),
    "delta.equivocation": Code(
        _P,
        False,
        "The peer signed two different deltas with the same sequence number.",
        "This node has discarded the peer's contribution to the search. Ask the peer's owner who else holds its key.",
    ),
    "lease.unknown": Code(
        _P,
        False,
        "The lease does not exist, has ended, or belongs to another node.",
        "The worker must wait for a new lease from the coordinator.",
    ),
    "lease.spend": Code(
        _P,
        False,
        "The worker reports more work than its lease allows or than the elapsed time permits.",
        "The report is not counted. Check both clocks with `trailmesh node doctor`, and install the same version on both machines.",
    ),
    "lease.busy": Code(
        _P,
        True,
        "The node already works on its maximum number of branches.",
        "Assign the branch to another peer, or try again later.",
    ),
    "claim.invalid": Code(
        _P,
        False,
        "The claim does not follow from its lease: it leaves the leased branch, or contains an action that a search never performs.",
        "It counts as a false claim. If the peer is honest, install the same version of trailmesh on both machines.",
    ),
    "policy.refused": Code(
        _P,
        False,
        "The policy or the owner of this node does not allow the assignment.",
        "Assign the branch to another peer. Only the owner of the refusing node can change its policy.",
    ),
}


class MeshError(Exception):
    """The only exception that crosses a room of the house.

    ``code`` is in ``CODES``; ``detail`` holds plain values (text, integers, lists of them) and never a secret.
    """

    def __init__(self, code: str, message: str = "", /, **detail: Any) -> None:
        assert code in CODES, f"unregistered error code {code}"
        self.code = code
        self.message = message or CODES[code].meaning
        self.detail = detail
        super().__init__(f"{code}: {self.message}")

    @property
    def blame(self) -> Blame:
        """Who has to act."""
        return CODES[self.code].blame

    @property
    def retryable(self) -> bool:
        """Whether the same call can succeed later without a change by the caller."""
        return CODES[self.code].retryable

    @property
    def remedy(self) -> str:
        """One sentence a person can act on."""
        return CODES[self.code].remedy

    @property
    def shown(self) -> MeshError:
        """The error as everybody outside of this process is told it; another one for what a peer answered."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """The one error form of every interface: JSON of the CLI, control API, peer API."""
        return {
            "code": self.code,
            "message": self.message,
            "blame": self.blame.value,
            "retryable": self.retryable,
            "remedy": self.remedy,
            "detail": self.detail,
        }


class PeerError(MeshError):
    """What a peer answered in place of what it was asked for.

    Its ``code`` and ``detail`` decide how the two nodes go on with each other. People and other nodes are told ``shown``: a code
    of this node would say that the fault is here, and bring its remedy and exit code.
    """

    def __init__(self, code: str, message: str = "", /, *, peer: str, name: str = "", **detail: Any) -> None:
        """peer: node id of who answered. name: what it is called here."""
        super().__init__(code, message, **detail, peer=peer)
        self._peer, self._name = peer, name or peer.partition("-")[0]
        self.args = (self.shown.message,)

    def called(self, name: str) -> PeerError:
        """This error, of the peer that is called ``name`` here."""
        return PeerError(self.code, self.message, name=name, **self.detail)

    @property
    def shown(self) -> MeshError:
        told = f"{self._name} answered {self.code}: {self.message}"
        return MeshError("peer.failed", told, peer=self._peer, code=self.code)
