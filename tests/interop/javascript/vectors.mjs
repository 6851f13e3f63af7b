// Every vector file against this implementation: `node vectors.mjs DIRECTORY`. Exits with 1 if one disagrees.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { digestOf, openApproval, ownerId, pathForm } from './approval.mjs'
import { parseLeaf, readLeaf } from './channel.mjs'
import { keyOf } from './keys.mjs'
import { commitmentTo, requests, Window } from './sas.mjs'
import { verifyBundle } from './bundle.mjs'
import { boundTo, judgeUse, openCapsule, readHeader, sealingKey, termsOf } from './capsule.mjs'
import { decode, encode } from './cbor.mjs'
import { MAPS, readChunk, writeChunk } from './chunk.mjs'
import { checkTwoDeltas, DeltaReader } from './delta.mjs'
import { open } from './envelope.mjs'
import { MeshError } from './errors.mjs'
import { nodeId, parseNodeId } from './ids.mjs'
import { encodeInvite, parseInvite } from './invite.mjs'
import { checkSpend, LeaseBook } from './leases.mjs'
import { openAnswer, openRequest } from './pairing.mjs'
import { KeyLog, readKeyLog } from './keylog.mjs'
import { acquaintance, verifyProof } from './log_proof.mjs'
import { actionFields, MESSAGES } from './messages.mjs'
import { openCheckpoint } from './note.mjs'
import { parse, readWhole } from './records.mjs'
import { atHome, compareText, readReport } from './replay.mjs'
import { account, LOG_OPENING, namedBy } from './witness_log.mjs'

const load = (name) => JSON.parse(readFileSync(join(process.argv[2], `${name}.json`)))
const hex = (digits) => Buffer.from(digits, 'hex')

let [checked, wrong] = [0, 0]

/** Hold what `work()` gives, once made plain, against `expected`, or its refusal against the code of `vector`. */
function hold(file, vector, expected, work) {
  checked += 1
  const found = outcome(work)
  const due = vector.code ? { code: vector.code } : { ok: expected }
  if (isDeepStrictEqual(plain(found), due)) return
  wrong += 1
  console.log(`${file}: ${vector.name}: ${JSON.stringify(found)} instead of ${JSON.stringify(due)}`)
}

/** An object with its byte strings as digits. */
const hexed = (object) =>
  Object.fromEntries(
    Object.entries(object).map(([name, one]) => [name, Buffer.isBuffer(one) ? one.toString('hex') : one]),
  )

/** A value as the vector files write it. */
function plain(value) {
  if (Buffer.isBuffer(value)) return { hex: value.toString('hex') }
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Map) return plain(Object.fromEntries(value))
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]))
}

function outcome(work) {
  try {
    return { ok: work() }
  } catch (error) {
    if (!(error instanceof MeshError)) throw error
    return { code: error.code }
  }
}

for (const vector of load('cbor')) {
  hold('cbor', vector, vector.hex, () => encode(decode(hex(vector.hex))).toString('hex'))
}

for (const vector of load('ids')) {
  hold('ids', vector, vector.node, () => (vector.key ? nodeId(hex(vector.key)) : parseNodeId(vector.parse)))
}

const [alice, bob] = load('ids') // the first two name the keys and ids of the other files

for (const vector of load('envelope')) {
  const keysOf = (issuer) => (issuer === alice.node ? [hex(alice.key)] : [])
  const reader = { kinds: ['probe'], keysOf, route: '/peer/v1/probe', audience: bob.node, now: vector.now_s }
  hold('envelope', vector, vector.payload, () => open(hex(vector.hex), reader).payload.toString('hex'))
}

for (const vector of load('invite')) {
  hold('invite', vector, vector.invite, () => {
    const invite = parseInvite(vector.text, vector.now_s)
    const { address, node, token, expires_s, grants } = invite
    if (encodeInvite({ address, node, token, expires_s, grants }) !== vector.text.replace(/\s/g, ''))
      return 'another string'
    return { address, node, token: token.toString('hex'), expires_s, grants }
  })
}

const keylog = load('keylog')
for (const vector of keylog.cases) {
  hold('keylog', vector, { key: vector.key, state: vector.state }, () => {
    let log = new KeyLog(keylog.node)
    for (const event of vector.events) log = log.with(hex(event))
    return { key: log.key.toString('hex'), state: log.state }
  })
}

for (const vector of keylog.logs) {
  hold('keylog', vector, { key: vector.key, state: vector.state, again: vector.again ?? vector.log }, () => {
    const log = readKeyLog(hex(vector.log), 10_000)
    return { key: log.key.toString('hex'), state: log.state, again: log.encode().toString('hex') }
  })
}
for (const vector of keylog.periods) {
  hold('keylog', vector, vector.keys, () =>
    readKeyLog(hex(vector.log))
      .keysAt(vector.at_s)
      .map((key) => key.toString('hex')),
  )
}

const witness = load('witness_log')
for (const vector of witness.notes) {
  hold('witness_log', vector, { size: vector.size, root: vector.root }, () => {
    const { size, root } = openCheckpoint(vector.note, witness.node, [hex(witness.public_key)])
    return { size, root: root.toString('hex') }
  })
}
for (const vector of witness.proofs) {
  hold('witness_log', vector, vector.shows, () => verifyProof(JSON.stringify(vector.proof)).shows)
}

for (const vector of witness.openings) {
  hold('witness_log', vector, { log: vector.log, opened_ms: vector.opened_ms, names: vector.names }, () => {
    const opening = parse(hex(vector.hex), LOG_OPENING)
    const named = namedBy(opening, witness.node, [hex(witness.public_key)])
    return {
      log: opening.log,
      opened_ms: opening.opened_ms,
      names: named.map((one) => `${one.number} ${one.size}`),
    }
  })
}
for (const vector of witness.renewals) {
  hold('witness_log', vector, vector.standing, () => {
    const [held, ...named] = [vector.held, ...vector.named].map((note) =>
      openCheckpoint(note, witness.node, [hex(witness.public_key)]),
    )
    return account(held, vector.number, named, { size: vector.former_size, hashes: vector.former_hashes.map(hex) })
  })
}
for (const vector of witness.tags) {
  hold('witness_log', vector, vector.tag, () => acquaintance(vector.one, vector.other, vector.about).toString('hex'))
}

const SEARCH = 'sea-AAAAAAAAAAAAAAAAAAAAA'
const WRITER = hex('689fdd4af33ace353950268275d35e99') // the actor; docs/protocol/vectors.md has the key

/** Whether a chunk written here for what was read from `chunk` says the same: how values form runs is free. */
function rewritten(chunk) {
  const { actor, seq, startOp, dependencies, operations } = readChunk(chunk)
  const puts = operations
    .filter(({ object }) => object !== null)
    .map(({ object, key, value, pred }) => [MAPS[object - 1], key, value, pred])
  const { operations: again } = readChunk(
    writeChunk({ actor, seq, startOp, dependency: dependencies[0] ?? null, puts }),
  )
  return isDeepStrictEqual(again, operations)
}

for (const vector of load('delta_accepted')) {
  const reader = new DeltaReader({ search: SEARCH, actor: WRITER, coordinates: true })
  for (const { payload, epoch, seq, hash, puts } of vector.payloads) {
    hold('delta_accepted', vector, { epoch, seq, hash, puts, rewritten: true }, () => {
      const told = reader.receive(hex(payload))
      const chunk = decode(hex(payload)).get('chunk')
      const found = { epoch: reader.epoch, seq: reader.seq, hash: reader.head.toString('hex') }
      return { ...found, puts: MAPS.map((map) => told[map].length), rewritten: rewritten(chunk) }
    })
  }
}
for (const vector of load('delta_refused')) {
  const reader = new DeltaReader({ search: SEARCH, actor: WRITER, coordinates: false })
  for (const payload of vector.before) reader.receive(hex(payload))
  hold('delta_refused', vector, null, () => reader.receive(hex(vector.payload)))
}

const twoDeltas = load('two_deltas')
for (const vector of twoDeltas.cases) {
  const { writer, epoch, seq } = vector
  const keysOf = (issuer) => (twoDeltas.keys[issuer] ? [hex(twoDeltas.keys[issuer])] : [])
  hold('two_deltas', vector, { writer, epoch, seq }, () =>
    checkTwoDeltas(hex(vector.one), hex(vector.other), twoDeltas.search, keysOf),
  )
}

for (const vector of load('channel')) {
  hold('channel', vector, { node: vector.node, key: vector.key }, () => {
    const { node, key } = readLeaf(parseLeaf(hex(vector.leaf)), vector.now_s)
    return { node, key: key.toString('hex') }
  })
}

const pairing = load('pairing')
const [token, leaf, inviterKey] = [pairing.token, pairing.leaf, pairing.inviter_key].map(hex)
for (const vector of pairing.requests) {
  hold('pairing', vector, { node: vector.node, key: vector.key }, () => {
    const { log } = openRequest(hex(vector.request), {
      token,
      leaf,
      inviterKey,
      inviter: pairing.inviter,
      expires: pairing.expires_s,
      now: vector.now_s,
    })
    return { node: log.node, key: log.key.toString('hex') }
  })
}
for (const vector of pairing.answers) {
  hold('pairing', vector, { node: vector.node, key: vector.key, granted: vector.granted }, () => {
    const invite = { node: pairing.inviter, token }
    const { node, key, grants } = openAnswer(
      hex(vector.answer),
      hex(pairing.requests[0].request),
      leaf,
      inviterKey,
      invite,
    )
    return { node, key: key.toString('hex'), granted: grants }
  })
}

const { exchange, refused } = load('sas')
const [windowKey, joinerKey] = [exchange.window_seed, exchange.joiner_seed].map((seed) => keyOf(hex(seed)))
const [leafHash, offered, joining] = [exchange.leaf_sha256, exchange.window_body, exchange.joiner_body].map(hex)
const openWindow = () => new Window({ key: windowKey, body: offered, node: nodeId(windowKey.public), leafHash })

hold('sas', { name: 'a whole exchange' }, { ...exchange, decided: { ...exchange.decided } }, () => {
  const window = openWindow()
  const commit = requests.commit(leafHash, joining)
  const offer = window.handle(commit)
  const reveal = requests.reveal(joinerKey, leafHash, joining, offered)
  const sealed = window.handle(reveal)
  const decide = requests.decide(joinerKey, window.transcript, true)
  const waiting = window.handle(decide)
  window.agreed = true
  const agreed = window.handle(decide)
  window.agreed = false
  const decided = { waiting, declined: window.handle(decide), agreed }
  const commitment = commitmentTo(leafHash, joining)
  const { digits, transcript } = window
  return hexed({
    ...exchange,
    commitment,
    commit,
    offer,
    transcript,
    reveal,
    sealed,
    digits,
    decide,
    decided: hexed(decided),
  })
})
for (const { name, requests: asked } of refused) {
  const window = openWindow()
  const [last, ...before] = asked.map(hex).reverse()
  for (const request of before.reverse()) window.handle(request)
  hold('sas', { name, code: 'pairing.refused' }, null, () => window.handle(last))
}

for (const vector of load('messages')) {
  hold('messages', vector, vector.value, () => {
    const map = decode(hex(vector.hex))
    return readWhole(map, vector.record === 'Action' ? actionFields(map) : MESSAGES[vector.record])
  })
}

for (const vector of load('lease')) {
  hold('lease', vector, { state: vector.state, term: vector.term, expires_ms: vector.expires_ms }, () => {
    const book = new LeaseBook()
    const { state, term, expires_ms } = vector.events.map((event) => book[event.do](event)).at(-1)
    return { state, term, expires_ms }
  })
}

for (const vector of load('spend')) {
  hold('spend', vector, true, () => {
    checkSpend(vector)
    return true
  })
}

const bundle = load('bundle')
const openBundle = (vector) =>
  verifyBundle(Buffer.from(vector.bundle, 'base64'), (issuer) => (issuer === bundle.node ? [hex(bundle.public_key)] : []))
for (const vector of bundle.cases) {
  hold('bundle', vector, true, () => openBundle(vector).steps.length > 0)
}

const replay = load('replay')
const recording = openBundle(bundle.cases[0])
for (const vector of replay.texts) {
  hold('replay', vector, vector.text, () => compareText(vector.recorded, vector.met))
}
for (const vector of replay.at_home) {
  hold('replay', vector, vector.home, () => atHome(vector.met, vector.origin, replay.recorded_origin))
}
for (const vector of replay.reports) {
  hold('replay', vector, { matched: vector.matched, text: vector.text }, () => readReport(hex(vector.hex), recording))
}

const approval = load('approval')
const owners = approval.owners.map((owner) => ({ ...owner, key: hex(owner.key) }))
for (const owner of owners) hold('approval', owner, owner.id, () => ownerId(owner.key))
for (const vector of approval.paths) hold('approval', vector, vector.form, () => pathForm(vector.path))
for (const vector of approval.cases) {
  hold('approval', vector, { yes: vector.yes, scope: vector.scope, expires_ms: vector.expires_ms }, () => {
    const found = openApproval(hex(vector.hex), hex(vector.question), { owners, now: vector.now_s })
    return { yes: found.yes, scope: found.scope, expires_ms: Number(found.expires_ms) }
  })
}
hold('approval', { name: 'digest' }, approval.digest, () =>
  digestOf(hex(approval.cases[0].question)).toString('hex'),
)

const capsule = load('capsule')
const headerBytes = hex(capsule.header)
hold('capsule', { name: 'bound' }, capsule.bound, () => boundTo(headerBytes).toString('hex'))
hold('capsule', { name: 'terms' }, capsule.terms, () => termsOf(readHeader(headerBytes)).toString('hex'))
for (const { name, policy, facts, code } of capsule.policies) {
  hold('capsule', { name }, code, () => judgeUse(policy, facts))
}
const tenants = (issuer) => capsule.nodes.filter((one) => one.id === issuer).map((one) => hex(one.key))
for (const vector of capsule.cases) {
  hold('capsule', vector, { state: vector.state, until: vector.consent_until_ms }, () => {
    const reader = { keysOf: tenants, node: vector.node, key: sealingKey(hex(vector.key)) }
    const found = openCapsule(hex(vector.hex), hex(vector.stream), reader)
    return { state: found.state.toString('hex'), until: found.consentUntil }
  })
}

console.log(`${checked} vectors, ${wrong} disagree`)
process.exitCode = wrong ? 1 : 0
