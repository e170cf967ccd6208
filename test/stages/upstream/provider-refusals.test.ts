// suite: search
/**
 * Who is blamed for a refusal, wherever it comes in a reply and however it is spelled. What a
 * caller named is the caller's to fix, a model that the account may not use affects only that
 * model, and an account is paused only for its own faults.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dialects } from '../../../src/dialects/table.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  events,
  type Kind,
  model,
  sampleRequests,
} from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';
import { type Blamed, documentOf, type Refused, refusals } from './provider-refusals.ts';

/**
 * Where a provider sends it: as an error response, in a 200, as the first event, or after valid
 * ones.
 */
type Place = 'refusal' | 'document' | 'first event' | 'later event';
const places: readonly Place[] = ['refusal', 'document', 'first event', 'later event'];

const eventStream = { 'content-type': 'text/event-stream' } as const;

/** The beginning of each dialect's stream, up to its first text. */
const beginnings: Readonly<Record<Refused['dialect'], string>> = {
  openai: events({ choices: [{ index: 0, delta: { content: 'Once' }, finish_reason: null }] }),
  gemini: events({ candidates: [{ content: { role: 'model', parts: [{ text: 'Once' }] } }] }),
  anthropic: [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Once' } },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join(''),
};

function playOf(refused: Refused, place: Place): CallHandler {
  const text = documentOf(refused);
  const event =
    refused.dialect === 'anthropic' ? `event: error\ndata: ${text}\n\n` : `data: ${text}\n\n`;
  return (up) => {
    if (place === 'refusal') return up.answer(refused.status, text);
    if (place === 'document') return up.answer(200, text);
    up.respond(200, eventStream);
    if (place === 'later event') up.write(beginnings[refused.dialect]);
    up.write(event);
    up.end();
  };
}

/** A gateway whose models have the refusing channel first, and a working one second. */
function refusing(handler: CallHandler, dialect: Refused['dialect'], kind: Kind): InProcessGateway {
  const first: Partial<Channel> = {
    id: 'first',
    dialect,
    baseUrl: 'https://first.example/v1',
    upstreamModel: 'up-1',
  };
  const protocol = kind.startsWith('native') ? 'native' : 'chat';
  const good = channel({
    id: 'good',
    priority: 1,
    dialect: protocol === 'native' ? 'gemini' : 'openai',
  });
  return gatewayInProcess({
    handlers: [handler, completeReply(kind)],
    models: [model({ id: protocol, protocols: [protocol], channels: [channel(first), good] })],
  });
}

/** What is paused: the whole account, or one model. */
function pausedAt({
  gateway,
}: InProcessGateway): readonly (readonly [string, string | undefined, number?])[] {
  const first = gateway.channels().find(({ channelId }) => channelId === 'first');
  if (first === undefined) return [];
  const account = first.state === 'ready' ? [] : ([[first.state, first.reason]] as const);
  return [...account, ...first.models.map(({ state, reason }) => [state, reason] as const)];
}

const pauses: Readonly<Record<Blamed, readonly (readonly [string, string])[]>> = {
  request: [],
  model: [['cooling_down', 'upstream_model_not_found']],
  unknown: [['cooling_down', 'upstream_forbidden']],
  account: [['cooling_down', 'upstream_forbidden']],
  credential: [['refused', 'upstream_auth_error']],
};

const name = ({ dialect, status, message }: Refused): string => `${dialect} ${status}: ${message}`;
const kinds = ['chatStream', 'nativeStream'] as const;

describe.each(refusals.map((refused) => [name(refused), refused] as const))('%s', (_, refused) => {
  it.each(places)(`as a %s blames the ${refused.blamed}`, async (place) => {
    for (const kind of kinds) {
      // Inside a 200, OpenAI's errors have no status: only their text tells.
      if (place !== 'refusal' && refused.dialect === 'openai' && !hasStatus(refused)) continue;
      const harness = refusing(playOf(refused, place), refused.dialect, kind);

      const reply = await harness.call(sampleRequests[kind]);

      expect(pausedAt(harness)).toEqual(pauses[refused.blamed]);
      expect(reply.text).not.toContain('a secret prompt');
      if (refused.blamed === 'request') expectCallersFault(reply, refused, place, kind, harness);
      else if (place !== 'later event')
        expect([reply.status, harness.upstream.calls.length]).toEqual([200, 2]);
    }
  });
});

/** OpenAI's errors carry no number: by their type they are 400s. */
function hasStatus({ status, error }: Refused): boolean {
  return error?.code === status || error?.status === status || status === 400;
}

function expectCallersFault(
  reply: CallerReply,
  refused: Refused,
  place: Place,
  kind: Kind,
  { upstream }: InProcessGateway,
): void {
  expect(upstream.calls).toHaveLength(1);
  const isNative = kind.startsWith('native');
  const isBlocked = isNative && isFiltered(refused);
  if (isBlocked && place !== 'later event') {
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('"blockReason"');
    return;
  }
  // What the caller named is missing; other 404s are about what the request asks for.
  const isMissing = refused.status === 404 && !refused.message.startsWith('No endpoints');
  expect(reply.status).toBe(place === 'later event' ? 200 : isMissing ? 404 : 400);
  const error = errorIn(reply.text);
  const reported = isNative ? error.details?.[0]?.reason?.toLowerCase() : (error.code ?? undefined);
  expect(reported).toBe(refused.clientCode);
  if (refused.param === undefined) return;
  // A translated call has no such member.
  const isRelayed = refused.dialect === (isNative ? 'gemini' : 'openai');
  if (isNative && isRelayed) expect(error.message).toContain(refused.param);
  if (!isNative) expect(error.param).toBe(isRelayed ? refused.param : null);
}

/** OpenAI's codes say that the prompt was blocked, which native callers get as a reply. */
function isFiltered({ error }: Refused): boolean {
  return error?.code === 'content_filter' || error?.code === 'invalid_prompt';
}

interface CallerError {
  readonly code: string | null;
  readonly message: string;
  readonly param?: string | null;
  readonly details?: readonly { readonly reason?: string }[];
}

function errorIn(text: string): CallerError {
  const line = text.split(/\r?\n/).findLast((one) => one.startsWith('data: {'));
  const document: { readonly error: CallerError } = JSON.parse(line?.slice(6) ?? text);
  return document.error;
}

describe('the same text in another spelling', () => {
  const cases = fc.constantFrom('lower', 'upper', 'as it is', 'title');
  const spellings = { lower, upper, 'as it is': same, title };

  it('gives the same blame', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...refusals.filter(({ message }) => !message.startsWith('models/'))),
        cases,
        fc.constantFrom('', 'Error: ', 'upstream said: ', '403 PERMISSION_DENIED. '),
        fc.constantFrom('', ' (request id: 0a1b2c)', ' Please try another.', '\n'),
        (refused, spelling, before, after) => {
          // Anthropic's error for a missing model has no text before the name.
          const prefix = refused.message.startsWith('model: ') ? '' : before;
          const message = `${prefix}${spellings[spelling](refused.message)}${after}`;
          const read = (refusal: Refused) =>
            dialects[refusal.dialect].readFailure(
              refusal.status,
              Buffer.from(documentOf(refusal)),
              {},
            );

          const { fault, clientCode, param } = read({ ...refused, message });

          expect({ message, fault, clientCode, param }).toEqual({
            ...{ fault: read(refused).fault, clientCode: read(refused).clientCode },
            ...{ param: read(refused).param, message },
          });
        },
      ),
      { numRuns: runsOf(1_500) },
    );
  });
});

function lower(text: string): string {
  return text.toLowerCase();
}
function upper(text: string): string {
  return text.toUpperCase();
}
function same(text: string): string {
  return text;
}
function title(text: string): string {
  return text.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

describe('a 403 that blames nobody', () => {
  const forbids: CallHandler = (up) =>
    up.answer(403, { error: { message: 'Forbidden', code: 403 } });
  const models = ['one', 'two'].map((id) =>
    model({ id, channels: [channel({ id: 'first', upstreamModel: `up-${id}` })] }),
  );
  const chatOf = (id: string) => ({
    path: '/v1/chat/completions',
    body: { model: id, messages: [{ role: 'user', content: 'hi' }] },
  });
  const accountState = ({ gateway }: InProcessGateway) => gateway.channels()[0]?.state;

  it('pauses one model for a minute, and leaves the others of the account alone', async () => {
    const harness = gatewayInProcess({ handlers: [forbids, completeReply('chat')], models });

    await harness.call(chatOf('one'));
    const [{ untilMs = 0 } = { untilMs: 0 }] = harness.gateway.channels()[0]?.models ?? [];

    expect((untilMs ?? 0) - harness.clock.now()).toBe(60_000);
    expect((await harness.call(chatOf('two'))).status).toBe(200);
  });

  it('of a second model pauses the account, if nothing was served between', async () => {
    const harness = gatewayInProcess({ handlers: [forbids, forbids], models });

    await harness.call(chatOf('one'));
    expect(accountState(harness)).toBe('ready');
    await harness.call(chatOf('two'));

    expect(accountState(harness)).toBe('cooling_down');
  });

  it('of the same model again, or after a served call, does not pause the account', async () => {
    const again = gatewayInProcess({ handlers: [forbids, forbids], models });
    await again.call(chatOf('one'));
    again.clock.advance(60_000);
    await again.call(chatOf('one'));
    const between = gatewayInProcess({
      handlers: [forbids, completeReply('chat'), forbids],
      models,
    });
    await between.call(chatOf('one'));
    await between.call(chatOf('two'));
    await between.call(chatOf('two'));

    expect([accountState(again), accountState(between)]).toEqual(['ready', 'ready']);
  });

  it('is forgotten when the host switches the account on again', async () => {
    const harness = gatewayInProcess({ handlers: [forbids, forbids], models });
    await harness.call(chatOf('one'));
    harness.gateway.enableChannel('first');
    await harness.call(chatOf('two'));

    expect(accountState(harness)).toBe('ready');
  });
});
