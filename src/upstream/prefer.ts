/** Which channels of one priority a model prefers: the cheapest, or the fastest to reply. */
import type { Nanos } from '../money.ts';
import type { Channel, Model } from '../ports/models/catalog.ts';

export type Preference =
  | { readonly by: 'latency' }
  | { readonly by: 'cost'; readonly costs: ReadonlyMap<Channel, Nanos | undefined> };

interface Ranked {
  readonly channel: Channel;
  /** The caller decides between it and others. */
  readonly isSticky: boolean;
}

interface PreferInput {
  /** The call has failed on another channel. */
  readonly hasTried: boolean;
  readonly accounts: { firstByteMs(channel: Channel): number | undefined };
  random(): number;
}

/** The share of calls that measure the other channels. */
const measuringShare = 1 / 20;

export function preferenceOf(
  channels: readonly Channel[],
  prefer: NonNullable<Model['prefer']>,
  costOf: (channel: Channel) => Nanos | undefined,
): Preference {
  if (prefer === 'latency') return { by: prefer };
  return { by: prefer, costs: new Map(channels.map((channel) => [channel, costOf(channel)])) };
}

/**
 * The candidates among which weight and load decide, in the order given: those that the model
 * prefers, unless the first keeps the caller.
 */
export function preferred<T extends Ranked>(
  ranked: readonly T[],
  preference: Preference,
  { hasTried, accounts, random }: PreferInput,
): readonly T[] {
  if (ranked[0]?.isSticky === true) return ranked;
  const open = ranked.filter(({ isSticky }) => !isSticky);
  if (preference.by === 'cost') {
    const { costs } = preference;
    return leastOf(open, ({ channel }) => costs.get(channel));
  }
  const medians = new Map(open.map((one) => [one, accounts.firstByteMs(one.channel)]));
  const fastest = leastOf(open, (one) => medians.get(one));
  // Its caller has waited for another channel already, so such a call measures none.
  if (hasTried) return fastest;
  const untried = open.filter((one) => medians.get(one) === undefined);
  if (untried.length > 0) return untried;
  const others = open.filter((one) => !fastest.includes(one));
  return others.length > 0 && random() < measuringShare ? others : fastest;
}

/** Those with the least measure; all of them if none has one. */
function leastOf<T>(
  all: readonly T[],
  measure: (one: T) => Nanos | number | undefined,
): readonly T[] {
  const measures = all.map((one) => Number(measure(one) ?? Number.POSITIVE_INFINITY));
  const least = measures.reduce((min, one) => Math.min(min, one), Number.POSITIVE_INFINITY);
  return all.filter((_, index) => measures[index] === least);
}
