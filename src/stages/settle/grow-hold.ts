/**
 * Grows the hold of a stream whose output nothing bounds, as the stream arrives. While the hold is
 * used up and the store has not answered, the upstream is paused.
 */

import type { StreamTap } from '../../dialects/taps/tap.ts';
import { swallowErrors } from '../../events/thrown.ts';
import type { Nanos } from '../../money.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';
import type { HoldKeeper } from './keep-holds.ts';
import type { Settlement } from './settlement.ts';

/** Dependencies of a growing hold. */
export interface GrowthInput {
  readonly settlement: Settlement;
  readonly keeper: HoldKeeper;
  readonly tap: Pick<StreamTap, 'usage' | 'countedTokens'>;
}

/** A stream that has used this share of its hold requests more. */
const growAtPercent = 60n;

/** A body that also waits for the hold to grow. */
export class GrowingStream implements UpstreamBody {
  readonly #body: UpstreamBody;
  readonly #input: GrowthInput;
  /** The caller has not read yet what was written. */
  #isCallerFull = false;
  #isHoldUsedUp = false;
  #isRequesting = false;
  /**
   * The store refused the last request, or did not answer. Then only a used-up hold requests more.
   */
  #wasDenied = false;

  constructor(body: UpstreamBody, input: GrowthInput) {
    this.#body = body;
    this.#input = input;
    input.keeper.observe({
      nanos: () => this.#observed(),
      isWaiting: () => this.#isHoldUsedUp && !this.#isRequesting,
      retry: () => this.#checkLater(),
    });
  }

  takeWhole(limit: number): Uint8Array | undefined {
    return this.#body.takeWhole(limit);
  }

  start(sink: ByteSink): void {
    this.#body.start(sink);
  }

  pause(): void {
    this.#isCallerFull = true;
    this.#body.pause();
  }

  resume(): void {
    this.#isCallerFull = false;
    if (!this.#isHoldUsedUp) this.#body.resume();
  }

  abort(): void {
    this.#body.abort();
  }

  /** Requests more once the reply has used most of the hold. Called after each chunk. */
  check(): void {
    const { settlement, tap } = this.#input;
    if (!settlement.isOpen()) return;
    // Usage that the upstream reports is checked by the gateway's timer instead, because reading it
    // costs more.
    const used = settlement.observedNanos(undefined, tap.countedTokens());
    const held = settlement.heldNanos;
    const isUsedUp = used >= held;
    if (!isUsedUp) this.#resumeAfterGrowth();
    if (used * 100n < held * (this.#wasDenied ? 100n : growAtPercent)) return;
    if (isUsedUp) this.#pauseForGrowth();
    if (!this.#isRequesting) void this.#requestGrowth();
  }

  /** A bug in the tap ends the call at its next chunk, not here, where nobody handles it. */
  #checkLater(): void {
    swallowErrors(() => this.check());
  }

  async #requestGrowth(): Promise<void> {
    this.#isRequesting = true;
    const answer = await this.#input.keeper.grow();
    this.#isRequesting = false;
    this.#wasDenied = answer === 'denied';
    // A hold that the store has lost can't grow: the call continues, and is charged at its end.
    if (answer === 'lapsed') this.#resumeAfterGrowth();
    else if (answer === 'granted') this.#checkLater();
  }

  #pauseForGrowth(): void {
    if (this.#isHoldUsedUp) return;
    this.#isHoldUsedUp = true;
    this.#body.pause();
  }

  #resumeAfterGrowth(): void {
    if (!this.#isHoldUsedUp) return;
    this.#isHoldUsedUp = false;
    if (!this.#isCallerFull) this.#body.resume();
  }

  #observed(): Nanos {
    const { settlement, tap } = this.#input;
    try {
      return settlement.observedNanos(tap.usage(), tap.countedTokens());
    } catch {
      // As in `checkLater`; here a throw would also keep the leases of other calls from renewal.
      return 0n;
    }
  }
}
