// Capsules: a login that was sealed to this node, and its policy (docs/protocol/capsule.md). Node.js alone is enough for it.

import { createDecipheriv, createHmac, createPrivateKey, createPublicKey, diffieHellman, timingSafeEqual } from 'node:crypto'
import { decode, encode } from './cbor.mjs'
import { open } from './envelope.mjs'
import { as, demand, MeshError } from './errors.mjs'
import { covers, isOrigins } from './grants.mjs'
import { hashIn, isId, isNodeId, ownId, sha256 } from './ids.mjs'
import { among, bool, bytes, exactly, list, optional, parse, read, record, text, whole } from './records.mjs'

const ENVELOPE_MAX = 128 * 1024
const CHUNK = 64 * 1024
const TAG = 16
const DAY = 86_400_000
const TASKS = ['explore', 'live', 'record', 'replay', 'schedule']
const LINE = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/

export const line = (most) => (v) => text(most)(v) && LINE.test(v)
const times = whole()

export const POLICY = {
  purpose: line(200),
  origins: list(text(300), 64, 1),
  tasks: list(among(...TASKS), 5, 1),
  class_max: whole(7, 1),
  replays_max: whole(1_000_000, 1),
  expires_ms: times,
  fresh_s: whole(31 * 86_400),
  mfa_s: whole(31 * 86_400),
  cross_device: bool,
  cross_installation: bool,
  consent: bool,
  probes: bool,
}
const counts = whole(2 ** 31)
const ORIGIN = { origin: text(300), cookies: counts, local: counts, session: counts, databases: counts, slice: optional(whole(8 * 1024 * 1024), 0), basic: optional(whole(1), 0) }
const RECIPIENT = { node: isNodeId, key: exactly(8) }
const HEADER = {
  suite: whole(2 ** 16, 1),
  id: isId('cap'),
  generation: whole(2 ** 31, 1),
  tenant: isNodeId,
  owner: text(32),
  name: line(64),
  origins: list(record(ORIGIN), 64, 1),
  browser: (v) => v instanceof Map,
  policy: record(POLICY),
  recipients: list(record(RECIPIENT), 16, 1),
  device: bytes(32),
  captured_ms: times,
  mfa_ms: times,
  sealed_ms: times,
  state_bytes: whole(16 * 1024 * 1024),
  head: record({ number: counts, size: whole(), root: exactly(32) }),
  slice_version: optional(line(64), ''),
}
const SLICE_BYTES = 8 * 1024 * 1024
const FILE = { name: text(64, 1), data: bytes(SLICE_BYTES) }
const FOLDER = { origin: text(300, 1), files: list(record(FILE), 512, 1) }
const SLICE = { version: optional(line(64), ''), folders: optional(list(record(FOLDER), 64), []) }
const FILE_NAME =
  /^(?:leveldb\/(?:CURRENT|MANIFEST-[0-9]{6,20}|[0-9]{6,20}\.(?:log|ldb))|blob\/[0-9a-f]{1,16}\/[0-9a-f]{2}\/[0-9a-f]{1,16})$/
const SEALED = {
  header: bytes(64 * 1024),
  keys: list(exactly(80), 16),
  stream: exactly(32),
  consent_key: optional(bytes(32), Buffer.alloc(0)),
  consent: optional(bytes(16 * 1024), Buffer.alloc(0)),
}
const CONSENT = { capsule: isId('cap'), terms: exactly(32), expires_ms: times }

/** The value of `work()`; a tag that does not fit becomes `code`. */
function unsealed(code, work) {
  try {
    return work()
  } catch (error) {
    throw error instanceof MeshError ? error : new MeshError(code, 'does not open')
  }
}

const isSorted = (texts) => texts.every((one, place) => place === 0 || texts[place - 1] < one)
const valid = (ok, reason) => demand(ok, 'capsule.invalid', reason)

export const boundTo = (header) => hashIn('trailmesh-capsule-v1', header)

/** Whether the origins and tasks of a policy, as a map, are in their one form. */
export function isPolicy(policy) {
  const patterns = policy.get('origins')
  return isOrigins(patterns) && !patterns.includes('*') && isSorted(policy.get('tasks'))
}

/** The header in these bytes, once every rule about it holds. */
export function readHeader(raw) {
  const header = parse(raw, HEADER)
  demand(header.suite === 1, 'capsule.suite', 'another suite')
  const [policy, origins] = [header.policy, header.origins.map((one) => one.get('origin'))]
  const patterns = policy.get('origins')
  valid(isPolicy(policy), 'origins or tasks of the policy')
  valid(isSorted(origins) && origins.every((one) => !one.includes('*') && covers(patterns, one)), 'origins')
  const nodes = header.recipients.map((one) => one.get('node'))
  valid(isSorted(nodes) && nodes.includes(header.tenant), 'recipients')
  valid((header.slice_version !== '') === header.origins.some((one) => one.get('slice')), 'version of a slice')
  valid(header.owner === '' || isId('own')(header.owner), 'owner')
  const [captured, sealed, expires] = [header.captured_ms, header.sealed_ms, policy.get('expires_ms')].map(Number)
  valid(captured <= sealed && sealed < expires && expires <= captured + 366 * DAY, 'times')
  return header
}

const hmac = (key, ...parts) => createHmac('sha256', key).update(Buffer.concat(parts)).digest()
const extract = (salt, secret) => hmac(salt.length ? salt : Buffer.alloc(32), secret)

function expand(secret, info, size) {
  let [made, block] = [Buffer.alloc(0), Buffer.alloc(0)]
  for (let number = 1; made.length < size; number += 1) {
    block = hmac(secret, block, info, Buffer.from([number]))
    made = Buffer.concat([made, block])
  }
  return made.subarray(0, size)
}

function decrypt(key, nonce, sealed) {
  const cipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG })
  cipher.setAuthTag(sealed.subarray(-TAG))
  return Buffer.concat([cipher.update(sealed.subarray(0, -TAG)), cipher.final()])
}

const two = (number) => Buffer.from([number >> 8, number & 255])
const ascii = (characters) => Buffer.from(characters, 'latin1')
const PRIVATE = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PUBLIC = Buffer.from('302a300506032b656e032100', 'hex')

/** The private key of these 32 bytes, X25519: `{secret, public}`. */
export function sealingKey(seed) {
  const secret = createPrivateKey({ key: Buffer.concat([PRIVATE, seed]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' })
  return { secret, public: spki.subarray(PUBLIC.length) }
}

/** HPKE (RFC 9180), base mode, single-shot: what was sealed to `key` under `info`. */
function unwrap(sealed, key, info) {
  const enc = sealed.subarray(0, 32)
  const theirs = createPublicKey({ key: Buffer.concat([PUBLIC, enc]), format: 'der', type: 'spki' })
  const shared = diffieHellman({ privateKey: key.secret, publicKey: theirs })
  const [kem, version] = [Buffer.concat([ascii('KEM'), two(0x20)]), ascii('HPKE-v1')]
  const eae = extract(Buffer.alloc(0), Buffer.concat([version, kem, ascii('eae_prk'), shared]))
  const context = Buffer.concat([two(32), version, kem, ascii('shared_secret'), enc, key.public])
  const secret = expand(eae, context, 32)
  const label = Buffer.concat([version, ascii('HPKE'), two(0x20), two(1), two(3)])
  const hashed = (name, value) => extract(Buffer.alloc(0), Buffer.concat([label, ascii(name), value]))
  const schedule = Buffer.concat([
    Buffer.from([0]),
    hashed('psk_id_hash', Buffer.alloc(0)),
    hashed('info_hash', info),
  ])
  const base = extract(secret, Buffer.concat([label, ascii('secret')]))
  const made = (name, size) => expand(base, Buffer.concat([two(size), label, ascii(name), schedule]), size)
  return decrypt(made('key', 32), made('base_nonce', 12), sealed.subarray(32))
}

function openStream(stream, header, contentKey, stateBytes) {
  const made = expand(extract(boundTo(header), contentKey), ascii('trailmesh-capsule-stream-v1'), 64)
  const commitment = stream.subarray(0, 32)
  demand(
    commitment.length === 32 && timingSafeEqual(commitment, made.subarray(0, 32)),
    'capsule.altered',
    'another key or header',
  )
  const count = Math.max(1, Math.ceil(stateBytes / CHUNK))
  const parts = []
  for (let number = 0; number < count; number += 1) {
    const nonce = Buffer.alloc(12)
    nonce.writeUInt32BE(number, 7)
    nonce[11] = number === count - 1 ? 1 : 0
    const at = 32 + number * (CHUNK + TAG)
    const end = number === count - 1 ? stream.length : at + CHUNK + TAG
    parts.push(unsealed('capsule.chunks', () => decrypt(made.subarray(32), nonce, stream.subarray(at, end))))
  }
  return Buffer.concat(parts)
}

/** The state of a capsule that was sealed to `node` with `key`, its header, and until when its consent holds. */
export function openCapsule(envelope, stream, { keysOf, node, key }) {
  const opened = open(envelope, { kinds: ['capsule'], keysOf, bytesMax: ENVELOPE_MAX })
  const sealed = parse(opened.payload, SEALED)
  const header = readHeader(sealed.header)
  demand(opened.issuer === header.tenant, 'capsule.issuer', 'signed by another node than its tenant')
  demand(sealed.keys.length === header.recipients.length, 'capsule.stripped', 'a key for each recipient')
  const size = Number(header.state_bytes)
  const due = 32 + size + TAG * Math.max(1, Math.ceil(size / CHUNK))
  demand(stream.length >= due, 'capsule.truncated', 'its end is missing')
  demand(sha256(stream).equals(sealed.stream), 'capsule.stream', 'another stream')
  const own = key.public.subarray(0, 8)
  const place = header.recipients.findIndex((one) => one.get('node') === node && one.get('key').equals(own))
  demand(place >= 0, 'capsule.recipient', 'not sealed to this node')
  const info = Buffer.concat([ascii('trailmesh-capsule-key-v1\0'), boundTo(sealed.header)])
  const contentKey = unsealed('capsule.altered', () => unwrap(sealed.keys[place], key, info))
  demand(stream.length === due, 'capsule.chunks', 'bytes after the last chunk')
  const state = openStream(stream, sealed.header, contentKey, size)
  checkSlice(header, state)
  return { header, state, consentUntil: consentUntil(header, sealed) }
}

/** The slice in a state may be written into a profile, and is the one that the header tells of. */
function checkSlice(header, state) {
  const held = as('capsule.invalid', () => decode(state, { bytesMax: 16 * 1024 * 1024, itemsMax: 400_000 }))
  const given = held.has('slice') ? read(held.get('slice'), SLICE, 'capsule.invalid') : { version: '', folders: [] }
  valid((given.version !== '') === given.folders.length > 0, 'a version, and folders')
  const folders = given.folders.map((one) => read(one, FOLDER, 'capsule.invalid'))
  const origins = folders.map((one) => one.origin)
  valid(isSorted(origins) && isOrigins(origins) && origins.every((one) => !one.includes('*')), 'origins of folders')
  const sizes = new Map()
  for (const { origin, files } of folders) {
    const named = new Map(files.map((one) => [one.get('name'), one.get('data')]))
    valid(isSorted(files.map((one) => one.get('name'))), 'files, sorted, each once')
    valid([...named.keys()].every((name) => FILE_NAME.test(name)), 'a name that no browser gives')
    const current = (named.get('leveldb/CURRENT') ?? Buffer.alloc(0)).toString('latin1')
    valid(/^MANIFEST-[0-9]+\n$/.test(current) && named.has(`leveldb/${current.trimEnd()}`), 'what it is opened with')
    sizes.set(origin, [...named.values()].reduce((sum, data) => sum + data.length, 0))
  }
  valid([...sizes.values()].reduce((sum, size) => sum + size, 0) <= SLICE_BYTES, 'too many bytes')
  const told = header.origins.filter((one) => one.get('slice'))
  valid(header.slice_version === given.version && told.length === sizes.size, 'another slice than the header tells of')
  valid(told.every((one) => Number(one.get('slice')) === sizes.get(one.get('origin'))), 'another slice')
}

/** What a person signs of a header. */
export function termsOf(header) {
  const fields = [
    ['capsule', header.id],
    ['tenant', header.tenant],
    ['origins', header.origins.map((one) => one.get('origin'))],
    ['policy', header.policy],
    ['recipients', header.recipients.map((one) => one.get('node'))],
    ['slice', header.slice_version !== ''],
  ]
  return hashIn('trailmesh-capsule-terms-v2', encode(new Map(fields)))
}

function consentUntil(header, sealed) {
  if (!header.owner && !sealed.consent.length) return 0
  const refuse = (ok) => demand(ok, 'capsule.consent', 'it does not hold')
  refuse(sealed.consent_key.length === 32)
  refuse(ownId('own', hashIn('trailmesh-owner-v1', sealed.consent_key)) === header.owner)
  const keysOf = (issuer) => (issuer === header.owner ? [sealed.consent_key] : [])
  const consent = as('capsule.consent', () =>
    parse(open(sealed.consent, { kinds: ['capsule-consent'], keysOf, bytesMax: 16 * 1024 }).payload, CONSENT),
  )
  refuse(consent.capsule === header.id && consent.terms.equals(termsOf(header)))
  return Number(consent.expires_ms)
}

/** The code of the first rule of `policy` that a use with these `facts` would break; empty if none. */
export function judgeUse(policy, facts) {
  const broken = [
    ['capsule.clock', facts.now_ms < facts.latest_ms - 60_000],
    ['capsule.expired', facts.now_ms >= policy.expires_ms],
    ['capsule.stale', facts.now_ms > facts.heard_ms + policy.fresh_s * 1000],
    ['capsule.origin', !facts.origins.length || !facts.origins.every((one) => covers(policy.origins, one))],
    ['capsule.task', !policy.tasks.includes(facts.task)],
    ['capsule.class', facts.level > policy.class_max],
    ['capsule.replays', facts.uses >= policy.replays_max],
    ['capsule.mfa', policy.mfa_s > 0 && facts.now_ms > facts.mfa_ms + policy.mfa_s * 1000],
    ['capsule.installation', !policy.cross_installation && !facts.same_installation],
    ['capsule.device', !policy.cross_device && !facts.same_device],
    ['capsule.consent', policy.consent && facts.now_ms >= facts.consent_until_ms],
  ]
  return broken.find(([, isBroken]) => isBroken)?.[0] ?? ''
}

