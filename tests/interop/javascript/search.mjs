// Taking part in searches: their shares are read and written, branches declined (leases.md, deltas.md).

import { encode } from './cbor.mjs'
import { actorOf, checkTwoDeltas, DeltaReader, DeltaWriter } from './delta.mjs'
import { open } from './envelope.mjs'
import { demand } from './errors.mjs'
import { allow } from './grants.mjs'
import { freshId } from './ids.mjs'
import { MESSAGES } from './messages.mjs'
import { parse, read } from './records.mjs'

const PULLED_MAX = 64
const M = MESSAGES

/** One search as this node knows it: its spec, our share, the shares of others. */
class Search {
  constructor(node, spec) {
    Object.assign(this, { node, spec, closed: false, assigned: [], ours: [], entries: [] })
    Object.assign(this, { readers: new Map(), kept: new Map(), out: new Map() })
    this.writer = new DeltaWriter({ search: spec.id, publicKey: node.key.public })
  }

  /** Sign the next delta of our share. */
  write(puts) {
    this.ours.push(this.node.sign('delta', this.writer.write(puts)))
  }

  /** Read one delta (an artefact) that `peer` wrote. */
  receive(peer, artefact) {
    const { issuer, payload } = open(artefact, { kinds: ['delta'], keysOf: (_, issued) => peer.log.keysAt(issued) })
    demand(issuer === peer.node, 'envelope.issuer', 'the delta of another node')
    demand(!this.out.has(issuer), this.out.get(issuer), 'out of this search')
    const reader = this.readerOf(peer)
    const told = reader.receive(payload)
    if (!told) return
    this.entries.push(told)
    this.kept.set(`${issuer} ${reader.epoch} ${reader.seq}`, artefact)
  }

  /** Where the shares of all writers but `reader` end here. */
  headsFor(reader) {
    const ends = [...this.readers].filter(([writer, { seq }]) => writer !== reader && seq && !this.out.has(writer))
    return ends.map(([writer, { epoch, seq, known }]) => ({ writer, epoch, seq, digest: known.get(seq) }))
  }

  /** The heads among `heads` that contradict what was read here. */
  contradicted(heads) {
    return heads.filter(({ writer, epoch, seq, digest }) => {
      const known = this.readers.get(writer)?.digestAt(epoch, seq)
      return known && !known.equals(digest)
    })
  }

  /** Put the writer out whom two deltas convict. */
  convict(one, other) {
    const keysOf = (issuer, issued) => this.node.peers.get(issuer)?.log.keysAt(issued) ?? []
    this.out.set(checkTwoDeltas(one, other, this.spec.id, keysOf).writer, 'delta.equivocation')
  }

  readerOf(peer) {
    const coordinates = this.spec.coordinator === peer.node
    const fresh = () => new DeltaReader({ search: this.spec.id, actor: actorOf(peer.log.events[0].key), coordinates })
    if (!this.readers.has(peer.node)) this.readers.set(peer.node, fresh())
    return this.readers.get(peer.node)
  }
}

const searchOf = (node, id) => {
  const found = node.searches.get(id)
  demand(found, 'input.not_found', 'no such search')
  return found
}

/** Open a search here and at `peer`, with us as its coordinator. */
export async function coordinate(node, peer, { goal, startUrl, condition, seconds }) {
  const spec = {
    id: freshId('sea'),
    coordinator: node.id,
    goal,
    start_url: startUrl,
    condition,
    profile: {},
    participants: [node.id, peer.node],
    seconds,
    created_ms: Date.now(),
    seed: 0,
  }
  node.searches.set(spec.id, new Search(node, spec))
  await node.ask(peer, 'search/open', { spec: node.sign('search', encode(spec)) })
  return node.searches.get(spec.id)
}

/** Send our share of `search` to `peer`, from the delta that it does not have; what it then holds. */
export async function pushDeltas(node, peer, search, from = 0) {
  const deltas = search.ours.slice(from, from + PULLED_MAX)
  return read(await node.ask(peer, 'deltas/push', { search: search.spec.id, deltas }), M.DeltaHave)
}

/** Fetch what `peer` wrote since; how many deltas came. */
export async function pullDeltas(node, peer, search) {
  const { epoch, seq } = search.readerOf(peer)
  const batch = read(
    await node.ask(peer, 'deltas/pull', {
      search: search.spec.id,
      epoch,
      after_seq: seq,
      heads: search.headsFor(peer.node),
    }),
    M.DeltaBatch,
  )
  for (const artefact of batch.deltas) search.receive(peer, artefact)
  for (const { writer, epoch, seq } of search.contradicted(batch.heads)) {
    const ask = { search: search.spec.id, writer, epoch, seq }
    const { delta } = read(await node.ask(peer, 'deltas/show', ask), M.DeltaShown)
    search.convict(search.kept.get(`${writer} ${epoch} ${seq}`), delta)
  }
  return batch.deltas.length
}

const artefactOf = (peer, raw, kind, fields) => {
  const { issuer, payload } = open(raw, { kinds: [kind], keysOf: (_, issued) => peer.log.keysAt(issued) })
  demand(issuer === peer.node, 'envelope.issuer', 'the artefact of another node')
  return parse(payload, fields)
}

export const SEARCH_ROUTES = {
  'search/open': {
    scope: 'branch:assign',
    ask: M.SearchOpen,
    answer: (node, peer, { spec: raw }) => {
      const spec = artefactOf(peer, raw, 'search', M.SearchSpec)
      const ours = spec.coordinator === peer.node && spec.participants.includes(node.id)
      demand(ours, 'envelope.issuer', 'not the search of the caller, or not for us')
      const { participants } = spec
      const well = participants.includes(peer.node) && new Set(participants).size === participants.length
      demand(well, 'message.invalid', 'the coordinator takes no part, or somebody twice')
      demand(allow(peer.granted, 'branch:assign', spec.start_url), 'peer.scope', 'not for this origin')
      demand(!spec.login, 'policy.refused', 'this node keeps no logins')
      if (!node.searches.has(spec.id)) node.searches.set(spec.id, new Search(node, spec))
      return {}
    },
  },
  'search/close': {
    scope: 'branch:assign',
    ask: M.SearchClose,
    answer: (node, peer, { search }) => {
      searchOf(node, search).closed = true
      return {}
    },
  },
  'branch/assign': {
    scope: 'branch:assign',
    ask: M.BranchAssign,
    answer: (node, peer, { assignment: raw }) => {
      const assignment = artefactOf(peer, raw, 'assignment', M.Assignment)
      searchOf(node, assignment.search).assigned.push(assignment)
      demand(false, 'lease.busy', 'this node has no place for a branch')
    },
  },
  'branch/revoke': { scope: 'branch:assign', ask: M.BranchRevoke, answer: () => ({}) },
  'branch/renew': {
    scope: 'branch:accept',
    ask: M.BranchRenew,
    answer: () => ({ live: false }),
  },
  'deltas/push': {
    scope: 'deltas:write',
    ask: M.DeltaPush,
    answer: (node, peer, { search, deltas }) => {
      const found = searchOf(node, search)
      demand(allow(peer.granted, 'deltas:write', found.spec.start_url), 'peer.scope', 'not for this origin')
      for (const artefact of deltas) found.receive(peer, artefact)
      const { epoch, seq } = found.readerOf(peer)
      return { epoch, seq }
    },
  },
  'deltas/pull': {
    scope: 'deltas:read',
    ask: M.DeltaPull,
    answer: (node, peer, { search, epoch, after_seq: after }) => {
      const { ours, writer } = searchOf(node, search)
      const from = epoch === writer.epoch ? after : 0
      const heads = searchOf(node, search).headsFor(peer.node)
      return { deltas: ours.slice(from, from + PULLED_MAX), more: ours.length > from + PULLED_MAX, heads }
    },
  },
  'deltas/show': {
    scope: 'deltas:read',
    ask: M.DeltaShow,
    answer: (node, peer, { search, writer, epoch, seq }) => {
      const delta = searchOf(node, search).kept.get(`${writer} ${epoch} ${seq}`)
      demand(delta, 'input.not_found', 'no such delta here')
      return { delta }
    },
  },
  'deltas/proof': {
    scope: 'deltas:write',
    ask: M.DeltaProof,
    answer: (node, peer, { search, one, other }) => {
      searchOf(node, search).convict(one, other)
      return {}
    },
  },
}
