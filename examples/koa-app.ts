/** A gateway in a Koa app, one middleware among others. */
import Koa from 'koa';
import type { Gateway } from 'tollgate';
import { koaAdapter } from 'tollgate/koa';

/** The host app: requests for other paths reach the next middleware. */
export function createApp(gateway: Gateway): Koa {
  const app = new Koa();
  app.use(async (ctx, next) => {
    ctx.set('x-served-by', 'the host app');
    await next();
  });
  app.use(koaAdapter(gateway));
  app.use((ctx) => {
    if (ctx.path === '/health') ctx.body = { ok: true };
  });
  return app;
}
