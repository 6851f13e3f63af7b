// The coordinator's book of leases (docs/protocol/leases.md): who works on which branch, until when.

import { demand } from './errors.mjs'

const ENDS = { result: 'done', revoke: 'revoked', expire: 'expired' }
const isLive = ({ state }) => state === 'granted' || state === 'renewed'

const STEPS_OVER_MAX = 256
const CLOCK_SKEW_MS = 60_000

/** Refuse what a lease of these limits cannot have cost so long after its assignment was signed. */
export function checkSpend({ limits, spend, passed_ms: passed }) {
  const fits =
    spend.iterations <= limits.iterations &&
    spend.steps <= limits.steps + STEPS_OVER_MAX &&
    spend.milliseconds <= Math.max(0, passed) + CLOCK_SKEW_MS
  demand(fits, 'lease.spend', 'more than the lease allows')
}

export class LeaseBook {
  leases = new Map()

  grant({ lease: id, branch, worker, now_ms: now, lifetime_ms: lifetime, latest_ms: latest }) {
    const known = this.leases.get(id)
    if (known) {
      demand(known.branch === branch && known.worker === worker, 'input.invalid', 'the id of another lease')
      return known
    }
    const ofBranch = [...this.leases.values()].filter((lease) => lease.branch === branch)
    demand(!ofBranch.some(isLive), 'lease.busy', 'the branch has a live lease')
    const expires = Math.min(now + lifetime, latest)
    return this.#keep(id, { branch, worker, term: ofBranch.length + 1, state: 'granted', expires_ms: expires, latest })
  }

  renew({ lease: id, worker, now_ms: now, lifetime_ms: lifetime }) {
    const lease = this.leases.get(id)
    const may = lease && isLive(lease) && lease.worker === worker && lease.expires_ms > now
    demand(may, 'lease.unknown', 'not a live lease of this worker')
    const expires = Math.min(Math.max(lease.expires_ms, now + lifetime), lease.latest)
    return this.#keep(id, { ...lease, state: 'renewed', expires_ms: expires })
  }

  result({ lease: id }) {
    return this.#end(id, 'result')
  }

  revoke({ lease: id }) {
    return this.#end(id, 'revoke')
  }

  /** End what is over; the named lease afterwards. */
  expire({ lease: id, now_ms: now }) {
    for (const [one, lease] of this.leases) if (lease.expires_ms <= now) this.#end(one, 'expire')
    return this.leases.get(id)
  }

  #end(id, event) {
    const lease = this.leases.get(id)
    demand(lease, 'lease.unknown', 'no such lease')
    return isLive(lease) ? this.#keep(id, { ...lease, state: ENDS[event] }) : lease
  }

  #keep(id, lease) {
    this.leases.set(id, lease)
    return lease
  }
}
