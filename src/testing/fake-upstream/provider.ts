/**
 * What a provider is to the server: a function from a call to a script. One row in the server's
 * list each.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonValue } from '../../json.ts';
import type { Script } from './scripts.ts';

/** A call, taken apart for a provider. */
export interface Asked {
  readonly method: string;
  /** Without the query, still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The body as JSON, or undefined where it is none. */
  readonly body: JsonValue | undefined;
  /** Where the fake upstream listens: `http://127.0.0.1:1234`. */
  readonly origin: string;
}

/**
 * What answers depend on beside the call: counted and set, never random, so that runs are alike.
 */
export interface World {
  /** The next number of a count from 1, for the ids in answers. */
  serial(): number;
  /** Unix seconds. */
  readonly createdAtSeconds: number;
  /** How long `demo-slow` waits. */
  readonly slowMs: number;
}

/** One provider's HTTP interface. */
export interface Provider {
  /** Whether a path is this provider's. */
  owns(path: string): boolean;
  /** The refusal of a caller who does not bring this key, or undefined. */
  refuseKey(asked: Asked, apiKey: string): Script | undefined;
  /** The answer to any call, rubbish included. */
  answer(asked: Asked, world: World): Script;
}

/** An id as providers make them, but counted: `chatcmpl-000000000001`. */
export function counted(prefix: string, world: World): string {
  return `${prefix}${String(world.serial()).padStart(12, '0')}`;
}
