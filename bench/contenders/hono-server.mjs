/**
 * A Hono app on its server for Node, both from the packages of the root: those in this folder are
 * the older ones that Portkey needs.
 */
import { createRequire } from 'node:module';

const require = createRequire(new URL('../../package.json', import.meta.url));
const { Hono } = require('hono');
const { createAdaptorServer } = require('@hono/node-server');

/** The server of an app to which `mount` has added its routes. */
export function honoServer(mount) {
  const app = new Hono();
  mount(app);
  return createAdaptorServer({ fetch: app.fetch });
}
