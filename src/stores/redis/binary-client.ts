/** Runs scripts with binary arguments and replies, over node-redis and ioredis. */

import type { Script } from './client.ts';
import { failureOf, isUnknownScript } from './failure.ts';

/** The part of node-redis, version 5 and above, that is used for binary data. */
export interface NodeRedisBytesClient {
  withCommandOptions(options: {
    readonly typeMapping: Record<never, never>;
    readonly abortSignal: AbortSignal;
  }): NodeRedisBytesScripts;
}

/** The script commands of {@link NodeRedisBytesClient}. */
export interface NodeRedisBytesScripts {
  evalSha(sha1: string, options: NodeRedisBytesOptions): Promise<unknown>;
  eval(script: string, options: NodeRedisBytesOptions): Promise<unknown>;
}

/** The keys and arguments of a script in node-redis's form. */
export interface NodeRedisBytesOptions {
  keys: string[];
  arguments: (string | Buffer)[];
}

/** The part of ioredis, version 5 and above, that is used for binary data. */
export interface IoRedisBytesClient {
  callBuffer(command: string, ...args: (string | Buffer)[]): Promise<unknown>;
}

/** The clients that a store of binary data accepts. */
export type RedisBytesClient = NodeRedisBytesClient | IoRedisBytesClient;

/** Runs a script on one key; strings in its reply are returned as bytes. */
export type RunBytesScript = (
  script: Script,
  key: string,
  args: readonly (string | Uint8Array)[],
  signal: AbortSignal,
) => Promise<unknown>;

export function bytesScriptRunner(client: RedisBytesClient): RunBytesScript {
  return async (script, key, args, signal) => {
    const bytes = args.map((arg) => (typeof arg === 'string' ? arg : bufferOf(arg)));
    try {
      return await send(client, 'EVALSHA', script, key, bytes, signal);
    } catch (error) {
      if (!isUnknownScript(error) || signal.aborted) throw failureOf(error);
    }
    try {
      return await send(client, 'EVAL', script, key, bytes, signal);
    } catch (error) {
      throw failureOf(error);
    }
  };
}

export function isRedisBytesClient(value: unknown): value is RedisBytesClient {
  if (typeof value !== 'object' || value === null) return false;
  const hasMethod = (name: string): boolean => typeof Reflect.get(value, name) === 'function';
  return (hasMethod('withCommandOptions') && hasMethod('evalSha')) || hasMethod('callBuffer');
}

/** The RESP type byte of a string, `$`, here mapped to bytes. */
const blobString = 36;

function send(
  client: RedisBytesClient,
  command: 'EVALSHA' | 'EVAL',
  { text, sha1 }: Script,
  key: string,
  args: (string | Buffer)[],
  abortSignal: AbortSignal,
): Promise<unknown> {
  if ('callBuffer' in client) {
    // Lower case: ioredis finds the key, and thus the cluster node, only by the lower-case name.
    const name = command.toLowerCase();
    return client.callBuffer(name, command === 'EVAL' ? text : sha1, '1', key, ...args);
  }
  const bytesClient = client.withCommandOptions({
    typeMapping: { [blobString]: Buffer },
    abortSignal,
  });
  const options = { keys: [key], arguments: args };
  return command === 'EVAL' ? bytesClient.eval(text, options) : bytesClient.evalSha(sha1, options);
}

/** A Buffer over the same memory, not a copy. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
