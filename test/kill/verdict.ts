/**
 * Compares what the processes recorded, which calls the upstream ran, and the balances of the
 * store.
 */
import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { reconcile } from '../../src/stores/sql/reconcile.ts';
import type { OpenStore } from './databases.ts';
import type { Fact } from './facts.ts';
import { poolSubject } from './recording-store.ts';

/** Everything that is known about one hold. */
interface Story {
  readonly id: string;
  readonly subject: string;
  wasHeld: boolean;
  wasReleased: boolean;
  /** The charges that gateways reported for it; there must be only one. */
  readonly amounts: Set<bigint>;
  /** The status with which the store confirmed each settle. */
  readonly statuses: Set<string>;
}

/** The result of a run. */
export interface Verdict {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly charged: number;
  /**
   * Calls that ran upstream and were never charged, because the gateway was killed and the hold
   * expired.
   */
  readonly unbilled: number;
  /** Charges without a usage record, because the gateway was killed before it wrote one. */
  readonly unlogged: number;
}

/** The usage log, each call once, and the result of `reconcile`. */
export interface UsageLog {
  readonly records: readonly UsageRecord[];
  /** By subject: what the store has charged beyond the log. */
  readonly beyond: ReadonlyMap<string, bigint>;
  /** The same for the subject that all calls share. */
  readonly beyondNanos: bigint;
}

/** Reads the log before any query below can change the store. */
export async function readUsage({
  store,
  usage,
}: Pick<OpenStore, 'store' | 'usage'>): Promise<UsageLog> {
  const records: UsageRecord[] = [];
  let after: string | undefined;
  do {
    const page = await usage.usageRecords({}, { limit: 1_000, ...(after ? { after } : {}) });
    records.push(...page.records);
    after = page.next;
  } while (after !== undefined);
  const beyond = new Map<string, bigint>();
  for (const { subject, unloggedNanos } of await reconcile({ quota: store, usage })) {
    beyond.set(subject, unloggedNanos);
  }
  return { records, beyond, beyondNanos: beyond.get(poolSubject) ?? 0n };
}

/** The input of the verdict, collected after all calls have ended and all leases have expired. */
export interface Evidence {
  readonly store: QuotaStore;
  readonly facts: readonly Fact[];
  /** The numbers of the calls that ran upstream. */
  readonly ran: ReadonlySet<string>;
  readonly overdrafts: ReadonlyMap<string, bigint>;
  readonly log: UsageLog;
}

/** Every violated guarantee, as one sentence each. */
export async function judge(evidence: Evidence): Promise<Verdict> {
  const { store, facts, ran, overdrafts, log } = evidence;
  const stories = storiesIn(facts);
  const sums = new Map<string, bigint>();
  const late = new Map<string, bigint>();
  const violations: string[] = [];
  const billed = new Set<string>();
  const charges = new Map<string, bigint>();
  // Read before the queries below, which must not change a row either.
  const rows = await rowsOf(store, stories);

  for (const story of stories) {
    const charged = await chargeOf(store, story);
    if (charged === 'held') {
      violations.push(`${story.id} is still held after its lease and a sweep`);
      continue;
    }
    violations.push(...faultsOf(story, charged, ran));
    charges.set(story.id, charged);
    if (charged > 0n) billed.add(callOf(story));
    for (const subject of [story.subject, poolSubject]) {
      sums.set(subject, (sums.get(subject) ?? 0n) + charged);
      const isLate = [...story.statuses].join() !== 'settled';
      if (isLate) late.set(subject, (late.get(subject) ?? 0n) + charged);
    }
  }
  for (const [subject, { used, held, inFlight }] of rows) {
    const sum = sums.get(subject) ?? 0n;
    if (used !== sum) violations.push(`${subject} has used ${used}, its charges are ${sum}`);
    if (held !== 0n || inFlight !== 0) violations.push(`${subject} still holds ${held}`);
  }
  const unlogged = new Map(charges);
  for (const { reservationId: id, booked, chargeNanos } of log.records) {
    if (!booked) continue;
    if (charges.get(id) !== chargeNanos) {
      violations.push(`the log says that ${id} was charged ${chargeNanos}: ${charges.get(id)}`);
    }
    unlogged.delete(id);
  }
  violations.push(...beyondFaults(stories, unlogged, log));
  for (const [subject, over] of overdrafts) {
    const bound = late.get(subject) ?? 0n;
    if (over > bound) violations.push(`${subject} was ${over} over, ${bound} came late`);
  }
  return {
    violations,
    acknowledged: stories.filter(({ statuses }) => statuses.size > 0).length,
    charged: billed.size,
    unlogged: [...unlogged.values()].filter((charged) => charged > 0n).length,
    unbilled: [...ran].filter((call) => !billed.has(call)).length,
  };
}

/** For each subject, `reconcile` must show what the store has charged beyond the log. */
function beyondFaults(
  stories: readonly Story[],
  unlogged: ReadonlyMap<string, bigint>,
  { records, beyond }: UsageLog,
): readonly string[] {
  const sums = new Map<string, bigint>();
  for (const { id, subject } of stories) {
    const charged = unlogged.get(id) ?? 0n;
    for (const name of [subject, poolSubject]) sums.set(name, (sums.get(name) ?? 0n) + charged);
  }
  const logged = new Set(records.flatMap(({ lines }) => lines.map(({ subject }) => subject)));
  return [...sums].flatMap(([subject, sum]) => {
    const shown = beyond.get(subject) ?? 0n;
    // `reconcile` shows only subjects that occur in the log, unless they are requested.
    if (shown === sum || !logged.has(subject)) return [];
    return [`${subject}: the books have ${sum} beyond the log, and reconcile shows ${shown}`];
  });
}

function storiesIn(facts: readonly Fact[]): readonly Story[] {
  const stories = new Map<string, Story>();
  for (const fact of facts) {
    if (fact.fact === 'reserving') {
      const { id, subject } = fact;
      const blank = { wasHeld: false, wasReleased: false };
      stories.set(id, { id, subject, ...blank, amounts: new Set(), statuses: new Set() });
      continue;
    }
    const story = stories.get(fact.id);
    if (story === undefined) throw new Error(`nobody reserved ${fact.id}`);
    if (fact.fact === 'held') story.wasHeld = true;
    if (fact.fact === 'released') story.wasReleased = true;
    if (fact.fact === 'settling') story.amounts.add(fact.amount);
    if (fact.fact === 'acknowledged') story.statuses.add(fact.status);
  }
  return [...stories.values()];
}

type Row = NonNullable<Awaited<ReturnType<QuotaStore['read']>>>;

async function rowsOf(
  store: QuotaStore,
  stories: readonly Story[],
): Promise<ReadonlyMap<string, Row>> {
  const rows = new Map<string, Row>();
  for (const subject of new Set([poolSubject, ...stories.map((story) => story.subject)])) {
    const row = await store.read(subject, '', defaultPartition);
    if (row !== undefined) rows.set(subject, row);
  }
  return rows;
}

/** What the store has charged, read by a second settle of zero, which must change nothing. */
async function chargeOf(store: QuotaStore, { id, subject }: Story): Promise<bigint | 'held'> {
  const lines = [
    { subject, period: '', amount: 0n },
    { subject: poolSubject, period: '', amount: 0n },
  ];
  const result = await store.settle({ id, partition: defaultPartition, lines, basis: 'policy' });
  if (result.status === 'settled') return 'held';
  return result.status === 'already' ? (result.charged[0] ?? 0n) : 0n;
}

function faultsOf(story: Story, charged: bigint, ran: ReadonlySet<string>): readonly string[] {
  const { id, amounts, statuses } = story;
  const faults: string[] = [];
  if (amounts.size > 1) faults.push(`${id} was to be charged ${[...amounts].join(' and ')}`);
  const isAcknowledged = statuses.size > 0 && !statuses.has('conflict');
  if (isAcknowledged && !amounts.has(charged)) {
    faults.push(`${id} was acknowledged with ${[...amounts].join()} and charged ${charged}`);
  }
  if (statuses.has('conflict')) faults.push(`${id} was settled after it was released`);
  if (charged > 0n && !story.wasHeld) faults.push(`${id} was charged and never held`);
  if (charged > 0n && !ran.has(callOf(story))) faults.push(`${id} was charged and never ran`);
  return faults;
}

/** A hold's id consists of the number of its call and a count. */
function callOf({ id }: Story): string {
  return id.replace(/-\d+$/, '');
}
