/**
 * Chooses the channel that a call goes through: who may serve it, who is well, and then by
 * priority, weight and load. Pure: what it knows of channels and the random source are handed in.
 */
import { hash } from 'node:crypto';
import type { NoChannelReason } from '../events.ts';
import { dearestUnit, type Price } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';

/** Whether a call may go through a channel just now. */
export type Availability =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'out';
      /** `busy`, `switched_off`, or what the channel rests for. */
      readonly reason: string;
      /** On the monotonic clock; undefined where no time is known. */
      readonly untilMs: number | undefined;
      /** Takes calls all the same where no other channel can. */
      readonly yields: boolean;
      /** For failing too often: no more than half of a large pool may be. */
      readonly isEjected?: boolean;
    };

/** A channel of the model, as it stands. */
export interface Candidate {
  readonly channel: Channel;
  /** Whether its dialect has the operation at all. */
  readonly isAble: boolean;
  readonly availability: Availability;
  /** Calls that run through it. */
  readonly inFlight: number;
}

/** What of a call the choice depends on. */
export interface ChoiceAsked {
  readonly price: Price;
  readonly group: string;
  readonly keyId: string;
  readonly promptCacheKey: string | undefined;
  /** Channels this call has been through, or has no words for. */
  readonly passed: ReadonlySet<string>;
  /** Another channel has failed already. */
  readonly hasTried: boolean;
}

/** A channel, or why there is none. */
export type Choice =
  | { readonly kind: 'channel'; readonly channel: Channel }
  /** `untilMs`: the soonest return, on the monotonic clock. */
  | { readonly kind: 'none'; readonly reason: NoChannelReason; readonly untilMs?: number };

type Paused = Candidate & { readonly availability: Extract<Availability, { kind: 'out' }> };

const poolWithCap = 4;

/** The channel to try next. Draws by `random`, a number in [0, 1). */
export function chooseChannel(
  candidates: readonly Candidate[],
  asked: ChoiceAsked,
  random: () => number,
): Choice {
  const pool = restricted(candidates, asked);
  if (typeof pool === 'string') return { kind: 'none', reason: pool };
  const isLeft = ({ channel }: Candidate): boolean => !asked.passed.has(channel.id);
  const readmitted = beyondCap(pool);
  const usable = pool.filter(
    (candidate) =>
      isLeft(candidate) && (isOpen(candidate) || readmitted.includes(candidate.channel)),
  );
  if (usable.length > 0) return { kind: 'channel', channel: drawn(usable, asked, random) };
  const paused = pool.filter(isPaused).filter(isLeft);
  const last = soonest(paused.filter((candidate) => mayServe(candidate, asked)));
  // Nobody else is left: better the upstream's own refusal than an hour of ours (ARCHITECTURE S).
  if (last !== undefined) return { kind: 'channel', channel: last.channel };
  return noneUsable(pool.filter(isLeft));
}

/** What failed may do better next time; what asked for a rest gets it if another was tried. */
function mayServe({ availability }: Paused, { hasTried }: ChoiceAsked): boolean {
  return availability.yields && (availability.isEjected === true || !hasTried);
}

/** The channels that may serve the call when they are well, or the restriction that leaves none. */
function restricted(
  candidates: readonly Candidate[],
  { price, group }: ChoiceAsked,
): readonly Candidate[] | NoChannelReason {
  const configured = candidates.filter(({ channel }) => channel.weight > 0);
  if (configured.length === 0) return 'none_configured';
  const able = configured.filter(({ isAble }) => isAble);
  if (able.length === 0) return 'protocol';
  const allowed = able.filter(({ channel: { groups } }) => groups?.includes(group) ?? true);
  if (allowed.length === 0) return 'group_restriction';
  const unit = dearestUnit(price);
  const cheap = allowed.filter(
    ({ channel: { maxPriceNanos } }) => maxPriceNanos === undefined || unit <= maxPriceNanos,
  );
  return cheap.length === 0 ? 'price_restriction' : cheap;
}

/**
 * Of a pool of four or more, half at most may be ejected; the others go on in turn of their return.
 */
function beyondCap(pool: readonly Candidate[]): readonly Channel[] {
  if (pool.length < poolWithCap) return [];
  const ejected = pool.filter(isPaused).filter(({ availability }) => availability.isEjected);
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

function noneUsable(pool: readonly Candidate[]): Choice {
  if (pool.length === 0) return { kind: 'none', reason: 'protocol' };
  const paused = pool.filter(isPaused);
  const reasons = new Set(paused.map(({ availability }) => availability.reason));
  if (reasons.has('busy')) return { kind: 'none', reason: 'busy' };
  if (reasons.size === 1 && reasons.has('switched_off')) {
    return { kind: 'none', reason: 'switched_off' };
  }
  const first = soonest(paused.filter(({ availability }) => availability.untilMs !== undefined));
  const untilMs = first?.availability.untilMs;
  return { kind: 'none', reason: 'resting', ...(untilMs === undefined ? {} : { untilMs }) };
}

/**
 * The best priority decides. Within it each channel draws a lot that weight makes early, as in a
 * race of exponential clocks; of the first two the less loaded goes. A channel that keeps its
 * callers draws by who asks, and so draws the same lot every time.
 */
function drawn(usable: readonly Candidate[], asked: ChoiceAsked, random: () => number): Channel {
  const [only, ...others] = usable;
  if (only !== undefined && others.length === 0) return only.channel;
  const best = Math.min(...usable.map(({ channel }) => channel.priority));
  const lots = usable
    .filter(({ channel }) => channel.priority === best)
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
  return { channel, inFlight, at: -Math.log(1 - chance) / channel.weight, isKept };
}

/** A number in [0, 1) that is the same for the same text. */
function fraction(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 12), 16) / 2 ** 48;
}

function loadOf({ channel, inFlight }: Lot): number {
  return inFlight / channel.weight;
}
