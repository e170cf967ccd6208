/**
 * The types on which a host relies. Never run: it is compiled in this repo and, packed, in a host's
 * folder as ESM and as CommonJS. So it imports only the package, by name, and Node's types.
 */
import { createServer } from 'node:http';
import { createGateway, type Gateway, type GatewayOptions } from 'tollgate';
import { expressAdapter } from 'tollgate/express';
import { fastifyAdapter } from 'tollgate/fastify';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';

/** A gateway is created from options. */
export function makesGateway(options: GatewayOptions): Gateway {
  return createGateway(options);
}

/** One gateway serves every kind of host. */
export function mounts(gateway: Gateway): void {
  createServer(nodeAdapter(gateway));
  expressAdapter(gateway);
  fastifyAdapter(gateway);
  koaAdapter(gateway);
}

/** The required options. */
export function refusesOptionsWithoutPorts(): void {
  // @ts-expect-error keys, quota and catalog have no default: they are the host's to decide
  createGateway({});
}
