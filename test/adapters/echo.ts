/** Reads the reply of the scripted gateway: the request as the adapter passed it on. */
import type { Echo } from '../../src/testing/contracts/adapter.ts';

/** The request in a reply of the scripted gateway. */
export function echoOf(reply: string): Echo {
  const echo: Echo = JSON.parse(reply);
  return echo;
}

/** The text of its body; empty where the adapter passed none. */
export function echoedBody({ body }: Echo): string {
  return Buffer.from(body ?? '', 'base64').toString();
}
