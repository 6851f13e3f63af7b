"""Browsers, actions on a page, secrets, and what the risk gate or a replay refuses."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _E, _O = Blame.CALLER, Blame.ENVIRONMENT, Blame.OUTCOME

NOT_LOADED: Final = frozenset({"browser.navigation", "browser.no_page", "browser.slow", "browser.timeout"})
"""Codes of an address that gave no page, whoever is to blame."""

PAGES: Final[dict[str, Code]] = {
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
        "Run `trailmesh node doctor` for the cause. As root, Chromium starts only without its sandbox: `trailmesh node stop`, then"
        " `trailmesh node start --no-sandbox`, or `browser.sandbox: false` in `config.yaml`. Pages then run with the rights of root.",
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
        "The browser did not finish its work within the time limit.",
        "Run the command again. On a slow machine, raise `browser.step_timeout_ms` in the configuration.",
    ),
    "browser.slow": Code(
        _O,
        True,
        "The site was reached, and its page did not come, or did not answer, in time.",
        "See what the site does in that time. If it may take so long, give the step a longer `timeout:`, or all steps of the file, or raise"
        " `browser.navigation_timeout_ms` and `browser.step_timeout_ms` in the configuration.",
    ),
    "browser.no_page": Code(
        _O,
        False,
        "The site was reached, and gave no page.",
        "The message says what it gave instead: redirects without end, a download, or an answer that no browser can read. See to the site,"
        " or open another address.",
    ),
    "browser.navigation": Code(
        _E,
        True,
        "The site could not be reached, so there is no page.",
        "Check the address, and that the site is reachable from this machine.",
    ),
    "browser.refused": Code(
        _C,
        False,
        "The network guard did not let the browser open the address: a rule of this node, no fault of the network.",
        "The message gives the rule. The owner can name the site: for an agent with `agent add --origin` (in Python `connect(origins=[…])`), for all callers with"
        " `policy.origins` in the configuration. `--allow` helps only where the rule is the method or what the address says.",
    ),
    "browser.no_passkeys": Code(
        _E,
        False,
        "The browser has no authenticator for the passkeys of this node.",
        "Use a Chromium that this node starts: leave `browser.cdp_url` out of the configuration. A passkey may also be damaged: register another.",
    ),
    "browser.no_profile": Code(
        _E,
        False,
        "The work needs files of a browser's profile, and the browser is not one that this node starts.",
        "Leave `browser.cdp_url` out of the configuration, or log in again without --slice: `trailmesh capsule login --replaces`.",
    ),
    "browser.no_basic": Code(
        _E,
        False,
        "Credentials for HTTP basic authentication are given only in a browser that this node starts.",
        "Leave `browser.cdp_url` out of the configuration.",
    ),
    "browser.state": Code(
        _E,
        False,
        "The browser does not take the login that the work was to begin with: a part of it is nothing that a browser keeps.",
        "The message names the part. Log in again (`trailmesh capsule login --replaces`), or capture the login from a browser.",
    ),
    "browser.scheme": Code(
        _C, False, "Only http and https pages can be opened.", "Use an address that starts with http:// or https://."
    ),
    "browser.unreadable": Code(
        _O,
        False,
        "The page cannot be read, or a form on it not pressed, because a form field has the name of a DOM property.",
        "Use another page of the site, or ask its developers to rename the field. `detail.name` gives the name.",
    ),
    "page.cut": Code(
        _O,
        False,
        "The page is too large to be read to its end, it or a frame of it has not loaded, or what is asked for may stand in a closed shadow tree, which cannot be read, so that what is absent, how many there are, which is the only one, or what an element says is not known.",
        "Name the element by a CSS selector (`selectors`), which the browser looks for on the whole page, give its place (`nth`), or make"
        " the page shorter: filter it, or show fewer rows. If it still loads, give the step or the one before it a longer `timeout:`. Of"
        " closed shadow trees: look in a part of the page that has none (`within`). The"
        " message says what was left out.",
    ),
    "page.unconfirmed": Code(
        _O,
        False,
        "Something that the page sent was held or refused, so what it shows may not be true: many pages show success before the site has answered.",
        "Open its address anew (`goto`, `reload`), after the owner's yes if it is held: `trailmesh approve state QUESTION --wait 60`.",
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
    "action.script_failed": Code(
        _O,
        False,
        "The script of an `evaluate` cannot be read, has thrown an error, or did not end in time.",
        "The message says what the script has met. It runs in an isolated world: it sees the document, but no variable of the page.",
    ),
    "action.script_refused": Code(
        _O,
        False,
        "No script is run here: for a peer, in a browser that this node did not start, or with a login whose values it could read.",
        "Read with `extract`, act with the other actions. With a secret that was typed or a capsule of this node, the owner can set"
        " `scripts: true` in the rule of the site (`policy.sites`).",
    ),
    "action.upload": Code(
        _O,
        False,
        "A file is not uploaded: it is not in the folders that this node uploads from, or it is too large.",
        "`trailmesh live upload ID FILE` hands over a file that you can read. Other callers, recordings and replays take files from the"
        " folders of `browser.upload_folders` in `config.yaml`, named relative to them and not by a symbolic link; a new setting counts"
        " from the next start of the node.",
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
        "Pass it with `--secret NAME@https://shop.example=SOURCE`, for example `=prompt:` (docs/secrets.md).",
    ),
    "action.secret_elsewhere": Code(
        _C,
        False,
        "The secret may not be typed into this field: it was given for another site, or for password fields only.",
        "If it belongs there, name the site: `--secret NAME@https://shop.example=SOURCE`; for a field that is no password field: `--secret NAME:text@https://shop.example=SOURCE`.",
    ),
    "action.secret_changed": Code(
        _C,
        False,
        "What was typed or opened here was the same text as a secret, and the secret has another value now.",
        "Record the session anew, or give the secret that it was recorded with.",
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
        " again; or with `--approve-class` of `session record`, `session replay`, `capsule login`, `live open` and `live act`. docs/approvals.md says more."
        " An agent cannot approve.",
    ),
    "replay.unlisted": Code(
        _O,
        False,
        "The step would have sent what its recording did not send, so it was refused.",
        "The message names both. If the site has changed for good, record the session anew; to send it in this replay, name it with"
        " `--allow` and leave out `--writes`.",
    ),
    "replay.manifest": Code(
        _C,
        False,
        "What the session says of its writes is no consent of this node's owner.",
        "Read what it sends with `trailmesh session show SESSION`; if that is right, name it: `--writes sha256:…`, with the digest that"
        " is printed there. `--writes as-recorded` works only for sessions that the owner recorded on this node.",
    ),
    "replay.diverged": Code(
        _O,
        False,
        "The step was not performed: it would change data, and an earlier step did not match the recording.",
        "Look at the first step that did not match. To perform the later steps anyway, use `session replay --on-mismatch go`,"
        " or `--on-mismatch ask` to decide on each of them.",
    ),
}
