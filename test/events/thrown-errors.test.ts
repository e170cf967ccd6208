// suite: search
/** What a host's own functions throw reaches the host, and neither JSON nor telemetry. */
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../src/events/events.ts';
import { logEvents } from '../../src/events/log.ts';
import { detailsOf, summaryOf, thrownCode } from '../../src/events/thrown.ts';
import { StoreUnavailable } from '../../src/ports/call-options.ts';
import { countEvents } from '../../src/prometheus/record-events.ts';
import { portRows, type WhileDown } from '../faults/ports/rows.ts';
import { inTime, pass, turns, untyped } from '../stages/ports/failing.ts';
import {
  callerSecret,
  type GatewaySetup,
  gatewayInProcess,
} from '../support/gateway-in-process.ts';
import { channel, completeReply, model, sampleRequests } from '../support/models.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { seed } from '../support/seeds.ts';

/** The ports that the fault matrix leaves out. */
const otherPorts: readonly { readonly event: string; setup(broken: WhileDown): GatewaySetup }[] = [
  {
    event: 'port_failed guard check',
    setup: (broken) => ({ options: { guard: { check: () => broken(() => undefined) } } }),
  },
  {
    event: 'port_failed idempotency claim',
    setup: (broken) => ({
      options: {
        idempotency: {
          claim: () => broken(() => ({ status: 'claimed' })),
          finish: () => ({ status: 'finished' }),
          abandon: () => ({ status: 'abandoned' }),
        },
      },
    }),
  },
  {
    event: 'port_failed failed_key_limit addressOf',
    setup: (broken) => ({
      options: { failedKeyLimit: { addressOf: () => broken(() => '192.0.2.1') } },
    }),
  },
];

const rows = [
  ...portRows.flatMap(({ expected: { event = '' }, setup }) =>
    event.startsWith('port_failed') ? [{ event, setup }] : [],
  ),
  ...otherPorts,
];

class PrismaError extends Error {
  override readonly name = 'PrismaError';
  readonly code = 'P2021';
}

/** What a host's code may throw, and what must be read of it. */
const thrown: readonly (readonly [what: string, error: () => unknown, told: string])[] = [
  ['an error', () => new Error('relation "api_keys" is gone\nHINT: none'), '"api_keys" is gone'],
  ['an error with a code', () => new PrismaError('no such table'), 'no such table (P2021)'],
  [
    'an error with a cause',
    () => new Error('lookup failed', { cause: new RangeError('too many clients') }),
    'lookup failed: too many clients',
  ],
  [
    'a store that is down',
    () =>
      new StoreUnavailable("Redis can't be reached", {
        cause: Object.assign(new Error('quoted value'), { code: 'ECONNREFUSED' }),
      }),
    "Redis can't be reached: ECONNREFUSED",
  ],
  ['text', () => 'no pool', 'no pool'],
];

const ownName = 'own-name';

/** Errors with names that no list has: chosen at run time, of no type, unreadable. */
function namedErrors(): readonly Error[] {
  const names: readonly unknown[] = [
    ...fc.sample(fc.string(), { seed, numRuns: 3 }).map((text) => `${text}${ownName}`),
    { toString: () => ownName },
    ownName.repeat(1_000),
  ];
  const plain = names.map((name) => Object.assign(new Error('x'), { name }));
  return [
    ...plain,
    new (class extends Error {
      override readonly name = ownName;
    })('x'),
  ];
}

/** The label values of the failures of ports. */
function labelsOf({ counted }: ReturnType<typeof countEvents>): string {
  return Array.from(counted.port_failures_total.entries(), ({ values }) => values.join()).join();
}

/** Runs a call, and what comes after it, while the port throws. */
async function withBroken(setup: (broken: WhileDown) => GatewaySetup, fail: () => unknown) {
  const broken: WhileDown = () => {
    throw fail();
  };
  const own = setup(broken);
  return (options: GatewaySetup['options']) => {
    const harness = gatewayInProcess({
      handlers: [completeReply('chat')],
      leavesHolds: 'a port is down to the end',
      ...own,
      options: { ...own.options, ...options },
    });
    return {
      harness,
      run: async (more: Readonly<Record<string, string>> = {}) => {
        const headers = { 'idempotency-key': 'once', ...more };
        await inTime(harness.clock, harness.call({ ...sampleRequests.chat, headers }));
        await pass(harness.clock, 60_000);
      },
    };
  };
}

function isOf(event: GatewayEvent, name: string): boolean {
  return event.type === 'port_failed' && `port_failed ${event.port} ${event.operation}` === name;
}

describe.each(rows)('$event', ({ event: name, setup }) => {
  it.each(thrown)('that throws %s', async (_what, error, told) => {
    const one = error();
    const make = await withBroken(setup, () => one);
    const { harness, run } = make({});

    await run();

    const event = harness.events.find((each) => isOf(each, name));
    let line = '';
    const log = logEvents({
      log: (fields) => {
        line = JSON.stringify(fields);
      },
    });
    if (event !== undefined) log(event);
    expect(event !== undefined && 'error' in event && event.error).toBe(one);
    expect(Object.keys(event ?? {})).not.toContain('error');
    for (const part of told.replace(/ \(\w+\)$/, '').split(': ')) {
      expect(JSON.stringify({ ...event })).not.toContain(` ${part}`);
      expect(line).toContain(JSON.stringify(part).slice(1, -1));
    }
    expect(line.includes('"stack"')).toBe(one instanceof Error);
  });

  it('has a reason from a fixed list, whatever the name of its error is', async () => {
    for (const error of namedErrors()) {
      const make = await withBroken(setup, () => error);
      const { harness, run } = make({});

      await run();

      const event = harness.events.find((each) => isOf(each, name));
      expect(event).toMatchObject({ reason: 'Error' });
      expect(JSON.stringify(event)).not.toContain(ownName);
      const counts = countEvents(1);
      for (const each of harness.events) counts.onEvent(each);
      expect(labelsOf(counts)).not.toContain(ownName);
      expect(labelsOf(counts)).toContain(',Error');
    }
  });

  it('that never answers is a warning with the option for its time, if any', async () => {
    const never = untyped(new Promise(() => {}));
    const options = JSON.parse('{ "storeTimeoutMs": 1234 }');
    const harness = gatewayInProcess({
      leavesHolds: 'a port is down to the end',
      handlers: [completeReply('chat')],
      ...setup(never),
      options: { ...setup(never).options, ...options, onEvent: undefined },
    });
    const headers = { 'idempotency-key': 'once' };
    await inTime(harness.clock, harness.call({ ...sampleRequests.chat, headers }));
    await pass(harness.clock, 65_000);

    const late = (await takeWarnings()).filter(({ message }) =>
      message.includes('no answer within'),
    );
    expect(late.length).toBeGreaterThan(0);
    for (const { message } of late) {
      expect(message.includes('storeTimeoutMs')).toBe(message.includes('no answer within 1234 ms'));
    }
  });

  it('without a listener is a warning with the first line of the message', async () => {
    for (const [, error, told] of thrown) {
      const make = await withBroken(setup, error);
      const { run } = make(JSON.parse('{}', () => ({ onEvent: undefined })));

      await run();

      const warnings = (await takeWarnings()).map(({ message }) => message);
      expect(warnings.join('\n')).toContain(told);
      expect(warnings.join('\n')).not.toMatch(/HINT|quoted value/);
    }
  });
});

/** What a request carries that no event may have, and the headers in which it is. */
const secretHeaders: readonly (readonly [secret: string, headers: Record<string, string>])[] = [
  [callerSecret, {}],
  ['COOKIE_VALUE_1234', { cookie: 'theme=dark; sid=COOKIE_VALUE_1234' }],
  ['azure-key-of-caller', { 'api-key': 'azure-key-of-caller' }],
  ['second-key-of-caller', { 'x-goog-api-key': 'second-key-of-caller' }],
];

/** The ways in which the error of a host's function may repeat a secret. */
const quotes: readonly (readonly [how: string, quote: (secret: string) => unknown])[] = [
  ['in its message', (secret) => new Error(`no row for ${secret}`)],
  ['in part', (secret) => new Error(`no row for ${secret.slice(0, 12)}…`)],
  ['encoded for a URL', (secret) => new Error(secret.replace(/[-_]/, '%2D'))],
  ['in Base64', (secret) => new Error(`Basic ${Buffer.from(`user:${secret}`).toString('base64')}`)],
  ['after 5,000 characters', (secret) => new Error(`${'x '.repeat(2_500)}${secret}`)],
  ['in its cause', (secret) => new Error('x', { cause: new Error(secret) })],
  ['as its name', (secret) => Object.assign(new Error('x'), { name: secret })],
  ['as its code', (secret) => Object.assign(new Error('x'), { code: secret })],
  ['in its stack', (secret) => Object.assign(new Error('x'), { stack: `Error: ${secret}` })],
  ['as text', (secret) => `no row for ${secret}`],
];

/** The functions that are called for a request, and not beside it. */
const ofRequests = rows.filter(({ event }) => !/ quota (?:check|sweep)$/.test(event));

describe.each(ofRequests)('$event', ({ setup }) => {
  it.each(quotes)('never shows a secret of the request that its error has %s', async (_, quote) => {
    for (const [secret, headers] of secretHeaders) {
      const part = secret.slice(0, 12);
      const make = await withBroken(setup, () => quote(secret));
      const { harness, run } = make({});

      await run(headers);

      const [event] = harness.events.filter((each) => 'error' in each);
      expect(event).toBeDefined();
      for (const each of harness.events) {
        expect(inspect(each, { showHidden: true, depth: 9 })).not.toContain(part);
        expect(JSON.stringify(detailsOf(Reflect.get(each, 'error')))).not.toContain(part);
      }

      const unheard = make(JSON.parse('{}', () => ({ onEvent: undefined })));
      await unheard.run(headers);

      const warnings = (await takeWarnings()).map(({ message }) => message);
      expect(warnings.length).toBeGreaterThan(0);
      expect(warnings.join()).not.toContain(part);
    }
  });
});

const accountSecret = 'account-secret';

/** Gateways whose own client, or function `credential`, fails. */
function brokenAttempts(error: () => unknown): readonly GatewaySetup[] {
  const fail = () => Promise.reject(error());
  const credential = channel({ headers: { 'x-token': accountSecret }, credential: fail });
  return [
    { options: { upstream: { send: fail, close: async () => {} } } },
    { models: [model({ channels: [credential] })] },
  ];
}

describe('an error of an upstream client', () => {
  it('that quotes the secret of the account is replaced', async () => {
    const upstream = {
      send: ({ headers }: { readonly headers: object }) =>
        Promise.reject(new TypeError(`invalid header value ${JSON.stringify(headers)}`)),
      close: async () => {},
    };
    const { call, events } = gatewayInProcess({ options: { upstream } });

    await call(sampleRequests.chat);
    await turns();

    const event = events.find(({ type }) => type === 'attempt_ended');
    const error = event !== undefined && 'error' in event ? event.error : undefined;
    expect(error).toMatchObject({ name: 'TypeError', message: expect.stringMatching('not shown') });
    expect(JSON.stringify(detailsOf(error))).not.toContain('account-secret');
  });

  it.each(quotes)('or of `credential` never shows what it has %s', async (_, quote) => {
    for (const [secret, headers] of [...secretHeaders, [accountSecret, {}] as const]) {
      for (const broken of brokenAttempts(() => quote(secret))) {
        const { call, events } = gatewayInProcess(broken);

        await call({ ...sampleRequests.chat, headers });
        await turns();

        const event = events.find(({ type }) => type === 'attempt_ended');
        expect(event).toHaveProperty('error');
        const shown = inspect(event, { showHidden: true, depth: 9 });
        expect(shown).not.toContain(secret.slice(0, 12));
      }
    }
  });

  it('is the error itself where it quotes none', async () => {
    const error = new TypeError('signer.sign is not a function');
    const upstream = { send: () => Promise.reject(error), close: async () => {} };
    const { call, events } = gatewayInProcess({ options: { upstream } });

    await call(sampleRequests.chat);
    await turns();

    const event = events.find(({ type }) => type === 'attempt_ended');
    expect(event !== undefined && 'error' in event && event.error).toBe(error);
    expect(JSON.stringify(event)).not.toContain('signer');
  });
});

describe('errors that are hard to read', () => {
  const trap = new Proxy(new Error('trap'), {
    get: () => {
      throw new RangeError('not loaded');
    },
  });
  const circular = new Error('one');
  circular.cause = circular;

  it.each([
    [undefined, ''],
    [null, ''],
    [5, ''],
    [{ message: 'an object' }, 'an object'],
    [trap, ''],
    [circular, 'one'],
    [Object.assign(new AggregateError([new Error('::1 refused')]), { code: 'E1' }), '::1 refused'],
    [new Error(`\u001b[31m${'x'.repeat(5_000)}`), 'x'],
  ])('%# are read without harm', (error, text) => {
    expect(detailsOf(error).message).toContain(text);
    expect(summaryOf(error).length).toBeLessThanOrEqual(300);
    expect(summaryOf(error)).not.toMatch(/\p{Cc}/u);
  });

  it('never show the password of a URL', () => {
    const urls = [
      'redis://:pass-word@db:6379/0',
      'postgres://u:pass-w@rd@db/d',
      'postgres://u:pass/w@rd@db/d',
      'postgres://db/d?user=u&password=pass-word',
      "host=db user=u password=pass-w@rd'",
    ];
    for (const url of urls) {
      const error = new Error(`connect to ${url} failed`, { cause: new Error(url) });
      const shown = [JSON.stringify(detailsOf(error)), summaryOf(error)].join();

      expect(shown).not.toMatch(/pass[-/]w|w@rd|rd@/);
      expect(shown).toMatch(/connect to (?:\w+:\/\/(?:…@)?db|host=db)/);
    }
  });

  it('have a code only if it is one', () => {
    const codeOf = (code: unknown) => thrownCode(Object.assign(new Error('x'), { code }));
    expect(['42P01', 'ECONNREFUSED', 'a secret', 5, undefined].map(codeOf)).toEqual([
      '42P01',
      'ECONNREFUSED',
      undefined,
      undefined,
      undefined,
    ]);
  });
});
