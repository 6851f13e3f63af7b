// Every record of the routes, of what they carry and of held connections (docs/protocol/messages.md, reach.md).

import { demand } from './errors.mjs'
import { GRANT_MAP } from './grants.mjs'
import { isId, isNodeId } from './ids.mjs'
import {
  among,
  bool,
  bytes,
  either,
  exactly,
  lazy,
  list,
  matching,
  optional,
  orNull,
  record,
  text,
  whole,
} from './records.mjs'

const MIB = 1_048_576
const NONE = Buffer.alloc(0)
const SEARCH = isId('sea')
const LEASE = isId('lea')
/** Text without what a terminal would obey. */
const line = (most) => (v) =>
  text(most)(v) && /^[^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]*$/.test(v)
const KEY = exactly(16)
const PATH = list(bytes(4096), 32)
const TEXT = text(4096)
const CONDITION_TEXT = optional(orNull(text(1000, 1)), null)
const PARTS = optional(
  orNull(
    list(
      lazy(() => isCondition),
      32,
    ),
  ),
  null,
)

const ELEMENT_TEST = { role: text(1000, 1), name: optional(text(1000), '') }
const CONDITION = {
  url: CONDITION_TEXT,
  title: CONDITION_TEXT,
  text: CONDITION_TEXT,
  element: optional(orNull(record(ELEMENT_TEST)), null),
  all: PARTS,
  any: PARTS,
  not: optional(orNull(lazy(() => isCondition)), null),
}
const isCondition = record(CONDITION)

const PROFILE = {
  width_px: optional(whole(8192, 200), 1280),
  height_px: optional(whole(8192, 200), 800),
  locale: optional(matching(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/), 'en-GB'),
  timezone: optional(matching(/^[A-Za-z0-9_+/-]{1,64}$/), 'UTC'),
  reduced_motion: optional(bool, true),
  color_scheme: optional(among('dark', 'light'), 'light'),
  mobile: optional(bool, false),
}
const LIMITS = { iterations: whole(1000, 1), steps: whole(10_000, 1), milliseconds: whole(3_600_000, 1000) }
const SPEND = { iterations: optional(whole(), 0), steps: optional(whole(), 0), milliseconds: optional(whole(), 0) }
const HEADS = list(record({ writer: isNodeId, epoch: whole(), seq: whole(), digest: exactly(32) }), 32)
const OF_LEASE = { search: SEARCH, lease: LEASE }

// --- actions ---------------------------------------------------------------------------------------------------------

const WITHIN = {
  role: optional(TEXT, ''),
  name: optional(TEXT, ''),
  text: optional(TEXT, ''),
  selectors: optional(list(TEXT, 8), []),
}
const LOCATOR = {
  role: optional(TEXT, ''),
  name: optional(TEXT, ''),
  nth: optional(orNull(whole(200_000)), null),
  frame: optional(text(32), ''),
  selectors: optional(list(TEXT, 8), []),
  within: optional(orNull(record(WITHIN)), null),
}
const SECRET = { secret: matching(/^[A-Za-z0-9_.-]{1,64}$/) }
const target = record(LOCATOR)
const maybeTarget = optional(orNull(target), null)
const ACTIONS = {
  goto: { url: TEXT },
  back: {},
  forward: {},
  reload: {},
  switch_tab: { tab: whole(100, 1) },
  close_tab: {},
  click: { target, button: optional(among('left', 'right'), 'left'), count: optional(whole(2, 1), 1) },
  hover: { target },
  focus: { target },
  scroll_to: { target },
  fill: { target, value: either(TEXT, record(SECRET)), typed: optional(bool, false) },
  select: { target, option: TEXT, also: optional(list(TEXT, 64), []) },
  drag: { target, onto: target },
  upload: { target, files: list(TEXT, 10, 1), digests: optional(list(exactly(32), 10), []) },
  emulate: {
    width_px: optional(whole(8192), 0),
    height_px: optional(whole(8192), 0),
    color_scheme: optional(among('', 'light', 'dark'), ''),
    reduced_motion: optional(orNull(bool), null),
    offline: optional(orNull(bool), null),
    location: optional(matching(/^(?:-?\d{1,2}(?:\.\d{1,6})?,-?\d{1,3}(?:\.\d{1,6})?)?$/), ''),
  },
  evaluate: { script: TEXT, target: maybeTarget },
  check: { target, checked: optional(bool, true) },
  press: { key: text(32, 1), target: maybeTarget },
  scroll: { direction: optional(among('up', 'down'), 'down'), amount_px: optional(whole(100_000, 1), 600) },
  wait: {
    text: optional(TEXT, ''),
    timeout_ms: optional(whole(120_000, 1), 5000),
    target: maybeTarget,
    state: optional(among('visible', 'hidden'), 'visible'),
    address: optional(TEXT, ''),
    response: optional(TEXT, ''),
    method: optional(matching(/^[A-Z]{0,16}$/), ''),
    still_ms: optional(whole(30_000), 0),
  },
  extract: {
    name: text(64, 1),
    target: maybeTarget,
    kind: optional(among('text', 'number', 'money', 'date', 'ago', 'pattern'), 'text'),
    pattern: optional(text(256), ''),
    compare: optional(among('value', 'none'), 'value'),
  },
  assert: {
    what: among(
      'address',
      'title',
      'text',
      'value',
      'sent',
      'attribute',
      'count',
      'visible',
      'hidden',
      'enabled',
      'disabled',
      'checked',
      'unchecked',
      'download',
      'cell',
      'order',
      'no_console_error',
    ),
    expected: optional(TEXT, ''),
    match: optional(among('is', 'contains'), 'is'),
    target: maybeTarget,
    attribute: optional(text(64), ''),
    soft: optional(bool, false),
    timeout_ms: optional(whole(120_000, 1), 5000),
    sha256: optional(matching(/^([0-9a-f]{64})?$/), ''),
    row: optional(TEXT, ''),
    column: optional(TEXT, ''),
    items: optional(list(TEXT, 200), []),
  },
}

/** The fields of an action, by its type. */
export function actionFields(map) {
  const type = map instanceof Map && map.get('type')
  demand(Object.hasOwn(ACTIONS, type), 'message.invalid', 'no known action')
  return { type: among(type), timeout_ms: optional(whole(120_000), 0), ...ACTIONS[type] }
}

/** Whether an action leaves out every default, as its one encoding does. */
export function isTerse(map, fields = actionFields(map)) {
  return [...map].every(([name, value]) => {
    const isDefault = fields[name].check && JSON.stringify(value) === JSON.stringify(fields[name].fallback)
    return !isDefault && (!['target', 'onto'].includes(name) || isTerse(value, LOCATOR)) && (name !== 'within' || isTerse(value, WITHIN))
  })
}

// --- records by name -------------------------------------------------------------------------------------------------

export const MESSAGES = {
  StatusAsk: {},
  StatusTell: {
    node: isNodeId,
    name: text(64),
    version: text(32),
    protocol: whole(),
    now_ms: whole(),
    grants: GRANT_MAP,
  },
  GrantsPush: { grants: GRANT_MAP },
  KeysPush: { log: bytes(65_536) },
  KeysTell: { log: bytes(65_536) },
  EchoTell: {
    reached: bool,
    way: optional(line(300), ''),
    milliseconds: optional(whole(), 0),
    code: optional(line(64), ''),
    message: optional(line(300), ''),
  },
  SearchOpen: { spec: bytes(MIB) },
  SearchClose: { search: SEARCH },
  SearchSpec: {
    id: SEARCH,
    coordinator: isNodeId,
    goal: line(1000),
    start_url: TEXT,
    condition: isCondition,
    profile: record(PROFILE),
    participants: list(isNodeId, 32),
    seconds: whole(86_400, 1),
    created_ms: whole(),
    seed: whole(),
    login: optional(bool, false),
  },
  BranchAssign: { assignment: bytes(MIB) },
  Assignment: {
    ...OF_LEASE,
    branch: KEY,
    prefix: PATH,
    prefix_state: bytes(16),
    limits: record(LIMITS),
    expires_ms: whole(),
  },
  BranchRevoke: OF_LEASE,
  BranchRenew: { ...OF_LEASE, spend: record(SPEND) },
  BranchRenewed: { live: bool, expires_ms: optional(whole(), 0) },
  BranchReturn: { search: SEARCH, result: bytes(MIB) },
  BranchResult: {
    ...OF_LEASE,
    branch: KEY,
    outcome: among('claim', 'closed', 'failed', 'spent'),
    spend: record(SPEND),
    claim: optional(PATH, []),
    error: optional(text(64), ''),
  },
  DeltaPush: { search: SEARCH, deltas: list(bytes(MIB), 64) },
  DeltaHave: { epoch: whole(), seq: whole() },
  DeltaPull: { search: SEARCH, epoch: whole(), after_seq: whole(), heads: optional(HEADS, []) },
  DeltaBatch: { deltas: list(bytes(MIB), 64), more: optional(bool, false), heads: optional(HEADS, []) },
  DeltaShow: { search: SEARCH, writer: isNodeId, epoch: whole(), seq: whole(20_000, 1) },
  DeltaShown: { delta: bytes(MIB) },
  DeltaProof: { search: SEARCH, one: bytes(MIB), other: bytes(MIB) },
  LogSync: {
    head: optional(bytes(8192), NONE),
    opening: optional(bytes(MIB), NONE),
    base_size: optional(whole(), 0),
    base_root: optional(bytes(32), NONE),
    hashes: optional(list(exactly(32), 64), []),
    openings: optional(list(bytes(MIB), 8), []),
    former_size: optional(whole(), 0),
    former_hashes: optional(list(exactly(32), 64), []),
    yours: optional(bytes(8192), NONE),
    later: optional(bytes(8192), NONE),
    tags: optional(list(KEY, 1000), []),
    notes: optional(list(bytes(8192), 32), []),
    proofs: optional(list(bytes(262_144), 2), []),
    key_heads: optional(list(record({ tag: KEY, head: exactly(32) }), 1000), []),
    key_logs: optional(list(bytes(65_536), 2), []),
  },
  DistrustNotice: { about: isNodeId, since_ms: whole(), reason: optional(text(300), ''), lifted: optional(bool, false) },
  CapsuleKeyAsk: {},
  CapsuleKeyTell: { certificate: bytes(2_048) },
  CapsuleUsed: { use: bytes(2_048) },
  CapsuleStands: { generation: whole(2 ** 31, 1) },
  CapsuleRevoked: { revocation: bytes(2_048) },
  CookiesAsk: { origin: text(300), certificate: bytes(2_048) },
  CookiesTell: { file: bytes(MIB), attestation: bytes(32_768) },
  WorkAsk: {
    id: KEY,
    task: among('record', 'replay'),
    actions: optional(text(65_536), ''),
    session: optional(text(64), ''),
  },
  WorkLook: { id: KEY },
  WorkTell: { done: bool, verdict: optional(bytes(2_048), NONE) },
  WorkFetch: { id: KEY, offset: whole() },
  WorkPart: { total: whole(), data: bytes(MIB) },
  NoticePush: { notice: bytes(MIB) },
  LogConsistencyAsk: { log: whole(), old_size: whole(undefined, 1), new_size: whole(undefined, 1) },
  LogProveAsk: { digest: exactly(32) },
  Done: {},
  CallFrame: {
    number: whole(undefined, 1),
    route: matching(/^[a-z0-9][a-z0-9/_-]{0,127}$/),
    media: matching(/^application\/vnd\.trailmesh\.[a-z0-9._-]{1,64}\+cose$/),
    body_bytes: whole(2 * MIB),
  },
  AnswerFrame: { number: whole(undefined, 1), refused: bool, body_bytes: whole(2 * MIB) },
}
