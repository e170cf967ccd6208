// suite: quick
/**
 * Which header carries the key, which characters a key may have, and the same answer for every
 * reason to refuse it.
 */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import { createGateway } from '../../../src/gateway.ts';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import { mintSecret } from '../../../src/secret.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { model, sampleRequests } from '../../support/models.ts';
import { untyped } from '../ports/failing.ts';

type Lines = readonly (readonly [name: string, value: string])[];
type Prefix = '/v1' | '/v1beta';

interface Row {
  readonly sent: string;
  readonly lines: Lines;
  readonly search?: string;
  readonly options?: Partial<GatewayOptions>;
  /** The secret that the key store is asked for; absent if it is not asked. */
  readonly found?: string;
  /** 200 if a key is found, else 401. */
  readonly status?: number;
}

const onV1: readonly Row[] = [
  { sent: 'nothing', lines: [] },
  { sent: 'a bearer', lines: [['Authorization', 'Bearer abc']], found: 'abc' },
  { sent: 'any case', lines: [['aUTHORIZATION', 'bEARER abc']], found: 'abc' },
  { sent: 'no scheme', lines: [['Authorization', 'abc']] },
  { sent: 'another scheme', lines: [['Authorization', 'Basic abc']] },
  { sent: 'two spaces', lines: [['Authorization', 'Bearer  abc']] },
  { sent: 'a tab', lines: [['Authorization', 'Bearer\tabc']] },
  { sent: 'a word behind it', lines: [['Authorization', 'Bearer abc def']] },
  { sent: 'a space behind it', lines: [['Authorization', 'Bearer abc ']] },
  { sent: 'no secret', lines: [['Authorization', 'Bearer ']] },
  { sent: 'a comma', lines: [['Authorization', 'Bearer a,b']] },
  { sent: 'a double quote', lines: [['Authorization', 'Bearer "abc"']] },
  { sent: 'a single quote', lines: [['Authorization', "Bearer a' OR '1'='1"]] },
  { sent: 'Latin letters beyond ASCII', lines: [['Authorization', 'Bearer café']] },
  {
    sent: '8 KiB, as of a JWT with many claims',
    lines: [['Authorization', `Bearer ${'a'.repeat(8_192)}`]],
    found: 'a'.repeat(8_192),
  },
  { sent: 'one character more', lines: [['Authorization', `Bearer ${'a'.repeat(8_193)}`]] },
  {
    sent: 'the header twice',
    lines: [
      ['Authorization', 'Bearer abc'],
      ['authorization', 'Bearer abc'],
    ],
  },
  { sent: 'only a native header', lines: [['X-Vendor-Api-Key', 'abc']], found: 'abc' },
  {
    sent: 'both',
    lines: [
      ['X-Vendor-Api-Key', 'other'],
      ['Authorization', 'Bearer abc'],
    ],
    found: 'abc',
  },
  {
    sent: 'a Connection that names it',
    lines: [
      ['Connection', 'close, Authorization'],
      ['Authorization', 'Bearer abc'],
    ],
    status: 400,
  },
  {
    sent: 'a Connection that names another',
    lines: [
      ['Connection', 'close'],
      ['Authorization', 'Bearer abc'],
    ],
    found: 'abc',
  },
  { sent: 'our own kind, forged', lines: [['Authorization', `Bearer ${mintSecret()}x`]] },
  { sent: 'SQL of our own kind', lines: [['Authorization', 'Bearer tg_;DROP--']] },
];

const onV1beta: readonly Row[] = [
  { sent: 'nothing', lines: [] },
  { sent: 'the vendor’s header', lines: [['X-Vendor-Api-Key', 'abc']], found: 'abc' },
  { sent: 'Google’s header', lines: [['x-goog-api-key', 'abc']], found: 'abc' },
  {
    sent: 'both: the vendor’s decides',
    lines: [
      ['x-goog-api-key', 'other'],
      ['x-vendor-api-key', 'abc'],
    ],
    found: 'abc',
  },
  {
    sent: 'both, the vendor’s broken',
    lines: [
      ['x-goog-api-key', 'abc'],
      ['x-vendor-api-key', 'a b'],
    ],
  },
  {
    sent: 'both, the vendor’s empty',
    lines: [
      ['x-goog-api-key', 'abc'],
      ['x-vendor-api-key', ''],
    ],
  },
  {
    sent: 'the vendor’s twice',
    lines: [
      ['x-vendor-api-key', 'abc'],
      ['X-Vendor-Api-Key', 'abc'],
    ],
  },
  { sent: 'a bearer', lines: [['Authorization', 'Bearer abc']] },
  { sent: 'a bearer in the native header', lines: [['x-goog-api-key', 'Bearer abc']] },
  {
    sent: 'a Connection that names it',
    lines: [
      ['Connection', 'x-goog-api-key'],
      ['x-goog-api-key', 'abc'],
    ],
    status: 400,
  },
  { sent: '?key=', lines: [], search: 'key=abc' },
  {
    sent: '?key=, switched on',
    lines: [],
    search: 'key=abc',
    options: { allowQueryKey: true },
    found: 'abc',
  },
  {
    sent: '?key=, percent-encoded',
    lines: [],
    search: 'key=a%2Bc',
    options: { allowQueryKey: true },
    found: 'a+c',
  },
  {
    sent: '?key= and a header: the header',
    lines: [['x-goog-api-key', 'abc']],
    search: 'key=other',
    options: { allowQueryKey: true },
    found: 'abc',
  },
  {
    sent: 'a header of the host’s',
    lines: [['x-our-key', 'abc']],
    options: { nativeKeyHeaders: ['x-our-key'] },
    found: 'abc',
  },
  {
    sent: 'Google’s, which the host left out',
    lines: [['x-goog-api-key', 'abc']],
    options: { nativeKeyHeaders: ['x-our-key'] },
  },
  { sent: 'our own kind, forged', lines: [['x-goog-api-key', mintSecret().toLowerCase()]] },
];

/**
 * Requests the list of models. Returns the response, and the secrets that the key store was asked
 * for.
 */
async function send(
  prefix: Prefix,
  { lines, search = '', options }: Pick<Row, 'lines' | 'search' | 'options'>,
  found: 'good' | 'disabled' | 'expired' | 'none' = 'good',
): Promise<{ status: number; text: string; headers: object; requested: readonly string[] }> {
  const requested: string[] = [];
  const clock = fakeClock();
  const quota = [{ id: 'a', period: 'total', limitNanos: 0n }] as const;
  const key = { id: 'a', group: 'staff', disabled: found === 'disabled', quota };
  const gateway = createGateway({
    keys: {
      find: (secret) => {
        requested.push(secret);
        if (found === 'none') return undefined;
        return found === 'expired' ? { ...key, expiresAtMs: clock.now() } : key;
      },
    },
    quota: memoryQuotaStore(),
    catalog: staticCatalog([model({ protocols: ['chat', 'native'] })]),
    clock,
    ...options,
  });
  const { status, body, headers } = await gateway.handle({
    method: 'GET',
    path: `${prefix}/models`,
    search,
    headers: asNodeJoins(lines),
    rawHeaders: lines.flat(),
    body: new Uint8Array(0),
    onClose: () => {},
  });
  if (!(body instanceof Uint8Array)) throw new Error('a list is never streamed');
  return { status, text: Buffer.from(body).toString(), headers, requested };
}

/** Joins repeated headers like `node:http`: the first of two `authorization`, all of any other. */
function asNodeJoins(lines: Lines): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of lines) {
    const key = name.toLowerCase();
    const before = headers[key];
    if (before === undefined) headers[key] = value;
    else if (key !== 'authorization') headers[key] = `${before}, ${value}`;
  }
  return headers;
}

describe.each([
  ['/v1', onV1],
  ['/v1beta', onV1beta],
] as const)('on %s', (prefix, rows) => {
  it.each(rows)('$sent', async ({ found, status = found === undefined ? 401 : 200, ...sent }) => {
    const answer = await send(prefix, sent);

    expect(answer.status).toBe(status);
    expect(answer.requested).toEqual(found === undefined ? [] : [found]);
  });
});

it('a secret of the gateway’s or of a host’s own kind reaches the store unchanged', async () => {
  for (const secret of [
    mintSecret(),
    'sk-abc_DEF.123~/+=',
    'TG_upper',
    '!#$%&()*+-./:;<=>?@[\\]^_`{|}~',
  ]) {
    const { requested } = await send('/v1', { lines: [['authorization', `Bearer ${secret}`]] });

    expect(requested).toEqual([secret]);
  }
});

it('a forged secret never reaches the store', async () => {
  const minted = mintSecret();
  for (let index = 3; index < minted.length; index += 1) {
    const other = minted[index] === 'A' ? 'B' : 'A';
    const forged = minted.slice(0, index) + other + minted.slice(index + 1);
    const { status, requested } = await send('/v1', {
      lines: [['authorization', `Bearer ${forged}`]],
    });

    expect({ status, requested }).toEqual({ status: 401, requested: [] });
  }
});

it.each([
  '/v1',
  '/v1beta',
] as const)('every refusal of a key is the same, byte for byte: %s', async (prefix) => {
  const name = prefix === '/v1' ? 'authorization' : 'x-vendor-api-key';
  const value = prefix === '/v1' ? 'Bearer abc' : 'abc';
  const options = { ids: () => 'the-same-id-each-time' };
  const one = { lines: [[name, value]] as const, options };
  const twice = { lines: [...one.lines, ...one.lines], options };
  const refusalOf = ({ status, text, headers }: Awaited<ReturnType<typeof send>>) => ({
    status,
    text,
    headers,
  });

  const ofNone = [await send(prefix, { lines: [], options })];
  const ofTwo = [await send(prefix, twice)];
  const ofOne = [
    await send(prefix, { lines: [[name, value.replace('abc', 'not"a"key')]], options }),
    await send(prefix, { lines: [[name, value.replace('abc', `${mintSecret()}x`)]], options }),
    await send(prefix, one, 'none'),
    await send(prefix, one, 'disabled'),
    await send(prefix, one, 'expired'),
  ];

  for (const [received, sentence] of [
    [ofNone, 'No API key was found. Send'],
    [ofTwo, 'was sent more than once. Send'],
    [ofOne, 'The API key is unknown, disabled or expired.'],
  ] as const) {
    const refusals = received.map(refusalOf);
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
    expect(refusals[0]?.status).toBe(401);
    expect(refusals[0]?.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect(refusals[0]?.text).toContain(sentence);
    expect(refusals[0]?.text).toContain(
      prefix === '/v1' ? 'Bearer <key>' : 'x-goog-api-key: <key>` or `x-vendor-api-key: <key>',
    );
  }
});

it('a response names every header that may carry a key in Vary', async () => {
  const { headers } = await send('/v1', { lines: [] });

  expect(headers).toMatchObject({
    vary: 'authorization, x-api-key, x-vendor-api-key, x-goog-api-key, anthropic-version',
  });
});

it.each<readonly [how: string, answer: unknown]>([
  ['no first row', [][0]],
  ['null', null],
  ['a promise of no row', Promise.resolve([][0])],
  ['a promise of null', Promise.resolve(null)],
])('a store that answers with %s has no such key', async (_how, answer) => {
  const { call, allEvents } = gatewayInProcess({
    options: { keys: { find: untyped(answer) } },
  });

  const { status } = await call(sampleRequests.chat);

  expect(status).toBe(401);
  expect(allEvents).toMatchObject([{ type: 'call_refused', reason: 'key_unknown' }]);
});
