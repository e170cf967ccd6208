/** The hosts in which Tollgate is measured. A package is loaded only where it is used. */
import { createServer, IncomingMessage, ServerResponse } from 'node:http';

const hosts = {
  node: async (gateway) => {
    const { nodeAdapter } = await import('../../dist/node.js');
    return createServer(nodeAdapter(gateway));
  },
  koa: async (gateway) => {
    const { default: Koa } = await import('koa');
    const { koaAdapter } = await import('../../dist/koa.js');
    return createServer(new Koa().use(koaAdapter(gateway)).callback());
  },
  fastify: async (gateway) => {
    const { default: fastify } = await import('fastify');
    const { fastifyAdapter } = await import('../../dist/fastify.js');
    const app = fastify();
    app.register(fastifyAdapter(gateway));
    await app.ready();
    return app.server;
  },
  hono: async (gateway) => {
    const { honoServer } = await import('./hono-server.mjs');
    const { fetchAdapter } = await import('../../dist/fetch.js');
    const serve = fetchAdapter(gateway);
    return honoServer((app) => {
      app.use((c, next) => (serve.owns(c.req.raw) ? serve(c.req.raw, c.env) : next()));
    });
  },
  express4: async (gateway) => createServer(await onExpress('express4', gateway)),
  express5: async (gateway) => createServer(await onExpress('express', gateway)),
  'express5, own classes': async (gateway) => appServer(await onExpress('express', gateway)),
};

/** The server of a host in which the gateway is mounted, as in `examples/`. */
export const serverWith = (gateway, host) => hosts[host](gateway);

async function onExpress(name, gateway) {
  const { default: express } = await import(name);
  const { expressAdapter } = await import('../../dist/express.js');
  return express().use(expressAdapter(gateway));
}

/** The same as `examples/express-server.ts`. */
function appServer(app) {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request);
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response);
  return createServer({ IncomingMessage: AppRequest, ServerResponse: AppResponse }, app);
}
