/** A gateway in a Fastify app, as a plugin beside the host's own routes. */
import fastify, { type FastifyInstance } from 'fastify';
import type { Gateway } from 'tollgate';
import { fastifyAdapter } from 'tollgate/fastify';

/** The host app. Its parsers, hooks and body limit apply to its own routes as before. */
export function createApp(gateway: Gateway): FastifyInstance {
  // While the app closes, Fastify would answer new calls itself, in a format that no SDK knows.
  const app = fastify({ return503OnClosing: false });
  app.register(fastifyAdapter(gateway));
  app.register(fastifyAdapter(gateway), { prefix: '/llm' });
  app.get('/health', async () => ({ ok: true }));
  // Before the server closes, which waits for all streams: the gateway gives them 20 s.
  app.addHook('preClose', () => gateway.close({ drainMs: 20_000 }));
  return app;
}
