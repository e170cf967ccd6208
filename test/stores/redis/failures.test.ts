// suite: services
/** The store errors for the error messages of Redis and its clients. */
import { describe, expect, it } from 'vitest';
import { redisQuotaStore } from '../../../src/stores/redis/quota-store.ts';
import { callsOf, reserveOf } from './calls.ts';

const refused = { name: 'StoreUnavailable', outcome: 'not_done' };
const unknown = { name: 'StoreUnavailable', outcome: 'unknown' };
const corrupt = { name: 'StoreCorrupt' };

const messages: readonly (readonly [message: string, expected: object])[] = [
  ["READONLY You can't write against a read only replica. script: f0, on @user_script:9.", refused],
  ["ERR Error running script (call to f_0): @user_script:9: -READONLY You can't write", refused],
  ["OOM command not allowed when used memory > 'maxmemory'. script: f0", refused],
  ['LOADING Redis is loading the dataset in memory', refused],
  ['MISCONF Redis is configured to save RDB snapshots', refused],
  ['MASTERDOWN Link with MASTER is down', refused],
  ['CLUSTERDOWN Hash slot not served', refused],
  ['MOVED 866 127.0.0.1:7001', refused],
  ['ASK 866 127.0.0.1:7001', refused],
  ['TRYAGAIN Multiple keys request during rehashing of slot', refused],
  ['BUSY Redis is busy running a script', refused],
  ['NOREPLICAS Not enough good replicas to write.', refused],
  ['NOAUTH Authentication required.', refused],
  ["NOPERM User u has no permissions to run the 'evalsha' command", refused],
  ['ERR max number of clients reached', refused],
  [
    'ERR Error running script (call to f_0): @user_script: 9: @user_script: 9: -OOM command not ' +
      'allowed',
    refused,
  ],
  ['ERR Error running script (call to f_0): @user_script:1: Script killed by user', refused],
  ['connect ECONNREFUSED 127.0.0.1:6379', refused],
  ['The client is closed', refused],
  ['The client is offline', refused],
  ['The command was aborted', refused],
  ["Stream isn't writeable and enableOfflineQueue options is false", refused],
  ['Command timeout during maintenance. Waited to write command for more than 9ms.', refused],
  ['Socket closed unexpectedly', unknown],
  ['Connection is closed.', unknown],
  ['read ECONNRESET', unknown],
  ['Reached the max retries per request limit (which is 20).', unknown],
  ['Command timed out', unknown],
  ['Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN not served', unknown],
  ['Too many Cluster redirections. Last error: Error: connect ECONNREFUSED ::1', unknown],
  ['The connection ended: READONLY replica', unknown],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', corrupt],
  ['ERR user_script:9: attempt to compare nil with number', corrupt],
  ['Protocol error, got "?" as reply type byte', corrupt],
];

describe('a Redis store', () => {
  it.each(messages)('maps "%s" to a store error', async (message, expected) => {
    const store = redisQuotaStore({ client: { send: () => Promise.reject(new Error(message)) } });

    const call = store.reserve(reserveOf('default'));

    await expect(call).rejects.toMatchObject(expected);
  });

  it('is not_done if every address of a host refuses the connection', async () => {
    const error = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    const store = redisQuotaStore({ client: { send: () => Promise.reject(error) } });

    await expect(store.check()).rejects.toMatchObject(refused);
  });

  describe('where one of two partitions can’t be reached', () => {
    const harness = (down: readonly string[], message = 'CLUSTERDOWN Hash slot not served') => {
      const keys: string[] = [];
      const send = async (args: readonly string[]): Promise<unknown> => {
        const [, , keyCount = '', key = ''] = args;
        if (keyCount === '1') return ['default', 'good', 'bad'];
        keys.push(key);
        if (down.some((name) => key.includes(`{${name}}`))) throw new Error(message);
        return args.length > 7 ? [['held', '5']] : ['1', '0'];
      };
      return { keys, store: redisQuotaStore({ client: { send }, prefix: 't' }) };
    };
    const leases = ['good', 'bad'].map((partition) => ({
      ...{ id: 'A'.repeat(16), partition, ttlMs: 1_000 },
    }));

    it('an extend has the outcome unknown', async () => {
      const { store, keys } = harness(['bad']);

      await expect(store.extend(leases)).rejects.toMatchObject(unknown);
      expect(keys).toEqual(['t:{good}:', 't:{bad}:']);
    });

    it('an extend is not_done only if all batches were refused', async () => {
      await expect(harness(['good', 'bad']).store.extend(leases)).rejects.toMatchObject(refused);
      const lost = harness(['good', 'bad'], 'Socket closed unexpectedly').store;
      await expect(lost.extend(leases)).rejects.toMatchObject(unknown);
    });

    it('a sweep still covers the other partitions, and throws at the end', async () => {
      const { store, keys } = harness(['default']);

      await expect(store.sweep({ max: 10 })).rejects.toMatchObject(unknown);
      expect(keys).toEqual(['t:{default}:', 't:{good}:', 't:{bad}:']);
      const down = harness(['default', 'good', 'bad']).store;
      await expect(down.sweep({ max: 10 })).rejects.toMatchObject(refused);
    });
  });

  it('sends the text of a script once if the server does not know it', async () => {
    const sent: string[] = [];
    const store = redisQuotaStore({
      client: {
        send: async ([command = '']) => {
          sent.push(command);
          if (command === 'EVALSHA') throw new Error('NOSCRIPT No matching script.');
          return ['none'];
        },
      },
    });

    expect(await store.read('alice', '', 'default')).toBeUndefined();
    expect(sent).toEqual(['EVALSHA', 'EVAL']);
  });

  it('sends nothing for a call that was aborted before', async () => {
    const sent: unknown[] = [];
    const store = redisQuotaStore({
      client: {
        send: async (args) => {
          sent.push(args);
          return null;
        },
      },
    });

    for (const [, call] of callsOf(store, 'default', { signal: AbortSignal.abort() })) {
      await expect(call()).rejects.toMatchObject(refused);
    }
    expect(sent).toEqual([]);
  });

  it('rejects when the caller aborts, and aborts the client’s command', async () => {
    const caller = new AbortController();
    const signals: AbortSignal[] = [];
    const store = redisQuotaStore({
      client: {
        send: (_words, { signal }) => {
          signals.push(signal);
          return new Promise(() => {});
        },
      },
    });

    const call = store.reserve(reserveOf('default'), { signal: caller.signal });
    caller.abort();

    await expect(call).rejects.toMatchObject(unknown);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

const garbage: readonly unknown[] = [
  null,
  undefined,
  'OK',
  5,
  {},
  [],
  [null],
  [[]],
  [5],
  ['perhaps'],
  ['held'],
  ['held', '0', '1e15', '100', '0', '10'],
  ['held', '0', '1767225600000', '100', '0'],
  ['held', '2', '1767225600000', '100', '0', '10'],
  ['held', '0', '1767225600000', '100', '-0', '10'],
  ['insufficient', '2', '100', '0', '10'],
  ['insufficient', '1', '100', '0'],
  ['insufficient', '1', '100', '0', '99999999999999999999'],
  ['too_many_in_flight', '0'],
  ['resolved', 'held'],
  ['settled_late', 'released'],
  ['already'],
  ['already', ''],
  ['already', '1.5'],
  ['row', '100', '-1', '0', '0', '1', '1'],
  ['row', '100', '1', '0', '0', 'yes', '1'],
  ['row', '100', '1', '0', '0', '1'],
  [['gone', 'held']],
  [['held', 'soon']],
  [
    ['gone', 'unknown'],
    ['gone', 'unknown'],
  ],
  ['-1', '0'],
  ['1', ''],
];

describe('an invalid reply is StoreCorrupt, in', () => {
  const names = callsOf(redisQuotaStore({ client: replyingWith(null) }), 'default', {});
  // `check` is left out: it reports what it reads as problems for an operator.
  it.each(names.map(([name]) => name).filter((name) => name !== 'check'))('%s', async (name) => {
    for (const reply of garbage) {
      const store = redisQuotaStore({ client: replyingWith(reply) });
      const [, call] = callsOf(store, 'default', {}).find(([own]) => own === name) ?? [];

      await expect(call?.(), JSON.stringify(reply)).rejects.toMatchObject(corrupt);
    }
  });
});

function replyingWith(reply: unknown): { send(): Promise<unknown> } {
  return { send: () => Promise.resolve(reply) };
}
