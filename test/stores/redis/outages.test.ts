/** A Redis that is gone, frozen, cut off, full or killed: what a store says, and what is left. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MaybePromise } from '../../../src/ports/call-options.ts';
import type { ClaimInput } from '../../../src/ports/idempotency-store.ts';
import type { QuotaStore } from '../../../src/ports/quota-store.ts';
import { redisIdempotencyStore } from '../../../src/stores/redis/idempotency-store.ts';
import { redisQuotaStore } from '../../../src/stores/redis/quota-store.ts';
import { type CutProxy, startCutProxy } from '../../proof/cut-proxy.ts';
import { describeRedis } from '../../services/redis.ts';
import { callsOf, line, newPartition, reserveOf } from './calls.ts';
import { clients, newPrefix, type OpenClient } from './scene.ts';

const briefly = { timeoutMs: 50 };
const patient = { timeoutMs: 5_000 };

describeRedis('a Redis that fails', (server) => {
  describe.each(clients)('under %s', (clientName, open) => {
    const opened: OpenClient[] = [];
    const openAt = async (path: string): Promise<OpenClient> => {
      const own = await open(path);
      opened.push(own);
      return own;
    };
    const storeAt = async (path: string): Promise<QuotaStore> => {
      const { client } = await openAt(path);
      return redisQuotaStore({ client, prefix: newPrefix() });
    };
    afterEach(() => {
      for (const { close } of opened.splice(0)) close();
    });

    it('QS-40 is unavailable to every operation in time while it is gone, then back', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));
      await server().kill();

      for (const [, call] of callsOf(store, partition, briefly)) {
        await expect(call()).rejects.toMatchObject({ name: 'StoreUnavailable' });
      }
      await server().start();

      const state = await store.read('alice', '', partition, patient);
      expect(state?.limit).toBe(100n);
    });

    it('QS-40 has done nothing where the client took a call back', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));
      await server().kill();

      const failure = await outcomeOf(store.reserve(reserveOf(partition), briefly));
      await server().start();

      // ioredis has no way to take a call back: what it knows is that it does not know.
      const outcome = clientName === 'ioredis' ? 'unknown' : 'not_done';
      expect(failure).toMatchObject({ name: 'StoreUnavailable', outcome });
      const expected = clientName === 'ioredis' ? [1, 2] : [1];
      expect(expected).toContain((await store.read('alice', '', partition, patient))?.inFlight);
    });

    it('QS-44 is given up in time while it hangs, and a release undoes what is late', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));
      const late = reserveOf(partition);
      server().freeze();

      const call = store.reserve(late, briefly);
      await expect(call).rejects.toMatchObject({ name: 'StoreUnavailable', outcome: 'unknown' });
      server().thaw();

      await store.release(late, patient);
      const state = await store.read('alice', '', partition, patient);
      expect([state?.held, state?.inFlight]).toEqual([10n, 1]);
    });

    it('QS-42 charges once where the reply to a settle is lost and it is sent again', async () => {
      const partition = newPartition();
      const proxy = await proxyTo(server().path);
      const store = await storeAt(proxy.path);
      const input = reserveOf(partition);
      await store.reserve(input);
      const settle = { ...input, lines: [line('alice', 7n)], basis: 'usage' } as const;
      // The script is known by now: the reply that is lost is the one to the settle.
      await store.settle({ ...settle, id: reserveOf(partition).id, lines: [line('bob', 0n)] });

      proxy.set({ kind: 'lose' });
      const unheard = await outcomeOf(store.settle(settle, patient));
      const again = await store.settle(settle, patient);

      // ioredis sends it again by itself.
      expect(unheard).toMatchObject(
        clientName === 'ioredis'
          ? { status: 'already' }
          : { name: 'StoreUnavailable', outcome: 'unknown' },
      );
      expect(again).toEqual({ status: 'already', charged: [7n] });
      const state = await store.read('alice', '', partition, patient);
      expect([state?.used, state?.held]).toEqual([7n, 0n]);
      await proxy.close();
    });

    it('gives a claim to its claimer where the reply is lost and it is sent again', async () => {
      const proxy = await proxyTo(server().path);
      const { client } = await openAt(proxy.path);
      const store = redisIdempotencyStore({ client, prefix: newPrefix() });
      const claim: ClaimInput = {
        ...{ name: 'n', fingerprint: 'f', claimId: 'c', requestId: 'r', keyId: 'k' },
        ...{ leaseMs: 60_000, keepMs: 60_000 },
        operation: 'chat',
        ifTaken: 'answer',
      };
      // The script is known by now: the reply that is lost is the one to the claim.
      await store.abandon(claim);
      await store.claim({ ...claim, name: 'another' });

      proxy.set({ kind: 'lose' });
      await outcomeOf(store.claim(claim, patient));

      expect(await store.claim(claim, patient)).toEqual({ status: 'claimed' });
      const rival = await store.claim({ ...claim, claimId: 'another' }, patient);
      expect(rival.status).toBe('taken');
      await proxy.close();
    });

    it('QS-44 a release whose asker gave up lands, though its script was not loaded', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      // As after a restart or a failover: the server knows what it was asked since, and no more.
      await flushScripts(server().path);
      await store.reserve(reserveOf(partition));
      const before = await store.read('alice', '', partition, patient);
      server().freeze();

      const refused = reserveOf(partition);
      await expect(store.reserve(refused, briefly)).rejects.toThrow();
      await expect(store.release(refused, briefly)).rejects.toThrow();
      server().thaw();

      await vi.waitFor(async () => {
        const known = await store.extend([{ ...refused, ttlMs: 1_000 }], patient);
        expect(known).toEqual([{ status: 'gone', as: 'released' }]);
      });
      expect(await store.read('alice', '', partition, patient)).toMatchObject({
        held: before?.held,
        inFlight: before?.inFlight,
      });
    });

    it('QS-36 keeps every balance and hold when it is killed', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      const [settled, held] = [reserveOf(partition), reserveOf(partition)];
      await store.reserve(settled);
      await store.settle({ ...settled, lines: [line('alice', 7n)], basis: 'usage' });
      await store.reserve(held);
      const before = await store.read('alice', '', partition);

      await server().kill();
      await server().start();

      expect(await store.read('alice', '', partition, patient)).toEqual(before);
      const [extended] = await store.extend([{ id: held.id, partition, ttlMs: 60_000 }], patient);
      expect(extended?.status).toBe('held');
      const again = await store.settle({ ...settled, basis: 'usage' }, patient);
      expect(again).toEqual({ status: 'already', charged: [7n] });
    });

    it('QS-45 is found again by a script that it has forgotten', async () => {
      const partition = newPartition();
      const store = await storeAt(server().path);
      await store.reserve(reserveOf(partition));

      await tell(server().path, 'SCRIPT', 'FLUSH');

      expect((await store.reserve(reserveOf(partition))).status).toBe('held');
    });

    it('QS-45 takes no hold while full or a replica, and what ends one while full', async () => {
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
        await tell(server().path, ...on);
        const refused = await outcomeOf(store.reserve(reserveOf(partition)));
        const isFull = on[0] === 'CONFIG';
        const ended = isFull ? await store.settle({ ...input, basis: 'usage' }) : undefined;
        await tell(server().path, ...off);

        expect(refused).toMatchObject({ name: 'StoreUnavailable', outcome: 'not_done' });
        if (isFull) expect(ended).toEqual({ status: 'settled' });
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
    ])('QS-43 that answers %j is not believed, and later is', async (reply) => {
      const partition = newPartition();
      const proxy = await proxyTo(server().path);
      const store = await storeAt(proxy.path);
      await store.reserve(reserveOf(partition));

      proxy.set({ kind: 'garble', bytes: Buffer.from(reply) });
      const garbled = await outcomeOf(store.reserve(reserveOf(partition), { timeoutMs: 500 }));
      const { client } = await openAt(server().path);
      const sound = redisQuotaStore({ client, prefix: newPrefix() });

      // ioredis may hang up on it and ask again: the truth is a hold that was there already.
      const truth = { status: 'held', replay: true };
      const failure = { name: expect.stringMatching(/^Store/) };
      expect(garbled).toMatchObject(garbled instanceof Error ? failure : truth);
      expect((await sound.reserve(reserveOf(partition), patient)).status).toBe('held');
      await proxy.close();
    });
  });
});

/** A way to the server that can be broken. */
async function proxyTo(to: string): Promise<CutProxy & { readonly path: string }> {
  const path = join(to, `../proxy-${randomUUID().slice(0, 8)}.sock`);
  return { ...(await startCutProxy({ at: path, to })), path };
}

/** What a call came to, its error among it. */
async function outcomeOf(call: MaybePromise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    return error;
  }
}

/** Says one command to the server, past the stores. */
async function tell(path: string, ...words: readonly string[]): Promise<void> {
  const client = await createClient({ socket: { path, tls: false } }).connect();
  await client.sendCommand([...words]);
  client.destroy();
}

async function flushScripts(path: string): Promise<void> {
  const client = await createClient({ socket: { path, tls: false } }).connect();
  await client.sendCommand(['SCRIPT', 'FLUSH']);
  client.destroy();
}
