// Key logs (docs/protocol/keylog.md): which keys were a node's own, and when.

import { encode } from './cbor.mjs'
import { keyId, open, parse as parseEnvelope, seal } from './envelope.mjs'
import { as, demand, MeshError } from './errors.mjs'
import { hashIn, nodeId, sha256 } from './ids.mjs'
import { among, exactly, list, bytes, parse, whole } from './records.mjs'

const EVENTS_MAX = 64
const ROTATIONS_END = 56
const SKEW_S = 60
const EVENT_BYTES_MAX = 1024

const FIELDS = {
  genesis: { op: among('genesis'), key: exactly(32), recovery: exactly(32) },
  rotate: { op: among('rotate'), position: whole(63, 1), previous: exactly(32), key: exactly(32) },
  recover: {
    op: among('recover'), position: whole(63, 1), previous: exactly(32), by: exactly(32), key: exactly(32),
    recovery: exactly(32), since_s: whole(),
  },
  revoke: { op: among('revoke'), position: whole(63, 1), previous: exactly(32), by: exactly(32), since_s: whole() },
}
const LOG = { version: among(1), events: list(bytes(EVENT_BYTES_MAX), EVENTS_MAX), parts_at: whole(63), other: list(bytes(EVENT_BYTES_MAX), EVENTS_MAX) }

export const recoveryHash = (key) => hashIn('trailmesh-recovery-v1', key)

/** The first event of a new node, as bytes. */
export function genesis(key, recoveryPublic, issued) {
  const statement = encode({ op: 'genesis', key: key.public, recovery: recoveryHash(recoveryPublic) })
  return seal({ kind: 'key-event', key, issuer: nodeId(key.public), payload: statement, issued })
}

/** An event whose form is right. Who had to sign it depends on the events before it. */
function readEvent(raw) {
  return as('keylog.invalid', () => {
    const envelope = parseEnvelope(raw, EVENT_BYTES_MAX)
    demand(envelope.kind === 'key-event', 'keylog.invalid', 'another kind')
    demand(envelope.audience === null && envelope.expires === null, 'keylog.invalid', 'addressed or expiring')
    const accepted = envelope.payload[0] === 0xd2
    const statement = accepted ? parseEnvelope(envelope.payload).payload : envelope.payload
    const op = Object.keys(FIELDS).find((name) => statement.includes(encode(name)) && fitsOp(statement, name))
    demand(op, 'keylog.invalid', 'no known statement')
    const fields = parse(statement, FIELDS[op])
    demand(accepted === (op === 'rotate' || op === 'recover'), 'keylog.invalid', 'acceptance of the new key')
    const event = { raw, digest: sha256(raw), issuer: envelope.issuer, issued: envelope.issued, position: 0, ...fields }
    if (accepted) checkAcceptance(envelope.payload, event)
    return event
  })
}

function fitsOp(statement, name) {
  try {
    return parse(statement, FIELDS[name]) !== null
  } catch (error) {
    if (error instanceof MeshError) return false
    throw error
  }
}

function checkAcceptance(raw, event) {
  const inner = open(raw, { kinds: ['key-accept'], keysOf: () => [event.key] })
  demand(inner.issuer === event.issuer && inner.issued === event.issued, 'keylog.invalid', 'another issuer or time')
}

function checkSignature(event, key) {
  as('keylog.invalid', () => open(event.raw, { kinds: ['key-event'], keysOf: () => [key] }))
}

/** What a history of events amounts to: keys with their times, the recovery commitment, whether it ended. */
function stateOf(events) {
  const state = { keys: [], recovery: null, revoked: false, by: [] }
  for (const event of events) {
    if (event.op === 'recover' || event.op === 'revoke') {
      for (const key of state.keys) key.until = Math.min(key.until, event.since_s - 1)
    }
    if (event.op === 'rotate') state.keys.at(-1).until = Math.min(state.keys.at(-1).until, event.issued)
    if (event.key) state.keys.push({ key: event.key, from: event.issued - SKEW_S, until: Infinity })
    if (event.recovery) state.recovery = event.recovery
    if (event.op === 'revoke') state.revoked = true
    state.last = event
  }
  state.key = state.keys.at(-1)?.key
  return state
}

const byRecovery = (event, before) => event.by !== undefined && recoveryHash(event.by).equals(before.recovery)

/** The rules for `event` standing after `events`. */
function checkNext(events, event) {
  if (events.length === 0) {
    demand(event.op === 'genesis' && nodeId(event.key) === event.issuer, 'keylog.invalid', 'no genesis of this node')
    return checkSignature(event, event.key)
  }
  const before = stateOf(events)
  demand(event.op !== 'genesis', 'keylog.invalid', 'another genesis')
  demand(event.issuer === events[0].issuer, 'keylog.invalid', 'of another node')
  demand(!before.revoked, 'keylog.revoked', 'nothing follows a revocation')
  demand(event.issued >= before.last.issued, 'keylog.invalid', 'older than the event before')
  demand(event.op !== 'rotate' || event.position < ROTATIONS_END, 'keylog.full', 'no room for another rotation')
  demand(event.op !== 'recover' || byRecovery(event, before), 'keylog.invalid', 'not by the recovery key')
  const mayRevoke = event.op !== 'revoke' || byRecovery(event, before) || event.by.equals(before.key)
  demand(mayRevoke, 'keylog.invalid', 'neither by the current key nor by the recovery key')
  if (event.key) {
    const used = before.keys.some(({ key }) => keyId(key).equals(keyId(event.key)))
    demand(!used && !(event.by && event.by.equals(event.key)), 'keylog.invalid', 'a key is used once')
    demand(!recoveryHash(event.key).equals(event.recovery ?? before.recovery), 'keylog.invalid', 'the recovery key')
  }
  checkSignature(event, event.by ?? before.key)
}

/** A node's history, and where there is one, the history that contradicts it. */
export class KeyLog {
  constructor(node, events = [], partsAt = 0, other = []) {
    Object.assign(this, { node, events, partsAt, other })
  }

  get key() {
    return stateOf(this.events).key
  }

  get state() {
    if (this.other.length && this.#signedByRecovery(this.events) === this.#signedByRecovery(this.#otherHistory())) return 'frozen'
    return stateOf(this.events).revoked ? 'revoked' : 'active'
  }

  /** The public keys that were this node's at `issued`. */
  keysAt(issued) {
    if (this.state === 'frozen') return []
    const valid = ({ from, until }) => issued >= from && issued <= until
    return stateOf(this.events).keys.filter(valid).map(({ key }) => key)
  }

  #otherHistory() {
    return [...this.events.slice(0, this.partsAt), ...this.other]
  }

  #signedByRecovery(history) {
    return history.some((event, at) => at >= this.partsAt && at > 0 && byRecovery(event, stateOf(history.slice(0, at))))
  }

  /** This log with one more event (bytes), weighed against what is there. */
  with(raw, now = Infinity) {
    const event = readEvent(raw)
    demand(event.issuer === this.node, 'keylog.invalid', 'of another node')
    demand(event.issued <= now + SKEW_S, 'keylog.invalid', 'from the future')
    if ([...this.events, ...this.other].some(({ digest }) => digest.equals(event.digest))) return this
    const histories = this.other.length ? [this.events, this.#otherHistory()] : [this.events]
    demand(this.events.length || event.op === 'genesis', 'keylog.invalid', 'a log begins with its genesis')
    const follows = (history) => event.position === 0 || history[event.position - 1]?.digest.equals(event.previous)
    const history = histories.find((one) => follows(one) && one.length === event.position) ?? histories.find(follows)
    demand(history, 'keylog.gap', 'the event before is missing')
    const grown = [...history.slice(0, event.position), event]
    demand(grown.length <= EVENTS_MAX, 'keylog.full', 'no more events')
    checkNext(grown.slice(0, -1), event)
    if (history.length === event.position) return this.#grown(history, grown, event)
    return this.#weighed(grown, event)
  }

  #grown(history, grown, event) {
    const onMain = history === this.events
    const decides = byRecoveryIn(grown)
    demand(this.state !== 'frozen' || decides, 'keylog.fork', `frozen: ${event.op} does not decide`)
    if (onMain) return new KeyLog(this.node, grown, this.partsAt, this.other)
    if (!decides) return new KeyLog(this.node, this.events, this.partsAt, grown.slice(this.partsAt))
    return new KeyLog(this.node, grown, this.partsAt, this.events.slice(this.partsAt))
  }

  #weighed(grown, event) {
    if (this.other.length) return this // both sides of a contradiction are kept already; a third tells nothing new
    const parted = new KeyLog(this.node, this.events, event.position, [event])
    const decides = byRecoveryIn(grown) && parted.state !== 'frozen'
    return decides ? new KeyLog(this.node, grown, event.position, this.events.slice(event.position)) : parted
  }

  encode() {
    const raws = (events) => events.map(({ raw }) => raw)
    return encode({ version: 1, events: raws(this.events), parts_at: this.partsAt, other: raws(this.other) })
  }
}

const byRecoveryIn = (history) => {
  const at = history.length - 1
  return at > 0 && byRecovery(history[at], stateOf(history.slice(0, at)))
}

/** A log from its bytes, every event weighed again. */
export function readKeyLog(raw, now) {
  const { events, parts_at: partsAt, other } = parse(raw, LOG, { code: 'keylog.invalid', bytesMax: 65_536 })
  demand(events.length > 0 && (other.length > 0 || partsAt === 0), 'keylog.invalid', 'no events')
  const first = as('keylog.invalid', () => parseEnvelope(events[0], EVENT_BYTES_MAX))
  let log = new KeyLog(first.issuer)
  for (const event of [...events, ...other]) log = log.with(event, now)
  return log
}
