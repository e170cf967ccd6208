// suite: slow host
/** Row F85 of the fault matrix: the transcript of each kind of call, the same on every adapter. */

import { expect, it } from 'vitest';
import { unmountedGateway } from '../../support/mounted-gateway.ts';
import { errorFormOf, isMessages, isStream, type Kind, kinds, relayedReply } from '../kinds.ts';
import { countedRows } from '../rows/counted.ts';
import { allMounts } from '../rows/row.ts';
import { answering, bytesOf, modelsFor } from './calls.ts';
import { answersIn, type RawAnswer, rawCaller } from './raw-caller.ts';
import { mountNamed } from './run-caller-script.ts';

countedRows('F85');

/** Headers that the host and Node add. */
const hostsOwn = ['date', 'connection', 'keep-alive', 'x-powered-by'];

const always = {
  vary: 'authorization, x-api-key, x-vendor-api-key, x-goog-api-key, anthropic-version',
  'x-content-type-options': 'nosniff',
  'x-request-id': 'test-id-00000001',
};

/** The transcripts: status, every header of the gateway, every byte of the body. */
function goldenOf(kind: Kind): RawAnswer {
  const body = relayedReply(kind);
  const framing = isStream(kind)
    ? {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        'transfer-encoding': 'chunked',
      }
    : {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'content-length': String(body.length),
      };
  return { status: 200, headers: { ...always, ...ownIds(kind), ...framing }, body };
}

/** Anthropic's clients read the id from a header of their own. */
function ownIds(kind: Kind): Readonly<Record<string, string>> {
  return isMessages(kind) ? { 'request-id': always['x-request-id'] } : {};
}

const keyHeaders = {
  openai: 'Authorization: Bearer <key>',
  google: 'x-goog-api-key: <key>` or `x-vendor-api-key: <key>',
  anthropic: 'x-api-key: <key>',
} as const;

function goldenRefusal(kind: Kind): RawAnswer {
  const form = errorFormOf(kind);
  const message =
    'The API key is unknown, disabled or expired. ' +
    `Send the complete key in the header \`${keyHeaders[form]}\`.`;
  const openai = { message, type: 'invalid_request_error', param: null, code: 'invalid_api_key' };
  const body = {
    openai: { error: openai },
    google: { error: { code: 401, message, status: 'UNAUTHENTICATED' } },
    anthropic: {
      type: 'error',
      error: { type: 'authentication_error', message },
      request_id: always['x-request-id'],
    },
  }[form];
  const text = JSON.stringify(body);
  const headers = {
    ...always,
    ...ownIds(kind),
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': String(text.length),
    'x-should-retry': 'false',
  };
  return { status: 401, headers, body: text };
}

const cells = allMounts.flatMap((mount) => kinds.map((kind) => ({ mount, kind })));

it.each(cells)('F85 a reply · $kind · $mount', async ({ mount, kind }) => {
  expect(await transcript(kind, mount, 'with its key')).toEqual(goldenOf(kind));
});

it.each(cells)('F85 a refusal · $kind · $mount', async ({ mount, kind }) => {
  const { body, ...head } = await transcript(kind, mount, 'with an unknown key');
  const { body: goldenBody, ...goldenHead } = goldenRefusal(kind);

  expect(JSON.parse(body)).toMatchObject(JSON.parse(goldenBody));
  expect(head).toMatchObject({
    ...goldenHead,
    headers: { ...goldenHead.headers, 'content-length': String(body.length) },
  });
});

async function transcript(
  kind: Kind,
  mount: string,
  how: 'with its key' | 'with an unknown key',
): Promise<RawAnswer> {
  const harness = await unmountedGateway({}, modelsFor(kind));
  harness.upstream.enqueue(answering(kind));
  const host = await mountNamed(mount).start(harness.gateway);
  const caller = await rawCaller(host.origin);
  caller.send(bytesOf(kind, how === 'with its key' ? harness.secrets.chat : 'nobody'));
  await caller.until((received) => answersIn(received).length === 1);
  const [answer] = answersIn(caller.received());
  caller.close();
  await host.close();
  await harness.close();
  if (answer === undefined) throw new Error('no answer');
  const ours = Object.entries(answer.headers).filter(([name]) => !hostsOwn.includes(name));
  return { ...answer, headers: Object.fromEntries(ours) };
}
