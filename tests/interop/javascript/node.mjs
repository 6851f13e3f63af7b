// A node: keys, log, peers, and what it answers on each route (docs/protocol/messages.md). It explores nothing itself.

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { encode } from './cbor.mjs'
import { call, channelIdentity, listen, nowSeconds } from './channel.mjs'
import { mediaType, open, ReplayWindow, seal } from './envelope.mjs'
import { demand, MeshError } from './errors.mjs'
import { versionOf } from './formats.mjs'
import { allow, isGrants } from './grants.mjs'
import { isNodeId, nodeId } from './ids.mjs'
import { checkAddress } from './invite.mjs'
import { genesis, readKeyLog } from './keylog.mjs'
import { keyOf, rawPublic } from './keys.mjs'
import { join } from './pairing.mjs'
import { MESSAGES } from './messages.mjs'
import { parse, read } from './records.mjs'
import { SEARCH_ROUTES } from './search.mjs'
import { HeldCheckpoints, tagsFor, WitnessLog } from './witness_log.mjs'

const PROTOCOL = versionOf('protocol')

export class Node {
  constructor({ name, seed = randomBytes(32) }) {
    this.key = keyOf(seed)
    this.id = nodeId(this.key.public)
    this.name = name
    this.startedAt = nowSeconds()
    const recovery = rawPublic(generateKeyPairSync('ed25519').publicKey) // nobody keeps it: this node lives for a test
    this.keyLog = readKeyLog(
      encode({ version: 1, events: [genesis(this.key, recovery, this.startedAt)], parts_at: 0, other: [] }),
    )
    this.log = new WitnessLog(this.key, this.id, this.startedAt)
    this.checkpoints = new HeldCheckpoints(this.key, this.id)
    this.identity = channelIdentity(this.key, this.id)
    this.seen = new ReplayWindow()
    this.peers = new Map()
    this.searches = new Map()
    this.notices = new Map()
  }

  async listen() {
    const trusted = (key) => [...this.peers.values()].find((peer) => peer.key.equals(key)) ?? null
    const answer = (peer, ...request) => this.#answer(peer, ...request)
    this.server = await listen({ identity: this.identity, trusted, answer })
    this.address = `https://127.0.0.1:${this.server.address().port}`
  }

  /** Pair with the node that made `invite`, granting it `grants` here: an object of scopes and origins. */
  async join(invite, grants) {
    const own = { log: this.keyLog.encode(), name: this.name, addresses: [this.address], grants }
    const peer = await join(invite, { key: this.key, ...own })
    this.peers.set(peer.node, { ...peer, granted: new Map(Object.entries(grants)) })
    return peer
  }

  /** A message for `peer` over `route`; the fields that a test may want to get wrong can be given. */
  message(peer, route, body, wrong = {}) {
    const fields = { kind: 'message', key: this.key, issuer: this.id, issued: nowSeconds(), audience: peer.node }
    return seal({ ...fields, route: `/peer/v1/${route}`, payload: encode(body), ...wrong })
  }

  /** The answer (a Map) of `peer` to a message that is `envelope`, or a fresh one around `body`. */
  ask(peer, route, body = {}, envelope = this.message(peer, route, body)) {
    const where = checkAddress(peer.addresses[0])
    return call({ ...where, identity: this.identity, key: peer.key, route, envelope })
  }

  /** Sign an artefact and enter it into the log: nothing that is signed leaves before. */
  sign(kind, payload) {
    return this.log.enter(seal({ kind, key: this.key, issuer: this.id, payload, issued: nowSeconds() }))
  }

  /** By which `peer` finds out whom both know. */
  tagsFor(peer) {
    return tagsFor(
      this.id,
      peer.node,
      [...this.peers.keys()].filter((node) => node !== peer.node),
    )
  }

  /** Take in a key log that somebody shows: it proves itself. What it says of strangers is left aside. */
  learnKeys(raw) {
    const told = readKeyLog(raw, nowSeconds())
    const known = this.peers.get(told.node)
    if (!known) return
    const log = known.log.merge(told)
    Object.assign(known, { log, key: log.key })
  }

  /** Judge what `peer` says of its log and of keys. */
  hearLog(peer, sync) {
    for (const raw of sync.key_logs) this.learnKeys(raw)
    this.checkpoints.hear(peer, sync, nowSeconds())
  }

  /** Exchange checkpoints with `peer`, until each holds the other's newest. */
  async syncLog(peer) {
    const tags = this.tagsFor(peer)
    const first = read(await this.ask(peer, 'log/checkpoint', { tags }), MESSAGES.LogSync)
    this.hearLog(peer, first)
    const grown = this.log.growthFrom(this.log.heldSize(first.yours))
    const second = read(
      await this.ask(peer, 'log/checkpoint', { ...grown, yours: this.checkpoints.noteOf(peer.node), tags }),
      MESSAGES.LogSync,
    )
    this.hearLog(peer, second)
    return { ours: second.yours.toString(), theirs: this.checkpoints.noteOf(peer.node).toString() }
  }

  async #answer(peer, path, contentType, body) {
    try {
      const name = /^\/peer\/v1\/(.+)$/.exec(path)?.[1]
      demand(contentType === mediaType('message'), 'message.invalid', 'another Content-Type')
      const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : null
      demand(route, 'input.not_found', 'no such route')
      demand(!route.scope || allow(peer.granted, route.scope), 'peer.scope', 'no scope for this')
      const keysOf = (issuer, issued) => this.peers.get(issuer)?.log.keysAt(issued) ?? []
      const now = nowSeconds()
      const found = open(body, {
        kinds: ['message'],
        keysOf,
        route: path,
        audience: this.id,
        now,
        startedAt: this.startedAt,
        seen: this.seen,
      })
      demand(found.issuer === peer.node, 'envelope.issuer', 'another issuer than the channel')
      const answer = await route.answer(this, peer, parse(found.payload, route.ask))
      return { status: 200, body: encode(answer) }
    } catch (error) {
      if (!(error instanceof MeshError)) throw error
      return { status: 400, body: encode(refusal(error)) }
    }
  }
}

const RETRYABLE = ['lease.busy', 'delta.gap', 'envelope.time', 'log.unproven', 'keylog.gap']

const refusal = (error) => ({
  code: error.code,
  message: error.message,
  blame: 'peer',
  retryable: RETRYABLE.includes(error.code),
  remedy: '',
  detail: error.detail,
})

const ROUTES = {
  ...SEARCH_ROUTES,
  status: {
    ask: {},
    answer: (node, peer) => ({
      node: node.id,
      name: node.name,
      version: '0',
      protocol: PROTOCOL,
      now_ms: Date.now(),
      grants: peer.granted,
    }),
  },
  'reach/echo': { ask: {}, answer: echo },
  'keys/push': {
    ask: MESSAGES.KeysPush,
    answer: (node, peer, { log }) => {
      node.learnKeys(log)
      return {}
    },
  },
  'grants/push': {
    ask: MESSAGES.GrantsPush,
    answer: (node, peer, { grants }) => {
      demand(isGrants(grants), 'message.invalid', 'no grants')
      peer.grants = grants
      return {}
    },
  },
  'notices/push': { ask: MESSAGES.NoticePush, answer: takeNotice },
  'keys/pull': { ask: {}, answer: (node) => ({ log: node.keyLog.encode() }) },
  'log/checkpoint': {
    ask: MESSAGES.LogSync,
    answer: (node, peer, sync) => {
      node.hearLog(peer, sync)
      const yours = node.checkpoints.noteOf(peer.node)
      return {
        ...node.log.growthFrom(node.log.heldSize(sync.yours)),
        yours,
        tags: node.tagsFor(peer),
      }
    },
  },
  'log/consistency': {
    ask: MESSAGES.LogConsistencyAsk,
    answer: (node, peer, { old_size: from, new_size: to }) => node.log.consistency(from, to),
  },
  'log/prove': {
    ask: MESSAGES.LogProveAsk,
    answer: (node, peer, { digest }) => ({ proof: Buffer.from(node.log.prove(digest)) }),
  },
}

/** A notice is advice: it is kept, and nothing acts by it. */
function takeNotice(node, peer, { notice }) {
  const keysOf = (issuer, issued) => (issuer === peer.node ? peer.log.keysAt(issued) : [])
  const { payload } = open(notice, { kinds: ['distrust-notice'], keysOf })
  const { about, since_ms, lifted } = parse(payload, MESSAGES.DistrustNotice)
  demand(isNodeId(about) && about !== node.id && about !== peer.node, 'message.invalid', 'about whom?')
  demand(since_ms <= Date.now() + 60_000, 'message.invalid', 'from the future')
  node.notices.set(`${peer.node} ${about}`, { lifted })
  return {}
}

async function echo(node, peer) {
  const started = Date.now()
  try {
    await node.ask(peer, 'status')
    return { reached: true, way: peer.addresses[0], milliseconds: Date.now() - started }
  } catch (error) {
    return { reached: false, code: error.code, message: error.message }
  }
}
