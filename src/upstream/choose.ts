/**
 * Chooses the channel that a call goes through: who may serve it, who is well, and then by
 * priority, weight and load. Pure: what it knows of channels and the random source are handed in.
 */
import { hash } from 'node:crypto';
import type { NoChannelReason } from '../events.ts';
import type { Price } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';
import { priorityOf, weightOf } from '../ports/model-defaults.ts';
import { mostExpensiveUnit } from '../prices/tokens.ts';

/** Whether a call may go through a channel just now. */
export type Availability =
  | { readonly kind: 'open' }
  /** Did not answer in time, or keeps its callers waiting: only where no other channel is open. */
  | { readonly kind: 'last' }
  | {
      readonly kind: 'out';
      /** `busy`, `switched_off`, or what the channel rests for. */
      readonly reason: string;
      /** On the monotonic clock; undefined where no time is known. */
      readonly untilMs: number | undefined;
      /** Takes one call at a time all the same, where no other channel can. */
      readonly yields: boolean;
      /** It has that call just now. */
      readonly isInUse?: boolean;
      /** It said 429. */
      readonly isRateLimit?: boolean;
      /** For failing too often: no more than half of a large pool may be. */
      readonly isEjected?: boolean;
    };

/** How channels stand at this moment. */
export interface AccountStates {
  availability(channel: Channel): Availability;
  /** Calls that run through it. */
  inFlight(channel: Channel): number;
}

/** What the restrictions of a pool depend on. */
export interface PoolAsked {
  readonly price: Price;
  readonly group: string;
  /** Whether the channel's dialect has the operation at all. */
  readonly isAble: (channel: Channel) => boolean;
}

/** The channels that may serve one kind of call when they are well; the same for all such calls. */
export interface Pool {
  readonly channels: readonly Channel[];
  readonly weighted: WeightedChoice | undefined;
}

/**
 * Those of the best priority with the running sums of their weights: drawing two of a thousand
 * costs no more than two of three. None where it matters who asks.
 */
interface WeightedChoice {
  readonly channels: readonly Channel[];
  readonly sums: readonly number[];
  readonly total: number;
}

/** What of a call the choice depends on. */
export interface ChoiceAsked {
  readonly keyId: string;
  readonly promptCacheKey: string | undefined;
  /** Channels this call has been through, or has no words for. */
  readonly passed: readonly string[];
  /** Another channel has failed already. */
  readonly hasTried: boolean;
}

/** A channel, or why there is none. */
export type Choice =
  | { readonly kind: 'channel'; readonly channel: Channel }
  /**
   * `untilMs`: the soonest return, on the monotonic clock. `isRateLimit`: there is a last channel,
   * which said 429 and has its one call.
   */
  | {
      readonly kind: 'none';
      readonly reason: NoChannelReason;
      readonly untilMs?: number;
      readonly isRateLimit?: boolean;
    };

type NoChoice = Extract<Choice, { readonly kind: 'none' }>;

interface Candidate {
  readonly channel: Channel;
  readonly availability: Availability;
  readonly inFlight: number;
}

type Paused = Candidate & { readonly availability: Extract<Availability, { kind: 'out' }> };

const poolWithCap = 4;

/** The channels that may serve such calls, or the restriction that leaves none. */
export function poolOf(
  channels: readonly Channel[],
  { price, group, isAble }: PoolAsked,
): Pool | NoChannelReason {
  const configured = channels.filter((channel) => weightOf(channel) > 0);
  if (configured.length === 0) return 'none_configured';
  const able = configured.filter(isAble);
  if (able.length === 0) return 'protocol';
  const allowed = able.filter(({ groups }) => groups?.includes(group) ?? true);
  if (allowed.length === 0) return 'group_restriction';
  const unit = mostExpensiveUnit(price);
  const cheap = allowed.filter(
    ({ maxPriceNanos }) => maxPriceNanos === undefined || unit <= maxPriceNanos,
  );
  if (cheap.length === 0) return 'price_restriction';
  return { channels: cheap, weighted: weightedOf(cheap) };
}

function weightedOf(pool: readonly Channel[]): WeightedChoice | undefined {
  const best = bestOf(pool);
  const channels = pool.filter((channel) => priorityOf(channel) === best);
  if (channels.some(({ stickyBy }) => stickyBy !== undefined)) return undefined;
  let total = 0;
  const sums = channels.map((channel) => {
    total += weightOf(channel);
    return total;
  });
  return { channels, sums, total };
}

function bestOf(channels: readonly Channel[]): number {
  return channels.reduce((best, channel) => Math.min(best, priorityOf(channel)), Number.MAX_VALUE);
}

/** The channel to try next. Draws by `random`, a number in [0, 1). */
export function chooseChannel(
  pool: Pool,
  asked: ChoiceAsked,
  accounts: AccountStates,
  random: () => number,
): Choice {
  const { weighted } = pool;
  if (weighted !== undefined && asked.passed.length === 0) {
    const channel = drawnAtOnce(weighted, accounts, random);
    if (channel !== undefined) return { kind: 'channel', channel };
  }
  return chosenOfAll(pool, asked, accounts, random);
}

/**
 * The first lot of {@link drawn}, or the second where that is less loaded, without a look at any
 * other channel if both can be had. Undefined where the first can't: then all are looked at.
 */
function drawnAtOnce(
  { channels, sums, total }: WeightedChoice,
  accounts: AccountStates,
  random: () => number,
): Channel | undefined {
  if (channels.length === 1) return openOf(channels[0], accounts);
  const at = indexAt(sums, random() * total);
  const first = openOf(channels[at], accounts);
  if (first === undefined) return undefined;
  const before = sums[at - 1] ?? 0;
  const chance = random() * (total - weightOf(first));
  const next = indexAt(sums, chance < before ? chance : chance + weightOf(first));
  const second = openOf(channels[next], accounts) ?? anotherOf(channels, first, accounts, random);
  if (second === undefined) return first;
  const isLessLoaded =
    accounts.inFlight(second) / weightOf(second) < accounts.inFlight(first) / weightOf(first);
  return isLessLoaded ? second : first;
}

/** Any other that can be had, drawn by weight. */
function anotherOf(
  channels: readonly Channel[],
  first: Channel,
  accounts: AccountStates,
  random: () => number,
): Channel | undefined {
  let drawn: Channel | undefined;
  let total = 0;
  for (const channel of channels) {
    if (channel === first || openOf(channel, accounts) === undefined) continue;
    total += weightOf(channel);
    if (random() * total < weightOf(channel)) drawn = channel;
  }
  return drawn;
}

function openOf(
  channel: Channel | undefined,
  { availability }: AccountStates,
): Channel | undefined {
  return channel !== undefined && availability(channel).kind === 'open' ? channel : undefined;
}

/** The first index whose sum lies above a number; sums only grow. */
function indexAt(sums: readonly number[], chance: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > chance) high = middle;
    else low = middle + 1;
  }
  return low;
}

function chosenOfAll(
  { channels }: Pool,
  asked: ChoiceAsked,
  accounts: AccountStates,
  random: () => number,
): Choice {
  const pool: readonly Candidate[] = channels.map((channel) => ({
    channel,
    availability: accounts.availability(channel),
    inFlight: accounts.inFlight(channel),
  }));
  const isLeft = ({ channel }: Candidate): boolean => !asked.passed.includes(channel.id);
  const left = pool.filter(isLeft);
  const readmitted = beyondCap(pool);
  const usable = left.filter(
    (candidate) => isOpen(candidate) || readmitted.includes(candidate.channel),
  );
  if (usable.length > 0) return { kind: 'channel', channel: drawn(usable, asked, random) };
  const drawnLast = left.filter(({ availability }) => availability.kind === 'last');
  if (drawnLast.length > 0) return { kind: 'channel', channel: drawn(drawnLast, asked, random) };
  // Nobody else is left: better the upstream's own refusal than an hour of ours. A call that has
  // failed elsewhere has an answer already.
  const last = soonest(left.filter(isPaused).filter(({ availability }) => availability.yields));
  if (last === undefined || asked.hasTried) return noneUsable(left);
  const { isInUse = false, isRateLimit = false } = last.availability;
  return isInUse
    ? { ...noneUsable(left), isRateLimit }
    : { kind: 'channel', channel: last.channel };
}

/**
 * Of a pool of four or more, half at most may be ejected; the others go on in turn of their return.
 * Not those that can't be reached or do not answer: they take no load off the ones that are left.
 */
function beyondCap(pool: readonly Candidate[]): readonly Channel[] {
  if (pool.length < poolWithCap) return [];
  const ejected = pool
    .filter(isPaused)
    .filter(({ availability }) => availability.isEjected === true && availability.yields);
  const most = Math.floor(pool.length / 2);
  if (ejected.length <= most) return [];
  return [...ejected]
    .sort(byReturn)
    .slice(0, ejected.length - most)
    .map(({ channel }) => channel);
}

function isOpen({ availability }: Candidate): boolean {
  return availability.kind === 'open';
}

function isPaused(candidate: Candidate): candidate is Paused {
  return candidate.availability.kind === 'out';
}

function byReturn(a: Paused, b: Paused): number {
  return (a.availability.untilMs ?? 0) - (b.availability.untilMs ?? 0);
}

function soonest(paused: readonly Paused[]): Paused | undefined {
  return [...paused].sort(byReturn)[0];
}

function noneUsable(pool: readonly Candidate[]): NoChoice {
  if (pool.length === 0) return { kind: 'none', reason: 'protocol' };
  const paused = pool.filter(isPaused);
  const reasons = new Set(paused.map(({ availability }) => availability.reason));
  if (reasons.has('busy')) return { kind: 'none', reason: 'busy' };
  if (reasons.size === 1 && reasons.has('switched_off')) {
    return { kind: 'none', reason: 'switched_off' };
  }
  const first = soonest(paused.filter(({ availability }) => availability.untilMs !== undefined));
  const untilMs = first?.availability.untilMs;
  return { kind: 'none', reason: 'cooling_down', ...(untilMs === undefined ? {} : { untilMs }) };
}

/**
 * The best priority decides. Within it each channel draws a lot that weight makes early, as in a
 * race of exponential clocks; of the first two the less loaded goes. A channel that keeps its
 * callers draws by who asks, and so draws the same lot every time.
 */
function drawn(usable: readonly Candidate[], asked: ChoiceAsked, random: () => number): Channel {
  const [only, ...others] = usable;
  if (only !== undefined && others.length === 0) return only.channel;
  const best = bestOf(usable.map(({ channel }) => channel));
  const lots = usable
    .filter(({ channel }) => priorityOf(channel) === best)
    .map((candidate) => lotOf(candidate, asked, random))
    .sort((a, b) => a.at - b.at);
  const [first, second] = lots;
  if (first === undefined) throw new Error('a choice among no channels');
  const swaps = second !== undefined && !first.isKept && loadOf(second) < loadOf(first);
  return swaps ? second.channel : first.channel;
}

interface Lot {
  readonly channel: Channel;
  readonly inFlight: number;
  readonly at: number;
  /** Drawn by who asks: load does not move it. */
  readonly isKept: boolean;
}

function lotOf({ channel, inFlight }: Candidate, asked: ChoiceAsked, random: () => number): Lot {
  const kept = channel.stickyBy === 'key' ? asked.keyId : asked.promptCacheKey;
  const isKept = channel.stickyBy !== undefined && kept !== undefined;
  const chance = isKept ? fraction(`${channel.id}\n${kept}`) : random();
  return { channel, inFlight, at: -Math.log(1 - chance) / weightOf(channel), isKept };
}

/** A number in [0, 1) that is the same for the same text. */
function fraction(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 12), 16) / 2 ** 48;
}

function loadOf({ channel, inFlight }: Lot): number {
  return inFlight / weightOf(channel);
}
