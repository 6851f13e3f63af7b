// A node's own witness log, and what it holds of its peers' (docs/protocol/witness-log.md). In memory.

import { encode } from './cbor.mjs'
import { open, seal } from './envelope.mjs'
import { demand } from './errors.mjs'
import { sha256 } from './ids.mjs'
import { acquaintance, artefactLeaf } from './log_proof.mjs'
import { consistencyPath, grew, inclusionPath, rootOf } from './merkle.mjs'
import { cosign, logName, openCheckpoint, signCheckpoint } from './note.mjs'
import { bool, bytes, list, optional, parse, text, whole } from './records.mjs'

const EMPTY = Buffer.alloc(0)
export const LOG_OPENING = {
  log: text(256),
  previous: optional(bytes(8192), EMPTY),
  others: optional(list(bytes(8192), 8), []),
  opened_ms: whole(),
  registered: optional(bool, false),
}

/** The checkpoints that an opening (parsed) of a log of `node` names, `previous` first. */
export function namedBy(opening, node, keys) {
  const [owner, number] = [opening.log.slice(10, -1 - opening.log.split('/')[2].length), Number(opening.log.split('/')[2])]
  const check = (ok, why) => demand(ok, 'log.invalid', why)
  check(opening.log === logName(node, number) && owner === node, 'the log of another node')
  if (number === 0) check(opening.previous.length === 0 && opening.others.length === 0, 'a first log replaces none')
  if (number === 0) return []
  check(opening.previous.length > 0, 'a later log names the one before')
  const [previous, ...others] = [opening.previous, ...opening.others].map((note) =>
    openCheckpoint(note.toString(), node, keys),
  )
  check(previous.number === number - 1, 'a number was skipped')
  check(
    others.every((one) => one.number < number),
    'a log that is not a former one',
  )
  return [previous, ...others]
}

/** How what openings up to log `number` name stands to what is held of a former log; `size` and `hashes`: how that one went on. */
export function account(held, number, named, { size, hashes }) {
  const ours = named.filter((one) => one.number === held.number)
  const same = ours.filter((one) => one.size === held.size)
  if (same.some((one) => !one.root.equals(held.root))) return 'contradicts'
  const numbers = new Set(named.map((one) => one.number).filter((one) => one >= held.number && one < number))
  if (numbers.size !== number - held.number) return 'unproven'
  if (same.length > 0) return 'same'
  const larger = ours.filter((one) => one.size > held.size)
  if (larger.length > 0 && size !== held.size) return 'unconnected'
  return larger.some((one) => grew(size, held.root, one.size, one.root, hashes)) ? 'ahead' : 'unproven'
}

export class WitnessLog {
  /** The log of `node`, opened now. `key` signs. */
  constructor(key, node, now) {
    Object.assign(this, { key, node, name: logName(node, 0), leaves: [], digests: [] })
    const opening = encode({ log: this.name, previous: EMPTY, opened_ms: now * 1000 })
    this.opening = this.enter(seal({ kind: 'log-opening', key, issuer: node, payload: opening, issued: now }))
  }

  /** `artefact`, once it is in the log and a checkpoint covers it. */
  enter(artefact) {
    this.digests.push(sha256(artefact))
    this.leaves.push(artefactLeaf(this.digests.at(-1)))
    this.head = signCheckpoint(this.key, this.name, this.leaves.length, rootOf(this.leaves))
    return artefact
  }

  /** How this log grew from the size that a reader holds: fields of a LogSync. */
  growthFrom(size) {
    return {
      head: Buffer.from(this.head),
      opening: this.opening,
      base_size: size,
      base_root: rootOf(this.leaves.slice(0, size)),
      hashes: consistencyPath(this.leaves, size),
    }
  }

  /** The size of our log in a checkpoint a peer shows; 1 if it shows none. */
  heldSize(note) {
    return note.length ? openCheckpoint(note.toString(), this.node, [this.key.public]).size : 1
  }

  consistency(oldSize, newSize) {
    demand(oldSize <= newSize && newSize <= this.leaves.length, 'input.invalid', 'no such size')
    const leaves = this.leaves.slice(0, newSize)
    return { old_root: rootOf(leaves.slice(0, oldSize)), hashes: consistencyPath(leaves, oldSize) }
  }

  /** A proof file (text) that the artefact of `digest` is in this log. */
  prove(digest) {
    const index = this.digests.findIndex((one) => one.equals(digest))
    demand(index >= 0, 'log.not_logged', 'not in this log')
    const signer = { node: this.node, public_key: this.key.public.toString('base64') }
    return JSON.stringify({
      format: 'trailmesh-log-inclusion-v1',
      signer,
      digest: digest.toString('base64'),
      index,
      hashes: inclusionPath(this.leaves, index).map((hash) => hash.toString('base64')),
      checkpoint: this.head,
      cosigners: [],
    })
  }
}

/** The one checkpoint held of each peer, cosigned by us once it was shown to continue the one before. */
export class HeldCheckpoints {
  held = new Map()

  constructor(key, node) {
    Object.assign(this, { key, node })
  }

  /** Judge what `peer` (node id, key, key log) says of its own log; the checkpoint now held, parsed. */
  hear(peer, sync, now) {
    if (sync.head.length === 0) return this.held.get(peer.node)?.checkpoint ?? null
    const note = sync.head.toString()
    const found = openCheckpoint(note, peer.node, [peer.key])
    const before = this.#before(peer, found, sync)
    if (before === null || (!before.opened && found.size < before.size)) return this.held.get(peer.node).checkpoint
    if (found.size === before.size) demand(found.root.equals(before.root), 'log.equivocation', 'two roots of one size')
    const proven = grew(sync.base_size, sync.base_root, found.size, found.root, sync.hashes)
    demand(proven && sync.base_size === before.size, 'log.unproven', 'the proof connects nothing')
    demand(sync.base_root.equals(before.root), 'log.equivocation', 'grown from another history')
    this.held.set(peer.node, { checkpoint: found, note: cosign(note, this.key, this.node, now) })
    return found
  }

  /** What the proof must begin at: the checkpoint held, or the opening of a log that is new here; null: replaced. */
  #before(peer, found, { opening, openings, former_size: size, former_hashes: hashes }) {
    const held = this.held.get(peer.node)?.checkpoint
    if (held && found.number < held.number) return null
    if (held && found.number === held.number) return held
    const read = (sealed) =>
      parse(open(sealed, { kinds: ['log-opening'], keysOf: (_, issued) => peer.log.keysAt(issued) }).payload, LOG_OPENING, {
        code: 'log.invalid',
      })
    const shown = [...openings, opening].map(read)
    const keys = peer.log.events.filter((event) => event.key).map((event) => event.key)
    demand(shown.at(-1).log === found.log, 'log.invalid', 'opens another log')
    const named = shown.flatMap((one) => namedBy(one, peer.node, keys))
    const standing = held ? account(held, found.number, named, { size, hashes }) : 'same'
    demand(standing !== 'contradicts', 'log.equivocation', 'another end of the former log')
    demand(standing === 'same' || standing === 'ahead', 'log.unproven', 'the openings do not account for what is held')
    return { size: 1, root: artefactLeaf(sha256(opening)), opened: true }
  }

  /** The checkpoint of `node` that is held, with our cosignature, as bytes; empty if none is. */
  noteOf(node) {
    return Buffer.from(this.held.get(node)?.note ?? '')
  }
}

export const tagsFor = (node, reader, known) => known.map((one) => acquaintance(node, reader, one))
