/**
 * Explains `app.use(gateway.handle)` and `createServer(gateway.handle)`. Frameworks pass a second
 * argument and ignore what is returned, so that each request would hang without a word.
 */
import { swallowErrors } from '../events.ts';
import type { GatewayResponse } from '../http.ts';

const explanation =
  'gateway.handle is no request handler of a framework, and requests get 500. Mount the ' +
  'gateway by an adapter: nodeAdapter, expressAdapter, koaAdapter, fastifyAdapter or fetchAdapter.';

/** Makes the function that answers such a request with 500, and warns once. */
export function misplacedHandle(): (second: unknown) => GatewayResponse {
  let hasWarned = false;
  return (second) => {
    if (!hasWarned) {
      hasWarned = true;
      process.emitWarning(explanation, { type: 'TollgateWarning', code: 'TOLLGATE_MISPLACED' });
    }
    swallowErrors(() => end(second));
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return { status: 500, headers, body: Buffer.from(answer) };
  };
}

const answer =
  'The gateway is not mounted correctly. The log of this server says how to mount it.\n';

/** Ends a response of `node:http`, Express or Connect; others are ended by their framework. */
function end(response: unknown): void {
  if (typeof response !== 'object' || response === null) return;
  if (!('end' in response) || typeof response.end !== 'function') return;
  Reflect.set(response, 'statusCode', 500);
  response.end(answer);
}
