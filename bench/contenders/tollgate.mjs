/**
 * Tollgate with all features on: key, scan, validation, group, reserve, settle, usage record.
 * `host` selects the server in which it is mounted; `dialect`, `keys`, `models` and `channels` its
 * set-up. With `watched` a listener gets the events of each call.
 */
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { createGateway, memoryUsageSink } from '../../dist/index.js';
import { measured, options } from './measured.mjs';
import { catalogOf, memoryStores } from './tollgate-setup.mjs';

/** For each host, a function that mounts a gateway in a server. */
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
  express4: async (gateway) => createServer(await onExpress('express4', gateway)),
  express5: async (gateway) => createServer(await onExpress('express', gateway)),
  'express4, own classes': async (gateway) => appServer(await onExpress('express4', gateway)),
  'express5, own classes': async (gateway) => appServer(await onExpress('express', gateway)),
};

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

const gateway = createGateway({
  ...memoryStores(options),
  usage: memoryUsageSink({ limit: 100 }),
  catalog: catalogOf(options),
  ...(options.watched ? { onEvent: (event) => event.type } : {}),
});
await measured({ server: await hosts[options.host ?? 'node'](gateway) });
