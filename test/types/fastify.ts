/**
 * The plugin fits Fastify's own types, although its declarations do not import them. Never run: it
 * compiles.
 */
import fastify, {
  type FastifyBaseLogger,
  type FastifyPluginAsync,
  type FastifyPluginCallback,
  type FastifyTypeProvider,
} from 'fastify';
import type { Gateway } from 'tollgate';
import { fastifyAdapter } from 'tollgate/fastify';

/** It is a plugin of either kind. */
export function plugins(gateway: Gateway): readonly [FastifyPluginCallback, FastifyPluginAsync] {
  const plugin = fastifyAdapter(gateway);
  return [plugin, plugin];
}

interface OwnTypes extends FastifyTypeProvider {
  readonly validator: string;
  readonly serializer: string;
}

/** Every kind of app takes it: other servers, loggers, type providers, nested plugins. */
export function apps(gateway: Gateway, loggerInstance: FastifyBaseLogger): void {
  const plugin = fastifyAdapter(gateway);
  fastify().register(plugin);
  fastify({ logger: true }).register(plugin, { prefix: '/llm', logLevel: 'warn' });
  fastify({ loggerInstance }).register(plugin, { prefix: '/llm' });
  fastify({ https: {} }).register(plugin, { prefix: '/llm' });
  fastify({ http2: true }).register(plugin, { prefix: '/llm' });
  fastify({ http2: true, https: {} }).register(plugin, { prefix: '/llm' });
  fastify().withTypeProvider<OwnTypes>().register(plugin, { prefix: '/llm' });
  fastify().register(async (app) => {
    await app.register(plugin, { prefix: '/llm' });
  });
  // @ts-expect-error the options are those of every registration
  fastify().register(plugin, { prefix: 5 });
}
