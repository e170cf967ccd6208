// suite: search host
/** Rows F51–F62 of the fault matrix, on each mount and for each kind of call. */

import { afterEach, describe, expect, it } from 'vitest';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import {
  bearer,
  unmountedGateway,
  upstreamSecret,
  vendorKey,
} from '../../support/mounted-gateway.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { canaries, found } from '../canaries.ts';
import { type ErrorForm, errorFormOf, type Kind, nanosOf } from '../kinds.ts';
import { countedRows } from '../rows/counted.ts';
import { allMounts, type Charged } from '../rows/row.ts';
import { methodRows } from './methods.ts';
import { answersIn, type RawAnswer, rawCaller } from './raw-caller.ts';
import type { CallerRow } from './row.ts';
import { callerRows } from './rows.ts';
import { mountNamed, runScript, type ScriptOutcome } from './run-caller-script.ts';

countedRows('F51–F62');

afterEach(async () => {
  expect(await takeWarnings()).toEqual([]);
});

const cells = callerRows.flatMap((row) =>
  row.mounts.flatMap((mount) => row.kinds.map((kind) => ({ ...row, row, mount, kind }))),
);

describe('callers', () => {
  it.each(cells)('$id $fault · $kind · $mount', async ({ row, mount, kind }) => {
    const { statuses, records, reserves, upstream } = row.expected;

    const played = await runScript(row, mount, kind);

    expect(played.answers.map(({ status }) => status)).toEqual(statuses);
    for (const answer of failed(played)) expectDialect(answer, errorFormOf(kind));
    expect(played.records).toEqual(
      records.map(({ status, outcome }) => expect.objectContaining({ status, outcome })),
    );
    for (const [at, record] of played.records.entries()) {
      expectCharge(record, records[at]?.charge ?? 'nothing', kind);
    }
    expect({ reserves: played.reserves, upstream: played.upstream }).toEqual({
      reserves,
      upstream,
    });
    const used = played.records.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n);
    expect(played.quota).toEqual({ held: 0n, used, inFlight: 0 });
    expect(played.reported).toEqual([]);
    expect(leaksOf(played, row)).toEqual([]);
  });
});

const methodCells = methodRows.flatMap((row) =>
  allMounts.map((mount) => {
    const isAnsweredByHost = row.isHostsToAnswer === true && mount !== 'node:http';
    return {
      ...row,
      row,
      mount,
      answerer: isAnsweredByHost ? ('the host' as const) : ('the gateway' as const),
    };
  }),
);

describe('methods', () => {
  it.each(methodCells)('$id $method $path · $mount: $answerer answers', async ({
    row,
    mount,
    answerer,
  }) => {
    const harness = await unmountedGateway();
    const host = await mountNamed(mount).start(harness.gateway);
    const caller = await rawCaller(host.origin);
    const { method, path, status, allow } = row;
    const isGoogle = row.form === 'google';
    const key = isGoogle ? vendorKey(harness.secrets.native) : bearer(harness.secrets.chat);

    caller.send(rawRequest(`${method} ${path}`, { ...key, connection: 'close' }));
    await caller.closed;
    const [answer] = answersIn(caller.received(), method);
    await host.close();
    await harness.close();

    if (answerer === 'the host')
      return expect(answer).toMatchObject({ headers: { 'x-host': 'yes' } });
    expect(answer).toMatchObject({ status, headers: { 'x-request-id': expect.any(String) } });
    expect(answer?.headers.allow).toBe(allow);
    if (method === 'HEAD') expect(caller.received()).toMatch(/\r\n\r\n$/);
    if (answer !== undefined && status === 405 && method !== 'HEAD') {
      expectDialect(answer, row.form);
    }
    expect(harness.records).toEqual([]);
  });
});

/** The errors that the gateway sent; 417 is Node's. */
function failed({ answers }: ScriptOutcome): readonly RawAnswer[] {
  return answers.filter(({ status }) => status >= 400 && status !== 417);
}

function expectDialect({ status, headers, body }: RawAnswer, form: ErrorForm): void {
  expect(headers).toMatchObject({
    'x-request-id': expect.stringMatching(/./),
    'content-type': 'application/json',
    'cache-control': 'no-store',
  });
  const text: unknown = expect.any(String);
  const documents: Readonly<Record<ErrorForm, object>> = {
    openai: { error: { message: text, type: text, code: text } },
    google: { error: { code: status, message: text, status: text } },
    anthropic: { type: 'error', error: { type: text, message: text }, request_id: text },
  };
  expect(JSON.parse(body)).toMatchObject(documents[form]);
}

function expectCharge({ chargeNanos }: UsageRecord, charge: Charged, kind: Kind): void {
  if (charge === 'nothing') expect(chargeNanos).toBe(0n);
  if (charge === 'usage') expect(chargeNanos).toBe(nanosOf(kind));
  if (charge === 'observed') expect(chargeNanos).toBeGreaterThan(0n);
}

function leaksOf(outcome: ScriptOutcome, { fault }: CallerRow): readonly string[] {
  const { harness, records } = outcome;
  const { events, gateway } = harness;
  const secret = {
    ...canaries,
    upstreamKey: upstreamSecret,
    callerKey: harness.secrets.chat,
    upstreamHost: new URL(harness.upstream.origin).host,
  };
  return found(secret, { fault, events, records, gateway, failed: failed(outcome) });
}
