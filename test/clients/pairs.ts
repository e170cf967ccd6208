/** Every client with every upstream of its API, each pair behind another mount of the gateway. */
import { type Mount, mounts } from '../adapters/mounts.ts';
import {
  type UnmountedGateway,
  unmountedGateway,
  upstreamSecret,
} from '../support/mounted-gateway.ts';
import { type Api, apis } from './apis.ts';
import type { Client, Target } from './drivers/client.ts';
import { modelsOf, type Upstream } from './upstreams.ts';

/** A client, an upstream, and the mount between them. */
export interface Pair {
  readonly api: Api;
  readonly client: Client;
  readonly upstream: Upstream;
  readonly mount: Mount;
}

/** A gateway for one pair. */
export interface RunningPair extends UnmountedGateway {
  /** The target of one of the upstream's models: `plain`, `agent-2`, `demo-429`. */
  target(model: string): Target;
  /** The body of the last call that reached the upstream. */
  lastBody(): string;
}

const { ONLY_CLIENT = '', ONLY_UPSTREAM = '' } = process.env;

// Behind a parser of the host, the gateway warns once that bodies are serialised again.
const usedMounts = mounts.filter(({ body }) => body === 'bytes');

/**
 * All pairs, or those of some APIs; the number shifts the mounts, so that another file tests other
 * ones.
 */
export function pairs(
  shift: number,
  ...wanted: readonly Api['protocol'][]
): readonly (readonly [name: string, pair: Pair])[] {
  const all = apis
    .filter(({ protocol }) => wanted.length === 0 || wanted.includes(protocol))
    .flatMap((api) => api.clients.map((client) => ({ api, client })))
    .flatMap((one) => one.api.upstreams.map((upstream) => ({ ...one, upstream })))
    .map((pair, index): Pair => ({ ...pair, mount: mountAt(index + shift) }));
  return all
    .filter(
      ({ client, upstream }) =>
        client.name.includes(ONLY_CLIENT) && upstream.name.includes(ONLY_UPSTREAM),
    )
    .map((pair) => [`${pair.client.name} over ${pair.upstream.name} on ${pair.mount.name}`, pair]);
}

function mountAt(index: number): Mount {
  const mount = usedMounts[index % usedMounts.length];
  if (mount === undefined) throw new Error('There is no mount.');
  return mount;
}

/** Starts the gateway of a pair; `finish` gets what closes it. */
export async function started(
  { api, upstream, mount }: Pair,
  finish: (close: () => Promise<void>) => void,
): Promise<RunningPair> {
  const harness = await unmountedGateway({}, (fake) =>
    modelsOf(fake, upstreamSecret, { upstream: upstream.name, id: api.knownModel }),
  );
  const server = await mount.start(harness.gateway);
  finish(async () => {
    await server.close();
    await harness.close();
  });
  return {
    ...harness,
    target: (model) => ({
      baseURL: `${server.origin}${server.base}/v1`,
      apiKey: harness.secrets.chat,
      model: `${upstream.name}/${model}`,
    }),
    lastBody: () => harness.upstream.calls.at(-1)?.body.toString() ?? '',
  };
}

/** The message that an app would log, whatever the client rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  try {
    const answer = await promise;
    throw new Error(`It did not fail, but answered ${JSON.stringify(answer)}.`);
  } catch (error) {
    const { message, statusCode, status, headers, responseHeaders }: Record<string, unknown> =
      Object(error);
    return {
      message: typeof message === 'string' ? message : JSON.stringify(error),
      status: status ?? statusCode,
      retryAfter:
        headers instanceof Headers
          ? headers.get('retry-after')
          : new Map(Object.entries(Object(responseHeaders))).get('retry-after'),
    };
  }
}

/** What an app can tell about a failed call. */
export interface Failure {
  readonly message: string;
  readonly status: unknown;
  readonly retryAfter: unknown;
}
