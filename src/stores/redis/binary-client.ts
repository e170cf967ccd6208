/** Runs scripts whose arguments and replies are bytes, over node-redis and ioredis. */
import { failureOf, isUnknownScript } from './failure.ts';
import type { Script } from './script.ts';

/** What we use of node-redis, version 5 and above, for bytes. */
export interface NodeRedisBytesClient {
  withCommandOptions(options: {
    readonly typeMapping: Record<never, never>;
    readonly abortSignal: AbortSignal;
  }): NodeRedisBytesScripts;
}

/** Its scripts. */
export interface NodeRedisBytesScripts {
  evalSha(sha1: string, options: NodeRedisBytesOptions): Promise<unknown>;
  eval(script: string, options: NodeRedisBytesOptions): Promise<unknown>;
}

/** The keys and arguments of a script, as node-redis wants them. */
export interface NodeRedisBytesOptions {
  keys: string[];
  arguments: (string | Buffer)[];
}

/** What we use of ioredis, version 5 and above, for bytes. */
export interface IoRedisBytesClient {
  callBuffer(command: string, ...words: (string | Buffer)[]): Promise<unknown>;
}

/** What a store of bytes takes for a client. */
export type RedisBytesClient = NodeRedisBytesClient | IoRedisBytesClient;

/** Runs a script on one key; texts of its reply come as bytes. */
export type RunBytesScript = (
  script: Script,
  key: string,
  words: readonly (string | Uint8Array)[],
  signal: AbortSignal,
) => Promise<unknown>;

/** Runs scripts by their digest, and by their text where the server does not know it. */
export function bytesScriptRunner(client: RedisBytesClient): RunBytesScript {
  return async (script, key, words, signal) => {
    const bytes = words.map((word) => (typeof word === 'string' ? word : bufferOf(word)));
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

/** Whether a value is a client that can send and receive bytes. */
export function isRedisBytesClient(value: unknown): value is RedisBytesClient {
  if (typeof value !== 'object' || value === null) return false;
  const can = (name: string): boolean => typeof Reflect.get(value, name) === 'function';
  return (can('withCommandOptions') && can('evalSha')) || can('callBuffer');
}

/** RESP's type of a text, `$`, which is to come as bytes. */
const blobString = 36;

function send(
  client: RedisBytesClient,
  command: 'EVALSHA' | 'EVAL',
  { text, sha1 }: Script,
  key: string,
  words: (string | Buffer)[],
  abortSignal: AbortSignal,
): Promise<unknown> {
  if ('callBuffer' in client) {
    // In small letters, by which ioredis finds the key, and with it the node of a cluster.
    const name = command.toLowerCase();
    return client.callBuffer(name, command === 'EVAL' ? text : sha1, '1', key, ...words);
  }
  const own = client.withCommandOptions({ typeMapping: { [blobString]: Buffer }, abortSignal });
  const options = { keys: [key], arguments: words };
  return command === 'EVAL' ? own.eval(text, options) : own.evalSha(sha1, options);
}

/** The same bytes, not a copy. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
