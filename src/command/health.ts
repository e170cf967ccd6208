/** Answers the liveness and readiness probes of an orchestrator. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { QuotaStore } from '../ports/quota-store.ts';
import { within } from '../ports/within.ts';

/** What decides whether the process is ready. */
export interface Readiness {
  readonly quota: Pick<QuotaStore, 'check'>;
  /**
   * Whether the quota store decides too. All processes share it: if it fails, a balancer takes all
   * of them out, and callers get its error in place of the gateway's with `Retry-After`.
   */
  readonly asksStores: () => boolean;
  readonly clock: Clock;
  readonly isEnding: () => boolean;
}

/** Answers `/healthz` and `/readyz`, and 404 for every other path. */
export type HealthHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Anyone may send a probe, so the quota store is checked at most once in this time. */
const freshMs = 1_000;
const checkMs = 2_000;

/**
 * The handler of all paths that are not the gateway's. The reasons in its answers give no details,
 * because callers can read them.
 */
export function healthHandler({ quota, asksStores, clock, isEnding }: Readiness): HealthHandler {
  let known: { readonly atMs: number; readonly isFit: Promise<boolean> } | undefined;

  const storesAreFit = (): Promise<boolean> => {
    const nowMs = clock.monotonicMs();
    if (known === undefined || nowMs - known.atMs > freshMs) {
      known = { atMs: nowMs, isFit: within(check(quota), checkMs, clock).catch(() => false) };
    }
    return known.isFit;
  };

  return (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path === '/healthz') return answer(response, 200, { status: 'ok' });
    if (path !== '/readyz') return answer(response, 404, { error: 'not_found' });
    if (isEnding()) return answer(response, 503, { status: 'not_ready', reason: 'ending' });
    if (!asksStores()) return answer(response, 200, { status: 'ready' });
    void storesAreFit().then((isFit) =>
      isFit
        ? answer(response, 200, { status: 'ready' })
        : answer(response, 503, { status: 'not_ready', reason: 'quota' }),
    );
  };
}

async function check(quota: Readiness['quota']): Promise<boolean> {
  return (await quota.check({ timeoutMs: checkMs })).ok;
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
  });
  response.end(`${JSON.stringify(body)}\n`);
}
