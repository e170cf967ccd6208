/**
 * The only file that knows Redis clients: it makes node-redis, ioredis or a function that sends
 * commands run scripts. No client is imported; the host passes one in, and closes it.
 */

import { createHash } from 'node:crypto';
import { failureOf, isUnknownScript } from './failure.ts';

/** The part of node-redis 4 and above that is used; a client, a pool, a sentinel or a cluster. */
export interface NodeRedisClient {
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  eval(script: string, options: NodeRedisScriptOptions): Promise<unknown>;
  /** Missing in version 4, which therefore sends queued commands even after they were aborted. */
  withCommandOptions?(options: {
    readonly typeMapping: Record<never, never>;
    readonly abortSignal: AbortSignal;
  }): NodeRedisClient;
}

/** The keys and arguments of a script in node-redis's form. */
export interface NodeRedisScriptOptions {
  keys: string[];
  arguments: string[];
}

/** The part of ioredis 5 and above that is used; a `Redis` or a `Cluster`. */
export interface IoRedisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/**
 * An adapter for any other client. `send` sends one command, given as its name and arguments, and
 * resolves to the reply. It rejects with an error whose message begins with Redis' error code, as
 * in `NOSCRIPT No matching script`. In a cluster, route by the fourth item, the first key.
 */
export interface RedisLike {
  send(args: readonly string[], options: { readonly signal: AbortSignal }): Promise<unknown>;
}

/** The clients that the stores accept. */
export type RedisClient = NodeRedisClient | IoRedisClient | RedisLike;

/** Runs a script and resolves to its unchecked reply; rejects with a port's store errors. */
export type RunScript = (call: ScriptCall, signal: AbortSignal) => Promise<unknown>;

/** Loads scripts on the node that has these keys, so that it knows them by their digests. */
export type LoadScripts = (keys: readonly string[], signal: AbortSignal) => Promise<void>;

/** A script with its keys and arguments. At least one key: it selects the node of a cluster. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /**
   * Send the text of the script, if it is needed, even after the call's deadline: a release must
   * not be lost because the server did not know the script.
   */
  readonly mustLand?: boolean;
}

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
      // node-redis would not send the command with an aborted signal.
      return await send('EVAL', call, signal.aborted ? new AbortController().signal : signal);
    } catch (error) {
      throw failureOf(error);
    }
  };
}

/**
 * Loads scripts by running each without arguments, upon which they do nothing. EVAL, not SCRIPT
 * LOAD, since it goes to the cluster node that has the keys, and every client can send it.
 */
export function scriptLoader(client: RedisClient, scripts: readonly Script[]): LoadScripts {
  const send = senderOf(client);
  return async (keys, signal) => {
    try {
      const loads = scripts.map((script) => send('EVAL', { script, keys, args: [] }, signal));
      await Promise.all(loads);
    } catch (error) {
      throw failureOf(error);
    }
  };
}

export function isRedisClient(value: unknown): value is RedisClient {
  return ['evalSha', 'evalsha', 'send'].some((name) => hasMethod(value, name));
}

type Send = (
  command: 'EVALSHA' | 'EVAL',
  call: ScriptCall,
  signal: AbortSignal,
) => Promise<unknown>;

function senderOf(client: RedisClient): Send {
  if ('evalSha' in client) return nodeRedisSender(client);
  if ('evalsha' in client) return ioRedisSender(client);
  return (command, { script, keys, args }, signal) =>
    client.send([command, nameOf(command, script), `${keys.length}`, ...keys, ...args], {
      signal,
    });
}

function nodeRedisSender(client: NodeRedisClient): Send {
  return (command, { script, keys, args }, abortSignal) => {
    // The host may have configured buffers instead of strings. With the signal, node-redis drops a
    // queued command as soon as it is aborted.
    const configured = client.withCommandOptions?.({ typeMapping: {}, abortSignal }) ?? client;
    const options = { keys: [...keys], arguments: [...args] };
    return command === 'EVAL'
      ? configured.eval(script.text, options)
      : configured.evalSha(script.sha1, options);
  };
}

function ioRedisSender(client: IoRedisClient): Send {
  return (command, { script, keys, args }) =>
    command === 'EVAL'
      ? client.eval(script.text, keys.length, ...keys, ...args)
      : client.evalsha(script.sha1, keys.length, ...keys, ...args);
}

function nameOf(command: 'EVALSHA' | 'EVAL', { text, sha1 }: Script): string {
  return command === 'EVAL' ? text : sha1;
}

function hasMethod(value: unknown, name: string): boolean {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
  );
}

/** Sent by its digest, or by its text if the server does not know it. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

export function scriptOf(text: string): Script {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
