// suite: quick
/**
 * The member that an upstream names in an error: a caller sees it only as a member of its own API.
 */
import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  responses,
  wholeChat,
} from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

const hello = { model: 'm', input: 'hi' };
const relayedParams = ['messages[3].content', 'messages.[3].content', 'temperature', 'file'];

/** What a chat upstream calls a member, and what the callers of the Responses API call it. */
const translatedParams: readonly (readonly [string, string | null])[] = [
  ['messages[3].content', null],
  ['messages.[3].content', null],
  ['messages', null],
  ['model', null],
  ['unknown_member', null],
  ['temperature', 'temperature'],
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['response_format.json_schema.schema', 'text.format'],
  ['reasoning_effort', 'reasoning.effort'],
  ['tools[0].function.parameters', 'tools'],
];

/** Where the error comes: as a response, or as the first event of a stream. */
const places = {
  response: (error: object) => ({ status: 400, chunks: [JSON.stringify({ error })] }),
  event: (error: object) => ({
    headers: { 'content-type': 'text/event-stream' },
    chunks: [`data: ${JSON.stringify({ error: { ...error, code: 400 } })}\n\n`],
  }),
};

async function paramOf(
  request: CallerRequest,
  { param, place, servesResponses = false, dialect = 'openai' }: UpstreamError,
): Promise<unknown> {
  const error = { message: 'Fix it.', type: 'invalid_request_error', param };
  const capabilities = { responses: servesResponses };
  const gateway = anyModelGateway({
    upstream: scriptedUpstream(places[place](error)),
    channel: { dialect, upstreamModel: 'gpt-4.1', capabilities },
  });
  const { status, text } = await gateway.call(request);
  expect(status).toBe(400);
  expect(text).toContain('Fix it.');
  const named = JSON.parse(text).error.param;
  expectInEvent(gateway.events, named);
  return named;
}

/** The event has the name that the caller got. */
function expectInEvent(events: readonly GatewayEvent[], named: unknown): void {
  const ended = events.find(({ type }) => type === 'call_ended');
  expect(ended).toMatchObject({ code: expect.any(String) });
  expect(ended !== undefined && 'param' in ended ? ended.param : null).toBe(named ?? null);
}

it('a member that a strict model can’t translate is in the event, too', async () => {
  const gateway = anyModelGateway({
    upstream: scriptedUpstream(),
    channel: { dialect: 'anthropic' },
    model: { strict: true },
  });
  const body = { ...JSON.parse(wholeChat), logit_bias: { 50256: -100 } };
  const { status, text } = await gateway.call(chat(JSON.stringify(body)));

  expect([status, JSON.parse(text).error.param]).toEqual([400, 'logit_bias']);
  expectInEvent(gateway.events, 'logit_bias');
});

interface UpstreamError {
  readonly param: string;
  readonly place: keyof typeof places;
  readonly servesResponses?: boolean;
  readonly dialect?: DialectName;
}

describe.each(['response', 'event'] as const)('an error as %s', (place) => {
  const streamed = place === 'event';
  const asResponses = responses(JSON.stringify({ ...hello, stream: streamed }));

  it.each(relayedParams)('keeps the name %s where the body was relayed', async (param) => {
    expect(await paramOf(streamed ? chat() : chat(wholeChat), { param, place })).toBe(param);
    const error = { param, place, servesResponses: true };
    expect(await paramOf(asResponses, error)).toBe(param);
  });

  it.each(translatedParams)('about %s names %s to a Responses caller', async (param, own) => {
    expect(await paramOf(asResponses, { param, place })).toBe(own);
  });

  it('has no name of another API for a caller of Anthropic’s', async () => {
    const param = await paramOf(messages(), { param: 'messages[3].content', place });

    expect(param).toBeUndefined();
  });
});

it('a file that Gemini refused is not named as a member of a chat', async () => {
  const error = { code: 404, message: 'File abc not found.', status: 'NOT_FOUND' };
  const scripted = { status: 404, chunks: [JSON.stringify({ error })] };
  const gateway = anyModelGateway({
    upstream: scriptedUpstream(scripted),
    channel: { dialect: 'gemini', upstreamModel: 'gemini-3-pro' },
  });

  const { text } = await gateway.call(chat(wholeChat));

  expect(text).not.toContain('fileData');
});
