// Key logs (docs/protocol/keylog.md): which keys were a node's own, and when.

import { decode, encode } from './cbor.mjs'
import { keyId, open, parse as parseEnvelope, seal } from './envelope.mjs'
import { as, demand, MeshError } from './errors.mjs'
import { checkField, checkVersion } from './formats.mjs'
import { hashIn, nodeId, sha256 } from './ids.mjs'
import { among, exactly, list, bytes, optional, parse, whole } from './records.mjs'

const EVENTS_MAX = 64
const ROTATIONS_END = 56
const SKEW_S = 60
const EVENT_BYTES_MAX = 1024

const FIELDS = {
  genesis: { op: among('genesis'), key: exactly(32), recovery: exactly(32) },
  rotate: { op: among('rotate'), position: whole(64, 1), previous: exactly(32), key: exactly(32) },
  recover: {
    op: among('recover'),
    position: whole(64, 1),
    previous: exactly(32),
    by: exactly(32),
    key: exactly(32),
    recovery: exactly(32),
    since_s: whole(),
  },
  revoke: { op: among('revoke'), position: whole(64, 1), previous: exactly(32), by: exactly(32), since_s: whole() },
}
const RAWS = list(bytes(EVENT_BYTES_MAX), EVENTS_MAX)
const LOG = { version: among(1), events: RAWS, parts_at: optional(whole(63), 0), other: optional(RAWS, []) }

const recoveryHash = (key) => hashIn('trailmesh-recovery-v1', key)

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
    checkVersion(envelope.kind, envelope.version)
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
    if (event.key) state.keys.push({ key: event.key, from: event.issued, until: Infinity })
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
  demand(event.issuer === events[0].issuer, 'keylog.invalid', 'of another node')
  demand(!before.revoked, 'keylog.revoked', 'nothing follows a revocation')
  demand(event.issued >= before.last.issued, 'keylog.invalid', 'older than the event before')
  const room = event.op === 'rotate' ? ROTATIONS_END : EVENTS_MAX
  demand(event.position < room, 'keylog.invalid', 'no room for the event')
  demand(event.since_s === undefined || event.since_s <= event.issued, 'keylog.invalid', 'disowns what is to come')
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

  /** Every key that was this node's at some time, and was not disowned altogether. */
  get keys() {
    return stateOf(this.events)
      .keys.filter(({ from, until }) => until >= from)
      .map(({ key }) => key)
  }

  get state() {
    if (this.#frozen) return 'frozen'
    return stateOf(this.events).revoked ? 'revoked' : 'active'
  }

  get #frozen() {
    if (this.other.length === 0) return false
    const theirs = this.partsAt > 0 && signedByRecovery(this.#otherHistory, this.partsAt)
    return theirs || !signedByRecovery(this.events, this.partsAt)
  }

  /** The public keys that were this node's at `issued`. */
  keysAt(issued) {
    if (this.state === 'frozen') return []
    const valid = ({ from, until }) => until >= from && issued >= from - SKEW_S && issued <= until
    return stateOf(this.events)
      .keys.filter(valid)
      .map(({ key }) => key)
  }

  get #otherHistory() {
    return [...this.events.slice(0, this.partsAt), ...this.other]
  }

  /** This log with one more event (bytes), weighed against what is there. */
  with(raw, now = Infinity) {
    const event = this.#read(raw, now)
    demand(this.events.length || event.op === 'genesis', 'keylog.invalid', 'a log begins with its genesis')
    if ([...this.events, ...this.other].some(({ digest }) => digest.equals(event.digest))) return this
    return this.#weigh([...this.#before(event), event])
  }

  /** This log, once it was shown every history that `other` knows. */
  merge(other) {
    const histories = other.other.length ? [other.events, other.#otherHistory] : [other.events]
    let merged = this
    for (const history of histories) {
      try {
        merged = merged.#weigh(history)
      } catch (error) {
        if (error.code !== 'keylog.fork') throw error // frozen, and this does not thaw it
      }
    }
    return merged
  }

  /** This log, held against a history that leaves it at position `partsAt`. */
  against(partsAt, raws, now) {
    const history = this.events.slice(0, partsAt)
    for (const raw of raws) {
      const event = this.#read(raw, now)
      const follows = history.length === 0 || event.previous?.equals(history.at(-1).digest)
      demand(follows && event.position === history.length, 'keylog.gap', 'the event before is missing')
      checkNext(history, event)
      history.push(event)
    }
    return this.#weigh(history)
  }

  #read(raw, now) {
    const event = readEvent(raw)
    demand(event.issuer === this.node, 'keylog.invalid', 'of another node')
    demand(event.issued <= now + SKEW_S, 'keylog.invalid', 'from the future')
    return event
  }

  /** The known history that `event` follows, with `event` held against it. */
  #before(event) {
    const follows = (history) => history[event.position - 1]?.digest.equals(event.previous)
    const histories = this.other.length ? [this.events, this.#otherHistory] : [this.events]
    const history = event.op === 'genesis' ? [] : histories.find(follows)
    demand(history, 'keylog.gap', 'the event before is missing')
    const before = history.slice(0, event.position)
    checkNext(before, event)
    return before
  }

  /** Rules 6 and 7: our history against another one. */
  #weigh(theirs) {
    const parting = this.events.findIndex((event, i) => theirs[i] && !event.digest.equals(theirs[i].digest))
    if (parting < 0) return theirs.length > this.events.length ? this.#follow(theirs) : this
    const outranks = parting > 0 && signedByRecovery(theirs, parting)
    const outranked = signedByRecovery(this.events, parting)
    if (outranks && !outranked) {
      const undecided = this.#frozen && this.partsAt < parting
      return undecided ? this.#follow(theirs) : new KeyLog(this.node, theirs, parting, this.events.slice(parting))
    }
    if ((outranked && !outranks) || this.#frozen) return this
    return new KeyLog(this.node, this.events, parting, theirs.slice(parting))
  }

  #follow(longer) {
    const followed = new KeyLog(this.node, longer, this.partsAt, this.other)
    demand(!followed.#frozen, 'keylog.fork', 'the log is frozen: only the recovery key can go on')
    return followed
  }

  encode() {
    const raws = (events) => events.map(({ raw }) => raw)
    return encode({ version: 1, events: raws(this.events), parts_at: this.partsAt, other: raws(this.other) })
  }
}

/** Whether the recovery key signed an event of `history` from position `from` on. */
function signedByRecovery(history, from) {
  return history.some((event, at) => at >= from && at > 0 && byRecovery(event, stateOf(history.slice(0, at))))
}

/** A log from its bytes, every event weighed again. */
export function readKeyLog(raw, now = Infinity) {
  checkField(
    'key-log',
    as('keylog.invalid', () => decode(raw, { bytesMax: 65_536 })),
  )
  const { events, parts_at: partsAt, other } = parse(raw, LOG, { code: 'keylog.invalid', bytesMax: 65_536 })
  demand(events.length > 0 && (other.length > 0 || partsAt === 0), 'keylog.invalid', 'no events')
  const first = as('keylog.invalid', () => parseEnvelope(events[0], EVENT_BYTES_MAX))
  let log = new KeyLog(first.issuer)
  for (const event of events) log = log.with(event, now)
  demand(other.length === 0 || partsAt < events.length, 'keylog.invalid', 'parts outside of the log')
  return other.length ? log.against(partsAt, other, now) : log // weighed again: no sender decides which side is the log
}
