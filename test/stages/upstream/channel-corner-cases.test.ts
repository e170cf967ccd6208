// suite: quick
/** Corner cases of choosing channels, their health and fail-over. */
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import type { Gateway } from '../../../src/gateway.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { channelHealth } from '../../../src/upstream/channel-health.ts';
import type { HealthSignal } from '../../../src/upstream/record-health.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import {
  channel,
  chat,
  completeReply,
  headersOf,
  model,
  replies,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';

const refuses =
  (status: number, body: unknown = { error: { message: 'No.' } }): CallHandler =>
  (up) =>
    up.answer(status, body);
const breaks: CallHandler = (up) => {
  up.respond(200, headersOf('chatStream'));
  up.write(streamBeginnings.chatStream);
  up.breakOff('reset');
};
const image = { per: 'image', rows: [{ nanos: 500n }] } as const;

type Changes = readonly Partial<Channel>[];

/** Channels a, b, … in this order, for chat and images. */
function channels(
  handlers: readonly CallHandler[],
  changes: Changes,
  setup: GatewaySetup = {},
): InProcessGateway {
  return gatewayInProcess({ handlers, models: modelsOf(changes), ...setup });
}

function modelsOf(changes: Changes): readonly Model[] {
  const list = changes.map((change, priority) => {
    const id = 'abcd'[priority] ?? '';
    return channel({ id, priority, baseUrl: `https://${id}.example/v1`, ...change });
  });
  return [
    model({ channels: list }),
    model({ id: 'image', protocols: ['images'], price: image, channels: list }),
  ];
}

/** The channels that calls were sent to so far. */
function calledChannels({ upstream }: InProcessGateway): string {
  return upstream.calls.map(({ request }) => request.origin.slice(8, 9)).join('');
}

const a = channel({ id: 'a' });
const sent = { modelId: 'm', reply: 'whole' } as const;
const failed: HealthSignal = { kind: 'failed', reason: 'upstream_error', where: 'model' };
const limited: HealthSignal = {
  kind: 'cooldown',
  reason: 'upstream_rate_limited',
  where: 'model',
  forMs: undefined,
  lastResort: true,
};

/** The health of one channel, without a gateway. */
function singleChannel() {
  const clock = fakeClock();
  const health = channelHealth(
    clock,
    () => 0.5,
    () => {},
  );
  return {
    health,
    clock,
    isOpen: () => health.availability(a, 'm', { isBoughtOnce: false }).kind === 'available',
  };
}

it('several refusals at the same time do not prolong a cooldown', () => {
  const { health, clock, isOpen } = singleChannel();
  const leases = Array.from({ length: 6 }, () => health.begin(a, 'm', sent));

  for (const lease of leases) lease.end(limited);
  clock.advance(10_000);

  expect(isOpen()).toBe(true);
});

describe('an open circuit', () => {
  it('comes from five failures in a row within any minute, not only within the first one', () => {
    const { health, clock, isOpen } = singleChannel();
    let nowMs = 0;

    for (const atMs of [0, 30_000, 58_000, 59_000, 61_000, 62_000]) {
      clock.advance(atMs - nowMs);
      nowMs = atMs;
      health.begin(a, 'm', sent).end(failed);
    }

    expect(isOpen()).toBe(false);
  });

  it.each([
    Number.NaN,
    1e9,
    -1e9,
  ])('ends although the host’s random() returns %s', async (number) => {
    const good = completeReply('chat');
    const plays = [
      ...Array(5)
        .fill([refuses(500), good])
        .flat(),
      good,
      good,
    ];
    const harness = channels(plays, [{}, {}], { options: { random: () => number } });

    for (let count = 0; count < 6; count += 1) await harness.call(sampleRequests.chat);
    harness.clock.advance(400_000);
    await harness.call(sampleRequests.chat);

    expect(calledChannels(harness)).toBe('abababababba');
  });

  it('leaves no call open although the host’s random() throws', async () => {
    const random = (): number => {
      throw new Error('no entropy');
    };
    const harness = channels([], [{}], { options: { random } });

    for (let count = 0; count < 5; count += 1) {
      const calling = harness.start(sampleRequests.chatStream);
      const up = await harness.upstream.next();
      up.respond(200, headersOf('chatStream'));
      up.write(streamBeginnings.chatStream);
      await calling.firstBytes;
      expect(() => up.breakOff('reset')).not.toThrow();
    }
    await turns();

    expect(await harness.state()).toMatchObject({ held: 0n, inFlight: 0 });
    expect(harness.gateway.channels()).toMatchObject([{ inFlight: 0 }]);
  });

  it('ends when its half-open trial is served, and no other call is sent meanwhile', async () => {
    const harness = channels(Array(5).fill(refuses(500)), [{}]);
    for (let count = 0; count < 5; count += 1) await harness.call(sampleRequests.chat);
    harness.clock.advance(36_000);
    const probe = harness.start(sampleRequests.chat);
    await turns();

    const { status, headers } = await harness.call(sampleRequests.chat);
    harness.upstream.calls[5]?.answer(200, replies.chat);
    await probe.reply;

    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(harness.gateway.channels()).toMatchObject([{ inFlight: 0, models: [] }]);
  });

  it('continues if the stream of the trial breaks like the others did', async () => {
    const harness = channels([...Array(6).fill(breaks), completeReply('chatStream')], [{}, {}]);
    for (let count = 0; count < 5; count += 1) await harness.call(sampleRequests.chatStream);
    harness.clock.advance(36_000);

    await harness.call(sampleRequests.chatStream);
    await harness.call(sampleRequests.chatStream);

    expect(calledChannels(harness)).toBe('aaaaaab');
  });

  it('is not delayed by callers that disconnect from unfinished streams', async () => {
    const hangs: CallHandler = (up) => {
      up.respond(200, headersOf('chatStream'));
      up.write(streamBeginnings.chatStream);
    };
    const handlers = [breaks, breaks, breaks, breaks, hangs, breaks, completeReply('chatStream')];
    const harness = channels(handlers, [{}, {}]);
    for (let count = 0; count < 4; count += 1) await harness.call(sampleRequests.chatStream);

    const leaver = harness.start(sampleRequests.chatStream);
    await leaver.firstBytes;
    leaver.disconnect();
    await leaver.reply;
    await harness.call(sampleRequests.chatStream);
    await harness.call(sampleRequests.chatStream);

    expect(calledChannels(harness)).toBe('aaaaaab');
  });

  it('is not caused by a host’s response that throws', async () => {
    const harness = channels(Array(6).fill(completeReply('chatStream')), [{}]);

    for (let count = 0; count < 5; count += 1) await throwAtWrite(harness.gateway);

    expect(harness.gateway.channels()).toMatchObject([{ state: 'ready', models: [] }]);
  });
});

/** A caller whose response was wrapped badly by some middleware. */
async function throwAtWrite(gateway: Gateway): Promise<void> {
  const { path, body } = sampleRequests.chatStream;
  const { body: reply } = await gateway.handle({
    method: 'POST',
    path,
    search: '',
    headers: { authorization: 'Bearer caller-secret' },
    rawHeaders: ['authorization', 'Bearer caller-secret'],
    body: Buffer.from(JSON.stringify(body)),
    onClose: () => {},
  });
  if (reply instanceof Uint8Array) throw new Error(Buffer.from(reply).toString());
  const out = new Writable();
  out.write = (): boolean => {
    throw new Error('wrapped badly');
  };
  reply.sendTo(out);
  await turns();
}

it('invented channels that all fail do not fill the memory', () => {
  const { health } = singleChannel();

  for (let made = 0; made < 12_000; made += 1) {
    health.begin({ ...a, id: `made-up-${made}` }, 'm', sent).end(failed);
  }

  expect(health.statuses().length).toBeLessThanOrEqual(10_000);
});

describe('the request of one caller', () => {
  const file = {
    path: '/v1beta/models/native:generateContent',
    body: { contents: [{ parts: [{ fileData: { fileUri: 'https://files.example/abc' } }] }] },
  };
  const google = (code: number, status: string, message: string): CallHandler =>
    refuses(code, { error: { code, message, status } });

  it.each([
    google(403, 'PERMISSION_DENIED', 'You do not have permission to access the File abc.'),
    google(404, 'NOT_FOUND', 'CachedContent not found.'),
    google(400, 'FAILED_PRECONDITION', 'The File abc is not in an ACTIVE state.'),
  ])('that is refused does not take the last channel from other callers (%#)', async (refusal) => {
    const harness = gatewayInProcess({ handlers: [refusal, completeReply('native')] });

    await harness.call(file);
    const { status } = await harness.call(sampleRequests.native);

    expect(status).toBe(200);
  });
});

it('a call is not the caller’s mistake if the only account for it is out', async () => {
  const claude = channel({ id: 'b', dialect: 'anthropic' });
  const harness = gatewayInProcess({
    models: [model({ channels: [channel({ id: 'a' }), claude] })],
  });
  harness.gateway.disableChannel('a');

  const { status } = await harness.call(chat({ n: 2 }));

  expect(status).toBe(503);
});

describe('a call whose last refusal is sent to the caller as a reply', () => {
  const filtered = refuses(400, { error: { message: 'Filtered.', code: 'content_filter' } });
  const openai = ['a', 'b'].map((id, priority) => channel({ id, priority }));
  const native = model({ id: 'native', protocols: ['native'], channels: openai });

  it.each([
    ['may have run before', { outcome: 'unknown' }],
    ['did not run there', { attempts: [{ mayHaveRun: true }, { status: 400, mayHaveRun: false }] }],
  ])('%s, and is recorded so', async (_what, expected) => {
    const harness = gatewayInProcess({ handlers: [refuses(500), filtered], models: [native] });

    expect((await harness.call(sampleRequests.native)).status).toBe(200);

    expect(await harness.nextRecord()).toMatchObject(expected);
  });
});

describe('a host gets an event', () => {
  it('for an attempt whose stream broke', async () => {
    const harness = channels([breaks], [{}]);

    await harness.call(sampleRequests.chatStream);

    expect(harness.eventTypes()).toContain('attempt_ended');
  });

  it('for a channel that another catalog restores', async () => {
    const harness = channels([refuses(401), completeReply('chat')], [{}]);
    await harness.call(sampleRequests.chat);

    harness.gateway.update({ catalog: staticCatalog(modelsOf([{}])) });
    await harness.call(sampleRequests.chat);

    const events = harness.events.filter(({ type }) => type === 'channel_changed');
    expect(events).toMatchObject([{ state: 'refused' }, { state: 'ready' }]);
  });
});

describe('an image in doubt', () => {
  it('that did not run is recorded even if the host found out late', async () => {
    const harness = channels([refuses(500)], [{}]);
    await harness.call(sampleRequests.image);
    const record = await harness.nextRecord();
    harness.clock.advance(901_000);

    await harness.gateway.resolveUnknown(record, { ran: false });

    expect(harness.records.at(-1)).toMatchObject({ reason: 'resolved', outcome: 'not_run' });
  });

  it('whose record lost its lines is refused with a hint', async () => {
    const harness = channels([refuses(500)], [{}]);
    await harness.call(sampleRequests.image);
    const { lines: _lost, ...record } = await harness.nextRecord();

    const refused = harness.gateway.resolveUnknown(
      JSON.parse('0', () => record),
      { ran: true },
    );

    await expect(refused).rejects.toThrow(/^resolveUnknown: record must/);
  });
});

describe('a channel is freed', () => {
  const never = (): Promise<string> => new Promise(() => {});
  const inFlight = (harness: InProcessGateway): readonly number[] =>
    harness.gateway.channels().map((status) => status.inFlight);

  it.each([
    'chat',
    'image',
  ] as const)('when its credential does not come, and %s goes elsewhere', async (kind) => {
    const harness = channels([completeReply(kind)], [{ credential: never }, {}]);
    const calling = harness.start(sampleRequests[kind]);
    await turns();

    harness.clock.advance(5_000);

    expect((await calling.reply).status).toBe(200);
    expect(inFlight(harness)).toEqual([0, 0]);
    expect((await harness.nextRecord()).attempts).toMatchObject([
      { reason: 'credential_unavailable', mayHaveRun: false },
      { mayHaveRun: true },
    ]);
  });

  it('when the gateway closes during a call and a detached image', async () => {
    const harness = channels([], [{}]);
    const call = harness.start(sampleRequests.chat);
    const bought = harness.start(sampleRequests.image);
    await harness.upstream.next();
    await harness.upstream.next();
    bought.disconnect();

    const closed = harness.gateway.close({ drainMs: 1 });
    await pass(harness.clock, 3_000);
    await closed;

    expect((await call.reply).status).toBe(503);
    expect(inFlight(harness)).toEqual([0]);
    expect(await harness.state()).toMatchObject({ held: 500n });
  });
});

describe('accounts whose circuits a dead network opened', () => {
  const unknown: CallHandler = (up) => up.breakOff('dns', { stage: 'connect' });

  it('get no further calls, and each is tried once after its cooldown', async () => {
    const good = completeReply('chat');
    const harness = channels([...Array(15).fill(unknown), unknown, good, good], [{}, {}, {}]);
    for (let count = 0; count < 5; count += 1) await harness.call(sampleRequests.chat);
    expect(harness.gateway.channels().map(({ state }) => state)).toEqual(Array(3).fill('open'));

    const { status, headers } = await harness.call(sampleRequests.chat);
    expect([status, headers['retry-after']]).toEqual([503, '24']);
    expect(harness.upstream.calls).toHaveLength(15);

    harness.clock.advance(24_000);
    expect((await harness.call(sampleRequests.chat)).status).toBe(200);
    expect(calledChannels(harness).slice(15)).toBe('ab');
  });
});
