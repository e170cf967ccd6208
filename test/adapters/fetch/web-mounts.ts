/**
 * The mounts whose gateway gets Web requests: `fetchAdapter` behind the smallest server of
 * `node:http`, and in Hono on its own Node server.
 */
import { createServer, type RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { fetchAdapter } from 'tollgate/fetch';
import type { GatewayHandler } from '../../../src/http.ts';
import { fetchListener } from '../../support/fetch-server.ts';
import { closed, listening } from '../../support/servers.ts';
import { restoreWebGlobals } from '../../support/web-globals.ts';
import type { Mount } from '../mounts.ts';

type Listener = (gateway: GatewayHandler, report: (error: unknown) => void) => RequestListener;

export const webMounts: readonly Mount[] = [
  defined('fetch on a bare server', {}, '', (gateway, report) =>
    fetchListener(fetchAdapter(gateway), report),
  ),
  defined('fetch on a bare server with a basePath', {}, '/api/llm', (gateway, report) =>
    fetchListener(fetchAdapter(gateway, { basePath: '/api/llm' }), report),
  ),
  inHono('Hono as a middleware', { hostAnswers: true }, '', (app, gateway) => {
    const handler = fetchAdapter(gateway);
    app.use((c, next) => (handler.owns(c.req.raw) ? handler(c.req.raw, c.env) : next()));
  }),
  inHono('Hono in routes with a basePath', {}, '/api/llm', (app, gateway) => {
    const handler = fetchAdapter(gateway, { basePath: '/api/llm' });
    const routes = new Hono().basePath('/llm');
    routes.all('/v1/*', (c) => handler(c.req.raw));
    routes.all('/v1beta/*', (c) => handler(c.req.raw));
    app.route('/api', routes);
  }),
  inHono('Hono in app.mount()', {}, '/api/llm', (app, gateway) => {
    app.mount('/api/llm', fetchAdapter(gateway));
  }),
];

function inHono(
  name: string,
  change: Partial<Mount>,
  base: string,
  setUp: (app: Hono, gateway: GatewayHandler) => void,
): Mount {
  const mount = defined(name, { resetsCutReplies: false, ...change }, base, (gateway, report) => {
    const app = new Hono();
    app.onError((error, c) => {
      report(error);
      return c.text('failed', 500);
    });
    app.notFound((c) => c.text('host', 404, { 'x-host': 'yes' }));
    setUp(app, gateway);
    const listener = getRequestListener(app.fetch);
    return (req, res) => void listener(req, res);
  });
  return {
    ...mount,
    start: async (gateway) => {
      const running = await mount.start(gateway);
      return {
        ...running,
        close: async () => {
          restoreWebGlobals();
          await running.close();
        },
      };
    },
  };
}

function defined(name: string, change: Partial<Mount>, base: string, listener: Listener): Mount {
  return {
    name,
    body: 'bytes',
    hostAnswers: false,
    isWeb: true,
    resetsCutReplies: true,
    ...change,
    start: async (gateway) => {
      const reported: unknown[] = [];
      const server = createServer(listener(gateway, (error) => reported.push(error)));
      return { origin: await listening(server), base, reported, close: () => closed(server) };
    },
  };
}
