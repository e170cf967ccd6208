/**
 * Tollgate with everything on: key, scan, checks, group, reserve, settle, usage record. `host`
 * picks what it is mounted in; `dialect`, `keys`, `models` and `channels` what it has in front and
 * behind.
 */
import { createServer } from 'node:http';
import { createGateway, memoryUsageSink } from '../../dist/index.js';
import { measured, options } from './measured.mjs';
import { catalogOf, memoryStores } from './tollgate-setup.mjs';

/** What each host makes of a gateway: a listener for `createServer`. */
const hosts = {
  node: async (gateway) => (await import('../../dist/node.js')).nodeAdapter(gateway),
  koa: async (gateway) => {
    const { default: Koa } = await import('koa');
    const { koaAdapter } = await import('../../dist/koa.js');
    return new Koa().use(koaAdapter(gateway)).callback();
  },
  express4: (gateway) => onExpress('express4', gateway),
  express5: (gateway) => onExpress('express', gateway),
};

async function onExpress(name, gateway) {
  const { default: express } = await import(name);
  const { expressAdapter } = await import('../../dist/express.js');
  return express().use(expressAdapter(gateway));
}

const gateway = createGateway({
  ...memoryStores(options),
  usage: memoryUsageSink({ limit: 1_000 }),
  catalog: catalogOf(options),
});
await measured({ server: createServer(await hosts[options.host ?? 'node'](gateway)) });
