/**
 * The claim of a call that may be asked again: it ends as its settlement does, and those who wait
 * for the call hear of it.
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

/** What the stages of a call know of its claim. */
export interface Claim {
  /**
   * Where the relay leaves a copy, of a call that runs on if its caller goes; undefined where
   * nobody will ask for it.
   */
  readonly copy: ReplyCopy | undefined;
  /** A step before anything can run: where it fails, the name is free before anybody knows. */
  before<T>(step: () => Promise<T>): Promise<T>;
  /** The settlement, which ends the claim too. */
  endingWith(settlement: Settlement): Settlement;
}

/** Most calls have none. */
export const noClaim: Claim = {
  copy: undefined,
  before: (step) => step(),
  endingWith: (settlement) => settlement,
};

/** What a claim that stands is made of. */
export interface ClaimDeps {
  readonly repeatable: Repeatable;
  readonly claimId: string;
  readonly received: Received;
  /** Bodies may take their time to a host's object storage: nobody waits for them. */
  readonly resultGuard: PortGuard;
  readonly flight: Flight;
  readonly copy: CollectedReply;
}

/** A claim that stands. It ends once; what its stores then fail at is reported by their guard. */
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
    // The body first: elsewhere a call that is done without one has lost it for ever.
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

/** Gives a name up that may or may not have been got. Never rejects. */
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
    // Reported by the guard. A claim that stands all the same becomes unknown with its lease.
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
    // Reported by the guard. The claim runs on in the store, and becomes unknown with its lease.
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
    // Reported by the guard. Those who ask later are told that the reply is not kept.
  }
}

/** One for each run: the name may come back after its time, and must not find an old reply. */
export function resultName({ name }: Pick<Repeatable, 'name'>, claimId: string): string {
  return `${name}.${claimId}`;
}
