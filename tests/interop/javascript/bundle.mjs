// Session bundles: a recorded session in one canonical ZIP file (docs/protocol/bundle.md).

import { isPolicy, line, POLICY } from './capsule.mjs'
import { decode, encode } from './cbor.mjs'
import { open } from './envelope.mjs'
import { as, demand } from './errors.mjs'
import { wrong } from './faults.mjs'
import { checkField } from './formats.mjs'
import { isId, isNodeId, sha256 } from './ids.mjs'
import { leafHash, rootOf } from './merkle.mjs'
import { among, anything, bool, bytes, either, exactly, list, optional, orNull, parse, record, text, whole } from './records.mjs'

const MEDIA_TYPE = 'application/vnd.trailmesh.session+zip'
const HEADS = { mimetype: 41, 'manifest.cose': 262_144, 'manifest.cbor': 1_048_576 }
const BLOB_BYTES_MAX = 8_388_608
const STEP_BYTES_MAX = 262_144
const ELEMENTS_MAX = 4096
const FILE_BYTES_MAX = 268_435_456
const DATE = 0x21 // 1 January 1980

/** A request that went wrong. */
export const FAULT = {
  request: text(4160),
  fault: among('refused', 'status', 'failed', 'open'),
  status: optional(whole(999), 0),
}
const KIND = among('alert', 'confirm', 'prompt', 'beforeunload')
/** A dialog that a step caused. */
export const DIALOG = { kind: KIND, message: optional(text(1000), ''), accepted: optional(bool, false) }
const isDigest = (v) => bytes(32)(v) && (v.length === 0 || v.length === 32)
/** A file that a step let the browser download. */
export const DOWNLOAD = {
  name: text(255),
  size_bytes: optional(whole(), 0),
  sha256: optional(isDigest, Buffer.alloc(0)),
  fault: optional(among('', 'failed', 'too_large'), ''),
}
/** The dialog that a step is meant to cause. */
export const ANSWER = {
  kind: KIND,
  text: optional(text(1000), ''),
  accept: optional(bool, false),
  reply: optional(text(1000), ''),
}
/** What of a step is meant: requests that go wrong, and a dialog. */
export const EXPECT = {
  status: optional((v) => v === 0 || (v >= 400 && v <= 599), 0),
  refused: optional(bool, false),
  failed: optional(bool, false),
  open: optional(bool, false),
  dialog: optional(orNull(record(ANSWER)), null),
  tab: optional(bool, false),
}
const INPUT = {
  name: (v) => text(64)(v) && /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(v),
  value: text(1024),
  kind: optional(among('text', 'number', 'date'), 'text'),
}
const SKIPPED = { place: text(64), what: text(64), reason: text(400), before: whole() }
const LOGIN = { name: line(64), tenant: isNodeId, generation: whole(2 ** 31, 1), policy: record(POLICY) }
const SESSION = {
  id: isId('ses'),
  node: text(80, 1),
  steps: whole(1000),
  title: text(),
  parent: either(among(''), isId('ses')),
  search: either(among(''), isId('sea')),
  browser: record({ name: text(), backend: text(), version: text() }),
  profile: anything,
  secrets: list(text()),
  verdict: among('pass', 'partial', 'fail'),
  start_url: text(4096),
  created_ms: whole(),
  duration_ms: whole(),
  caller: optional(text(128), ''),
  reason: optional(text(400), ''),
  inputs: optional(list(record(INPUT), 32), []),
  skipped: optional(list(record(SKIPPED), 200), []),
  capsule: optional(either(among(''), isId('cap')), ''),
  login: optional(record(LOGIN)),
  program: optional(text(64), ''),
}
const MANIFEST = {
  version: among(1, 2),
  session: record(SESSION),
  elements: list(Array.isArray, ELEMENTS_MAX),
  root: exactly(32),
}
const places = list(whole(31), 32)
/** How one text of a target was matched. */
const FIT = {
  what: among('name', 'row', 'text', 'within', 'selector', 'within_selector'),
  grade: among('whole', 'words', 'part'),
  place: optional(whole(7), 0),
  text: optional(text(4096), ''),
}
const EVIDENCE = {
  role: optional(text(4096), ''),
  name: optional(text(4096), ''),
  label: optional(text(4096), ''),
  alike: optional(whole(200_000), 0),
  group: optional(text(4096), ''),
  cells: optional(list(text(4096), 32), []),
  telling: optional(places, []),
  only: optional(places, []),
  links: optional(list(text(4096), 8), []),
  attributes: optional(list(list(text(4096), 2, 2), 4), []),
  fits: optional(list(record(FIT), 20), []),
}
const WHY_HIDDEN = among(
  ...['display', 'visibility', 'opacity', 'size', 'place', 'clip', 'colour', 'tree', 'comment', 'attribute', 'meta'],
  ...['template', 'noscript'],
)
/** What a page holds, does not show, and says to a model. */
const HIDDEN = { why: WHY_HIDDEN, at: optional(text(64), ''), text: text(4000) }
const FILE_SENT = { name: text(1024), sha256: exactly(32) }
/** A request that changes something. */
const EFFECT = {
  method: text(64, 1),
  url: text(4096, 1),
  fields: optional(list(text(1024), 64), []),
  body: optional(text(80), ''),
  chosen: optional(list(text(1024), 8), []),
  files: optional(list(record(FILE_SENT), 16), []),
  level: whole(7, 1),
}
const STEP = {
  index: whole(),
  action: anything,
  ok: bool,
  error: text(),
  ref: text(),
  url: text(),
  title: text(),
  risk: whole(7),
  state: exactly(16),
  snapshot: bytes(32),
  screenshot: bytes(32),
  blocked: list(text()),
  extracted: text(),
  started_ms: whole(),
  duration_ms: whole(),
  evidence: optional(orNull(record(EVIDENCE)), null),
  faults: optional(list(record(FAULT), 50), []),
  expect: optional(orNull(record(EXPECT)), null),
  held: optional(among('', 'held', 'failed'), ''),
  masks: optional(list(Array.isArray, 500), []),
  lines: optional(whole(), 0),
  dialogs: optional(list(record(DIALOG), 20), []),
  downloads: optional(list(record(DOWNLOAD), 20), []),
  evidence_onto: optional(orNull(record(EVIDENCE)), null),
  tab: optional(bool, false),
  unseen: optional(bool, false),
  console: optional(list(text(300), 20), []),
  on_tab: optional(whole(100), 0),
  hidden: optional(list(record(HIDDEN), 8), []),
  hidden_more: optional(bool, false),
  notes: optional(list(text(300), 10), []),
  written: optional(text(32), ''),
  basic: optional(list(text(64, 1), 32), []),
  effects: optional(list(record(EFFECT), 32), []),
  effects_more: optional(bool, false),
}

const check = (ok, why) => demand(ok, 'bundle.invalid', why)
const element = (ok, name) => demand(ok, 'bundle.element', name, { element: name })

const TABLE = Array.from({ length: 256 }, (_, n) => {
  for (let i = 0; i < 8; i++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1
  return n >>> 0
})
const crc32 = (data) => ~data.reduce((crc, byte) => TABLE[(crc ^ byte) & 255] ^ (crc >>> 8), -1) >>> 0

const u16 = (n) => Buffer.from([n & 255, n >> 8])
const u32 = (n) => Buffer.concat([u16(n & 0xffff), u16(n >>> 16)])

const localHeader = ({ path, crc, size }) =>
  Buffer.concat([
    Buffer.from('PK\x03\x04'),
    u16(10),
    u16(0),
    u16(0),
    u16(0),
    u16(DATE),
    u32(crc),
    u32(size),
    u32(size),
    u16(path.length),
    u16(0),
    Buffer.from(path),
  ])

const directoryEntry = ({ path, crc, size, at, made, mode }) =>
  Buffer.concat([
    Buffer.from('PK\x01\x02'),
    u16(made),
    u16(10),
    u16(0),
    u16(0),
    u16(0),
    u16(DATE),
    u32(crc),
    u32(size),
    u32(size),
    u16(path.length),
    u16(0),
    u16(0),
    u16(0),
    u16(0),
    u32(mode),
    u32(at),
    Buffer.from(path),
  ])

/** Steps 1 and 2: the entries, back to back from byte 0, by a directory that ends where the end record starts. */
function readDirectory(file) {
  check(file.length <= FILE_BYTES_MAX && file.length >= 22, 'size of the file')
  const end = file.subarray(-22)
  const [count, size, start] = [end.readUInt16LE(10), end.readUInt32LE(12), end.readUInt32LE(16)]
  const plain = Buffer.concat([
    Buffer.from('PK\x05\x06'),
    u16(0),
    u16(0),
    u16(count),
    u16(count),
    u32(size),
    u32(start),
    u16(0),
  ])
  check(end.equals(plain) && start + size === file.length - 22, 'no plain end record')
  check(count >= 3 && count <= ELEMENTS_MAX + 3, 'number of entries')
  const entries = []
  let [at, data] = [start, 0]
  for (let i = 0; i < count; i++) {
    check(at + 46 <= start + size, 'the directory ends too early')
    const nameSize = file.readUInt16LE(at + 28)
    const found = {
      path: file.subarray(at + 46, at + 46 + nameSize).toString('latin1'),
      crc: file.readUInt32LE(at + 16),
      size: file.readUInt32LE(at + 20),
      at: data,
    }
    const built = directoryEntry({ ...found, made: 0x030a, mode: 0o100644 * 65_536 })
    check(file.subarray(at, at + built.length).equals(built), 'a directory entry')
    at += built.length
    found.from = data + 30 + nameSize
    data = found.from + found.size
    entries.push(found)
  }
  check(at === start + size && data === start, 'entries that do not lie back to back')
  return entries
}

/** Step 3. */
function checkPaths(entries) {
  const heads = Object.entries(HEADS)
  heads.forEach(([path, most], i) => check(entries[i].path === path && entries[i].size <= most, 'head entries'))
  let before = ''
  for (const { path, size } of entries.slice(heads.length)) {
    const most = /^blobs\/[0-9a-f]{64}$/.test(path)
      ? BLOB_BYTES_MAX
      : /^steps\/\d{6}\.cbor$/.test(path)
        ? STEP_BYTES_MAX
        : -1
    check(before < path && size <= most, 'elements: unknown, out of order or too large')
    before = path
  }
}

/** Session, steps and digest of the manifest of the bundle in `file`. `keysOf`: as for `open` of an envelope. */
export function verifyBundle(file, keysOf) {
  const entries = readDirectory(file)
  checkPaths(entries)
  const dataOf = (entry) => file.subarray(entry.from, entry.from + entry.size)
  for (const entry of entries) {
    const header = localHeader(entry)
    element(file.subarray(entry.at, entry.at + header.length).equals(header), entry.path)
  }
  const [mimetype, cose, cbor] = entries.map(dataOf)
  element(mimetype.toString() === MEDIA_TYPE, 'mimetype')
  const signed = open(cose, { kinds: ['session'], keysOf, bytesMax: HEADS['manifest.cose'] })
  element(signed.payload.equals(sha256(cbor)), 'manifest.cbor')
  const manifest = readManifest(cbor)
  const elements = entries.slice(3)
  const listed = manifest.elements
  check(
    listed.length === elements.length &&
      elements.every(({ path, size }, i) => path === listed[i][0] && size === listed[i][1]),
    'not the elements of the manifest',
  )
  const session = manifest.session
  const steps = elements.filter(({ path }) => path.startsWith('steps/'))
  const login = session.get('login')
  check(!login || (session.get('capsule') && isPolicy(login.get('policy'))), 'its login')
  demand(session.get('node') === signed.issuer, 'envelope.issuer', 'recorded by another node than the signer')
  check(session.get('steps') === steps.length, 'number of steps')
  elements.forEach((entry, i) => checkElement(entry, dataOf(entry), listed[i][2]))
  const read = checkSteps(steps.map(dataOf), elements)
  const passed = session.get('verdict') !== 'pass' || (read.every(hasPassed) && read.length > 0 && !hasGaps(session))
  check(passed, 'it did not pass')
  return { session, steps: read, manifest: signed.payload }
}

const hasGaps = (session) => (session.get('skipped') ?? []).length > 0

/** Whether nothing of a recorded step speaks against the verdict `pass`. */
const hasPassed = (step) =>
  step.ok && step.held !== 'failed' && wrong(step, step.expect).length === 0 && !step.downloads.some((one) => one.get('fault'))

const isPlausible = ({ index, ok, error, snapshot, screenshot }, number) =>
  index === number && ok === (error === '') && [snapshot, screenshot].every((hash) => [0, 32].includes(hash.length))

function readManifest(raw) {
  checkField(
    'bundle',
    as('bundle.invalid', () => decode(raw, { bytesMax: HEADS['manifest.cbor'] })),
  )
  const manifest = parse(raw, MANIFEST, { code: 'bundle.invalid' })
  const rows = manifest.elements
  check(
    rows.every((row) => row.length === 3 && text(128)(row[0]) && whole()(row[1]) && exactly(32)(row[2])),
    'elements',
  )
  check(
    rows.every(([path, , hash]) => !path.startsWith('blobs/') || path === `blobs/${hash.toString('hex')}`),
    'a blob of another name',
  )
  check(rootOf(rows.map((row) => leafHash(encode(row)))).equals(manifest.root), 'root')
  return manifest
}

function checkElement({ path, crc }, data, hash) {
  element(crc32(data) === crc && sha256(data).equals(hash), path)
}

function checkSteps(raws, elements) {
  const steps = raws.map((raw) => parse(raw, STEP, { code: 'bundle.element' }))
  steps.forEach((step, i) => element(isPlausible(step, i + 1), `steps/${step.index}`))
  const named = new Set(
    steps
      .flatMap(({ snapshot, screenshot }) => [snapshot, screenshot])
      .map((hash) => hash.toString('hex'))
      .filter(Boolean),
  )
  const held = elements.map(({ path }) => path).filter((path) => path.startsWith('blobs/'))
  element(
    held.length === named.size && held.every((path) => named.has(path.slice(6))),
    'blobs that no step names, or missing ones',
  )
  return steps
}
