/**
 * The one place that knows Redis clients: turns node-redis, ioredis, or a function that sends
 * words into a way to run a script. No client is imported; the host hands one in, and closes it.
 */
import { failureOf, isUnknownScript } from './failure.ts';
import type { Script } from './script.ts';

/** What we use of node-redis, version 4 and above: a client, a pool, a sentinel or a cluster. */
export interface NodeRedisClient {
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  eval(script: string, options: NodeRedisScriptOptions): Promise<unknown>;
  /** Missing in version 4, which sends what waits for a connection though it was given up. */
  withCommandOptions?(options: {
    readonly typeMapping: Record<never, never>;
    readonly abortSignal: AbortSignal;
  }): NodeRedisClient;
}

/** The keys and arguments of a script, as node-redis wants them. */
export interface NodeRedisScriptOptions {
  keys: string[];
  arguments: string[];
}

/** What we use of ioredis, version 5 and above: a `Redis` or a `Cluster`. */
export interface IoRedisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/**
 * Any other client: sends one command and resolves to its reply, texts as strings; rejects with an
 * error whose message begins with Redis' own code, as in `NOSCRIPT No matching script`. In a
 * cluster the fourth word, the key, says where to.
 */
export interface RedisLike {
  send(words: readonly string[], options: { readonly signal: AbortSignal }): Promise<unknown>;
}

/** What the stores take for a client. */
export type RedisClient = NodeRedisClient | IoRedisClient | RedisLike;

/** Runs a script and resolves to its reply, unchecked; rejects with what a store may throw. */
export type RunScript = (call: ScriptCall, signal: AbortSignal) => Promise<unknown>;

/** Sends the texts of scripts to the node of these keys, which knows them by their digests then. */
export type LoadScripts = (keys: readonly string[], signal: AbortSignal) => Promise<void>;

/** A script and what it is given. Its keys, at least one, decide on the node of a cluster. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly words: readonly string[];
  /**
   * Sent to its end though the asker has given up: what gives something back must not be lost
   * because the server had to be sent the text of the script first.
   */
  readonly mustLand?: boolean;
}

/** Runs scripts by their digest, and by their text where the server does not know it. */
export function scriptRunner(client: RedisClient): RunScript {
  const send = senderOf(client);
  return async (call, signal) => {
    try {
      return await send('EVALSHA', call, signal);
    } catch (error) {
      if (!isUnknownScript(error)) throw failureOf(error);
      if (signal.aborted && call.mustLand !== true) throw failureOf(error);
    }
    try {
      // A signal that is aborted would keep node-redis from sending it.
      return await send('EVAL', call, signal.aborted ? new AbortController().signal : signal);
    } catch (error) {
      throw failureOf(error);
    }
  };
}

/**
 * Sends scripts without arguments, on which each of them does nothing. EVAL and not SCRIPT LOAD: it
 * goes to the node of a cluster that has the keys, and every client can send it.
 */
export function scriptLoader(client: RedisClient, scripts: readonly Script[]): LoadScripts {
  const send = senderOf(client);
  return async (keys, signal) => {
    try {
      const loads = scripts.map((script) => send('EVAL', { script, keys, words: [] }, signal));
      await Promise.all(loads);
    } catch (error) {
      throw failureOf(error);
    }
  };
}

/** Whether a value is a client we know how to use. */
export function isRedisClient(value: unknown): value is RedisClient {
  return ['evalSha', 'evalsha', 'send'].some((name) => can(value, name));
}

type Send = (
  command: 'EVALSHA' | 'EVAL',
  call: ScriptCall,
  signal: AbortSignal,
) => Promise<unknown>;

function senderOf(client: RedisClient): Send {
  if ('evalSha' in client) return nodeRedisSender(client);
  if ('evalsha' in client) return ioRedisSender(client);
  return (command, { script, keys, words }, signal) =>
    client.send([command, nameOf(command, script), `${keys.length}`, ...keys, ...words], {
      signal,
    });
}

function nodeRedisSender(client: NodeRedisClient): Send {
  return (command, { script, keys, words }, abortSignal) => {
    // A host may have asked for buffers instead of texts; and with a signal it forgets what it has
    // not sent yet when nobody waits any more.
    const own = client.withCommandOptions?.({ typeMapping: {}, abortSignal }) ?? client;
    const options = { keys: [...keys], arguments: [...words] };
    return command === 'EVAL' ? own.eval(script.text, options) : own.evalSha(script.sha1, options);
  };
}

function ioRedisSender(client: IoRedisClient): Send {
  return (command, { script, keys, words }) =>
    command === 'EVAL'
      ? client.eval(script.text, keys.length, ...keys, ...words)
      : client.evalsha(script.sha1, keys.length, ...keys, ...words);
}

function nameOf(command: 'EVALSHA' | 'EVAL', { text, sha1 }: Script): string {
  return command === 'EVAL' ? text : sha1;
}

function can(value: unknown, name: string): boolean {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
  );
}
