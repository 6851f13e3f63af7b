"""Every limit on what comes from outside, in one place, with its unit in its name.

What a single reader cuts off for its own layout (labels of a picture, context of an element) stands beside it.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * 1024

# CBOR and envelopes (docs/protocol/cbor.md, docs/protocol/envelope.md)
CBOR_DEPTH_MAX: Final = 16
CBOR_ITEMS_MAX: Final = 20_000
ENVELOPE_BYTES_MAX: Final = 256 * KIB
PROTECTED_HEADER_BYTES_MAX: Final = 512
ARTEFACT_BYTES_MAX: Final = 1 * MIB
CLOCK_SKEW_S: Final = 60
MESSAGE_LIFETIME_S: Final = 120  # twice the skew: a message from a clock that is a minute slow stays valid for a minute
REPLAY_KEEP_S: Final = 240  # the lifetime of a message, and the skew of both clocks
REPLAY_WINDOW_ITEMS_MAX: Final = 100_000  # about twenty peers at PEER_REQUESTS_PER_S fill it within REPLAY_KEEP_S
CLOCK_MARK_AHEAD_S: Final = 3  # one write covers every message of this time
CLOCK_MARK_BYTES_MAX: Final = 128 * KIB
CLOCK_SET_BACK_S_MAX: Final = 600  # if a clock goes back by more, it was wrong before

# Peer channel
CHANNEL_CERTIFICATE_DAYS: Final = 7
CHANNEL_CERTIFICATE_BACKDATE_MINUTES: Final = 4 * 24 * 60
"""Clocks that differ by less still shake hands, so that the exact difference can be told (docs/protocol/reach.md). More than
half of a certificate's life: from there on, its times tell."""
HANDSHAKE_TIMEOUT_S: Final = 5  # short: an unidentified client occupies a place during the handshake
HEADER_TIMEOUT_S: Final = 5
BODY_TIMEOUT_S: Final = 30
KEEPALIVE_TIMEOUT_S: Final = 60  # the client keeps idle connections for less, so it never writes to one that is closing
CONNECT_TIMEOUT_S: Final = 5
REQUEST_TIMEOUT_S: Final = 30
CONNECTIONS_TOTAL_MAX: Final = 256
CONNECTIONS_PER_ADDRESS_MAX: Final = 16  # before the caller is identified
CONNECTIONS_PER_PEER_MAX: Final = 16
PEER_CONCURRENT_REQUESTS_MAX: Final = 4
PEER_BODY_BYTES_MAX: Final = 2 * MIB
PEER_REQUESTS_PER_S: Final = 20
PEER_REQUESTS_BURST: Final = 50
PEERS_MAX: Final = 1_000
PEER_DISK_MIB: Final = 256
REFUSALS_PEERS_MAX: Final = 64  # each peer is a label of the metrics, so their number must be limited
REFUSALS_BYTES_MAX: Final = 2 * MIB  # as they are stored
REFUSALS_ITEMS_MAX: Final = 100_000
REFUSALS_KEEP_EVERY_S: Final = 30
VISITORS_MAX: Final = 8  # unknown callers, at a time; one per address
VISITORS_PER_MINUTE: Final = 60  # verifying the longest key log takes about 10 ms, so about 1 s of CPU a minute
VISITORS_PER_MINUTE_PER_ADDRESS: Final = 4
VISITOR_TIMEOUT_S: Final = 5
MESSAGE_BYTES_MAX: Final = 4 * KIB
REFUSAL_BYTES_MAX: Final = 16 * KIB
REFUSAL_MESSAGE_CHARS_MAX: Final = 300
KEYS_MESSAGE_BYTES_MAX: Final = 68 * KIB  # a key log
DELTA_PULL_MESSAGE_BYTES_MAX: Final = 16 * KIB  # where 32 shares end
GRANTS_MESSAGE_BYTES_MAX: Final = 64 * KIB  # nine scopes for 16 origins each
SEARCH_MESSAGE_BYTES_MAX: Final = 128 * KIB  # a search: goal, addresses, condition
BRANCH_MESSAGE_BYTES_MAX: Final = 160 * KIB  # a path of 32 actions
LOG_MESSAGE_BYTES_MAX: Final = 1 * MIB  # notes, proofs, tags of known nodes

# Reach: held connections, back-off, signed HTTP, discovery (docs/protocol/reach.md)
HELD_KEEPALIVE_S: Final = 20  # NAT devices drop idle connections, some of them after half a minute
FRAME_BYTES_MAX: Final = 1 * KIB
FRAME_PIECE_BYTES_MAX: Final = 64 * KIB
BACKOFF_FIRST_MS: Final = 1_000
BACKOFF_MAX_MS: Final = 300_000
ECHO_TIMEOUT_S: Final = 10
HTTP_SIGNATURE_LIFETIME_S: Final = 60
HTTP_SIGNATURE_HEADER_CHARS_MAX: Final = 1_024
DISCOVERY_SECONDS_MAX: Final = 30
DISCOVERED_NODES_MAX: Final = 256

# Pairing
INVITE_MINUTES_MAX: Final = 60
INVITES_OPEN_MAX: Final = 16
INVITE_TOKEN_BYTES: Final = 16  # 128 bits cannot be guessed, however many attempts are made
INVITE_CHARS_MAX: Final = 1_024
PAIRING_FAILURES_MAX: Final = 3  # three guesses of seven digits succeed with a probability of 3 in ten million
PAIRING_WINDOW_S: Final = 600
PAIRING_DIGITS: Final = 7
PAIRING_BODY_BYTES_MAX: Final = 160 * KIB  # a key log, 44 KiB of grants twice, and the rest
PEER_NAME_CHARS_MAX: Final = 64
PEER_ADDRESSES_MAX: Final = 8
GRANT_ORIGINS_MAX: Final = 16
ORIGIN_CHARS_MAX: Final = 300

# Key logs (docs/protocol/keylog.md)
KEY_EVENTS_MAX: Final = 64
KEY_EVENTS_RESERVED: Final = 8  # reserved for recoveries: a thief of a key cannot fill the log with rotations
KEY_EVENT_BYTES_MAX: Final = 1 * KIB
KEY_LOG_BYTES_MAX: Final = 64 * KIB
KEY_FOLLOW_EVERY_S: Final = 300
TRUST_KEYS_MAX: Final = 16  # whose signatures one call with --trust accepts
TRUST_TEXT_CHARS_MAX: Final = 256 * KIB
PASSPHRASE_BYTES_MAX: Final = 1_024
PASSPHRASE_CHARS_MIN: Final = 8
RECOVERY_FILE_CHARS_MAX: Final = 4 * KIB

# Capsules (docs/protocol/capsule.md)
CAPSULE_STATE_BYTES_MAX: Final = 16 * MIB
CAPSULE_CHUNK_BYTES: Final = 64 * KIB
CAPSULE_HEADER_BYTES_MAX: Final = 64 * KIB
CAPSULE_ENVELOPE_BYTES_MAX: Final = 128 * KIB
CAPSULE_ARTEFACT_BYTES_MAX: Final = 2 * KIB  # a certificate, a use or a revocation
CAPSULE_FILE_BYTES_MAX: Final = 18 * MIB  # state, tags of its chunks, envelope and proof
CAPSULE_SOURCE_BYTES_MAX: Final = 32 * MIB  # of a file that state is captured from: JSON is longer than what is kept
CAPSULE_ITEMS_MAX: Final = 400_000
CAPSULE_ORIGINS_MAX: Final = 64
CAPSULE_RECIPIENTS_MAX: Final = 16
CAPSULE_COOKIES_MAX: Final = 3_000  # as many as Chromium keeps
CAPSULE_COOKIE_CHARS_MAX: Final = 8 * KIB
CAPSULE_DOMAIN_CHARS_MAX: Final = 256
CAPSULE_STORAGES_MAX: Final = 256
CAPSULE_STORES_MAX: Final = 1_000
CAPSULE_ENTRIES_MAX: Final = 50_000
CAPSULE_NAME_CHARS_MAX: Final = 4 * KIB
CAPSULE_TEXT_CHARS_MAX: Final = 16 * MIB
CAPSULE_LABEL_CHARS_MAX: Final = 64
CAPSULE_PURPOSE_CHARS_MAX: Final = 200
CAPSULE_USES_MAX: Final = 1_000_000
CAPSULE_DAYS_MAX: Final = 366
CAPSULE_FRESH_S_MAX: Final = 31 * 86_400
CAPSULE_LEASE_S_MAX: Final = 86_400
CAPSULE_HIDDEN_MAX: Final = 128  # values of a login that are looked for in what a page says
CAPSULE_HIDDEN_CHARS_MAX: Final = 256 * KIB  # all of them: what finds a value again is many times as long
LOGIN_VALUES_MAX: Final = 1_024  # that a site makes while a flow logs in, all of which are looked for
LOGIN_VALUES_CHARS_MAX: Final = 512 * KIB  # all of them
CAPSULE_CHECK_S: Final = 30  # a use that lasts is judged again so often
CAPSULE_CONTENTS_MAX: Final = 64  # names of what a capsule holds, in the signed list
CAPSULE_LOOKS_MAX: Final = 24  # at a page, to find out what of a login it does not need
CAPSULE_SLICE_BYTES_MAX: Final = 8 * MIB  # files of a browser's profile, half of a state
CAPSULE_SLICE_FILES_MAX: Final = 512
CAPSULE_SLICE_NAME_CHARS_MAX: Final = 64
CAPSULES_MAX: Final = 256
AGENT_CAPSULES_MAX: Final = 16
PROFILE_MEMORY_BYTES_MIN: Final = 1024 * MIB  # free, where the directory of a browser is to lie in memory
CAPSULE_LEDGER_MAX: Final = 10_000  # rows outlive their capsules, so that an old copy resets nothing
ATTESTATION_FINDINGS_MAX: Final = 64
ATTESTATION_BYTES_MAX: Final = 32 * KIB
COOKIES_FILE_BYTES_MAX: Final = 1 * MIB  # a capsule of cookies alone that a peer is answered with
COOKIES_PER_HOUR_MAX: Final = 30  # requests of a peer for cookies: each answer is signed, and in the witness log
WORK_BYTES_MAX: Final = 64 * KIB  # of an action file that a peer sends to where a login is
WORK_MESSAGE_BYTES_MAX: Final = 72 * KIB
WORK_PART_BYTES: Final = 1 * MIB
WORK_BUNDLE_BYTES_MAX: Final = 64 * MIB
WORK_S_MAX: Final = 900
WORK_PER_PEER_MAX: Final = 2
WORK_MAX: Final = 8
WORK_KEPT_MAX: Final = 256
WORK_KEPT_S: Final = 3_600
WORK_CLASS_MAX: Final = 2  # of an action that the owner has not approved
SEALING_KEY_DAYS_MAX: Final = 30

# Questions and approvals (docs/protocol/approval.md)
OWNERS_MAX: Final = 16
OWNER_PASSPHRASE_CHARS_MIN: Final = 10
OWNER_CHANGES_MAX: Final = 256  # a chain is read as a whole at each start
APPROVAL_BYTES_MAX: Final = 16 * KIB
APPROVAL_DAYS_MAX: Final = 90
APPROVAL_FRESH_S: Final = 3_600  # a statement is carried to a key that is kept elsewhere, and its signature back
FORM_TEXT_CHARS_MAX: Final = 1_024
FORM_FIELDS_MAX: Final = 64
FORM_VALUE_CHARS_MAX: Final = 200
FORM_BODY_CHARS_MAX: Final = 256 * KIB
QUESTION_REQUESTS_MAX: Final = 16
QUESTION_EVIDENCE_MAX: Final = 8
QUESTION_DAYS: Final = 7  # that one stays open
QUESTION_WAIT_S_MAX: Final = 60  # of one call; who asked may call again
HELD_PER_PAGE_MAX: Final = 8
HELD_TERMINAL_S: Final = 60  # a person is there
HELD_CLIENT_S: Final = 20  # a client that can wait, before it gives its own call up
HELD_LATE_S: Final = 10.0  # after an action: what it caused late, by a timer of its own, is held as well
HELD_ANSWER_S: Final = 30.0  # after that nobody knows if what was let go has arrived
QUESTIONS_OPEN_MAX: Final = 256
QUESTIONS_PER_CALLER_MAX: Final = 64
QUESTIONS_PER_SITE_MAX: Final = (
    16  # open ones of one caller about one origin: a page makes up as many forms as it likes
)
QUESTIONS_KEPT_MAX: Final = 1_000
SITE_RULES_MAX: Final = 64
SITE_ENTRIES_MAX: Final = 64


# Distrust (docs/protocol/distrust.md)
DISTRUST_REASON_CHARS_MAX: Final = 300
NOTICES_PER_PEER_MAX: Final = 64

# Control API
CONTROL_BODY_BYTES_MAX: Final = 1 * MIB
CONTROL_TOKEN_BYTES: Final = 32
CONTROL_CONNECTIONS_MAX: Final = 256  # of one socket
CONTROL_CONNECTIONS_PER_USER_MAX: Final = 128  # so that one account keeps no other out
LIST_ROWS_MAX: Final = 10_000  # of sessions or searches, newest first
CONTROL_FAILURES_PER_MINUTE: Final = 20  # wrong tokens within a minute that are answered without delay
CONTROL_FAILURE_PAUSE_MS: Final = 1_000  # delay of each further one
CONTROL_FAILURES_WAITING_MAX: Final = 16
DIRECTORY_WAIT_S: Final = 300  # how long a command waits for another one without a node; a recording takes minutes

# Agents (docs/agents.md)
AGENTS_MAX: Final = 64
AGENT_TOKEN_BYTES: Final = 32
AGENT_TOKEN_CHARS_MAX: Final = 128
AGENT_DAYS_MAX: Final = 365
AGENT_DAYS_USUAL: Final = 30
AGENT_CALLS_MAX: Final = 1_000_000_000
AGENT_BROWSER_SECONDS_MAX: Final = 100_000_000
AGENT_CALLS_AT_ONCE_MAX: Final = 16
AGENT_BROWSER_SLICE_MS: Final = 5_000  # taken in advance, so a crash costs an agent at most this much browser time

# Metrics
METRICS_CONNECTIONS_MAX: Final = 8

# The HTTP door and the tools of MCP
HTTP_BODY_BYTES_MAX: Final = 256 * KIB
HTTP_CALLS_PER_S: Final = 50  # of one caller, on average
HTTP_CALLS_IN_A_ROW_MAX: Final = 100  # of one caller, before the average counts
HTTP_CONNECTIONS_MAX: Final = 256
STREAMS_PER_CALLER_MAX: Final = 5  # of events of tasks, over HTTP
STREAM_PING_S: Final = 15  # after which a stream without an event says that it is there
TOOL_TEXT_BYTES_MAX: Final = 32 * KIB
CALL_KEY_CHARS_MAX: Final = 128
CALL_RESULT_BYTES_MAX: Final = 64 * KIB  # of a call with a key, as it is kept
CALLS_KEPT_MAX: Final = 500  # calls with a key, of one caller; the oldest is forgotten first
CALLS_KEPT_S: Final = 86_400

# Sessions and bundles
VIEWPORT_PX_MIN: Final = 200
VIEWPORT_PX_MAX: Final = 8_192
SESSION_STEPS_MAX: Final = 1_000
CALLER_CHARS_MAX: Final = 128
ACTION_TEXT_CHARS_MAX: Final = 4_096
# Every text of a page is searched for every secret. One that is too short would be found everywhere.
SECRETS_MAX: Final = 32
SECRET_CHARS_MIN: Final = 4
SECRET_CHARS_MAX: Final = 4_096
SECRET_ORIGINS_MAX: Final = 16
SECRET_SOURCE_BYTES_MAX: Final = 64 * KIB
"""Of a file or a program that a secret is read from."""
SECRET_COMMAND_S: Final = 120
"""How long such a program may take: it may ask a person to unlock what it reads."""
PASSKEYS_MAX: Final = 256
PASSKEY_NAME_CHARS_MAX: Final = 256
TOTP_SEED_BYTES_MIN: Final = 8
TOTP_PERIOD_S_MAX: Final = 300
ACTION_FILE_BYTES_MAX: Final = 1 * MIB
CONFIG_CHARS_MAX: Final = 64 * KIB
YAML_DEPTH_MAX: Final = 8
YAML_NODES_MAX: Final = 16_000
TITLE_CHARS_MAX: Final = 1_000  # of a page, and of a recording
URL_CHARS_MAX: Final = 4_096
LOCATOR_SELECTORS_MAX: Final = 8
EVIDENCE_CELLS_MAX: Final = 32  # of a row or card
EVIDENCE_LINKS_MAX: Final = 8
EVIDENCE_CHARS_MAX: Final = 120  # of one cell
ABSENT_SELECTORS_MAX: Final = 32  # of a recording: each is looked for after every step until it was seen
SNAPSHOT_BYTES_MAX: Final = 4 * MIB  # a table of 10,000 rows with three controls each takes 1.6 MB
FAILED_PAGE_LINES_MAX: Final = 500  # of the page of a failed step that are shown with its session
SNAPSHOT_LINES_MAX: Final = 400_000  # of what the browser says of a page
SCREENSHOT_BYTES_MAX: Final = 8 * MIB
PICTURE_PIXELS_MAX: Final = (
    16 * 1024 * 1024
)  # of a screenshot that is compared with another; each pixel takes 3 bytes, several times
ELEMENT_NAME_CHARS_MAX: Final = 400  # more of a name is not told from others by: what is looked for is cut as well
OBSERVATION_ELEMENTS_MAX: Final = 200_000  # a table of 10,000 rows with three controls each has 80,000
DIFFERENCES_PER_STEP_MAX: Final = 8  # differences are only shown to people, who need the first few
DIFFERENCES_PER_REPLAY_MAX: Final = 100
INPUTS_MAX: Final = 32
INPUT_CHARS_MAX: Final = 1_024
DIFFERENCE_CHARS_MAX: Final = 120
PAGE_LINES_SHOWN_MAX: Final = 2_000  # of the page at which a replay ended, in its HTML file
MARKUP_NODES_MAX: Final = 200_000  # of a document that are walked through, to show where a step failed
MARKUP_LINES_MAX: Final = 2_000  # elements and texts of it that are shown, around the first one that was looked for
MARKUP_TEXT_CHARS_MAX: Final = 200  # of each text and attribute of it
MARKUP_ATTRIBUTES_MAX: Final = 24
MARKUP_CHARS_MAX: Final = 2_000_000  # of all of it, before what is too long is cut
MARKUP_MS: Final = 3_000  # how long a page may take to give it; a step has failed, and nothing else waits for it
RUN_JOBS_MAX: Final = 32  # files of a test run at once; each has a browser context
OUTLINE_LINES_MAX: Final = 200_000  # of each text: what is compared by place, to tell a person
DIFFERENCE_LINES_MAX: Final = 100  # of each text, from the first that differs: what is looked through for more
ANSWER_TIMEOUT_S: Final = 120  # of a person who is asked during a replay; the page at which it waits may lose its login
BUNDLE_BYTES_MAX: Final = 256 * MIB
REASON_CHARS_MAX: Final = 400
UPLOAD_FILES_MAX: Final = 10
UPLOADS_KEPT_S: Final = 30 * 86_400  # copies of files that commands hand over, since they were handed over last
UPLOAD_BYTES_MAX: Final = 32 * MIB  # of one action; the driver of the browser takes 50 MB
ASSERTED_ITEMS_MAX: Final = 200
CONSOLE_ERRORS_MAX: Final = 20  # of a page: the first ones say what is wrong
CONSOLE_ERROR_CHARS_MAX: Final = 300
WRITTEN_CHARS_MAX: Final = 32  # a hash
NOTES_PER_STEP_MAX: Final = 10
EFFECTS_PER_STEP_MAX: Final = 32  # requests that change something
EFFECTS_BYTES_MAX: Final = 64 * KIB  # all of a step
EFFECT_HEADERS_MAX: Final = 8
EFFECT_FILES_MAX: Final = 16
WRITES_NAMED_MAX: Final = 64  # manifests that one call names
NOTE_CHARS_MAX: Final = 300
EVALUATED_CHARS_MAX: Final = 16_384  # of the value of a script, as JSON
DOWNLOADS_PER_STEP_MAX: Final = 20
DOWNLOAD_NAME_CHARS_MAX: Final = 255
DOWNLOAD_BYTES_MAX: Final = 256 * MIB  # of all downloads of a step together
DOWNLOAD_TIMEOUT_MS: Final = 60_000
DOWNLOADS_KEPT_BYTES_MAX: Final = 1024 * MIB  # of all files that a live session keeps
DOWNLOADS_KEPT_S: Final = 7 * 86_400  # since the live session was opened
DOWNLOAD_FILE_NAME_BYTES_MAX: Final = 200  # of the file that is kept
DIALOGS_PER_STEP_MAX: Final = 20
DIALOG_CHARS_MAX: Final = 1_000
HIDDEN_TEXT_MS: Final = 3_000  # so long a frame is read for what it hides; what is behind it is said to be unread
HIDDEN_TEXT_SLICE_MS: Final = 40  # of it at once: then the page goes on
HIDDEN_TEXTS_MAX: Final = 4_000  # read of a page, all of which may speak to a model; those that do are kept
HIDDEN_TEXTS_CHARS_MAX: Final = 256 * KIB  # of a frame
HIDDEN_TEXT_CHARS_MAX: Final = 4_000
HIDDEN_AT_CHARS_MAX: Final = 64
HIDDEN_PER_STEP_MAX: Final = 8
HIDDEN_KEPT_CHARS_MAX: Final = 500
DIALOG_TIMEOUT_MS: Final = 2_000  # for one that is expected, after its action
SCRIPT_BYTES_MAX: Final = 256 * KIB  # an imported script: parsed as a whole
SCRIPT_NODES_MAX: Final = 500_000  # of its syntax, with what its names and loops stand for
SKIPPED_STEPS_MAX: Final = 200  # of an imported recording: the first ones say what is missing
REFUSALS_TOLD_MAX: Final = 20  # of a file, in one error: who mends these sees the next ones
REQUEST_FAULTS_MAX: Final = 50  # of a step: the first ones say what is wrong
MASKS_PER_STEP_MAX: Final = 500  # what is not masked is compared
BUNDLE_ELEMENTS_MAX: Final = 4_096  # SESSION_STEPS_MAX steps with at most three elements: record, snapshot, screenshot
BUNDLE_MANIFEST_BYTES_MAX: Final = 1 * MIB
BUNDLE_PATH_CHARS_MAX: Final = 128

# Search tree and deltas
CHUNK_BYTES_MAX: Final = 512 * KIB
CHUNK_OPS_MAX: Final = 20_000
CHUNK_KEY_BYTES_MAX: Final = 64
CHUNK_VALUE_BYTES_MAX: Final = 4 * KIB
DELTAS_PER_MESSAGE_MAX: Final = 64
TREE_NODES_MAX: Final = 200_000
TREE_NODES_OPEN_MAX: Final = 400_000  # in all open searches together; one takes about 750 bytes of memory
TREE_DEPTH_MAX: Final = 32
TREE_ACTION_BYTES_MAX: Final = 2 * KIB
CANDIDATES_PER_STATE_MAX: Final = 40
REGISTER_VISITS_MAX: Final = 2**31 - 1
REGISTER_COST_MS_MAX: Final = 2**48
EPOCH_MAX: Final = 2**31 - 1
EPOCH_PUTS_MAX: Final = 100_000  # a document grows with every put and never shrinks, so an epoch has to end
EPOCH_DELTAS_MAX: Final = 20_000
LEASES_KEPT_MAX: Final = 10_000
SEARCH_PARTICIPANTS_MAX: Final = 32
SEARCHES_OPEN_MAX: Final = 32
SEARCHES_OPEN_PER_PEER_MAX: Final = 8
CLAIM_REPLAY_TIMEOUT_S: Final = 60  # the worker chooses the path, so its replay must not occupy a browser for long
FALSE_CLAIMS_PER_PEER_MAX: Final = 3  # then a peer gets no more branches of a search, and its claims are not replayed
EMPTY_LEASES_PER_PEER_MAX: Final = 5  # consecutive leases without a delta; then the peer gets no more branches
LEASE_STEPS_OVER_MAX: Final = 256  # what the last iteration of a lease may take beyond its steps
GOAL_CHARS_MAX: Final = 1_000
CHOOSER_TIMEOUT_S: Final = 10
CHOOSER_ANSWER_BYTES_MAX: Final = 4_096
CONDITION_PARTS_MAX: Final = 32
CONDITION_DEPTH_MAX: Final = 4

# Witness log (docs/protocol/witness-log.md)
NOTE_BYTES_MAX: Final = 8 * KIB
NOTE_SIGNATURES_MAX: Final = 32
NOTE_NAME_CHARS_MAX: Final = 256
LOG_NUMBER_MAX: Final = 2**31 - 1
LOG_OTHERS_MAX: Final = 8
LOG_OPENINGS_SHOWN_MAX: Final = 8
LOG_PAST_KEPT_MAX: Final = 32
LOG_SIZE_MAX: Final = 2**53  # JavaScript and many JSON readers cannot represent larger integers exactly
LOG_COSIGNERS_MAX: Final = 16
LOG_COSIGNER_KEYS_BYTES_MAX: Final = 4 * KIB
LOG_GOSSIP_NOTES_MAX: Final = 32
LOG_UNCONNECTED_PER_NODE_MAX: Final = 8
LOG_GOSSIP_PROOFS_MAX: Final = 2
LOG_GOSSIP_KEY_LOGS_MAX: Final = 2
LOG_BATCH_ENTRIES_MAX: Final = 1_024
LOG_PROOF_BYTES_MAX: Final = 256 * KIB
LOG_SYNC_EVERY_S: Final = 60
LOG_PROOF_ONE_IN: Final = 8  # the signer cannot predict which deltas, assignments and results are sampled
LOG_PROOF_OWED_S_MAX: Final = 60
LOG_SYNCS_AT_ONCE_MAX: Final = 32
LOG_START_SYNC_TIMEOUT_S: Final = 5  # a start must not wait long for peers that are offline

# Audit trail (docs/adr/0017-audit-trail.md)
AUDIT_NAME_CHARS_MAX: Final = 80
AUDIT_TEXT_CHARS_MAX: Final = 256
AUDIT_NOTES_MAX: Final = 8
AUDIT_ROW_BYTES_MAX: Final = 16 * KIB
AUDIT_LIST_ROWS_MAX: Final = 1_000
AUDIT_REFUSAL_EVERY_S: Final = 600  # of one agent, verb and error code: an agent must not fill the trail
AUDIT_REFUSAL_KINDS_MAX: Final = 8_192  # agent, verb and code: above 64 agents and 100 verbs
AUDIT_ANCHOR_EVERY_S: Final = 600  # rows after the last anchor can be cut off without a trace

# Backups
BACKUP_CONTENTS_BYTES_MAX: Final = 16 * KIB
BACKUP_TRIES_MAX: Final = 5  # a copy is repeated if the keys changed meanwhile

# Feed of changes (docs/adr/0029-change-feed.md)
FEED_ROWS_MAX: Final = 10_000
FEED_LIST_ROWS_MAX: Final = 1_000
FEED_WAIT_S_MAX: Final = 60
FEED_REFUSAL_EVERY_S: Final = (
    600  # of one agent for one reason: an agent that tries on and on must not crowd out the rest
)

# Page of the node
PAGE_LINK_S: Final = 120  # how long a link to the page can be used, once
PAGE_LINKS_MAX: Final = 8  # made and not used yet; a further one ends the oldest
PAGE_VISIT_S: Final = 43_200  # how long a web browser that used one may read the page
PAGE_VISITS_MAX: Final = 16  # such web browsers; a further one ends the oldest
PAGE_TOKEN_BYTES: Final = 32
PAGE_CONNECTIONS_MAX: Final = 128  # a web browser opens up to six
PAGE_LIST_ROWS: Final = 60  # of a list, on one page of it
PAGE_WAIT_S: Final = 25  # how long a question for changes is left open
PAGE_MOVES_S: Final = 3  # the same, of a page with work that goes on

# Live sessions (docs/live.md)
LIVE_TTL_S_MAX: Final = 86_400
LIVE_LIST_ROWS_MAX: Final = 1_000
LIVE_IDLE_S_MAX: Final = 7_200
LIVE_PAGES_MAX: Final = 16
LIVE_PER_CALLER_MAX: Final = 8  # open at a time, of a caller that is not the owner
LIVE_CALL_WAIT_S: Final = 30  # how long a call waits for the one before it in the same session
LIVE_ABANDONED_S: Final = 2  # how long a navigation goes on whose caller has gone away
LIVE_STEP_CHARS_MAX: Final = 32 * KIB
TABLE_BYTES: Final = 2 * KIB  # of an action table, or of a difference, that is shown at once
NODE_START_S: Final = 60  # of a node that a command starts in the background
NODE_STOP_S: Final = 60
SHELL_AGENT_S: Final = 30 * 86_400  # how long the token of a shell's agent holds; the next call makes another
NODE_IDLE_EXIT_S: Final = 1_800  # of such a node, without a call, an open live session or a search
FIELDS_AT_ONCE_MAX: Final = 100  # of a form that is filled by one call
SNAPSHOT_PART_BYTES: Final = 16 * KIB  # of a whole page that is shown to an agent at once
ELEMENT_IDS_MAX: Final = (
    200_000  # of a live session; elements that were not seen for the longest time lose theirs first
)
OUTLINE_CHARS_MAX: Final = 512 * KIB  # of a page that is shown to an agent at once; a further look shows what follows

# Tasks (docs/tasks.md)
TASKS_RUNNING_MAX: Final = 4  # at a time
TASKS_QUEUED_MAX: Final = 32  # that wait for their turn
TASKS_PER_CALLER_MAX: Final = 8  # running or waiting, of a caller that is not the owner
TASK_RETRY_AFTER_S: Final = 5  # after which a caller that was refused tries again
TASKS_KEPT_MAX: Final = 500  # the oldest that have ended are removed
TASK_EVENTS_MAX: Final = 200  # that are kept of one task
TASK_EVENT_CHARS_MAX: Final = 2_048  # a longer one is cut
TASK_PARAMS_CHARS_MAX: Final = 4 * KIB  # that are kept
TASK_RESULT_BYTES_MAX: Final = 64 * KIB  # that are kept
TASK_S_MAX: Final = 86_400
TASK_COUNT_MAX: Final = 100_000
TASK_AGENT_S: Final = 300  # of a task of an agent that names no other limit
TASK_AGENT_PICTURES: Final = 50
TASK_AGENT_NAVIGATIONS: Final = 20
TASK_PAUSE_S_MAX: Final = 3_600  # that a task waits for a person
SITE_WAIT_S_MAX: Final = 3_600  # that a task without a time limit waits because a site asks it to
SITE_BACKOFF_S_MAX: Final = 60  # between attempts at a site that does not say how long to wait
SITE_WAITS_MAX: Final = 8  # in a row for one step
PUTOFFS_MAX: Final = 20  # answers of one step that ask for fewer requests

# Schedules (docs/schedules.md)
SCHEDULES_MAX: Final = 64
SCHEDULE_TEXT_CHARS_MAX: Final = 2_048
SCHEDULE_EVERY_S_MIN: Final = 10
SCHEDULE_EVERY_S_MAX: Final = 366 * 86_400
SCHEDULE_JITTER_S_MAX: Final = 3_600
SCHEDULE_ORIGINS_MAX: Final = 16
SCHEDULE_RUNS_MAX: Final = 1_000  # records that are kept of each schedule
SCHEDULE_DUE_AT_ONCE_MAX: Final = 200  # due times in one transaction
SCHEDULE_SLEEP_S_MAX: Final = 60  # a change of the system clock is noticed after this time
SCHEDULE_FAILURES_MAX: Final = 5  # in a row; then it is paused
SCHEDULE_NOTIFY_TIMEOUT_S: Final = 10
SCHEDULE_COMMAND_WORDS_MAX: Final = 32

# Browser
CONTEXTS_MAX: Final = 24  # of the node, unless configured; about 60 MB each with one page
CONTEXTS_FOR_OWNER: Final = 6  # of them; else the live sessions of three agents could hold all
CONTEXTS_PER_BROWSER_MAX: Final = 8  # a crash ends all of them, but each further browser takes about 230 MB
CONTEXT_QUEUE_MAX: Final = 64
CONTEXT_QUEUE_S: Final = 30
BROWSER_IDLE_S: Final = 60  # the next context then takes half a second longer, because a browser has to start
BROWSER_STATE_BYTES_MAX: Final = 32 * MIB
BROWSER_STATE_ORIGINS_MAX: Final = 64
BROWSER_STATE_COOKIES_MAX: Final = 4_096
PAUSED_REQUESTS_MAX: Final = 2_000  # a page with more waiting requests sends them faster than the guard can judge them
WINDOWS_KEPT_MAX: Final = 16
OPTIONS_CHOSEN_MAX: Final = 64  # beside the first one, in one action
TABS_MAX: Final = 8  # open at the same time, in one session
TABS_OPENED_MAX: Final = 100  # in one session, those included that were closed
TUNNEL_CONNECTIONS_MAX: Final = 1_024
TUNNEL_WAIT_MS: Final = 250  # a connection can come before the request that it is for
TUNNEL_ATTACHED_WAIT_MS: Final = 1_000  # the same in an attached browser, where each request is stopped twice
TUNNEL_ADMITTED_S: Final = (
    60  # a request that waits for one of six connections to its host may need a new one only then
)
SOCKETS_MAX: Final = 64  # WebSockets that one page opens
SOCKET_MESSAGES_MAX: Final = 10_000  # over one WebSocket, both directions together
SOCKET_BYTES_MAX: Final = 16 * MIB
STREAMS_MAX: Final = 64  # addresses at which one page opens EventSources
STREAM_EVENTS_MAX: Final = 10_000  # from one address
STREAM_BYTES_MAX: Final = 16 * MIB
TUNNEL_PLACES_MAX: Final = 2_000  # hosts and ports that a guard has let through
TUNNEL_REQUESTS_MAX: Final = 20_000
TUNNEL_HEAD_BYTES_MAX: Final = 256 * KIB
NAVIGATION_TIMEOUT_MS: Final = 15_000
STEP_TIMEOUT_MS: Final = 5_000
SEARCH_REFUSED_MAX: Final = 64  # notes of what actions of one search wanted to send
SEARCH_PRESS_MS: Final = 1_000  # of a press in a search, which has others to try
READ_ELEMENT_US: Final = (
    4_000  # that each element of a document adds to it: on an idle machine it takes a fiftieth of that
)
READ_MORE_MS_MAX: Final = 180_000  # that they add together
ACTION_TIMEOUT_MS_MAX: Final = 120_000  # that an action may have of its own
SETTLE_QUIET_MS: Final = 80
SETTLE_FIELD_MS: Final = (
    32  # two pictures of a screen: for a field to which the page does not react, when the next is filled at once
)
SETTLE_BUSY_MS: Final = 3_000  # a page that says for longer that it is at work may always say so
SETTLE_BLANK_MS: Final = 2_000
"""For how long a page with scripts is not believed to stay empty."""
SETTLE_ANSWER_MS: Final = 300
"""For how long an answer to a script is waited upon: to any until a page that scripts build is still for the first time, else to
one that has changed nothing on it yet.
"""
SETTLE_SHELL_LETTERS: Final = 200
"""A page that is served with fewer letters and digits is built by its scripts."""
SETTLE_TIMEOUT_MS: Final = 4_000
