// suite: services
/** A Redis that is stopped, frozen, cut off, full or killed: errors of stores and data left. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MaybePromise } from '../../../src/ports/call-options.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import type { ClaimInput } from '../../../src/ports/replies/idempotency-store.ts';
import { redisIdempotencyStore } from '../../../src/stores/redis/idempotency-store.ts';
import { redisQuotaStore } from '../../../src/stores/redis/quota-store.ts';
import { type CutProxy, startCutProxy } from '../../proof/cut-proxy.ts';
import { describeRedis } from '../../services/redis.ts';
import { callsOf, line, newPartition, reserveOf } from './calls.ts';
import { clients, newPrefix, type OpenClient } from './clients.ts';

const shortDeadline = { timeoutMs: 50 };
const longDeadline = { timeoutMs: 5_000 };

describeRedis('a Redis that fails', (server) => {
  describe.each(clients)('under %s', (clientName, open) => {
    const opened: OpenClient[] = [];
    const openAt = async (path: string): Promise<OpenClient> => {
      const connection = await open(path);
      opened.push(connection);
      return connection;
    };
    const storeAt = async (path: string): Promise<QuotaStore> => {
      const { client } = await openAt(path);
      return redisQuotaStore({ client, prefix: newPrefix() });
    };
    afterEach(() => {
      for (const { close } of opened.splice(0)) close();
    });

    it('every operation fails in time while it is stopped, and works when it is back', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));
      await server().kill();

      for (const [, call] of callsOf(store, partition, shortDeadline)) {
        await expect(call()).rejects.toMatchObject({ name: 'StoreUnavailable' });
      }
      await server().start();

      const state = await store.read('alice', '', partition, longDeadline);
      expect(state?.limit).toBe(100n);
    });

    it('a call that the client could cancel is not_done', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));
      await server().kill();

      const failure = await outcomeOf(store.reserve(reserveOf(partition), shortDeadline));
      await server().start();

      // ioredis can't cancel a command, so its outcome is unknown.
      const outcome = clientName === 'ioredis' ? 'unknown' : 'not_done';
      expect(failure).toMatchObject({ name: 'StoreUnavailable', outcome });
      const expected = clientName === 'ioredis' ? [1, 2] : [1];
      expect(expected).toContain(
        (await store.read('alice', '', partition, longDeadline))?.inFlight,
      );
    });

    it('a call is given up in time while it hangs; a release undoes its late effect', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));
      const late = reserveOf(partition);
      server().freeze();

      const call = store.reserve(late, shortDeadline);
      await expect(call).rejects.toMatchObject({ name: 'StoreUnavailable', outcome: 'unknown' });
      server().thaw();

      await store.release(late, longDeadline);
      const state = await store.read('alice', '', partition, longDeadline);
      expect([state?.held, state?.inFlight]).toEqual([10n, 1]);
    });

    it('a settle whose reply is lost and that is sent again is charged once', async () => {
      const partition = newPartition();
      const proxy = await proxyTo(server().path);
      const store = await storeAt(proxy.path);
      const input = reserveOf(partition);
      await store.reserve(input);
      const settle = { ...input, lines: [line('alice', 7n)], basis: 'usage' } as const;
      // The server knows the script now, so the lost reply is that of the settle.
      await store.settle({ ...settle, id: reserveOf(partition).id, lines: [line('bob', 0n)] });

      proxy.set({ kind: 'lose' });
      const lost = await outcomeOf(store.settle(settle, longDeadline));
      const again = await store.settle(settle, longDeadline);

      // ioredis resends the command itself.
      expect(lost).toMatchObject(
        clientName === 'ioredis'
          ? { status: 'already' }
          : { name: 'StoreUnavailable', outcome: 'unknown' },
      );
      expect(again).toEqual({ status: 'already', charged: [7n] });
      const state = await store.read('alice', '', partition, longDeadline);
      expect([state?.used, state?.held]).toEqual([7n, 0n]);
      await proxy.close();
    });

    it('a claim whose reply is lost and that is sent again is granted to its claimer', async () => {
      const proxy = await proxyTo(server().path);
      const { client } = await openAt(proxy.path);
      const store = redisIdempotencyStore({ client, prefix: newPrefix() });
      const claim: ClaimInput = {
        ...{ name: 'n', fingerprint: 'f', claimId: 'c', requestId: 'r', keyId: 'k' },
        ...{ leaseMs: 60_000, keepMs: 60_000 },
        operation: 'chat',
        ifTaken: 'answer',
      };
      // The server knows the script now, so the lost reply is that of the claim.
      await store.abandon(claim);
      await store.claim({ ...claim, name: 'another' });

      proxy.set({ kind: 'lose' });
      await outcomeOf(store.claim(claim, longDeadline));

      expect(await store.claim(claim, longDeadline)).toEqual({ status: 'claimed' });
      const rival = await store.claim({ ...claim, claimId: 'another' }, longDeadline);
      expect(rival.status).toBe('taken');
      await proxy.close();
    });

    it('a release takes effect after its deadline, though its script was not loaded', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      // As after a restart or failover, the server knows only the scripts run since.
      await flushScripts(server().path);
      await store.reserve(reserveOf(partition));
      const before = await store.read('alice', '', partition, longDeadline);
      server().freeze();

      const refused = reserveOf(partition);
      await expect(store.reserve(refused, shortDeadline)).rejects.toThrow();
      await expect(store.release(refused, shortDeadline)).rejects.toThrow();
      server().thaw();

      await vi.waitFor(async () => {
        const known = await store.extend([{ ...refused, ttlMs: 1_000 }], longDeadline);
        expect(known).toEqual([{ status: 'gone', as: 'released' }]);
      });
      expect(await store.read('alice', '', partition, longDeadline)).toMatchObject({
        held: before?.held,
        inFlight: before?.inFlight,
      });
    });

    it('keeps every balance and hold when it is killed', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      const [settled, held] = [reserveOf(partition), reserveOf(partition)];
      await store.reserve(settled);
      await store.settle({ ...settled, lines: [line('alice', 7n)], basis: 'usage' });
      await store.reserve(held);
      const before = await store.read('alice', '', partition);

      await server().kill();
      await server().start();

      expect(await store.read('alice', '', partition, longDeadline)).toEqual(before);
      const [extended] = await store.extend(
        [{ id: held.id, partition, ttlMs: 60_000 }],
        longDeadline,
      );
      expect(extended?.status).toBe('held');
      const again = await store.settle({ ...settled, basis: 'usage' }, longDeadline);
      expect(again).toEqual({ status: 'already', charged: [7n] });
    });

    it('runs a script that the server has forgotten', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));

      await sendCommand(server().path, 'SCRIPT', 'FLUSH');

      expect((await store.reserve(reserveOf(partition))).status).toBe('held');
    });

    it('refuses holds while full or a replica, but ends holds while full', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      const input = reserveOf(partition);
      await store.reserve(input);

      for (const [on, off] of [
        [
          ['CONFIG', 'SET', 'maxmemory', '1'],
          ['CONFIG', 'SET', 'maxmemory', '0'],
        ],
        [
          ['REPLICAOF', 'localhost', '1'],
          ['REPLICAOF', 'NO', 'ONE'],
        ],
      ] as const) {
        await sendCommand(server().path, ...on);
        const refused = await outcomeOf(store.reserve(reserveOf(partition)));
        const isFull = on[0] === 'CONFIG';
        const ended = isFull ? await store.settle({ ...input, basis: 'usage' }) : undefined;
        await sendCommand(server().path, ...off);

        expect(refused).toMatchObject({ name: 'StoreUnavailable', outcome: 'not_done' });
        if (isFull) expect(ended).toMatchObject({ status: 'settled' });
      }

      const state = await store.read('alice', '', partition);
      expect([state?.used, state?.held]).toEqual([10n, 0n]);
    });

    it.each([
      '?gibberish\r\n',
      '*-7\r\n',
      '$5\r\nab\r\n',
      ':12a\r\n',
      '*1\r\n*1\r\n$4\r\nheld\r\n',
      '$-1\r\n',
    ])('an invalid reply %j is refused, and the store works later', async (reply) => {
      const partition = newPartition();
      const proxy = await proxyTo(server().path);
      const store = await storeAt(proxy.path);
      await store.reserve(reserveOf(partition));

      proxy.set({ kind: 'garble', bytes: Buffer.from(reply) });
      const garbled = await outcomeOf(store.reserve(reserveOf(partition), { timeoutMs: 500 }));
      const { client } = await openAt(server().path);
      const sound = redisQuotaStore({ client, prefix: newPrefix() });

      // ioredis may reconnect and try again, and then finds the hold that exists already.
      const truth = { status: 'held', replay: true };
      const failure = { name: expect.stringMatching(/^Store/) };
      expect(garbled).toMatchObject(garbled instanceof Error ? failure : truth);
      expect((await sound.reserve(reserveOf(partition), longDeadline)).status).toBe('held');
      await proxy.close();
    });
  });
});

/** A proxy to the server that can break the connection. */
async function proxyTo(to: string): Promise<CutProxy & { readonly path: string }> {
  const path = join(to, `../proxy-${randomUUID().slice(0, 8)}.sock`);
  return { ...(await startCutProxy({ at: path, to })), path };
}

/** The result of a call, or its error. */
async function outcomeOf(call: MaybePromise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    return error;
  }
}

/** Sends a command to the server directly. */
async function sendCommand(path: string, ...args: readonly string[]): Promise<void> {
  const client = await createClient({ socket: { path, tls: false } }).connect();
  await client.sendCommand([...args]);
  client.destroy();
}

async function flushScripts(path: string): Promise<void> {
  const client = await createClient({ socket: { path, tls: false } }).connect();
  await client.sendCommand(['SCRIPT', 'FLUSH']);
  client.destroy();
}
