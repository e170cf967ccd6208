// suite: search
/** No account data of the upstream, and no foreign signature, reaches a caller. */
import { describe, expect, it } from 'vitest';
import { upstreamHost, upstreamSecret } from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { drawn } from '../../support/seeds.ts';
import { answered, type Protocol } from './caller-side.ts';
import {
  asking,
  document,
  eventStream,
  exchanged,
  goodStreams,
  type Layout,
  pairs,
  recordings,
  rows,
  streamLayouts,
  streamOf,
  wholes,
} from './exchange.ts';
import { documentsOf, eventsOf, framed, oracles } from './oracle.ts';
import { isRecord, type Json, record, strings } from './tree.ts';

const refused = recordings.filter(({ status }) => status !== 200);
const googles = recordings.filter(({ name }) => /^(?:gemini\/|.*\/google-)/.test(name));
const address = `https://${upstreamHost}/v1/models`;
const leak = `Key ${upstreamSecret} at ${address} was refused by ${upstreamHost}.`;

describe('an error response that names the account', () => {
  it.each(rows(refused))('shows nothing of it, to %s: %s', async (protocol, _name, recorded) => {
    const reported = JSON.stringify(leaking(JSON.parse(recorded.text)));
    for (const status of [recorded.status, 400, 401, 404, 429, 500, 503]) {
      for (const layout of ['json', ...streamLayouts[protocol]] as const) {
        const scripted = { ...document(reported), status };
        const { answer: reply } = await exchanged(
          recorded.dialect,
          asking(protocol, layout),
          scripted,
        );

        expect(reply.status).toBeGreaterThanOrEqual(400);
        expectSilent(reply);
      }
    }
  });
});

describe.each(pairs)('an error amid a stream from $dialect to $protocol', ({
  protocol,
  dialect,
}) => {
  const [recorded] = goodStreams.filter((one) => one.dialect === dialect);
  const first = eventsOf(recorded?.text ?? '')
    .slice(0, 2)
    .join('');
  const error = { type: 'error', error: { type: 'api_error', code: 500, message: leak } };
  const tails = [
    framed(dialect, [error]).join(''),
    `data: ${JSON.stringify({ error: leak })}\n\n`,
    JSON.stringify([{ error: { code: 503, message: leak, status: leak } }]),
    `${leak}\n\n`,
    `event: error\ndata: ${leak}\n\n`,
  ];

  it.each(
    tails.map((tail, at) => [at, tail] as const),
  )('shows nothing of it, form %i', async (_, tail) => {
    for (const layout of streamLayouts[protocol]) {
      for (const chunks of [[first, tail], [tail], [first + tail]]) {
        const request = asking(protocol, layout);
        const { answer: reply } = await exchanged(dialect, request, eventStream(...chunks));

        expect(reply.text).toContain('"error":');
        expectSilent(reply);
      }
    }
  });
});

describe('a signature', () => {
  const signed = wholes.filter(({ text }) => signaturesIn(JSON.parse(text)).length > 0);

  it.each(rows(signed))('appears only with its provider’s tag, to %s: %s', async (...row) => {
    const [protocol, , { dialect, text }] = row;
    const whole = record(JSON.parse(text));

    for (const layout of ['json', ...streamLayouts[protocol]] as const) {
      const pieces = oracles[dialect].stream(whole, drawn(5));
      const scripted = layout === 'json' ? document(text) : streamOf(dialect, pieces);
      const { answer: reply } = await exchanged(dialect, asking(protocol, layout), scripted);

      expectTagged(protocol, layout, reply, signaturesIn(whole));
      expectSilent(reply);
    }
  });

  it.each(rows(goodStreams))('of a stream is tagged as well, to %s: %s', async (...row) => {
    const [protocol, , { dialect, text, bytes }] = row;
    const made = documentsOf(text).flatMap((one) => signaturesIn(record(one)));

    for (const layout of streamLayouts[protocol]) {
      const request = asking(protocol, layout);
      const { answer: reply } = await exchanged(dialect, request, eventStream(bytes));

      expectTagged(protocol, layout, reply, made);
      expectSilent(reply);
    }
  });
});

/** Locations of provider data in each protocol, which callers must not read. */
const tagged: Readonly<Record<Protocol, RegExp>> = {
  chat: /\.extra_content\.google\.thought_signature$|\.reasoning_details\[\]\.(?:signature|data)$/,
  native: /\.thoughtSignature$/,
  responses: /\.encrypted_content$/,
  messages: /\.(?:signature|data)$/,
};

function expectTagged(
  protocol: Protocol,
  layout: Layout,
  reply: CallerReply,
  made: readonly string[],
): void {
  expect(reply.status).toBe(200);
  for (const one of answered(reply.text, layout !== 'json')) {
    for (const [path, value] of strings(one)) {
      const shown = made.filter((signature) => value.includes(signature));
      if (shown.length > 0) expect(path).toMatch(tagged[protocol]);
      // Data of other providers is sealed in an envelope that names the provider.
      if (protocol === 'native' && tagged.native.test(path) && !isGoogles(value, made)) {
        expect(Buffer.from(value, 'base64').toString()).toMatch(
          /^gw2:\{"p":"(?:anthropic|openai)"/,
        );
      }
    }
  }
}

/** Google's compatible endpoint sends signatures, which its own clients may get. */
function isGoogles(value: string, made: readonly string[]): boolean {
  return googles.some((recorded) => recorded.text.includes(value)) && made.includes(value);
}

/** Headers are checked as well. */
function expectSilent({ text, headers }: CallerReply): void {
  for (const output of [text, JSON.stringify(headers)]) {
    expect(output).not.toContain(upstreamSecret);
    expect(output).not.toContain(upstreamHost);
    expect(output).not.toContain('gpu7');
  }
}

/** Replaces every string of the document with secret text. */
function leaking(value: unknown): unknown {
  if (typeof value === 'string') return leak;
  if (Array.isArray(value)) return value.map(leaking);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, leaking(one)]));
}

function signaturesIn(whole: Json): readonly string[] {
  return strings(whole)
    .filter(([path]) => /(?:thoughtSignature|signature|thought_signature|\.data)$/.test(path))
    .filter(([path]) => !/inlineData|audio/.test(path))
    .map(([, data]) => data)
    .filter((data) => data !== '');
}
