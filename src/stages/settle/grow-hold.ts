/**
 * Grows the hold of a stream whose output nothing bounds, as the stream arrives. While the hold is
 * used up and the store has not answered, the upstream is paused.
 */

import type { StreamTap } from '../../dialects/taps/tap.ts';
import { swallowErrors } from '../../events.ts';
import type { Nanos } from '../../money.ts';
import type { UpstreamBody } from '../../ports/upstream-client.ts';
import type { HoldKeeper } from './keep-holds.ts';
import type { Settlement } from './settlement.ts';

export interface GrowingStream {
  readonly body: UpstreamBody;
  /** Requests more once the reply has used most of the hold. Called after each chunk. */
  check(): void;
}

export interface GrowthInput {
  readonly settlement: Settlement;
  readonly keeper: HoldKeeper;
  readonly tap: Pick<StreamTap, 'usage' | 'countedTokens'>;
}

/** A stream that has used this share of its hold requests more. */
const growAtPercent = 60n;

/** Wraps a body so that it also waits for the hold to grow. */
export function growingStream(
  body: UpstreamBody,
  { settlement, keeper, tap }: GrowthInput,
): GrowingStream {
  let isCallerFull = false;
  let isHoldUsedUp = false;
  let isRequesting = false;
  /** Set if the store refused or did not answer. Then only a used-up hold requests more. */
  let wasDenied = false;

  const resumeAfterGrowth = (): void => {
    if (!isHoldUsedUp) return;
    isHoldUsedUp = false;
    if (!isCallerFull) body.resume();
  };

  const pauseForGrowth = (): void => {
    if (isHoldUsedUp) return;
    isHoldUsedUp = true;
    body.pause();
  };

  const check = (): void => {
    if (!settlement.isOpen()) return;
    // Usage that the upstream reports is checked by the gateway's timer instead, because reading it
    // costs more.
    const used = settlement.observedNanos(undefined, tap.countedTokens());
    const held = settlement.heldNanos();
    const isUsedUp = used >= held;
    if (!isUsedUp) resumeAfterGrowth();
    if (used * 100n < held * (wasDenied ? 100n : growAtPercent)) return;
    if (isUsedUp) pauseForGrowth();
    if (!isRequesting) void requestGrowth();
  };

  const requestGrowth = async (): Promise<void> => {
    isRequesting = true;
    const answer = await keeper.grow();
    isRequesting = false;
    wasDenied = answer === 'denied';
    // A hold that the store has lost can't grow: the call continues, and is charged at its end.
    if (answer === 'lapsed') resumeAfterGrowth();
    else if (answer === 'granted') checkLater();
  };

  // A bug in the tap ends the call at its next chunk, not here, where nobody handles it.
  const checkLater = (): void => swallowErrors(check);
  const observed = (): Nanos => {
    try {
      return settlement.observedNanos(tap.usage(), tap.countedTokens());
    } catch {
      // As in `checkLater`; here a throw would also keep the leases of other calls from renewal.
      return 0n;
    }
  };

  keeper.observe({
    nanos: observed,
    isWaiting: () => isHoldUsedUp && !isRequesting,
    retry: checkLater,
  });

  return {
    body: {
      takeWhole: (limit) => body.takeWhole(limit),
      start: (sink) => body.start(sink),
      pause: () => {
        isCallerFull = true;
        body.pause();
      },
      resume: () => {
        isCallerFull = false;
        if (!isHoldUsedUp) body.resume();
      },
      abort: () => body.abort(),
    },
    check,
  };
}
