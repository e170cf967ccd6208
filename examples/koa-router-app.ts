/** A gateway below the prefix of a router of `@koa/router`, beside routes of the host. */
import Router from '@koa/router';
import Koa from 'koa';
import type { Gateway } from 'tollgate';
import { koaAdapter } from 'tollgate/koa';

/** The host app: the gateway is at `/llm/v1` and `/llm/v1beta`. */
export function createApp(gateway: Gateway): Koa {
  const router = new Router({ prefix: '/llm' });
  router.get('/status', (ctx) => {
    ctx.body = { ok: true };
  });
  // One wildcard for all methods. The adapter reads the path itself, because a pattern for
  // `/v1beta/models/gemini-2.5-flash:generateContent` would take its colon for a parameter, and the
  // router leaves its prefix in the path, hence `basePath`.
  router.all('/{*path}', koaAdapter(gateway, { basePath: '/llm' }));

  const app = new Koa();
  app.use(router.routes());
  app.use((ctx) => {
    if (ctx.path === '/health') ctx.body = { ok: true };
  });
  return app;
}
