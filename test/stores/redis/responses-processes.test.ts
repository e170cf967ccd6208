// suite: services
/** Two processes that share an index and an item store in Redis behave as one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { issueKey } from '../../../src/issue-key.ts';
import { items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import type { FakeUpstream } from '../../../src/testing/index.ts';
import { startStrictUpstream } from '../../providers/strict-upstream.ts';
import { describeRedis } from '../../services/redis.ts';
import { childScript } from '../../support/child-script.ts';
import { newPrefix } from './clients.ts';

let script: string;

beforeAll(async () => {
  script = await childScript(
    join(import.meta.dirname, 'responses-process.ts'),
    ...['redis', 'undici', 'zod'],
  );
});

describeRedis('two processes with one Redis', (server) => {
  it.each(['relayed', 'translated'])('%s: either continues what the other began', async (model) => {
    const { a, b, accounts } = await started(server().path);
    const first = await a.ask('alice', { model, input: 'hi' });
    const output = items(member(first.body, 'output'));

    const second = await b.ask('alice', {
      model,
      input: [...output.flatMap(references), say('again')],
    });

    expect([first.status, second.status]).toEqual([200, 200]);
    // What is stored at one account is sent there by both; what is not goes to each one's own.
    expect(accounts.map(({ calls }) => calls.length)).toEqual(
      model === 'relayed' ? [2, 0] : [1, 1],
    );
  });

  it('a stored reply is continued, read and deleted by the other', async () => {
    const { a, b, accounts } = await started(server().path);
    const { body } = await a.ask('alice', { model: 'relayed', input: 'hi' });
    const id = String(member(body, 'id'));

    const continued = await b.ask('alice', {
      model: 'relayed',
      input: 'again',
      previous_response_id: id,
    });
    const read = await b.call('alice', 'GET', `/${id}`);
    const deleted = await b.call('alice', 'DELETE', `/${id}`);
    const gone = await a.call('alice', 'GET', `/${id}`);

    expect([continued, read, deleted, gone].map(({ status }) => status)).toEqual([
      ...[200, 200, 200, 404],
    ]);
    expect(member(read.body, 'id')).toBe(id);
    expect(accounts[1]?.calls).toEqual([]);
  });

  it.each(['relayed', 'translated'])('%s: neither lets another key use it', async (model) => {
    const { a, b, accounts } = await started(server().path);
    const { body } = await a.ask('alice', { model, input: 'hi' });
    const [item] = items(member(body, 'output'));
    const [id, itemId] = [body, item].map((value) => String(member(value, 'id')));
    const before = accounts.map(({ calls }) => calls.length);
    expect(before).toEqual([1, 0]);

    for (const process of [a, b]) {
      for (const known of [id, itemId]) {
        const unknown = `${known?.slice(0, -2)}zz`;
        const attempts = [known, unknown].map(async (named = '') => {
          const reply = await process.ask('mallory', { model, input: references({ id: named }) });
          const read = await process.call('mallory', 'GET', `/${named}`);
          return JSON.stringify([reply, read]).replaceAll(named, 'ID');
        });
        const [foreign, missing] = await Promise.all(attempts);
        expect(foreign).toBe(missing);
        expect(foreign).toMatch(/"status":404.*"status":404/);
      }
    }
    expect(accounts.map(({ calls }) => calls.length)).toEqual(before);
  });

  it('a translated reply that one deletes is gone for the other', async () => {
    const { a, b } = await started(server().path);
    const { body } = await a.ask('alice', { model: 'translated', input: 'hi' });
    const [item] = items(member(body, 'output'));

    const deleted = await b.call('alice', 'DELETE', `/${String(member(body, 'id'))}`);
    const after = await a.ask('alice', { model: 'translated', input: references(item) });

    expect([deleted.status, after.status]).toEqual([200, 404]);
  });
});

function references(item: JsonValue | undefined): readonly JsonValue[] {
  return [{ type: 'item_reference', id: member(item, 'id') ?? null }];
}

function say(content: string): JsonValue {
  return { role: 'user', content };
}

interface Answer {
  readonly status: number;
  readonly body: JsonValue | undefined;
}

/** One of the processes. */
interface Process {
  ask(key: Key, members: Readonly<Record<string, JsonValue>>): Promise<Answer>;
  /** Calls a path below `/v1/responses`. */
  call(key: Key, method: string, path: string, body?: string): Promise<Answer>;
}

type Key = 'alice' | 'mallory';

/** Two processes, and the two accounts: the first one is asked first by the first process. */
async function started(
  redisPath: string,
): Promise<{ a: Process; b: Process; accounts: readonly FakeUpstream[] }> {
  const secrets = {
    alice: issueKey({ group: 'staff', limitNanos: 1n }).secret,
    mallory: issueKey({ group: 'staff', limitNanos: 1n }).secret,
  };
  const accounts = await Promise.all([startStrictUpstream(), startStrictUpstream()]);
  onTestFinished(async () => {
    for (const account of accounts) await account.close();
  });
  const named = accounts.map(({ openaiBaseUrl }, at) => ({
    name: ['eu', 'us'][at],
    baseUrl: openaiBaseUrl,
  }));
  const prefix = newPrefix();
  const start = async (used: typeof named): Promise<Process> => {
    const origin = await startProcess({ redisPath, prefix, accounts: used, secrets });
    const call: Process['call'] = async (key, method, path, body) => {
      const response = await fetch(`${origin}/v1/responses${path}`, {
        method,
        headers: { authorization: `Bearer ${secrets[key]}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      });
      return { status: response.status, body: parseJson(await response.text()) };
    };
    return { ask: (key, members) => call(key, 'POST', '', JSON.stringify(members)), call };
  };
  const [a, b] = await Promise.all([start(named), start(named.toReversed())]);
  return { a, b, accounts };
}

async function startProcess(config: object): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const [message] = await once(child, 'message');
  return z.object({ origin: z.string() }).parse(message).origin;
}
