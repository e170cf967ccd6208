// suite: slow
/**
 * A key that sends many bodies, or never finishes them, does not affect the callers of other keys.
 */
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import type { GatewayOptions } from '../../src/gateway-options.ts';
import type { GatewayRequest, GatewayResponse } from '../../src/http.ts';
import type { ApiKey } from '../../src/ports/keys/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { drivenUpstream } from '../support/driven-upstream.ts';
import { defaultModels } from '../support/models.ts';

const mebibyte = 1024 * 1024;
/** The defaults, divided by 32. */
const room = {
  maxBodyBytes: mebibyte,
  maxImageBodyBytes: mebibyte,
  maxBufferedBytes: 8 * mebibyte,
};

describe('unfinished bodies of one key', () => {
  it('leave memory for the callers of other keys, for small and for large bodies', async () => {
    const { open, status } = hosting({ options: room });
    const greedy = Array.from({ length: 8 }, () => open('greedy', mebibyte));
    for (let part = 0; part < 15; part += 1) {
      for (const body of greedy) body.push(65_536);
      await turn();
    }

    expect(await status('modest', 70)).toBe(400);
    expect(await status('modest', mebibyte)).toBe(400);

    for (const body of greedy) body.cut();
    await Promise.all(greedy.map(({ answer }) => answer));
    expect(await status('greedy', mebibyte)).toBe(400);
  });

  it('of one byte leave call slots for the callers of other keys', async () => {
    const { open, status } = hosting({ options: { maxConcurrentCalls: 2_000 } });
    const greedy = Array.from({ length: 2_000 }, () => open('greedy', 100));
    for (const body of greedy) body.push(1);
    await turn();

    expect(await status('modest', 70)).toBe(400);

    for (const body of greedy) body.cut();
    const answers = await Promise.all(greedy.map(({ answer }) => answer));
    expect(answers.filter(({ status: code }) => code === 503)).toHaveLength(1_000);
  });
});

describe('before the body is read', () => {
  it('the rate limiter is asked, and the body of a call that it refuses stays unread', async () => {
    const requested: string[] = [];
    const { open } = hosting({
      key: { rates: [{ calls: { perMinute: 1 }, tokens: { perMinute: 1 } }] },
      options: {
        rateLimiter: {
          take: (takes) => {
            requested.push(...takes.map(({ owner, bucket }) => `${owner} ${bucket}`));
            return { granted: false, refused: 0, retryAfterMs: 1_000, remaining: [0] };
          },
          adjust: () => {},
        },
      },
    });
    const body = open('greedy', 100);

    expect((await body.answer).status).toBe(429);
    expect(body.stream.readableDidRead).toBe(false);
    expect(requested).toEqual(['subject.greedy calls.minute']);
  });

  it('the key’s limit of concurrent calls counts calls whose body is still arriving', async () => {
    const { open, status } = hosting({ key: { maxConcurrentCalls: 2 } });
    const running = [open('key', 100), open('key', 100)];
    await turn();

    const third = open('key', 100);

    expect((await third.answer).status).toBe(429);
    expect(third.stream.readableDidRead).toBe(false);
    expect(await status('other', 70)).toBe(400);
    running[0]?.cut();
    await running[0]?.answer;
    expect(await status('key', 70)).toBe(400);
    running[1]?.cut();
  });

  it('a call that may repeat another is not counted, because it may not run at all', async () => {
    const { open, status } = hosting({ key: { maxConcurrentCalls: 1 } });
    const first = open('key', 100);
    await turn();

    expect(await status('key', 70)).toBe(429);
    expect(await status('key', 70, { 'idempotency-key': 'again' })).toBe(400);
    first.cut();
  });
});

it('whenever a call is cut, its bytes, its slot and its count are released', async () => {
  const moment = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    bytes: fc.integer({ min: 0, max: 300_000 }),
    announced: fc.constantFrom(undefined, 300_000, 2 * mebibyte),
    turns: fc.nat(4),
    end: fc.constantFrom('cut', 'error', 'disconnect', 'end'),
    isRepeatable: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 12 }), async (moments) => {
      const { open, status, idle } = hosting({
        key: { maxConcurrentCalls: 3 },
        options: { ...room, maxBufferedBytes: mebibyte, maxConcurrentCalls: 8 },
      });
      const calls = moments.map(({ key, bytes, announced, turns, end, isRepeatable }) => {
        const headers = isRepeatable ? { 'idempotency-key': 'k' } : {};
        const call = open(key, announced, headers);
        const play = async (): Promise<void> => {
          for (let count = 0; count < turns; count += 1) await turn();
          call.push(bytes);
          for (let count = 0; count < turns; count += 1) await turn();
          call[
            end === 'error'
              ? 'error'
              : end === 'disconnect'
                ? 'disconnect'
                : end === 'end'
                  ? 'end'
                  : 'cut'
          ]();
          await call.answer;
        };
        return play();
      });
      await Promise.all(calls);
      await idle();

      const all = ['a', 'b', 'c'].map((key) => [open(key, 10), open(key, 10)]);
      await turn();
      await turn();
      for (const call of all.flat()) call.end();
      const answers = await Promise.all(all.flat().map(({ answer }) => answer));
      expect(answers.map((answer) => answer.status)).toEqual(Array(6).fill(400));
      expect(await status('a', mebibyte)).toBe(400);
    }),
    { numRuns: 60 },
  );
});

interface OpenCall {
  readonly stream: Readable;
  readonly answer: Promise<GatewayResponse>;
  push(bytes: number): void;
  /** The caller's connection breaks: first the request stream, or first the response. */
  cut(): void;
  disconnect(): void;
  error(): void;
  end(): void;
}

interface Hosting {
  readonly gateway: Gateway;
  open(
    key: string,
    announcedBytes: number | undefined,
    headers?: Readonly<Record<string, string>>,
  ): OpenCall;
  /**
   * The status of a call with a whole body of so many bytes, which are not JSON: 400 means that the
   * body was read.
   */
  status(key: string, bytes: number, headers?: Readonly<Record<string, string>>): Promise<number>;
  /** Resolves when late releases are done. */
  idle(): Promise<void>;
}

function hosting(setup: {
  readonly options?: Partial<GatewayOptions>;
  readonly key?: Partial<ApiKey>;
}): Hosting {
  const clock = fakeClock();
  const gateway = createGateway({
    keys: {
      find: (id) => ({
        id,
        group: 'staff',
        disabled: false,
        quota: [{ id, period: 'total', limitNanos: 1_000_000n }],
        ...setup.key,
      }),
    },
    quota: memoryQuotaStore({ clock }),
    catalog: staticCatalog(defaultModels()),
    upstream: drivenUpstream(),
    clock,
    ...setup.options,
  });

  const open: Hosting['open'] = (key, announcedBytes, own = {}) => {
    const stream = new Readable({ read() {} });
    const listeners: (() => void)[] = [];
    const length = announcedBytes === undefined ? {} : { 'content-length': String(announcedBytes) };
    const headers = { authorization: `Bearer ${key}`, ...length, ...own };
    const request: GatewayRequest = {
      method: 'POST',
      path: '/v1/chat/completions',
      search: '',
      headers,
      rawHeaders: Object.entries(headers).flat(),
      body: stream,
      onClose: (listener) => listeners.push(listener),
    };
    const disconnect = (): void => {
      for (const listener of listeners) listener();
    };
    return {
      stream,
      answer: gateway.handle(request),
      push: (bytes) => {
        if (bytes > 0) stream.push(Buffer.alloc(bytes, 'x'));
      },
      cut: () => {
        stream.destroy();
        disconnect();
      },
      disconnect: () => {
        disconnect();
        stream.destroy();
      },
      error: () => {
        stream.destroy(new Error('reset'));
      },
      end: () => {
        stream.push(null);
      },
    };
  };

  return {
    gateway,
    open,
    status: async (key, bytes, headers) => {
      const call = open(key, bytes, headers);
      call.push(bytes);
      call.end();
      return (await call.answer).status;
    },
    idle: async () => {
      for (let count = 0; count < 5; count += 1) await turn();
    },
  };
}
