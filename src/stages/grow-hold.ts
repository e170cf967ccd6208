/**
 * Lets the hold of a stream grow as fast as the stream, where nobody says how long the answer may
 * get. The upstream is paused while the hold is used up and the store has not answered.
 */

import type { StreamTap } from '../dialects/tap.ts';
import type { UpstreamBody } from '../ports/upstream-client.ts';
import type { HoldKeeper } from './keep-holds.ts';
import type { Settlement } from './settlement.ts';

/** A stream whose hold grows. */
export interface GrowingStream {
  readonly body: UpstreamBody;
  /** Asks for more where the reply has nearly used up the hold; called after each piece of it. */
  check(): void;
}

/** What is asked for more, and by what. */
export interface GrowthInput {
  readonly settlement: Settlement;
  readonly keeper: HoldKeeper;
  readonly tap: Pick<StreamTap, 'usage' | 'countedTokens'>;
}

/** A stream that has used this share of its hold asks for more. */
const growAtPercent = 60n;

/** The same body, which also waits for the hold. */
export function growingStream(
  rest: UpstreamBody,
  { settlement, keeper, tap }: GrowthInput,
): GrowingStream {
  /** The caller has not taken yet what was written. */
  let isFull = false;
  /** The hold is used up. */
  let isStarved = false;
  let isAsking = false;
  /**
   * The last answer was a refusal or none: only a hold that is used up is worth another question.
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
    // Figures of the upstream are looked at by the gateway's timer: reading them costs more.
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
    // Without a hold there is nothing to wait for: the call goes on, and is charged at its end.
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
