// Deltas: reading a peer's share of a search tree, and writing our own (docs/protocol/deltas.md).

import { decode, encode } from './cbor.mjs'
import { MAPS, readChunk, writeChunk } from './chunk.mjs'
import { open } from './envelope.mjs'
import { as, demand } from './errors.mjs'
import { hashIn, isId, isNodeId, sha256 } from './ids.mjs'
import { actionFields, isTerse } from './messages.mjs'
import { bool, bytes, exactly, list, optional, parse, read, whole } from './records.mjs'

const EPOCH_MAX = 2 ** 31 - 1
const VISITS_MAX = 2 ** 31 - 1
const COST_MS_MAX = 2 ** 48
const ONE = 1_000_000
const PUTS_MAX = 100_000
const CHILDREN_MAX = 40

const SEARCHING = ['click', 'fill', 'select', 'check', 'press', 'scroll']

const PAYLOAD = {
  search: isId('sea'),
  epoch: whole(EPOCH_MAX, 1),
  seq: whole(20_000, 1),
  prior_heads: optional(list(exactly(32), 1), []),
  chunk: bytes(524_288, 1),
}
const NODE = { parent: exactly(16), action: bytes(2048), prior: whole(ONE), risk: whole(7, 1) }
const LEASE = { worker: isNodeId, lease: isId('lea'), term: whole(EPOCH_MAX, 1), live: bool }

const check = (ok, why) => demand(ok, 'delta.invalid', why)

export const actorOf = (publicKey) => sha256(publicKey).subarray(0, 16)
export const rootKey = (search) => hashIn('trailmesh-tree-v1', 'root', search).subarray(0, 16)
export const childKey = (parent, action) => hashIn('trailmesh-tree-v1', parent, action).subarray(0, 16)

/** 53 bytes of cumulative numbers. */
export function writeStats({
  visits,
  valueSum,
  best,
  costMs,
  successes,
  failures,
  closed = 0,
  state = Buffer.alloc(16),
}) {
  const packed = Buffer.alloc(53)
  packed.writeUInt32LE(visits, 0)
  packed.writeBigInt64LE(BigInt(valueSum), 4)
  packed.writeBigInt64LE(BigInt(best), 12)
  packed.writeBigUInt64LE(BigInt(costMs), 20)
  packed.writeUInt32LE(successes, 28)
  packed.writeUInt32LE(failures, 32)
  packed.writeUInt8(closed, 36)
  state.copy(packed, 37)
  return packed
}

function readStats(packed) {
  check(packed.length === 53, 'a register has 53 bytes')
  const stats = {
    visits: packed.readUInt32LE(0),
    valueSum: packed.readBigInt64LE(4),
    best: packed.readBigInt64LE(12),
    costMs: packed.readBigUInt64LE(20),
    successes: packed.readUInt32LE(28),
    failures: packed.readUInt32LE(32),
    closed: packed.readUInt8(36),
    state: packed.subarray(37),
  }
  const { visits, valueSum, best, costMs, successes, failures, closed } = stats
  check(visits <= VISITS_MAX && costMs <= COST_MS_MAX && closed <= 1, 'beyond a limit')
  check(valueSum >= 0 && valueSum <= visits * ONE && best >= 0 && best <= (visits ? ONE : 0), 'value')
  check(successes <= visits && failures <= visits, 'more outcomes than visits')
  return stats
}

function readAction(raw) {
  const action = decode(raw)
  read(action, actionFields(action))
  check(isTerse(action), 'a default that is written out')
  const typed = !(action.get('value') instanceof Map)
  check(SEARCHING.includes(action.get('type')) && typed, 'no action of a search')
}

const READ = {
  nodes(value, key) {
    const node = parse(value, NODE)
    readAction(node.action)
    check(childKey(node.parent, node.action).equals(key), 'the key does not follow from parent and action')
    return node
  },
  stats: readStats,
  lease: (value) => parse(value, LEASE),
}

/** Whom two signed deltas of `search` convict of two stories under one number, and which. */
export function checkTwoDeltas(one, other, search, keysOf) {
  const [a, b] = [one, other].map((raw) => open(raw, { kinds: ['delta'], keysOf }))
  const [first, second] = [a, b].map(({ payload }) => parse(payload, PAYLOAD, { code: 'delta.invalid' }))
  for (const delta of [first, second]) check(delta.seq === 1 || delta.prior_heads.length === 0, 'prior heads')
  const together = ['search', 'epoch', 'seq'].every((name) => first[name] === second[name])
  check(a.issuer === b.issuer && together && first.search === search, 'not two deltas of one writer in one place')
  check(!a.payload.equals(b.payload), 'one delta')
  return { writer: a.issuer, epoch: first.epoch, seq: first.seq }
}

/** What one writer has said in a search; `receive` takes its deltas in order. */
export class DeltaReader {
  constructor({ search, actor, coordinates }) {
    Object.assign(this, { search, actor, coordinates })
    this.#begin({ epoch: 0, seq: 0, nextOp: 1, head: null, puts: 0, stats: new Map(), children: new Map() })
    this.known = new Map()
  }

  /** SHA-256 of the delta that was read under a number of the present epoch, if one was. */
  digestAt(epoch, seq) {
    return epoch === this.epoch ? this.known.get(seq) : undefined
  }

  #begin(state) {
    Object.assign(this, state)
  }

  /** The entries of a delta (its payload), or null if it told nothing new. Nothing changes when it is refused. */
  receive(raw) {
    const delta = parse(raw, PAYLOAD, { code: 'delta.invalid' })
    check(delta.search === this.search, 'another search')
    check(delta.seq === 1 || delta.prior_heads.length === 0, 'prior heads in a later delta')
    if (delta.epoch < this.epoch) return null
    const fresh = delta.epoch > this.epoch
    const known = fresh ? undefined : this.known.get(delta.seq)
    if (known) {
      demand(known.equals(sha256(raw)), 'delta.equivocation', 'other bytes under a known number')
      return null
    }
    const wanted = fresh ? 1 : this.seq + 1
    demand(delta.seq === wanted, 'delta.gap', 'a delta before this one is missing', {
      epoch: fresh ? delta.epoch : this.epoch,
      seq: wanted,
    })
    const before = fresh ? { nextOp: 1, head: null, puts: 0, stats: new Map(), children: new Map() } : this
    const { after, entries } = this.#apply(delta, before)
    if (fresh) this.known = new Map()
    this.#begin({ ...after, epoch: delta.epoch, seq: delta.seq })
    this.known.set(delta.seq, sha256(raw))
    return entries
  }

  #apply(delta, before) {
    const change = readChunk(delta.chunk)
    check(
      change.actor.equals(this.actor) && change.seq === delta.seq && change.startOp === before.nextOp,
      'actor, sequence, operations',
    )
    const dependency = change.dependencies[0] ?? null
    check(before.head ? dependency?.equals(before.head) : dependency === null, 'another predecessor')
    let { puts } = before
    const stats = new Map(before.stats)
    const children = new Map([...before.children].map(([parent, keys]) => [parent, new Set(keys)]))
    const entries = { nodes: [], stats: [], lease: [] }
    const here = new Set()
    change.operations.forEach((operation, i) => {
      const number = before.nextOp + i
      if (number <= MAPS.length) return checkMaking(operation, MAPS[number - 1])
      const map = MAPS[operation.object - 1]
      check(map && operation.action === 1, 'not a put into one of the three maps')
      const place = `${map} ${operation.key}`
      check(!here.has(place), 'a key twice')
      here.add(place)
      const replaces = operation.pred === null || (operation.pred > MAPS.length && operation.pred < change.startOp)
      check(replaces && ++puts <= PUTS_MAX, 'a predecessor that is no earlier put, or too many puts')
      const entry = this.#entry(map, operation, stats)
      if (map === 'nodes') checkChildren(children, entry.parent.toString('hex'), operation.key)
      entries[map].push(entry)
    })
    const after = { nextOp: before.nextOp + change.operations.length, head: change.hash, puts, stats, children }
    check(after.nextOp > MAPS.length, 'the maps are missing')
    return { after, entries }
  }

  #entry(map, { key, value }, stats) {
    const raw = Buffer.from(key, 'base64url')
    check(raw.length === 16 && raw.toString('base64url') === key, 'not a key')
    check(map !== 'lease' || this.coordinates, 'a lease by a peer that does not coordinate')
    const entry = as('delta.invalid', () => READ[map](value, raw))
    if (map === 'stats') {
      const last = stats.get(key)
      const falls =
        last &&
        ['visits', 'valueSum', 'best', 'costMs', 'successes', 'failures', 'closed'].some(
          (name) => entry[name] < last[name],
        )
      check(!falls, 'numbers that fall')
      stats.set(key, entry)
    }
    return { key: raw, ...entry }
  }
}

function checkChildren(children, parent, key) {
  if (!children.has(parent)) children.set(parent, new Set())
  check(children.get(parent).add(key).size <= CHILDREN_MAX, 'too many children of one node')
}

function checkMaking({ action, object, key, pred }, name) {
  check(action === 0 && object === null && key === name && pred === null, 'not the three maps')
}

/** Our own share of a search: each `write` gives the payload of the next delta. */
export class DeltaWriter {
  constructor({ search, publicKey, epoch = 1 }) {
    Object.assign(this, { search, actor: actorOf(publicKey), epoch, seq: 0, nextOp: 1, head: null, last: new Map() })
  }

  /** `puts`: `[map, key (16 bytes), value (bytes)]`. */
  write(puts) {
    const keyed = puts.map(([map, key, value]) => [map, key.toString('base64url'), value])
    const chained = keyed.map(([map, key, value]) => [map, key, value, this.last.get(`${map} ${key}`) ?? null])
    this.seq += 1
    const chunk = writeChunk({
      actor: this.actor,
      seq: this.seq,
      startOp: this.nextOp,
      dependency: this.head,
      puts: chained,
    })
    const first = this.nextOp + (this.head ? 0 : MAPS.length)
    keyed.forEach(([map, key], i) => this.last.set(`${map} ${key}`, first + i))
    this.nextOp = first + puts.length
    this.head = sha256(chunk.subarray(8))
    return encode({ search: this.search, epoch: this.epoch, seq: this.seq, chunk })
  }
}
