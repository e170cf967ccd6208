/** A Fastify app with the gateway's plugin, for the tests of the plugin. */
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../../src/http.ts';
import { scriptedGateway } from '../../../src/testing/contracts/adapter.ts';

/** An app whose own 404 has the header `x-host`, and whose gateway counts its calls. */
export function hostWith(
  setUp: (app: FastifyInstance, gateway: GatewayHandler) => void,
  options: FastifyServerOptions = {},
): { readonly app: FastifyInstance; readonly paths: string[] } {
  const paths: string[] = [];
  const scripted = scriptedGateway();
  const gateway: GatewayHandler = {
    ...scripted,
    handle: (request) => {
      paths.push(request.path);
      return scripted.handle(request);
    },
  };
  const app = fastify(options);
  onTestFinished(() => app.close());
  app.setNotFoundHandler(async (_request, reply) => {
    reply.code(404).header('x-host', 'yes');
    return 'host';
  });
  setUp(app, gateway);
  return { app, paths };
}
