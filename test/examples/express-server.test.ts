// suite: slow host
/** The server of the example creates objects that Express does not need to change. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { RequestHandler } from 'express';
import express5 from 'express';
import { afterEach, expect, it } from 'vitest';
import { createAppServer } from '../../examples/express-server.ts';
import { express4 } from '../adapters/mounts.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

it.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('with %s requests and responses have the prototypes of the app', async (_name, express) => {
  const app = express();
  Object.assign(app.request, { tenant: 'acme' });
  const answer: RequestHandler = (req, res) => {
    res.status(201).json({ path: req.originalUrl, type: req.get('x-type'), host: tenantOf(req) });
  };
  app.use('/in', express().get('/there', answer));
  app.get('/here', answer);
  const server = createAppServer(app);
  const isReady: boolean[] = [];
  server.prependListener('request', (req, res) => {
    isReady.push(Object.getPrototypeOf(req) === app.request);
    isReady.push(Object.getPrototypeOf(res) === app.response);
  });
  const origin = await listening(server);

  for (const path of ['/here', '/in/there']) {
    const response = await fetch(origin + path, { headers: { 'x-type': 'a' } });

    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ path, type: 'a', host: 'acme' });
  }
  expect(isReady).toEqual([true, true, true, true]);
});

/** A property that the host of this test adds to all requests. */
function tenantOf(req: object): unknown {
  return Reflect.get(req, 'tenant');
}

async function listening(server: Server): Promise<string> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
