/**
 * What a host may count on, as types. Never run: it compiles, in this repo and, packed, in a host's
 * folder as ESM and as CommonJS. So it imports the package by name and nothing but Node's types.
 */
import { createServer } from 'node:http';
import { createGateway, type Gateway, type GatewayOptions } from 'tollgate';
import { expressAdapter } from 'tollgate/express';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';

/** A gateway is made from options alone. */
export function makesGateway(options: GatewayOptions): Gateway {
  return createGateway(options);
}

/** One gateway serves every kind of host. */
export function mounts(gateway: Gateway): void {
  createServer(nodeAdapter(gateway));
  expressAdapter(gateway);
  koaAdapter(gateway);
}

/** What can't be left out. */
export function refusesOptionsWithoutPorts(): void {
  // @ts-expect-error keys, quota and catalog have no default: they are the host's to decide
  createGateway({});
}
