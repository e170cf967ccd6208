// suite: search
/** A stream that broke off makes the real client packages throw. */
import { createServer, type Server } from 'node:http';
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI } from '@google/genai';
import OpenAI, { APIError } from 'openai';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, describe, expect, it } from 'vitest';
import { anyModelGateway } from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { closed, listening } from '../../support/servers.ts';
import type { Protocol } from './caller-side.ts';
import { eventStream, isLast, type Recorded, rows, streams } from './exchange.ts';
import { dataOf, eventsOf } from './oracle.ts';
import { parsed } from './tree.ts';

/**
 * Three recordings of each dialect are enough here; `truncated.test.ts` checks the form of the
 * others.
 */
const sample = streams.filter(({ name }) =>
  [
    'anthropic/v-stream-text',
    'anthropic/v-stream-json-tool',
    'anthropic/stream-thinking.1',
    'gemini/v-stream-text',
    'gemini/v-stream-tool-no-args',
    'gemini/f-stream-error-mid',
    'openai-chat/stream-tools.1',
    'openai-chat/stream-basic.1',
    'openai-compat/xai-tool-call-stream',
  ].includes(name),
);

const apiKey = 'caller-secret';
const open: { server: Server | undefined } = { server: undefined };

afterEach(async () => {
  if (open.server !== undefined) await closed(open.server);
  open.server = undefined;
});

/** How the official package of each protocol streams a reply, and what it throws. */
interface RealClient {
  /** Resolves with the text. */
  readonly ask: (origin: string) => Promise<string>;
  readonly error: abstract new (...args: never[]) => Error;
}

const clients: Readonly<Record<Protocol, RealClient>> = {
  chat: { ask: chatting, error: APIError },
  native: { ask: generating, error: ApiError },
  responses: { ask: responding, error: APIError },
  messages: { ask: messaging, error: AnthropicError },
};

describe('the real client throws', () => {
  it.each(rows(sample))('on a stream without its end, %s: %s', async (...row) => {
    const [protocol, , recorded] = row;
    const events = beforeEnd(recorded);

    for (const at of [1, events.length >> 1, events.length].filter((one) => one > 0)) {
      const origin = await serving(recorded, events.slice(0, at));

      await expect(clients[protocol].ask(origin)).rejects.toBeInstanceOf(clients[protocol].error);
    }
  });

  const complete = sample.filter(({ name }) =>
    ['anthropic/v-stream-text', 'gemini/v-stream-text', 'openai-chat/stream-basic.1'].includes(
      name,
    ),
  );

  it.each(rows(complete))('%s has the whole content of %s', async (protocol, _name, recorded) => {
    const origin = await serving(recorded, eventsOf(recorded.text));

    expect((await clients[protocol].ask(origin)).length).toBeGreaterThan(20);
  });
});

/** The events before the first one that ends the reply. */
function beforeEnd({ text }: Recorded): readonly string[] {
  const events = eventsOf(text);
  const end = events.findIndex((event) => isLast(parsed(dataOf(event))));
  return end === -1 ? events.slice(0, -1) : events.slice(0, end);
}

async function serving({ dialect }: Recorded, events: readonly string[]): Promise<string> {
  if (open.server !== undefined) await closed(open.server);
  const upstream = scriptedUpstream(eventStream(...events));
  const capabilities = { responses: false };
  const channel = { dialect, upstreamModel: 'm', capabilities };
  const { gateway } = anyModelGateway({ upstream, channel });
  open.server = createServer(nodeAdapter(gateway));
  return listening(open.server);
}

async function chatting(origin: string): Promise<string> {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });
  const messages = [{ role: 'user', content: 'hi' }] as const;
  const stream = await client.chat.completions.create({
    model: 'm',
    messages: [...messages],
    stream: true,
  });
  let text = '';
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
  return text;
}

async function generating(origin: string): Promise<string> {
  const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin } });
  const stream = await client.models.generateContentStream({ model: 'm', contents: 'hi' });
  let output = '';
  for await (const { candidates } of stream) {
    output += candidates?.[0]?.content?.parts?.map(({ text }) => text ?? '').join('') ?? '';
  }
  return output;
}

async function responding(origin: string): Promise<string> {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });
  const stream = await client.responses.create({ model: 'm', input: 'hi', stream: true });
  let text = '';
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  return text;
}

async function messaging(origin: string): Promise<string> {
  const client = new Anthropic({ baseURL: origin, apiKey, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const stream = await client.messages.create({
    model: 'm',
    max_tokens: 64,
    messages,
    stream: true,
  });
  let text = '';
  for await (const event of stream) {
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
      text += event.delta.text;
    }
  }
  return text;
}
