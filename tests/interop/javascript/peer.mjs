// The peer that tests drive: one command as JSON on each line of stdin, one answer on each line of stdout.
//
// `node peer.mjs NAME`. An answer is `{ok: …}` or `{code, message}`; byte strings are hexadecimal digits.

import { createInterface } from 'node:readline'
import { encode } from './cbor.mjs'
import { rootKey, childKey, writeStats } from './delta.mjs'
import { MeshError } from './errors.mjs'
import { sha256 } from './ids.mjs'
import { readKeyLog } from './keylog.mjs'
import { verifyProof } from './log_proof.mjs'
import { Node } from './node.mjs'
import { coordinate, pullDeltas, pushDeltas } from './search.mjs'

const node = new Node({ name: process.argv[2] })
let peer = null
let search = null

const ACTION = encode({ type: 'click', target: { role: 'link', name: 'Next' } })

/** The root's register and a first child, as a worker writes them after `visits` iterations. */
function visited(visits) {
  const root = rootKey(search.spec.id)
  const child = childKey(root, ACTION)
  const stats = writeStats({
    visits,
    valueSum: visits * 250_000,
    best: 250_000,
    costMs: visits * 40,
    successes: 0,
    failures: 0,
  })
  const made = visits === 1 ? [['nodes', child, encode({ parent: root, action: ACTION, prior: 500_000, risk: 1 })]] : []
  return [...made, ['stats', root, stats], ['stats', child, stats]]
}

const COMMANDS = {
  async join({ invite, grants }) {
    await node.join(invite, grants)
    peer = [...node.peers.values()].at(-1)
    return { node: peer.node, name: peer.name, grants: peer.grants }
  },
  ask: ({ route, body }) => node.ask(peer, route, body),
  /** A message whose envelope is wrong in one way. */
  ask_wrongly({ route, wrong }) {
    return node.ask(peer, route, {}, node.message(peer, route, {}, wrong))
  },
  async ask_twice({ route }) {
    const message = node.message(peer, route, {})
    await node.ask(peer, route, {}, message)
    return node.ask(peer, route, {}, message)
  },
  async pull_keys() {
    const log = readKeyLog((await node.ask(peer, 'keys/pull')).get('log'))
    return { node: log.node, key: log.key, state: log.state }
  },
  known_key: () => node.peers.get(peer.node).key,
  sync_log: () => node.syncLog(peer),
  async prove_opening() {
    const opening = (await node.ask(peer, 'log/checkpoint')).get('opening')
    const proof = (await node.ask(peer, 'log/prove', { digest: sha256(opening) })).get('proof').toString()
    const { shows, node: signer, cosigners } = verifyProof(proof)
    return { shows, node: signer, cosigners }
  },
  async open_search({ goal, startUrl, condition, seconds }) {
    search = await coordinate(node, peer, { goal, startUrl, condition, seconds })
    return search.spec.id
  },
  /** Write `count` deltas and push them from number `from` on. */
  push({ count, from }) {
    for (let i = 0; i < count; i++) search.write(visited(search.ours.length + 1))
    return pushDeltas(node, peer, search, from)
  },
  pull: () => pullDeltas(node, peer, search),
  /** What others told of the search they opened here: how many entries, how many branches were declined. */
  searches() {
    const told = (one) =>
      Object.fromEntries(
        ['nodes', 'stats', 'lease'].map((map) => [map, one.entries.flatMap((entry) => entry[map]).length]),
      )
    return [...node.searches.values()].map((one) => ({
      id: one.spec.id,
      goal: one.spec.goal,
      declined: one.assigned.length,
      closed: one.closed,
      ...told(one),
    }))
  },
}

function plain(value) {
  if (Buffer.isBuffer(value)) return value.toString('hex')
  if (value instanceof Map) return plain(Object.fromEntries(value))
  if (Array.isArray(value)) return value.map(plain)
  if (value && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]))
  return value
}

async function answer(line) {
  try {
    const { command, ...given } = JSON.parse(line)
    return { ok: plain((await COMMANDS[command](given)) ?? null) }
  } catch (error) {
    if (!(error instanceof MeshError)) throw error
    return { code: error.code, message: error.message }
  }
}

await node.listen()
console.log(JSON.stringify({ ok: { node: node.id, address: node.address } }))
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await answer(line)))
process.exit(0)
