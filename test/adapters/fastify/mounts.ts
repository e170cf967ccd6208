/** The ways of mounting a gateway in Fastify, for the list in `mounts.ts`. */
import fastify, { type FastifyInstance } from 'fastify';
import { fastifyAdapter } from 'tollgate/fastify';
import type { GatewayHandler } from '../../../src/http.ts';
import type { Mount } from '../mounts.ts';

/** Fastify 5, with the plugin registered in several places, and beside what a host has. */
export const fastifyMounts: readonly Mount[] = [
  inApp('Fastify 5 at the root', '', (app, gateway) => {
    app.register(fastifyAdapter(gateway));
  }),
  inApp('Fastify 5 under a prefix', '/api/llm', (app, gateway) => {
    app.register(fastifyAdapter(gateway), { prefix: '/api/llm' });
  }),
  inApp('Fastify 5 at /v1 and /v1beta', '', (app, gateway) => {
    const plugin = fastifyAdapter(gateway);
    app.register(plugin, { prefix: '/v1' });
    app.register(plugin, { prefix: '/v1beta' });
  }),
  inApp('Fastify 5 in a plugin with a parameter in its prefix', '/acme/llm', (app, gateway) => {
    const tenant = async (instance: FastifyInstance): Promise<void> => {
      instance.register(fastifyAdapter(gateway), { prefix: '/llm' });
    };
    app.register(tenant, { prefix: '/:tenant' });
  }),
  inApp('Fastify 5 behind parsers and hooks of the host', '', (app, gateway) => {
    app.addContentTypeParser(/^application\/.*json/, { parseAs: 'string' }, async () => 'parsed');
    app.addContentTypeParser('*', { parseAs: 'buffer' }, async () => 'parsed');
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('access-control-allow-origin', 'https://app.example');
    });
    app.addHook('preParsing', async (_request, _reply, payload) => payload);
    app.addHook('preHandler', async () => {});
    app.register(fastifyAdapter(gateway));
  }),
];

function inApp(
  name: string,
  base: string,
  setUp: (app: FastifyInstance, gateway: GatewayHandler) => void,
): Mount {
  return {
    name,
    body: 'bytes',
    hostAnswers: true,
    isWeb: false,
    resetsCutReplies: true,
    start: async (gateway) => {
      const reported: unknown[] = [];
      // The body limit is for the host's own routes: the gateway has a limit of its own.
      const app = fastify({ forceCloseConnections: true, bodyLimit: 100 });
      app.setNotFoundHandler(async (_request, reply) => {
        reply.code(404).header('x-host', 'yes');
        return 'host';
      });
      app.setErrorHandler(async (error) => {
        reported.push(error);
        throw error;
      });
      setUp(app, gateway);
      const origin = await app.listen({ port: 0, host: '127.0.0.1' });
      return { origin, base, reported, close: () => app.close() };
    },
  };
}
