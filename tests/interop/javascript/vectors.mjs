// Every vector file against this implementation: `node vectors.mjs DIRECTORY`. Exits with 1 if one disagrees.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyBundle } from './bundle.mjs'
import { decode, encode } from './cbor.mjs'
import { MAPS, readChunk, writeChunk } from './chunk.mjs'
import { DeltaReader } from './delta.mjs'
import { open } from './envelope.mjs'
import { MeshError } from './errors.mjs'
import { nodeId, parseNodeId } from './ids.mjs'
import { encodeInvite, parseInvite } from './invite.mjs'
import { KeyLog } from './keylog.mjs'
import { verifyProof } from './log_proof.mjs'
import { openCheckpoint } from './note.mjs'

const load = (name) => JSON.parse(readFileSync(join(process.argv[2], `${name}.json`)))
const hex = (digits) => Buffer.from(digits, 'hex')

let [checked, wrong] = [0, 0]

/** Hold what `work()` gives, once made plain, against `expected`, or its refusal against the code of `vector`. */
function hold(file, vector, expected, work) {
  checked += 1
  const found = outcome(work)
  const due = vector.code ? { code: vector.code } : { ok: expected }
  if (JSON.stringify(found) === JSON.stringify(due)) return
  wrong += 1
  console.log(`${file}: ${vector.name}: ${JSON.stringify(found)} instead of ${JSON.stringify(due)}`)
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
