/**
 * Grows the hold of a stream whose output nothing bounds, as the stream arrives. While the hold is
 * used up and the store has not answered, the upstream is paused.
 */

import type { StreamTap } from '../dialects/tap.ts';
import type { UpstreamBody } from '../ports/upstream-client.ts';
import type { HoldKeeper } from './keep-holds.ts';
import type { Settlement } from './settlement.ts';

/** A stream whose hold grows. */
export interface GrowingStream {
  readonly body: UpstreamBody;
  /** Requests more once the reply has used most of the hold. Called after each chunk. */
  check(): void;
}

/** Dependencies of a growing hold. */
export interface GrowthInput {
  readonly settlement: Settlement;
  readonly keeper: HoldKeeper;
  readonly tap: Pick<StreamTap, 'usage' | 'countedTokens'>;
}

/** A stream that has used this share of its hold requests more. */
const growAtPercent = 60n;

/** Wraps a body so that it also waits for the hold to grow. */
export function growingStream(
  rest: UpstreamBody,
  { settlement, keeper, tap }: GrowthInput,
): GrowingStream {
  /** The caller has not read yet what was written. */
  let isFull = false;
  let isStarved = false;
  let isAsking = false;
  /**
   * The store refused the last request, or did not answer. Then only a used-up hold requests more.
   */
  let isDenied = false;

  const feed = (): void => {
    if (!isStarved) return;
    isStarved = false;
    if (!isFull) rest.resume();
  };

  const starve = (): void => {
    if (isStarved) return;
    isStarved = true;
    rest.pause();
  };

  const check = (): void => {
    if (!settlement.isOpen()) return;
    // Usage that the upstream reports is checked by the gateway's timer instead, because reading it
    // costs more.
    const used = settlement.observedNanos(undefined, tap.countedTokens());
    const held = settlement.heldNanos();
    const isUsedUp = used >= held;
    if (!isUsedUp) feed();
    if (used * 100n < held * (isDenied ? 100n : growAtPercent)) return;
    if (isUsedUp) starve();
    if (!isAsking) void ask();
  };

  const ask = async (): Promise<void> => {
    isAsking = true;
    const answer = await keeper.grow();
    isAsking = false;
    isDenied = answer === 'denied';
    // A hold that the store has lost can't grow: the call continues, and is charged at its end.
    if (answer === 'lapsed') feed();
    else if (answer === 'granted') check();
  };

  keeper.observe({
    nanos: () => settlement.observedNanos(tap.usage(), tap.countedTokens()),
    isWaiting: () => isStarved && !isAsking,
    retry: check,
  });

  return {
    body: {
      takeWhole: (limit) => rest.takeWhole(limit),
      start: (sink) => rest.start(sink),
      pause: () => {
        isFull = true;
        rest.pause();
      },
      resume: () => {
        isFull = false;
        if (!isStarved) rest.resume();
      },
      abort: () => rest.abort(),
    },
    check,
  };
}
