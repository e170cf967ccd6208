/**
 * One server for each mount of the matrix, shared by all of its cases: a header of the request
 * names the case whose gateway answers.
 */
import type { Gateway } from '../../src/gateway.ts';
import type { GatewayHandler, GatewayRequest } from '../../src/http.ts';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { mounts, type RunningMount } from '../adapters/mounts.ts';
import { routeSettings } from '../support/route-settings.ts';
import { blackhole } from './blackhole.ts';
import { listenToPrints } from './canaries.ts';
import { allMounts, type MountName } from './rows/row.ts';

/** The header that names a case. */
export const caseHeader = 'x-fault-case';

/** The running servers. */
export interface Hosts {
  originOf(mount: MountName): string;
  /** Lets a gateway answer the calls of a case, until the returned function is called. */
  serve(caseId: string, gateway: Gateway): () => void;
  /** An address at which no connection succeeds. */
  readonly blackhole: string;
  /** The output since the start. */
  printed(): string;
  /** Errors that reached the hosts' own error handling. */
  reported(): readonly unknown[];
  close(): Promise<void>;
}

/** Starts a server for every mount. */
export async function startHosts(): Promise<Hosts> {
  const gateways = new Map<string, Gateway>();
  const gatewayOf = ({ headers }: Pick<GatewayRequest, 'headers'>): Gateway => {
    const gateway = gateways.get(String(headers[caseHeader]));
    if (gateway === undefined) throw new Error('no such case');
    return gateway;
  };
  const routes = routesOf(protocols);
  const handler: GatewayHandler = {
    owns: (path) => routes.owns(path, routeSettings),
    handle: (request) => gatewayOf(request).handle(request),
    refuse: (request, code, message) => gatewayOf(request).refuse(request, code, message),
  };
  const running = new Map<MountName, RunningMount>();
  for (const name of allMounts) {
    const mount = mounts.find((each) => each.name === name);
    if (mount === undefined) throw new Error(`There is no mount "${name}".`);
    running.set(name, await mount.start(handler));
  }
  const hole = await blackhole();
  const prints = listenToPrints();
  return {
    blackhole: hole.origin,
    printed: () => prints.text,
    originOf: (mount) => running.get(mount)?.origin ?? '',
    serve: (caseId, gateway) => {
      gateways.set(caseId, gateway);
      return () => {
        gateways.delete(caseId);
      };
    },
    reported: () => [...running.values()].flatMap(({ reported }) => reported),
    close: async () => {
      await Promise.all([...running.values()].map((host) => host.close()));
      await hole.close();
      prints.stop();
    },
  };
}
