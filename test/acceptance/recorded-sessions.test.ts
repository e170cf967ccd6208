// suite: slow host
/**
 * Recorded requests of Anthropic's callers, sent as a coding agent sends them: streamed, with
 * `?beta=true` and its headers, over Anthropic, a chat upstream and Google. Anthropic plays its
 * recorded reply; the others are fakes that refuse what the real ones refuse.
 */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, member, parseJson } from '../../src/json.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import type { FakeUpstream, Script } from '../../src/testing/index.ts';
import { brokenLaws, foldedMessage, messagesEvents } from '../support/laws/messages-laws.ts';
import {
  type UnmountedGateway,
  unmountedGateway,
  upstreamSecret,
} from '../support/mounted-gateway.ts';
import { type Fixture, fixtures } from '../support/recorded/fixtures.ts';
import { closed, listening } from '../support/servers.ts';
import { expectedRefusal } from '../translate/messages/recorded-refusals.ts';
import { agentHeaders } from './agent-requests.ts';

const messages = fixtures('anthropic', 'messages').filter(
  ({ request, status, url }) => request !== undefined && status === 200 && /messages/.test(url),
);
const counts = messages.filter(({ url }) => url.includes('count_tokens'));
const sent = messages.filter(({ url }) => !url.includes('count_tokens'));

type OwnSettings = Pick<Channel, 'baseUrl' | 'upstreamModel' | 'capabilities'>;

const dialects = ['anthropic', 'openai', 'gemini'] as const;
const settings: Readonly<Record<DialectName, (fake: FakeUpstream) => OwnSettings>> = {
  anthropic: ({ anthropicBaseUrl }) => ({
    baseUrl: anthropicBaseUrl,
    upstreamModel: 'claude-opus-5',
  }),
  openai: ({ openaiBaseUrl }) => ({
    baseUrl: openaiBaseUrl,
    upstreamModel: 'gpt-4.1',
    capabilities: { responses: false },
  }),
  gemini: ({ geminiBaseUrl }) => ({ baseUrl: geminiBaseUrl, upstreamModel: 'gemini-3-pro' }),
};

/** A free model for each upstream, whose callers may send what reaches beyond a call. */
function modelsOf(fake: FakeUpstream): readonly Model[] {
  return dialects.map((id) => ({
    id,
    protocols: ['messages'],
    groups: ['chat'],
    price: { per: 'free' },
    maxOutputTokens: 128_000,
    allow: { advisor: true, container: true, file_id: true, mcp: true, thread: true },
    channels: [{ id, dialect: id, credential: upstreamSecret, ...settings[id](fake) }],
  }));
}

describe.each(dialects)('over %s', (model) => {
  const isRelayed = model === 'anthropic';
  let harness: UnmountedGateway;
  let origin: string;
  let close: () => Promise<void>;

  beforeAll(async () => {
    harness = await unmountedGateway({}, modelsOf);
    const server = createServer(nodeAdapter(harness.gateway));
    origin = await listening(server);
    close = async () => {
      await closed(server);
      await harness.close();
    };
  });
  afterEach(() => harness.upstream.reset());
  afterAll(() => close());

  const send = (path: string, body: string): Promise<Response> =>
    fetch(`${origin}${path}?beta=true`, {
      method: 'POST',
      headers: agentHeaders(harness.secrets.chat),
      body,
    });

  it.each(sent.map(named))('%s is answered, or refused by name', async (name, recorded) => {
    const body = requestOf(recorded, isRelayed ? { model } : { model, stream: true });
    if (isRelayed) harness.upstream.enqueue(replyOf(recorded));

    const reply = await send('/v1/messages', body);
    const text = await reply.text();

    const refusal = isRelayed ? undefined : expectedRefusal(name, model);
    if (refusal !== undefined) return expectRefusal(reply.status, text, refusal);
    expect({ status: reply.status, text }).toMatchObject({ status: 200 });
    const [call, ...more] = harness.upstream.calls;
    expect(more).toEqual([]);
    if (isRelayed) {
      expect(text).toBe(Buffer.from(recorded.response).toString());
      expect(call?.body.toString()).toBe(body.replace(`"${model}"`, '"claude-opus-5"'));
      return;
    }
    const events = messagesEvents(text);
    expect(brokenLaws(events, { isOwn: true })).toEqual([]);
    expect(events.at(-1)?.name).toBe('message_stop');
    expect(foldedMessage(events)).toMatchObject({ model, role: 'assistant' });
  });

  it.each(counts.map(named))('%s is counted', async (name, recorded) => {
    if (isRelayed) harness.upstream.enqueue(replyOf(recorded));

    const reply = await send('/v1/messages/count_tokens', requestOf(recorded, { model }));
    const text = await reply.text();

    // For chat the gateway estimates, and asks nobody who could refuse.
    const refusal = model === 'gemini' ? expectedRefusal(name, model) : undefined;
    if (refusal !== undefined) return expectRefusal(reply.status, text, refusal);
    expect({ status: reply.status, text }).toMatchObject({ status: 200 });
    expect(member(parseJson(text), 'input_tokens')).toBeGreaterThan(0);
  });

  function expectRefusal(status: number, text: string, param: string): void {
    expect(status).toBe(400);
    expect(parseJson(text)).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining(param),
      },
    });
    expect(harness.upstream.calls).toEqual([]);
  }
});

it('the recordings are more than 80 calls and 2 counts', () => {
  expect(sent.length).toBeGreaterThan(80);
  expect(counts.length).toBeGreaterThan(2);
});

function named(recorded: Fixture): readonly [string, Fixture] {
  return [recorded.name, recorded];
}

/** The recorded request, with other members. */
function requestOf({ request }: Fixture, members: JsonObject): string {
  return JSON.stringify({ ...JSON.parse(Buffer.from(request ?? []).toString()), ...members });
}

function replyOf({ response, streamed }: Fixture): Script {
  const type = streamed ? 'text/event-stream; charset=utf-8' : 'application/json';
  return { headers: { 'content-type': type }, body: response };
}
