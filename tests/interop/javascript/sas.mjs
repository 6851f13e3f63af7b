// Pairing by digits (docs/protocol/pairing.md): both sides, without sockets.

import { encode } from './cbor.mjs'
import { as, demand } from './errors.mjs'
import { hashIn, sha256 } from './ids.mjs'
import { sign, verify } from './keys.mjs'
import { readDescription } from './pairing.mjs'
import { among, bool, bytes, exactly, parse, record } from './records.mjs'

const DIGITS = 10_000_000n
const STEPS = {
  commit: { step: among('commit'), commitment: exactly(32) },
  reveal: { step: among('reveal'), body: bytes(), signature: exactly(64) },
  decide: { step: among('decide'), agreed: bool, signature: exactly(64) },
}

export const commitmentTo = (leafHash, body) => sha256(encode(['trailmesh-sas-commit-v1', leafHash, body]))
export const transcriptOf = (leafHash, joiner, window) => sha256(encode(['trailmesh-sas-v1', leafHash, joiner, window]))
export const digitsOf = (transcript) =>
  String(hashIn('trailmesh-sas-digits-v1', transcript).readBigUInt64BE(0) % DIGITS).padStart(7, '0')
const said = (domain, ...parts) => encode([domain, ...parts])

/** The three requests of a joiner with the self-description `body`; `offer` is the body of the window. */
export const requests = {
  commit: (leafHash, body) => encode({ ask: { step: 'commit', commitment: commitmentTo(leafHash, body) } }),
  reveal(key, leafHash, body, offer) {
    const signature = sign(key, said('trailmesh-sas-reveal-v1', transcriptOf(leafHash, body, offer)))
    return encode({ ask: { step: 'reveal', body, signature } })
  },
  decide(key, transcript, agreed) {
    return encode({
      ask: { step: 'decide', agreed, signature: sign(key, said('trailmesh-sas-decide-v1', transcript, agreed)) },
    })
  },
}

/** The waiting side. `body` is its self-description; its person answers with `agreed`. */
export class Window {
  agreed = null
  joiner = null
  commitment = null
  seen = new Set()

  constructor({ key, body, node, leafHash }) {
    Object.assign(this, { key, body, node, leafHash })
  }

  /** The answer to a request; every failure looks alike. */
  handle(raw) {
    return as('pairing.refused', () => {
      const step = Object.values(STEPS).find((fields) => fits(raw, fields))
      demand(step, 'pairing.refused', 'no known step')
      const { ask } = parse(raw, { ask: record(step) })
      return this[ask.get('step')](Object.fromEntries(ask))
    })
  }

  commit({ commitment }) {
    const name = commitment.toString('hex')
    demand(!this.joiner && !this.seen.has(name), 'pairing.refused', 'somebody has joined, or this came before')
    this.seen.add(name)
    this.commitment = commitment
    return encode({ body: this.body })
  }

  reveal({ body, signature }) {
    const fits = !this.joiner && this.commitment?.equals(commitmentTo(this.leafHash, body))
    demand(fits, 'pairing.refused', 'not what was committed to')
    const joiner = readDescription(body, { nonceBytes: 16 })
    demand(joiner.node !== this.node, 'pairing.refused', 'the window itself')
    const transcript = transcriptOf(this.leafHash, body, this.body)
    demand(verify(joiner.key, said('trailmesh-sas-reveal-v1', transcript), signature), 'pairing.refused', 'signature')
    Object.assign(this, { joiner, transcript, digits: digitsOf(transcript) })
    return encode({ signature: sign(this.key, said('trailmesh-sas-sealed-v1', transcript)) })
  }

  decide({ agreed, signature }) {
    demand(this.joiner, 'pairing.refused', 'nobody has joined')
    const signed = said('trailmesh-sas-decide-v1', this.transcript, agreed)
    demand(verify(this.joiner.key, signed, signature), 'pairing.refused', 'signature')
    this.declined ||= !agreed || this.agreed === false
    const state = this.declined ? 'declined' : this.agreed ? 'agreed' : 'waiting'
    return encode({ state, signature: sign(this.key, said('trailmesh-sas-decided-v1', this.transcript, state)) })
  }
}

function fits(raw, fields) {
  try {
    return Boolean(parse(raw, { ask: record(fields) }, { code: 'pairing.refused' }))
  } catch {
    return false
  }
}
