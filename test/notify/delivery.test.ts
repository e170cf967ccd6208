// suite: slow host
/** What is sent, signed how, and what becomes of it for each reply that a receiver may give. */
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advanceUntil, level, notifying, otherSecret, secret } from './harness.ts';
import { type Behaviour, type Received, startReceiver, status } from './receiver.ts';

function verified({ headers, text }: Received, by: string): unknown {
  return new Webhook(by).verify(text, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
}

/** The library compares with the time of day. */
const clockOfToday = () => fakeClock(Date.now());

function idsOf(received: readonly Received[]): readonly unknown[] {
  return received.map(({ headers }) => headers['webhook-id']);
}

describe('a notification', () => {
  it('is JSON that the library of Standard Webhooks accepts', async () => {
    const receiver = await startReceiver();
    const { emit, failures } = notifying(receiver.url, { clock: clockOfToday() });

    emit(level());
    await receiver.count(1);

    const [sent] = receiver.received;
    if (sent === undefined) throw new Error('Nothing was sent.');
    expect(verified(sent, secret)).toEqual({
      type: 'budget.reached',
      timestamp: expect.stringMatching(/^20\d\d-.*Z$/),
      text: 'The budget team for 2026-01 has reached 80 %: 8.5 of 10 used.',
      data: {
        ...{ subject: 'team', period: '2026-01', percent: 80, keyId: 'key-1' },
        ...{ limitNanos: '10000000000', usedNanos: '8500000000' },
      },
    });
    expect(sent.headers['content-type']).toBe('application/json');
    expect(() => verified(sent, otherSecret)).toThrow();
    expect(failures).toEqual([]);
  });

  it.each([
    [10_000_000_000n, 'is used up: 10 of 10 used.'],
    [9_700_000_000n, 'has too little left for a call: 9.7 of 10 used.'],
  ])('of level 100 says what %s used means', async (usedNanos, text) => {
    const receiver = await startReceiver();
    const { emit } = notifying(receiver.url);

    emit(level({ percent: 100, usedNanos }));
    await receiver.count(1);

    expect(receiver.received[0]?.text).toContain(`The budget team for 2026-01 ${text}`);
  });

  it('has a signature for each of two secrets', async () => {
    const receiver = await startReceiver();
    const secrets = [otherSecret, secret] as const;
    const { emit } = notifying(receiver.url, { clock: clockOfToday(), secret: secrets });

    emit(level());
    await receiver.count(1);

    const [sent] = receiver.received;
    if (sent === undefined) throw new Error('Nothing was sent.');
    for (const one of secrets)
      expect(verified(sent, one)).toMatchObject({ type: 'budget.reached' });
  });

  it('has metadata only if it is listed', async () => {
    const receiver = await startReceiver();
    const { emit } = notifying(receiver.url, { metadata: ['user', 'team'] });

    emit(level());
    await receiver.count(1);

    expect(receiver.received[0]?.body.data).toMatchObject({ metadata: { user: 'ada' } });
    expect(receiver.received[0]?.text).not.toContain('gold');
  });

  const cause = fc.record({
    subject: fc.constantFrom('a', 'a b', 'ab', 'b'),
    period: fc.constantFrom('', '2026-01', '2026-01-02'),
    percent: fc.constantFrom<80 | 95 | 100>(80, 95, 100),
    limitNanos: fc.constantFrom(1n, 11n, 111n),
  });

  it('has one id for each cause, in all processes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(cause, { minLength: 1, maxLength: 12 }), async (causes) => {
        const receiver = await startReceiver();
        const replicas = [notifying(receiver.url), notifying(receiver.url)];
        const names = new Set(causes.map((one) => JSON.stringify(Object.values(one).map(String))));

        for (const one of causes) for (const { emit } of replicas) emit(level(one));
        await receiver.count(2 * names.size);
        await Promise.all(replicas.map(({ notifications }) => notifications.close()));

        expect(receiver.received.length).toBe(2 * names.size);
        expect(new Set(idsOf(receiver.received)).size).toBe(names.size);
      }),
      { numRuns: 15 },
    );
  });
});

describe('a receiver', () => {
  it.each([
    301, 302, 307, 308, 400, 401, 403, 404, 405, 413, 422,
  ])('that replies %i gets it once, and operators an event', async (code) => {
    const elsewhere = await startReceiver();
    const receiver = await startReceiver(status(code, { location: elsewhere.url }));
    const { emit, failed, failures, clock } = notifying(receiver.url);

    emit(level());
    await failed(1);
    clock.advance(86_400_000);
    await setImmediate();

    expect(failures).toEqual([
      {
        type: 'notification_failed',
        endpoint: new URL(receiver.url).host,
        notification: 'budget.reached',
        id: receiver.received[0]?.headers['webhook-id'],
        reason: 'refused',
        status: code,
        attempts: 1,
      },
    ]);
    expect([receiver.received.length, elsewhere.received.length]).toEqual([1, 0]);
  });

  it('that replies 410 gets nothing more', async () => {
    const receiver = await startReceiver(status(410));
    const { emit, failed, failures, clock } = notifying(receiver.url);

    emit(level());
    emit(level({ percent: 95 }));
    await failed(2);
    emit(level({ percent: 100 }));
    clock.advance(86_400_000);
    await setImmediate();

    expect(failures.map(({ reason, attempts }) => [reason, attempts])).toEqual([
      ['gone', 1],
      ['gone', 0],
    ]);
    expect(receiver.received.length).toBe(1);
  });

  it('that replies 500 or 429 gets it again when it wants, signed anew, with its id', async () => {
    const receiver = await startReceiver(status(500), status(429, { 'retry-after': '600' }));
    const { emit, clock, failures } = notifying(receiver.url);

    emit(level());
    await receiver.count(1);
    await advanceUntil(clock, () => receiver.received.length > 1);
    const secondMs = clock.now();
    await advanceUntil(clock, () => receiver.received.length > 2);

    expect(clock.now() - secondMs).toBeGreaterThanOrEqual(600_000);
    expect(new Set(idsOf(receiver.received)).size).toBe(1);
    const times = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect((times[2] ?? 0) - (times[1] ?? 0)).toBeGreaterThanOrEqual(600);
    expect(failures).toEqual([]);
  });

  const late: readonly (readonly [string, Behaviour])[] = [
    ['accepts and never replies', () => {}],
    [
      'replies 200 after the timeout',
      (response, { socket }) => void socket.once('close', () => response.writeHead(200).end()),
    ],
    ['never ends the head', (_response, { socket }) => void socket.write('HTTP/1.1 200 OK\r\n')],
  ];

  it.each(late)('that %s is waited for 10 s, and gets it again', async (_name, behave) => {
    const receiver = await startReceiver(behave, status(204));
    const { emit, clock, failures } = notifying(receiver.url);

    emit(level());
    await receiver.count(1);
    clock.advance(9_999);
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    expect(receiver.received.length).toBe(1);
    await advanceUntil(clock, () => receiver.received.length > 1);

    expect(new Set(idsOf(receiver.received)).size).toBe(1);
    expect(failures).toEqual([]);
  });

  it.each<readonly [string, Behaviour]>([
    ['cuts the connection', (_response, { socket }) => void socket.destroy()],
    ['cuts its head', (_response, { socket }) => void socket.end('HTTP/1.1 200')],
    ['sends no HTTP', (_response, { socket }) => void socket.end('hello\r\n\r\n')],
  ])('that %s gets it again', async (_name, behave) => {
    const receiver = await startReceiver(behave, status(204));
    const { emit, clock } = notifying(receiver.url);

    emit(level());
    await receiver.count(1);
    await advanceUntil(clock, () => receiver.received.length > 1);

    expect(new Set(idsOf(receiver.received)).size).toBe(1);
  });

  it('that replies with a gigabyte is cut off after little of it', async () => {
    let sent = 0;
    let cutOff = (): void => {};
    const isCutOff = new Promise<void>((resolve) => {
      cutOff = resolve;
    });
    const receiver = await startReceiver((response) => {
      const chunk = Buffer.alloc(64 * 1024);
      response.writeHead(200);
      const pour = (): void => {
        while (sent < 2 ** 30) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', pour);
        }
        response.end();
      };
      response.on('close', cutOff);
      pour();
    });
    const { emit, failures } = notifying(receiver.url);

    emit(level());
    await isCutOff;

    // What the sockets of both sides buffer is counted too.
    expect(sent).toBeLessThan(2 ** 24);
    expect([receiver.received.length, failures.length]).toEqual([1, 0]);
  });

  it('that drips its reply has accepted, holds up no other, and is cut off', async () => {
    let cutOff = (): void => {};
    const isCutOff = new Promise<void>((resolve) => {
      cutOff = resolve;
    });
    const receiver = await startReceiver((response) => {
      response.writeHead(200).write('.');
      response.on('close', cutOff);
    }, status(204));
    const { emit, clock, failures } = notifying(receiver.url);

    emit(level());
    emit(level({ percent: 95 }));
    await receiver.count(2);
    clock.advance(10_000);
    await isCutOff;

    expect(failures).toEqual([]);
  });

  it('that nothing listens for is tried again', async () => {
    const receiver = await startReceiver();
    const { emit, clock, failed, failures } = notifying('http://127.0.0.1:1/', { name: 'pager' });

    emit(level());
    await Promise.all([failed(1), advanceUntil(clock, () => failures.length > 0)]);

    expect(failures).toMatchObject([
      { endpoint: 'pager', reason: 'connection', status: undefined },
    ]);
    expect(failures[0]?.attempts).toBeGreaterThan(10);
    expect(receiver.received).toEqual([]);
  });
});

describe('a gateway that closes', () => {
  it('sends what waits once more, and reports what was not taken', async () => {
    const receiver = await startReceiver(status(500), status(204), status(500));
    const { emit, notifications, failures } = notifying(receiver.url);

    emit(level());
    await receiver.count(1);
    emit(level({ percent: 95 }));
    emit(level({ percent: 100 }));
    await notifications.close();

    const [first, , third] = idsOf(receiver.received);
    expect(receiver.received.length).toBe(3);
    expect(failures.map(({ id, reason }) => [id, reason])).toEqual([
      [first, 'closed'],
      [third, 'closed'],
    ]);
  });

  it('waits 5 s for a receiver that never replies', async () => {
    const receiver = await startReceiver(() => {});
    const { emit, notifications, failures, clock } = notifying(receiver.url);

    emit(level());
    emit(level({ percent: 95 }));
    await receiver.count(1);
    const closed = notifications.close();
    clock.advance(5_000);
    await closed;

    expect(failures.map(({ reason, attempts }) => [reason, attempts])).toEqual([
      ['closed', 0],
      ['closed', 1],
    ]);
    expect(JSON.stringify(failures)).not.toMatch(/token|whsec|of the receiver/);
  });
});
