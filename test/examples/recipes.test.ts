// suite: slow host
/** Each recipe of docs/recipes.md does what its text says. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import {
  type ApiKey,
  type Channel,
  createGateway,
  type KeyStore,
  type Model,
  maxNanos,
  memoryQuotaStore,
  memoryUsageSink,
  money,
  staticCatalog,
  tokenPrice,
  undiciClient,
} from 'tollgate';
import { nodeAdapter } from 'tollgate/node';
import type { UpstreamClient, UsageSink } from 'tollgate/ports';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type FakeUpstream, usageRecord } from '../../src/testing/index.ts';
import { readText } from '../house/sources.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { closed, listening } from '../support/servers.ts';

let upstream: FakeUpstream;
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  upstream = await startStrictUpstream();
  closers.push(() => upstream.close());
  vi.stubEnv('OPENAI_API_KEY', 'the secret of an account');
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closers.splice(0).reverse()) await close();
});

it('a key without a limit', async () => {
  const { keys, secret } = await recipe<{ keys: KeyStore; secret: string }>(
    'A key without a limit',
  );
  const { call, records } = await serving({ keys });

  expect((await call(secret)).status).toBe(200);
  const key = await keys.find(secret);
  expect(key?.quota[0]?.limitNanos).toBe(maxNanos);
  expect(records()[0]?.chargeNanos).toBeGreaterThan(0n);
});

it('a limit per day and one per month', async () => {
  const { keyOf } = await recipe<{ keyOf: (id: string) => ApiKey }>(
    'A limit per day and one per month',
  );
  const { call, records } = await serving({ keys: { find: async () => keyOf('ada') } });

  expect((await call('any')).status).toBe(200);
  expect(records()[0]?.lines.map(({ subject, period }) => `${subject} ${period.length}`)).toEqual([
    'ada.day 10',
    'ada.month 7',
  ]);
});

it('tokens that expire', async () => {
  const tokens: string[] = [];
  const origin = await server((_path, body) => {
    tokens.push(body);
    return { access_token: 'a-token', expires_in: 3_600 };
  });
  const { oauthCredential } = await recipe<{
    oauthCredential: (url: string, id: string, secret: string) => Channel['credential'];
  }>('Tokens that expire');
  const model = modelWith({ credential: oauthCredential(`${origin}/token`, 'me', 'mine') });
  const { call } = await serving({ models: [model] });

  await call('any');
  await call('any');

  expect(upstream.calls.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer a-token',
    'Bearer a-token',
  ]);
  expect(tokens).toEqual(['grant_type=client_credentials&client_id=me&client_secret=mine']);
});

it("Stripe's meter events", async () => {
  const reports: URLSearchParams[] = [];
  const origin = await server((path, body) => {
    expect(path).toBe('/v1/billing/meter_events');
    reports.push(new URLSearchParams(body));
    return {};
  });
  const { stripeMeter } = await recipe<{
    stripeMeter: (log: UsageSink, secret: string, api: string) => UsageSink;
  }>("Stripe's meter events");
  const log = memoryUsageSink();
  const sink = stripeMeter(log, 'sk', origin);
  const one = { reservationId: 'a-reservation-id-1', metadata: { stripeCustomer: 'cus_1' } };

  await sink.record(usageRecord({ ...one, booked: false, chargeNanos: 5_999n, revision: 1 }));
  await sink.record(usageRecord({ ...one, booked: true, chargeNanos: 5_999n, revision: 2 }));

  expect(reports.map((report) => Object.fromEntries(report))).toEqual([
    expect.objectContaining({
      identifier: 'a-reservation-id-1',
      'payload[value]': '5',
      'payload[stripe_customer_id]': 'cus_1',
    }),
  ]);
  expect(log.usageRecords({}).records).toHaveLength(1);
});

it('a cache of answers', async () => {
  const { cachedAnswers } = await recipe<{
    cachedAnswers: (client: UpstreamClient, answers: Map<string, unknown>) => UpstreamClient;
  }>('A cache of answers');
  const { call } = await serving({ upstream: cachedAnswers(undiciClient(), new Map()) });

  const first = await (await call('any')).json();
  const second = await (await call('any')).json();
  await (await call('any', 'gpt-4o-mini', { stream: true })).text();

  expect(second).toEqual(first);
  expect(upstream.calls).toHaveLength(2);
});

it('each recipe is tested', () => {
  const titles = [...readText('docs/recipes.md').matchAll(/^## (.*)$/gm)].map(([, title]) => title);
  const tests = readText('test/examples/recipes.test.ts');

  expect(titles.filter((title) => !new RegExp(`'?${title}['"]`).test(tests))).toEqual([]);
});

/** The exports of the code below a heading. */
async function recipe<Exports extends object>(title: string): Promise<Exports> {
  const [, section = ''] = readText('docs/recipes.md').split(`## ${title}\n`);
  const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(section) ?? [];
  const parent = join(import.meta.dirname, '.build');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'recipe-'));
  const path = join(folder, 'recipe.ts');
  writeFileSync(path, code.replace('https://api.openai.com/v1', upstream.openaiBaseUrl));
  try {
    return await import(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ada: ApiKey = {
  id: 'ada',
  group: 'staff',
  disabled: false,
  quota: [{ id: 'ada', period: 'total', limitNanos: money('1') }],
};

function modelWith(channel: Pick<Channel, 'credential'>): Model {
  return {
    id: 'gpt-4o-mini',
    groups: ['staff'],
    price: tokenPrice({ input: '0.15', output: '0.60' }),
    maxOutputTokens: 100,
    channels: [{ id: 'openai', dialect: 'openai', baseUrl: upstream.openaiBaseUrl, ...channel }],
  };
}

interface Served {
  readonly keys?: KeyStore;
  readonly models?: readonly Model[];
  readonly upstream?: UpstreamClient;
}

/** A gateway with what the recipe made, and what every test needs of it. */
async function serving({ keys = { find: async () => ada }, models, upstream: client }: Served) {
  const usage = memoryUsageSink();
  const quota = memoryQuotaStore();
  const gateway = createGateway({
    ...{ keys, quota, usage },
    catalog: staticCatalog(models ?? [modelWith({ credential: 'a secret' })]),
    ...(client === undefined ? {} : { upstream: client }),
  });
  const host = createServer(nodeAdapter(gateway));
  const origin = await listening(host);
  closers.push(async () => {
    await closed(host);
    await gateway.close({ drainMs: 1 });
  });
  return {
    gateway,
    quota,
    records: () => usage.usageRecords({}).records,
    call: (secret: string, model = 'gpt-4o-mini', more: object = {}) =>
      fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], ...more }),
      }),
  };
}

/** A server of somebody else; gives its origin. */
async function server(answer: (path: string, body: string) => object): Promise<string> {
  const other = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    req.on('end', () => {
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify(answer(req.url ?? '', body)));
    });
  });
  const origin = await listening(other);
  closers.push(() => closed(other));
  return origin;
}
