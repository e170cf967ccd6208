/**
 * Chooses the channel for a call: restrictions first, then health, then priority, weight and load.
 * Pure: the state of the channels and the random source are passed in.
 */

import { hash } from 'node:crypto';
import type { FailureReason, NoChannelReason } from '../failure-reasons.ts';
import type { Nanos } from '../money.ts';
import type { Channel, Model } from '../ports/models/catalog.ts';
import { priorityOf, weightOf } from '../ports/models/model-defaults.ts';
import { type Preference, preferenceOf, preferred } from './prefer.ts';

export type Availability =
  | { readonly kind: 'available' }
  /** It timed out or is slow: chosen only when no other channel is available. */
  | { readonly kind: 'deprioritized' }
  | {
      readonly kind: 'unavailable';
      /** `busy`, `switched_off`, or the reason of the cooldown or open circuit. */
      readonly reason: FailureReason;
      /** The end, on the monotonic clock; undefined if it is not known. */
      readonly untilMs: number | undefined;
      /** It still takes one call at a time when no other channel is left. */
      readonly lastResort: boolean;
      /** Such a call is running. */
      readonly isInUse?: boolean;
      readonly isRateLimit?: boolean;
      /** Its circuit is open. At most half of a large pool is kept out for this reason. */
      readonly isCircuitOpen?: boolean;
    };

export interface PoolState {
  availability(channel: Channel): Availability;
  inFlight(channel: Channel): number;
  /**
   * Undefined for a channel that is to be measured, infinite for one that has not answered. Asked
   * only where the model prefers latency.
   */
  firstByteMs(channel: Channel): number | undefined;
}

export interface PoolInput {
  /** The unit of the model's price that a channel's `maxPriceNanos` bounds. */
  readonly unitNanos: Nanos;
  readonly group: string;
  readonly isAble: (channel: Channel) => boolean;
  readonly prefer: Model['prefer'];
  /** What a channel costs, to be compared with others; undefined if it is not known. */
  readonly costOf: (channel: Channel) => Nanos | undefined;
}

/** The channels for one kind of call when they are healthy, computed once for all such calls. */
export interface Pool {
  readonly channels: readonly Channel[];
  readonly weighted: WeightedChoice | undefined;
  readonly preference: Preference | undefined;
}

/**
 * The channels of the best priority with the running sums of their weights: choosing two of a
 * thousand costs no more than choosing two of three. Undefined where the choice depends on more
 * than weight and load: on the caller (sticky channels), or on what the model prefers.
 */
interface WeightedChoice {
  readonly channels: readonly Channel[];
  readonly sums: readonly number[];
  readonly total: number;
}

export interface ChoiceInput {
  readonly keyId: string;
  readonly promptCacheKey: string | undefined;
  /** Undefined if the call names no session. Asked only where a channel keeps sessions. */
  session(): string | undefined;
  /** The ids of channels that this call has tried, or that can't express it. */
  readonly excluded: readonly string[];
  readonly hasTried: boolean;
}

export type Choice =
  | { readonly kind: 'channel'; readonly channel: Channel }
  /**
   * `untilMs`: when the first channel becomes available again, on the monotonic clock.
   * `isRateLimit`: the channel of last resort replied 429 and is already serving its one call.
   */
  | {
      readonly kind: 'none';
      readonly reason: NoChannelReason;
      readonly untilMs?: number;
      readonly isRateLimit?: boolean;
    };

interface Candidate {
  readonly channel: Channel;
  readonly availability: Availability;
  readonly inFlight: number;
}

type UnavailableCandidate = Candidate & {
  readonly availability: Extract<Availability, { kind: 'unavailable' }>;
};

const cappedPoolSize = 4;

export function poolOf(
  channels: readonly Channel[],
  { unitNanos, group, isAble, prefer, costOf }: PoolInput,
): Pool | NoChannelReason {
  const configured = channels.filter((channel) => weightOf(channel) > 0);
  if (configured.length === 0) return 'none_configured';
  const able = configured.filter(isAble);
  if (able.length === 0) return 'protocol';
  const allowed = able.filter(({ groups }) => groups?.includes(group) ?? true);
  if (allowed.length === 0) return 'group_restriction';
  const cheap = allowed.filter(
    ({ maxPriceNanos }) => maxPriceNanos === undefined || unitNanos <= maxPriceNanos,
  );
  if (cheap.length === 0) return 'price_restriction';
  if (prefer !== undefined) {
    const preference = preferenceOf(cheap, prefer, costOf);
    return { channels: cheap, weighted: undefined, preference };
  }
  return { channels: cheap, weighted: weightedChoiceOf(cheap), preference: undefined };
}

function weightedChoiceOf(pool: readonly Channel[]): WeightedChoice | undefined {
  const best = bestPriority(pool);
  const channels = pool.filter((channel) => priorityOf(channel) === best);
  if (channels.some(({ stickyBy }) => stickyBy !== undefined)) return undefined;
  let total = 0;
  const sums = channels.map((channel) => {
    total += weightOf(channel);
    return total;
  });
  return { channels, sums, total };
}

function bestPriority(channels: readonly Channel[]): number {
  return channels.reduce((best, channel) => Math.min(best, priorityOf(channel)), Number.MAX_VALUE);
}

/** The channel to try next. `random` returns a number in [0, 1). */
export function chooseChannel(
  pool: Pool,
  asked: ChoiceInput,
  accounts: PoolState,
  random: () => number,
): Choice {
  const { weighted } = pool;
  if (weighted !== undefined && asked.excluded.length === 0) {
    const channel = chooseFromTwo(weighted, accounts, random);
    if (channel !== undefined) return { kind: 'channel', channel };
  }
  return chooseFromAll(pool, asked, accounts, random);
}

/**
 * Chooses as {@link chooseByWeight} does, but looks only at the two channels that are chosen by
 * weight, and takes the less loaded of them. Undefined if the first is not available: then the
 * whole pool has to be considered.
 */
function chooseFromTwo(
  { channels, sums, total }: WeightedChoice,
  accounts: PoolState,
  random: () => number,
): Channel | undefined {
  if (channels.length === 1) return ifAvailable(channels[0], accounts);
  const index = indexAt(sums, random() * total);
  const first = ifAvailable(channels[index], accounts);
  if (first === undefined) return undefined;
  const before = sums[index - 1] ?? 0;
  const chance = random() * (total - weightOf(first));
  const next = indexAt(sums, chance < before ? chance : chance + weightOf(first));
  const second =
    ifAvailable(channels[next], accounts) ?? chooseAnother(channels, first, accounts, random);
  if (second === undefined) return first;
  const isLessLoaded =
    accounts.inFlight(second) / weightOf(second) < accounts.inFlight(first) / weightOf(first);
  return isLessLoaded ? second : first;
}

function chooseAnother(
  channels: readonly Channel[],
  first: Channel,
  accounts: PoolState,
  random: () => number,
): Channel | undefined {
  let chosen: Channel | undefined;
  let total = 0;
  for (const channel of channels) {
    if (channel === first || ifAvailable(channel, accounts) === undefined) continue;
    total += weightOf(channel);
    if (random() * total < weightOf(channel)) chosen = channel;
  }
  return chosen;
}

function ifAvailable(
  channel: Channel | undefined,
  { availability }: PoolState,
): Channel | undefined {
  return channel !== undefined && availability(channel).kind === 'available' ? channel : undefined;
}

/** The first index whose sum exceeds `chance`, by binary search. */
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

function chooseFromAll(
  { channels, preference }: Pool,
  asked: ChoiceInput,
  accounts: PoolState,
  random: () => number,
): Choice {
  const pool: readonly Candidate[] = channels.map((channel) => ({
    channel,
    availability: accounts.availability(channel),
    inFlight: accounts.inFlight(channel),
  }));
  const isUntried = ({ channel }: Candidate): boolean => !asked.excluded.includes(channel.id);
  const untried = pool.filter(isUntried);
  const readmitted = readmittedAboveCap(pool);
  const usable = untried.filter(
    (candidate) => isAvailable(candidate) || readmitted.includes(candidate.channel),
  );
  const best = usable.length > 0 ? usable : untried.filter(isDeprioritized);
  if (best.length > 0) {
    const narrow: Narrow | undefined =
      preference && ((ranked) => preferred(ranked, preference, { ...asked, accounts, random }));
    return { kind: 'channel', channel: chooseByWeight(best, asked, narrow, random) };
  }
  // All channels have been tried or are unavailable: the upstream's own refusal is better than ours
  // for the next hour. A call that has failed elsewhere already has an error to return.
  const last = soonest(
    untried.filter(isUnavailable).filter(({ availability }) => availability.lastResort),
  );
  if (last === undefined || asked.hasTried) return noneUsable(untried);
  const { isInUse = false, isRateLimit = false } = last.availability;
  return isInUse
    ? { ...noneUsable(untried), isRateLimit }
    : { kind: 'channel', channel: last.channel };
}

/**
 * In a pool of four or more, at most half are kept out by an open circuit. The others are
 * readmitted, beginning with those whose circuit would close first. Channels that are unreachable
 * or time out are not readmitted, because they would take no load off the rest.
 */
function readmittedAboveCap(pool: readonly Candidate[]): readonly Channel[] {
  if (pool.length < cappedPoolSize) return [];
  const open = pool
    .filter(isUnavailable)
    .filter(({ availability }) => availability.isCircuitOpen === true && availability.lastResort);
  const maxOpen = Math.floor(pool.length / 2);
  if (open.length <= maxOpen) return [];
  return [...open]
    .sort(byReturn)
    .slice(0, open.length - maxOpen)
    .map(({ channel }) => channel);
}

function isAvailable({ availability }: Candidate): boolean {
  return availability.kind === 'available';
}

function isDeprioritized({ availability }: Candidate): boolean {
  return availability.kind === 'deprioritized';
}

function isUnavailable(candidate: Candidate): candidate is UnavailableCandidate {
  return candidate.availability.kind === 'unavailable';
}

function byReturn(a: UnavailableCandidate, b: UnavailableCandidate): number {
  return (a.availability.untilMs ?? 0) - (b.availability.untilMs ?? 0);
}

function soonest(paused: readonly UnavailableCandidate[]): UnavailableCandidate | undefined {
  return [...paused].sort(byReturn)[0];
}

function noneUsable(pool: readonly Candidate[]): Extract<Choice, { readonly kind: 'none' }> {
  if (pool.length === 0) return { kind: 'none', reason: 'protocol' };
  const paused = pool.filter(isUnavailable);
  const reasons = new Set(paused.map(({ availability }) => availability.reason));
  if (reasons.has('busy')) return { kind: 'none', reason: 'busy' };
  const { availability } = soonest(paused.filter(comesBack)) ?? {};
  if (availability?.untilMs !== undefined) {
    return { kind: 'none', reason: 'cooling_down', untilMs: availability.untilMs };
  }
  const lasting = lastingReasons.filter((reason) => reasons.has(reason));
  const [first = 'account_refused'] = lasting.length < reasons.size ? [] : lasting;
  return { kind: 'none', reason: first };
}

/** Beside a refused account, the reasons that no wait changes. The first that applies counts. */
const lastingReasons = [
  'no_credential',
  'upstream_model_not_found',
  'switched_off',
] as const satisfies readonly NoChannelReason[];

/** A model that the upstream does not know is tried again, but a wait does not make it known. */
function comesBack({ availability: { reason, untilMs } }: UnavailableCandidate): boolean {
  return untilMs !== undefined && reason !== 'upstream_model_not_found';
}

/** The candidates among which weight and load decide. */
type Narrow = (ranked: readonly WeightedCandidate[]) => readonly WeightedCandidate[];

/**
 * Chooses among the channels of the best priority. Each gets a random rank weighted as in a race of
 * exponential clocks, and the less loaded of the first two wins. A sticky channel's rank is derived
 * from the caller instead, so the same caller always gets the same one.
 */
function chooseByWeight(
  usable: readonly Candidate[],
  asked: ChoiceInput,
  narrow: Narrow | undefined,
  random: () => number,
): Channel {
  const [only, ...others] = usable;
  if (only !== undefined && others.length === 0) return only.channel;
  const best = bestPriority(usable.map(({ channel }) => channel));
  const keepsSessions = usable.some(({ channel }) => channel.stickyBy === 'session');
  const session = keepsSessions ? asked.session() : undefined;
  const ranked = usable
    .filter(({ channel }) => priorityOf(channel) === best)
    .map((candidate) => weighCandidate(candidate, stickyText(candidate, asked, session), random))
    .sort((a, b) => a.rank - b.rank);
  const [first, second] = narrow === undefined ? ranked : narrow(ranked);
  if (first === undefined) throw new Error('No channel to choose from');
  const swaps = second !== undefined && !first.isSticky && loadOf(second) < loadOf(first);
  return swaps ? second.channel : first.channel;
}

interface WeightedCandidate {
  readonly channel: Channel;
  readonly inFlight: number;
  readonly rank: number;
  /** The rank is derived from the caller, so load does not change the choice. */
  readonly isSticky: boolean;
}

function weighCandidate(
  { channel, inFlight }: Candidate,
  sticky: string | undefined,
  random: () => number,
): WeightedCandidate {
  const chance = sticky === undefined ? random() : fraction(`${channel.id}\n${sticky}`);
  const rank = -Math.log(1 - chance) / weightOf(channel);
  return { channel, inFlight, rank, isSticky: sticky !== undefined };
}

/**
 * The text that is equal for all calls which a sticky channel keeps together; undefined for a call
 * whose channel is chosen by weight. It contains the key's id, because the names that callers
 * choose are not unique.
 */
function stickyText(
  { channel: { stickyBy } }: Candidate,
  { keyId, promptCacheKey }: ChoiceInput,
  session: string | undefined,
): string | undefined {
  if (stickyBy === undefined) return undefined;
  const name = { key: undefined, prompt_cache_key: promptCacheKey, session }[stickyBy];
  if (name !== undefined) return `${keyId}\n${name}`;
  return stickyBy === 'prompt_cache_key' ? undefined : keyId;
}

/** A hash of a text as a number in [0, 1). */
function fraction(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 12), 16) / 2 ** 48;
}

function loadOf({ channel, inFlight }: WeightedCandidate): number {
  return inFlight / weightOf(channel);
}
