/**
 * The idempotency claim of a repeatable call. It ends together with the call's settlement, and then
 * resolves the calls of this process that wait for it.
 */
import type { FinishInput } from '../ports/idempotency-store.ts';
import type { StoredResult } from '../ports/result-store.ts';
import type { Received } from './call-record.ts';
import type { CollectedReply, ReplyCopy } from './idempotency-copy.ts';
import type { Flight } from './idempotency-flights.ts';
import type { Repeatable } from './idempotency-key.ts';
import { isAbandonResult, isAnything, isFinishResult } from './port-answers.ts';
import type { PortGuard } from './port-guard.ts';
import type { CallEnd, Settlement } from './settlement.ts';

/** The claim as the stages of a call see it. */
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
  before<T>(step: () => Promise<T>): Promise<T>;
  /** Wraps the settlement so that closing it ends the claim too. */
  endingWith(settlement: Settlement): Settlement;
}

/** The claim of a call that is not repeatable, which does nothing. */
export const noClaim: Claim = {
  copy: undefined,
  before: (step) => step(),
  endingWith: (settlement) => settlement,
};

/** Dependencies of a granted claim. */
export interface ClaimDeps {
  readonly repeatable: Repeatable;
  readonly claimId: string;
  readonly received: Received;
  /**
   * A guard with a longer deadline, because storing a reply in a host's object storage may be slow.
   * No caller waits for it.
   */
  readonly resultGuard: PortGuard;
  readonly flight: Flight;
  readonly copy: CollectedReply;
}

/** Makes a granted claim. It ends once. The guard reports the failures of its stores. */
export function claimOf(ground: ClaimDeps): Claim {
  const { flight, copy } = ground;
  const { requestId } = ground.received.answer;
  let hasEnded = false;

  const abandon = async (): Promise<void> => {
    await abandonClaim(ground);
    flight.leave();
    flight.land({ kind: 'free' });
  };

  const complete = async (status: number): Promise<void> => {
    const result = copy.result();
    flight.land({ kind: 'done', requestId, result });
    // The reply is stored first: other processes treat a call that is done without a reply as one
    // whose reply was lost.
    if (result !== undefined) await keepResult(result, ground);
    await finish(ground, 'done', status);
    flight.leave();
  };

  const doubt = async (status: number): Promise<void> => {
    await finish(ground, 'unknown', status);
    flight.leave();
    flight.land({ kind: 'unknown', requestId, status });
  };

  const end = async ({ ending, status }: Pick<CallEnd, 'ending' | 'status'>): Promise<void> => {
    if (hasEnded) return;
    hasEnded = true;
    if (ending === 'not_run') await abandon();
    else if (ending === 'complete') await complete(status);
    else await doubt(status);
    copy.drop();
  };

  return {
    copy,
    before: async (step) => {
      try {
        return await step();
      } catch (error) {
        await end({ ending: 'not_run', status: 500 });
        throw error;
      }
    },
    endingWith: (settlement) => ({
      ...settlement,
      close: async (callEnd) => {
        await Promise.all([settlement.close(callEnd), end(callEnd)]);
      },
    }),
  };
}

/** Gives up a name that may or may not have been granted. Never rejects. */
export async function abandonClaim({
  repeatable: { name },
  claimId,
  received: { settings, guard },
}: Pick<ClaimDeps, 'repeatable' | 'claimId' | 'received'>): Promise<void> {
  try {
    await guard.ask('idempotency', 'abandon', isAbandonResult, (options) =>
      settings.idempotency.abandon({ name, claimId }, options),
    );
  } catch {
    // The guard has reported it. A claim that still exists becomes `unknown` when its lease runs
    // out.
  }
}

async function finish(
  { repeatable, claimId, received: { settings, guard } }: ClaimDeps,
  state: FinishInput['state'],
  httpStatus: number,
): Promise<void> {
  const { name, keepMs } = repeatable;
  try {
    await guard.ask('idempotency', 'finish', isFinishResult, (options) =>
      settings.idempotency.finish({ name, claimId, state, httpStatus, keepMs }, options),
    );
  } catch {
    // The guard has reported it. The claim stays `running` and becomes `unknown` when its lease
    // runs out.
  }
}

async function keepResult(
  result: StoredResult,
  { repeatable, claimId, received: { settings }, resultGuard }: ClaimDeps,
): Promise<void> {
  try {
    await resultGuard.ask('results', 'put', isAnything, (options) =>
      settings.results.put(resultName(repeatable, claimId), result, options),
    );
  } catch {
    // The guard has reported it. Callers that repeat the call get the error that the reply is not
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
