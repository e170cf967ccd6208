/** A gateway in a Hono app, one middleware among others. On Node: `serve({ fetch: app.fetch })`. */
import { Hono } from 'hono';
import type { Gateway } from 'tollgate';
import { fetchAdapter } from 'tollgate/fetch';

/** The host app: requests for other paths, and `OPTIONS`, reach the next handler. */
export function createApp(gateway: Gateway): Hono {
  const serveGateway = fetchAdapter(gateway);
  const app = new Hono();
  app.use((c, next) => (serveGateway.owns(c.req.raw) ? serveGateway(c.req.raw, c.env) : next()));
  app.get('/health', (c) => c.json({ ok: true }));
  return app;
}
