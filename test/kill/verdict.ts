/** Holds what the processes knew, what the upstream ran and what the books say together. */
import { defaultPartition } from '../../src/ports/quota-input.ts';
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { reconcile } from '../../src/stores/sql/reconcile.ts';
import type { OpenStore } from './databases.ts';
import type { Fact } from './facts.ts';
import { poolSubject } from './noting-store.ts';

/** All that is known of one hold. */
interface Story {
  readonly id: string;
  readonly subject: string;
  wasHeld: boolean;
  wasReleased: boolean;
  /** What the gateway said it costs; it never says two things. */
  readonly amounts: Set<bigint>;
  /** In which words the store took the charge, each time it was told. */
  readonly statuses: Set<string>;
}

/** What came of a run. */
export interface Verdict {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly charged: number;
  /** Ran upstream, and nobody lived to charge for it: the price of holds that end by release. */
  readonly unbilled: number;
  /** Charged in the books, and no record of the log says so: its gateway had died. */
  readonly unlogged: number;
}

/** The usage log, each call once, and what `reconcile` says of it. */
export interface UsageLog {
  readonly records: readonly UsageRecord[];
  /** By subject: what the books have beyond the log. */
  readonly beyond: ReadonlyMap<string, bigint>;
  /** Of the subject that all calls share. */
  readonly beyondNanos: bigint;
}

/** Reads the log before any question changes the books. */
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

/** Everything that is judged, once nothing moves any more and every lease is over. */
export interface Evidence {
  readonly store: QuotaStore;
  readonly facts: readonly Fact[];
  /** The numbers of the calls that ran upstream. */
  readonly ran: ReadonlySet<string>;
  readonly overdrafts: ReadonlyMap<string, bigint>;
  readonly log: UsageLog;
}

/** Every broken promise, in a sentence each. */
export async function judge(evidence: Evidence): Promise<Verdict> {
  const { store, facts, ran, overdrafts, log } = evidence;
  const stories = storiesIn(facts);
  const sums = new Map<string, bigint>();
  const late = new Map<string, bigint>();
  const violations: string[] = [];
  const billed = new Set<string>();
  const charges = new Map<string, bigint>();
  // Before any question below is put: those must not change a row either.
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

/** What the books have beyond the log must be what `reconcile` shows, subject by subject. */
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
    // A subject that no record names can't be shown: it has to be asked for.
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

/** What the store has charged, asked by a settle of nothing: the first one wins. */
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

/** A hold's id is the number of its call, and a count. */
function callOf({ id }: Story): string {
  return id.replace(/-\d+$/, '');
}
