// A node's own witness log, and what it holds of its peers' (docs/protocol/witness-log.md). In memory.

import { encode } from './cbor.mjs'
import { open, seal } from './envelope.mjs'
import { demand } from './errors.mjs'
import { sha256 } from './ids.mjs'
import { acquaintance, artefactLeaf } from './log_proof.mjs'
import { consistencyPath, grew, inclusionPath, rootOf } from './merkle.mjs'
import { cosign, logName, openCheckpoint, signCheckpoint } from './note.mjs'
import { bytes, optional, parse, text, whole } from './records.mjs'

const EMPTY = Buffer.alloc(0)
export const LOG_OPENING = { log: text(256), previous: optional(bytes(8192), EMPTY), opened_ms: whole() }

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
    const before = this.#before(peer, found, sync.opening)
    if (before === null || found.size < before.size) return this.held.get(peer.node).checkpoint
    if (found.size === before.size) demand(found.root.equals(before.root), 'log.equivocation', 'two roots of one size')
    const proven = grew(sync.base_size, sync.base_root, found.size, found.root, sync.hashes)
    demand(proven && sync.base_size === before.size, 'log.unproven', 'the proof connects nothing')
    demand(sync.base_root.equals(before.root), 'log.equivocation', 'grown from another history')
    this.held.set(peer.node, { checkpoint: found, note: cosign(note, this.key, this.node, now) })
    return found
  }

  /** What the proof must begin at: the checkpoint held, or the opening of a log that is new here; null: replaced. */
  #before(peer, found, opening) {
    const held = this.held.get(peer.node)?.checkpoint
    if (held && found.number < held.number) return null
    if (held && found.number === held.number) return held
    const { payload } = open(opening, { kinds: ['log-opening'], keysOf: (_, issued) => peer.log.keysAt(issued) })
    demand(parse(payload, LOG_OPENING, { code: 'log.invalid' }).log === found.log, 'log.invalid', 'opens another log')
    return { size: 1, root: artefactLeaf(sha256(opening)) }
  }

  /** The checkpoint of `node` that is held, with our cosignature, as bytes; empty if none is. */
  noteOf(node) {
    return Buffer.from(this.held.get(node)?.note ?? '')
  }
}

export const tagsFor = (node, reader, known) => known.map((one) => acquaintance(node, reader, one))
