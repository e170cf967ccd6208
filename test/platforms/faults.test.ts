// suite: slow
/**
 * Faults of an upstream on a platform: the caller, the record, the events and the channel's health
 * get what they get if the provider itself fails in the same way.
 */
import { describe, expect, it } from 'vitest';
import { bedrock } from '../../src/platforms/bedrock/bedrock.ts';
import { azure, vertex } from '../../src/platforms/places.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import { type CallerRequest, gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model, replies, sampleRequests } from '../support/models.ts';
import { someOf } from '../support/sample.ts';
import { asServerSent, chunk, replyEvents, streamHeaders } from './bedrock/messages.ts';

/** A call of a provider's own API, and the replies to it. */
interface Wire {
  readonly baseUrl: string;
  readonly protocol: 'messages' | 'native' | 'chat';
  readonly requests: readonly [whole: CallerRequest, streamed: CallerRequest];
  readonly whole: string;
  /** The events of a stream, as the provider sends them. */
  readonly events: readonly string[];
}

const claudeRequest = {
  ...{ model: 'chat', max_tokens: 9 },
  messages: [{ role: 'user', content: 'hi' }],
};

const wires: Readonly<Record<DialectName, Wire>> = {
  anthropic: {
    baseUrl: 'https://provider.example/v1',
    protocol: 'messages',
    requests: [
      { path: '/v1/messages', body: claudeRequest },
      { path: '/v1/messages', body: { ...claudeRequest, stream: true } },
    ],
    whole: JSON.stringify({
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'Hi' }],
      usage: { input_tokens: 3, output_tokens: 1 },
    }),
    events: replyEvents().map((event) => asServerSent([event])),
  },
  gemini: {
    baseUrl: 'https://provider.example/v1beta',
    protocol: 'native',
    requests: [inModel(sampleRequests.native), inModel(sampleRequests.nativeStream)],
    whole: replies.native,
    events: ['Once', '!'].map((text, index) => {
      const parts = [{ text }];
      const finishReason = index === 0 ? undefined : 'STOP';
      const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
      const candidates = [{ content: { role: 'model', parts }, finishReason }];
      return `data: ${JSON.stringify({ candidates, ...(finishReason && { usageMetadata }) })}\n\n`;
    }),
  },
  openai: {
    baseUrl: 'https://provider.example/v1',
    protocol: 'chat',
    requests: [sampleRequests.chat, sampleRequests.chatStream],
    whole: replies.chat,
    events: replies.chatStream.split(/(?<=\n\n)/),
  },
};

function inModel(request: CallerRequest): CallerRequest {
  return { ...request, path: request.path.replace('/native:', '/chat:') };
}

const project = { project: 'p', location: 'us-east5' } as const;
const places: Readonly<Record<string, Partial<Channel> & Pick<Channel, 'dialect'>>> = {
  'Bedrock mantle': bedrock({ kind: 'mantle', region: 'us-east-1' }),
  'Bedrock runtime': bedrock({ kind: 'runtime', region: 'us-east-1' }),
  'OpenAI on Bedrock': bedrock({ kind: 'mantle', region: 'us-east-1', dialect: 'openai' }),
  'Claude Platform on AWS': bedrock({ kind: 'anthropic', region: 'us-east-1', workspaceId: 'w' }),
  'Claude on Foundry': azure({ kind: 'anthropic', resource: 'contoso' }),
  'Azure v1': azure({ kind: 'v1', resource: 'contoso' }),
  'Azure by deployment': azure({
    ...{ kind: 'deployments', resource: 'contoso', apiVersion: '2024-10-21' },
  } as const),
  'Claude on Vertex': vertex({ kind: 'anthropic', ...project }),
  'Gemini on Vertex': vertex({ kind: 'google', ...project }),
  'Vertex openapi': vertex({ kind: 'openapi', ...project }),
};

const json = { 'content-type': 'application/json' };
const sse = { 'content-type': 'text/event-stream' };

type Fault = (reply: Reply) => CallHandler;

/** A reply as pieces: the first half and the second, or the events of a stream. */
interface Reply {
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: readonly (string | Uint8Array)[];
}

const faults: Readonly<Record<string, Fault>> = {
  'no connection': () => (up) => {
    up.dial();
    up.breakOff('connect_refused', { stage: 'connect' });
  },
  'a reset before a response': () => (up) => up.breakOff('reset', { stage: 'sent' }),
  'no response in time': () => (up) => up.breakOff('headers_timeout', { timedOut: true }),
  ...Object.fromEntries(
    [302, 401, 408, 413, 500, 502, 503, 504, 529].map((status): [string, Fault] => [
      `${status} without a body`,
      () => (up) => up.answer(status, ''),
    ]),
  ),
  '429 with a time': () => (up) => up.answer(429, '{}', { ...json, 'retry-after': '7' }),
  '500 with a page': () => (up) => up.answer(500, '<html>', { 'content-type': 'text/html' }),
  'a page in place of a reply': () => (up) =>
    up.answer(200, '<html></html>', { 'content-type': 'text/html' }),
  'an empty reply':
    ({ headers }) =>
    (up) =>
      up.answer(200, '', headers),
  none: ({ headers, pieces }) => sending(headers, pieces, (up) => up.end()),
};

function sending(
  headers: Reply['headers'],
  pieces: Reply['pieces'],
  finish: CallHandler,
): CallHandler {
  return (up) => {
    up.respond(200, headers);
    for (const piece of pieces) up.write(piece);
    finish(up);
  };
}

/** A reply that breaks off, or ends, after each of its pieces. */
function cuts(count: number): readonly (readonly [string, Fault])[] {
  return Array.from({ length: count }, (_, index) => {
    const cut =
      (finish: CallHandler): Fault =>
      ({ headers, pieces }) =>
        sending(headers, pieces.slice(0, index), finish);
    return [
      [`a reset after ${index} pieces`, cut((up) => up.breakOff('reset'))] as const,
      [`an end after ${index} pieces`, cut((up) => up.end())] as const,
    ];
  }).flat();
}

async function outcomeOf(
  place: Partial<Channel>,
  wire: Wire,
  isStream: boolean,
  play: CallHandler,
) {
  const { call, gateway, allEvents, records, upstream } = gatewayInProcess({
    models: [model({ protocols: [wire.protocol], channels: [channel({ id: 'c', ...place })] })],
    handlers: [play],
  });
  const { status, text, isCut } = await call(wire.requests[isStream ? 1 : 0]);
  return {
    ...{ status, text, isCut, calls: upstream.calls.length },
    records: records.map(({ outcome, reason, status, chargeNanos, usage, attempts }) => ({
      ...{ outcome, reason, status, chargeNanos, usage },
      attempts: attempts.map(({ durationMs: _, ...attempt }) => attempt),
    })),
    events: allEvents.map((event) => [event.type, 'reason' in event ? event.reason : undefined]),
    health: gateway.channels().map(({ state, reason, untilMs, models }) => ({
      ...{ state, reason, untilMs },
      models: models.map(({ state, reason, untilMs }) => ({ state, reason, untilMs })),
    })),
  };
}

describe.each(Object.entries(places))('on %s', (name, place) => {
  const wire = wires[place.dialect];
  const isFramed = name === 'Bedrock runtime';
  const provider = { dialect: place.dialect, baseUrl: wire.baseUrl };
  const middle = wire.whole.length >> 1;
  const whole: Reply = {
    headers: json,
    pieces: [wire.whole.slice(0, middle), wire.whole.slice(middle)],
  };
  const streamed: Reply = { headers: sse, pieces: wire.events };
  const framed: Reply = { headers: streamHeaders, pieces: replyEvents().map(chunk) };

  it.each([
    ['a whole reply', false, whole, whole],
    ['a stream', true, streamed, isFramed ? framed : streamed],
  ] as const)('%s fails as that of the provider', async (_, isStream, own, there) => {
    const all = [...Object.entries(faults), ...cuts(own.pieces.length)];
    for (const [fault, play] of someOf(all)) {
      const expected = await outcomeOf(provider, wire, isStream, play(own));
      const found = await outcomeOf(place, wire, isStream, play(there));

      expect({ fault, ...found }).toEqual({ fault, ...expected });
    }
  });
});
