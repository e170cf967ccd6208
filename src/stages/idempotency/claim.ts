/**
 * The claim of a repeatable call, which ends together with the call's settlement: the copy of its
 * reply, and the calls of this process that wait for its outcome.
 */

import type { ByteBudget } from '../../bytes/body/fair-shares.ts';
import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import type { HeaderMap } from '../../http.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ClaimInput, FinishInput } from '../../ports/replies/idempotency-store.ts';
import type { StoredResult } from '../../ports/replies/result-store.ts';
import type { Received, ReplyCopy } from '../call-record.ts';
import { isAbandonResult, isAnything, isFinishResult } from '../ports/port-answers.ts';
import type { PortCalls } from '../ports/port-calls.ts';
import type { CallEnd, Settlement } from '../settle/settlement.ts';

/** A call that runs only once under its name, however often it is sent. */
export type Repeatable = Pick<
  ClaimInput,
  'name' | 'fingerprint' | 'keyId' | 'operation' | 'ifTaken' | 'keepMs'
>;

/** The outcome of a call, for callers that repeat it. */
export type Outcome =
  /** Nothing ran; a repetition may run. */
  | { readonly kind: 'free' }
  /** The outcome could not be determined. */
  | { readonly kind: 'refused'; readonly error: unknown }
  /** It ran. `result` is undefined if its reply was not kept. */
  | { readonly kind: 'done'; readonly requestId: string; readonly result: StoredResult | undefined }
  /** It may have run. */
  | { readonly kind: 'unknown'; readonly requestId: string; readonly status: number | undefined };

/** The claim as the stages of a call see it. */
export interface Claim {
  /** Undefined for a call that nobody can repeat. */
  readonly copy: ReplyCopy | undefined;
  /**
   * Runs a step that comes before anything can run upstream. If the step fails, the name is freed
   * before the error is passed on.
   */
  abandonOnFailure<T>(step: () => MaybePromise<T>): MaybePromise<T>;
  /** Closing the settlement ends the claim too. */
  endTogetherWith(settlement: Settlement): void;
}

/** The claim of a call that is not repeatable, which does nothing. */
export const noClaim: Claim = {
  copy: undefined,
  abandonOnFailure: (step) => step(),
  endTogetherWith: () => {},
};

/** What the store calls of a claim need. */
export interface ClaimUse {
  readonly repeatable: Repeatable;
  readonly claimId: string;
  readonly received: Received;
  /**
   * Port calls with a longer deadline, because storing a reply in a host's object storage may be
   * slow. No caller waits for it.
   */
  readonly resultPorts: PortCalls;
}

/** A claim that the store has granted. It ends once. */
export class GrantedClaim implements Claim {
  readonly copy: CollectedReply;
  readonly #use: ClaimUse;
  readonly #callInFlight: CallInFlight;
  #hasEnded = false;

  constructor(use: ClaimUse, callInFlight: CallInFlight, copy: CollectedReply) {
    this.copy = copy;
    this.#use = use;
    this.#callInFlight = callInFlight;
  }

  async abandonOnFailure<T>(step: () => MaybePromise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      await this.#end({ ending: 'not_run', status: 500 });
      throw error;
    }
  }

  endTogetherWith(settlement: Settlement): void {
    settlement.endTogetherWith((end) => this.#end(end));
  }

  async #end({ ending, status }: Pick<CallEnd, 'ending' | 'status'>): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (ending === 'not_run') await this.#abandon();
    else if (ending === 'complete') await this.#complete(status);
    else await this.#endAsUnknown(status);
    this.copy.drop();
  }

  async #abandon(): Promise<void> {
    await abandonClaim(this.#use);
    this.#callInFlight.remove();
    this.#callInFlight.resolve({ kind: 'free' });
  }

  async #complete(status: number): Promise<void> {
    const { requestId } = this.#use.received.responseContext;
    const result = this.copy.result();
    this.#callInFlight.resolve({ kind: 'done', requestId, result });
    // The reply is stored first: other processes treat a call that is done without a reply as one
    // whose reply was lost.
    if (result !== undefined) await keepResult(result, this.#use);
    await finish(this.#use, 'done', status);
    this.#callInFlight.remove();
  }

  async #endAsUnknown(status: number): Promise<void> {
    const { requestId } = this.#use.received.responseContext;
    await finish(this.#use, 'unknown', status);
    this.#callInFlight.remove();
    this.#callInFlight.resolve({ kind: 'unknown', requestId, status });
  }
}

/** Gives up a name that may or may not have been granted. Never rejects. */
export async function abandonClaim({
  repeatable: { name },
  claimId,
  received: { settings, ports },
}: Pick<ClaimUse, 'repeatable' | 'claimId' | 'received'>): Promise<void> {
  try {
    await ports.ask('idempotency', 'abandon', isAbandonResult, (options) =>
      settings.idempotency.abandon({ name, claimId }, options),
    );
  } catch {
    // `ports.ask` has reported it. A claim that still exists becomes `unknown` when its lease runs
    // out.
  }
}

async function finish(
  { repeatable, claimId, received: { settings, ports } }: ClaimUse,
  state: FinishInput['state'],
  httpStatus: number,
): Promise<void> {
  const { name, keepMs } = repeatable;
  try {
    await ports.ask('idempotency', 'finish', isFinishResult, (options) =>
      settings.idempotency.finish({ name, claimId, state, httpStatus, keepMs }, options),
    );
  } catch {
    // `ports.ask` has reported it. The claim stays `running` and becomes `unknown` when its lease
    // runs out.
  }
}

async function keepResult(
  result: StoredResult,
  { repeatable, claimId, received: { settings }, resultPorts }: ClaimUse,
): Promise<void> {
  try {
    await resultPorts.ask('results', 'put', isAnything, (options) =>
      settings.results.put(resultName(repeatable, claimId), result, {
        ...options,
        owner: repeatable.keyId,
      }),
    );
  } catch {
    // `ports.ask` has reported it. Callers that repeat the call get the error that the reply is not
    // kept.
  }
}

/**
 * The name under which the reply of this run is kept. It contains the claim's id, because the same
 * key may be used again later and must not find an old reply.
 */
export function resultName({ name }: Pick<Repeatable, 'name'>, claimId: string): string {
  return `${name}.${claimId}`;
}

/** The memory for the copies of all calls, divided among their keys. */
export const maxCopiedBytes: number = 64 * 1024 * 1024;
/** A larger reply is not kept, so that the copies of one key leave room for those of others. */
const maxReplyBytes = maxCopiedBytes / 4;

/** The copy of a reply. One that does not fit into the budget is dropped; the call continues. */
export class CollectedReply implements ReplyCopy {
  readonly #budget: ByteBudget;
  #collected = new ChunkBuffer();
  #headers: HeaderMap = {};
  #isWhole = true;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  begin(headers: HeaderMap): void {
    this.#headers = headers;
  }

  add(bytes: Uint8Array): void {
    if (!this.#isWhole) return;
    const fits = this.#collected.byteLength() + bytes.byteLength <= maxReplyBytes;
    if (fits && this.#budget.take(bytes.byteLength)) this.#collected.add(bytes);
    else this.drop();
  }

  /** The whole reply; undefined if it did not fit. */
  result(): StoredResult | undefined {
    return this.#isWhole ? { headers: this.#headers, body: this.#collected.join() } : undefined;
  }

  /** Releases its memory. A result that was returned stays valid. */
  drop(): void {
    this.#isWhole = false;
    this.#budget.give(this.#collected.byteLength());
    this.#collected = new ChunkBuffer();
  }
}

/** A repeatable call in flight, for which repeated calls of this process wait. */
export class CallInFlight {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  readonly #calls: Map<string, CallInFlight>;
  readonly #id: string;
  #resolve: (outcome: Outcome) => void = () => {};

  /** Adds the call to the list, where it replaces any other with this id. */
  constructor(calls: Map<string, CallInFlight>, id: string) {
    this.#calls = calls;
    this.#id = id;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    calls.set(id, this);
  }

  /** Only the first call counts. */
  resolve(outcome: Outcome): void {
    this.#resolve(outcome);
  }

  /** Removes the call from the list; later repetitions ask the store. */
  remove(): void {
    if (this.#calls.get(this.#id) === this) this.#calls.delete(this.#id);
  }
}
