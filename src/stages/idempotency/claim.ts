/**
 * The idempotency claim of a repeatable call. It ends together with the call's settlement, and then
 * resolves the calls of this process that wait for it.
 */
import type { FinishInput } from '../../ports/idempotency-store.ts';
import type { StoredResult } from '../../ports/result-store.ts';
import type { Received } from '../call-record.ts';
import { isAbandonResult, isAnything, isFinishResult } from '../ports/port-answers.ts';
import type { PortCalls } from '../ports/port-calls.ts';
import type { CallEnd, Settlement } from '../settle/settlement.ts';
import type { CollectedReply, ReplyCopy } from './copy.ts';
import type { CallInFlight } from './in-flight.ts';
import type { Repeatable } from './key.ts';

export interface Claim {
  /**
   * Records the reply of a call that continues if its caller disconnects; undefined for a call that
   * nobody can repeat.
   */
  readonly copy: ReplyCopy | undefined;
  /**
   * Runs a step that comes before anything can run upstream. If the step fails, the name is freed
   * before the error is passed on.
   */
  abandonOnFailure<T>(step: () => Promise<T>): Promise<T>;
  /** Wraps the settlement so that closing it ends the claim too. */
  endTogetherWith(settlement: Settlement): Settlement;
}

export const noClaim: Claim = {
  copy: undefined,
  abandonOnFailure: (step) => step(),
  endTogetherWith: (settlement) => settlement,
};

export interface ClaimDeps {
  readonly repeatable: Repeatable;
  readonly claimId: string;
  readonly received: Received;
  /** A longer deadline: storing a reply in object storage may be slow. No caller waits for it. */
  readonly resultPorts: PortCalls;
  readonly callInFlight: CallInFlight;
  readonly copy: CollectedReply;
}

/** Makes a granted claim. It ends once. `ports.ask` reports the failures of its stores. */
export function claimOf(deps: ClaimDeps): Claim {
  let hasEnded = false;
  const end = async ({ ending, status }: ClaimEnd): Promise<void> => {
    if (hasEnded) return;
    hasEnded = true;
    await endClaim(deps, { ending, status });
  };
  return {
    copy: deps.copy,
    abandonOnFailure: async (step) => {
      try {
        return await step();
      } catch (error) {
        await end({ ending: 'not_run', status: 500 });
        throw error;
      }
    },
    endTogetherWith: (settlement) => ({
      ...settlement,
      close: async (callEnd) => {
        await Promise.all([settlement.close(callEnd), end(callEnd)]);
      },
    }),
  };
}

type ClaimEnd = Pick<CallEnd, 'ending' | 'status'>;

async function endClaim(deps: ClaimDeps, { ending, status }: ClaimEnd): Promise<void> {
  if (ending === 'not_run') await abandon(deps);
  else if (ending === 'complete') await complete(deps, status);
  else await endAsUnknown(deps, status);
  deps.copy.drop();
}

async function abandon(deps: ClaimDeps): Promise<void> {
  const { callInFlight } = deps;
  await abandonClaim(deps);
  callInFlight.remove();
  callInFlight.resolve({ kind: 'free' });
}

async function complete(deps: ClaimDeps, status: number): Promise<void> {
  const { callInFlight, copy, received } = deps;
  const { requestId } = received.responseContext;
  const result = copy.result();
  callInFlight.resolve({ kind: 'done', requestId, result });
  // The reply is stored first: other processes treat a call that is done without a reply as one
  // whose reply was lost.
  if (result !== undefined) await keepResult(result, deps);
  await finish(deps, 'done', status);
  callInFlight.remove();
}

async function endAsUnknown(deps: ClaimDeps, status: number): Promise<void> {
  const { callInFlight, received } = deps;
  const { requestId } = received.responseContext;
  await finish(deps, 'unknown', status);
  callInFlight.remove();
  callInFlight.resolve({ kind: 'unknown', requestId, status });
}

/** Gives up a name that may or may not have been granted. Never rejects. */
export async function abandonClaim({
  repeatable: { name },
  claimId,
  received: { settings, ports },
}: Pick<ClaimDeps, 'repeatable' | 'claimId' | 'received'>): Promise<void> {
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
  { repeatable, claimId, received: { settings, ports } }: ClaimDeps,
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
  { repeatable, claimId, received: { settings }, resultPorts }: ClaimDeps,
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

/** Contains the claim's id: the same key may be used again and must not find an old reply. */
export function resultName({ name }: Pick<Repeatable, 'name'>, claimId: string): string {
  return `${name}.${claimId}`;
}
