/** A bare relay in a Hono app on Node, for whole replies: the baseline of the gateway there. */

import { honoServer } from './hono-server.mjs';
import { measured, options } from './measured.mjs';
import { headerOf, pool } from './relaying.mjs';

const server = honoServer((app) => {
  app.post('*', async (c) => {
    const body = Buffer.from(await c.req.arrayBuffer());
    const { status, type, bytes } = await reply(options.prefix + c.req.path, body);
    return new Response(bytes, { status, headers: { 'content-type': type } });
  });
});

function reply(path, body) {
  return new Promise((resolve, reject) => {
    const pieces = [];
    let status;
    let type;
    const request = { method: 'POST', path, body, headers: { 'content-type': 'application/json' } };
    pool.dispatch(request, {
      onConnect() {},
      onHeaders(code, headers) {
        status = code;
        type = headerOf(headers, 'content-type');
        return true;
      },
      onData: (piece) => pieces.push(piece) > 0,
      onComplete: () => resolve({ status, type, bytes: Buffer.concat(pieces) }),
      onError: reject,
    });
  });
}

await measured({ server });
