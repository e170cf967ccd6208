/** @fastify/http-proxy, which relays with undici, on Fastify 5. */
import proxy from '@fastify/http-proxy';
import fastify from 'fastify';
import { measured, options, upstreamOrigin } from './measured.mjs';

const app = fastify({ bodyLimit: 64 * 1024 * 1024 });
app.register(proxy, {
  upstream: upstreamOrigin,
  prefix: '/',
  rewritePrefix: `${options.prefix}/`,
  undici: { connections: 1_024, pipelining: 1 },
});
await app.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 });
await measured({ port: app.server.address().port });
