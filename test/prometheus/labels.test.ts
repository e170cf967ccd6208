// suite: slow
/**
 * Whatever callers and upstreams send, the labels of the metrics are names from the catalog and
 * constants of the gateway: they hold nothing of a request, and their number does not grow.
 */
import fc from 'fast-check';
import client from 'prom-client';
import { prometheusMetrics } from 'tollgate/prometheus';
import { expect, it } from 'vitest';
import { protocolNames } from '../../src/apis.ts';
import { errorCodes } from '../../src/errors.ts';
import { failureReasons } from '../../src/failure-reasons.ts';
import { portNames } from '../../src/ports/port-failure.ts';
import { callOutcomes } from '../../src/ports/usage-sink.ts';
import { tokenPrice } from '../../src/prices/codec.ts';
import { anomalyReasons, lapseReasons } from '../../src/prometheus/definitions.ts';
import { countedTypes } from '../../src/prometheus/record-events.ts';
import { inTime } from '../stages/ports/failing.ts';
import { type CallerRequest, gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, chat, model, replies } from '../support/models.ts';
import { runsOf } from '../support/sample.ts';

const canary = 'canary';
const catalog = ['chat', 'spare', 'openai-a', 'openai-b'];

/** The values that a label may have. */
const vocabulary: Readonly<Record<string, ReadonlySet<string>>> = {
  protocol: new Set([...protocolNames, 'none']),
  model: new Set(catalog),
  fallback: new Set(catalog),
  channel: new Set(catalog),
  outcome: new Set(callOutcomes),
  reason: new Set([
    ...failureReasons,
    ...Object.keys({ ...anomalyReasons, ...lapseReasons }),
    'none',
  ]),
  code: new Set(errorCodes),
  type: new Set<string>(countedTypes),
  port: new Set(portNames),
};
/** Labels whose few values are in the source; not checked by name here. */
const fixed = new Set(['kind', 'le', 'operation', 'percent', 'state', 'streamed']);

/** Texts that a caller may put anywhere, each with the canary. */
const text = fc
  .oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('"} 1\n', '\\', '../', '%0a'))
  .map((around) => `${around}${canary}${around}`);

const request: fc.Arbitrary<CallerRequest> = text.chain((hostile) => {
  const asPath = encodeURIComponent(hostile.toWellFormed());
  return fc.constantFrom<CallerRequest>(
    chat({ model: hostile }),
    chat({ user: hostile, metadata: { [hostile]: hostile } }),
    chat({ messages: [{ role: 'user', content: hostile }] }),
    chat({ [hostile]: 1, stream: hostile }),
    { ...chat(), body: hostile },
    { ...chat(), headers: { 'x-request-id': asPath, 'idempotency-key': asPath } },
    { ...chat(), withoutKey: true, headers: { authorization: `Bearer ${asPath}` } },
    { path: `/v1/${asPath}`, body: {} },
    { path: `/v1beta/models/${asPath}:generateContent`, body: { contents: [] } },
    { method: asPath.replaceAll(/\W/g, '') || 'X', path: '/v1/chat/completions' },
  );
});
const status = fc.constantFrom(200, 400, 401, 403, 404, 429, 500, 503, 529);

it('labels are names from the catalog and constants of the gateway', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(request, status, text), { minLength: 1, maxLength: 12 }),
      async (calls) => {
        const labels = labelsOf(await scrapeAfter(calls));

        expect(labels.length).toBeGreaterThan(20);
        expect(labels.filter((label) => !isOurs(label))).toEqual([]);
      },
    ),
    { numRuns: runsOf(150) },
  );
});

it('the models of a wildcard share its label', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `openai/${canary}-${index}`);
  const listed = {
    ...model({ id: 'openai/*' }),
    price: () => tokenPrice({ input: '1', output: '2' }),
  };
  const register = new client.Registry();
  const { gateway, call, ended } = gatewayInProcess({
    models: [listed],
    handlers: names.map(() => (up) => up.answer(200, replies.chat)),
  });
  prometheusMetrics(gateway, { register });
  for (const name of names) expect((await call(chat({ model: name }))).status).toBe(200);
  await ended(names.length);

  const output = await register.metrics();
  expect(output).not.toContain(canary);
  expect(labelsOf(output)).toContainEqual({ name: 'model', value: 'openai/*' });
});

it('a metric that had the model of a request as a label would be found', async () => {
  const register = new client.Registry();
  const counter = new client.Counter({
    ...{ name: 'requests', help: 'Requests.', registers: [register] },
    labelNames: ['model', 'path'],
  });
  counter.inc({ model: `"\n${canary}`, path: '/' });

  const found = labelsOf(await register.metrics()).filter((label) => !isOurs(label));
  expect(found).toEqual([
    { name: 'model', value: `\\"\\n${canary}` },
    { name: 'path', value: '/' },
  ]);
});

/** The metrics after these requests, which the upstream answers with a status and an error. */
async function scrapeAfter(
  calls: readonly (readonly [CallerRequest, number, string])[],
): Promise<string> {
  const register = new client.Registry();
  const [first, second] = [channel(), channel({ id: 'openai-b' })];
  const { gateway, upstream, clock, start } = gatewayInProcess({
    models: [
      model({ fallbacks: ['spare'], channels: [first] }),
      model({ id: 'spare', channels: [second] }),
    ],
  });
  prometheusMetrics(gateway, { register });
  let next = upstream.next();
  for (const [request, status, message] of calls) {
    const calling = start(request);
    const answered = calling.reply.then(() => undefined);
    for (;;) {
      const sent = await inTime(clock, Promise.race([next, answered]));
      if (sent === undefined) break;
      next = upstream.next();
      sent.answer(status, status === 200 ? replies.chat : { error: { message, code: message } });
    }
  }
  return register.metrics();
}

interface Label {
  readonly name: string;
  readonly value: string;
}

/** All labels of the output, each as often as it occurs. */
function labelsOf(output: string): readonly Label[] {
  const labels = output.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return [...labels].map(([, name = '', value = '']) => ({ name, value }));
}

function isOurs({ name, value }: Label): boolean {
  return fixed.has(name) ? !value.includes(canary) : vocabulary[name]?.has(value) === true;
}
