/** A stream that broke off makes the real client packages throw. */
import { createServer, type Server } from 'node:http';
import { ApiError, GoogleGenAI } from '@google/genai';
import OpenAI, { APIError } from 'openai';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, describe, expect, it } from 'vitest';
import { anyModelGateway } from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { closed, listening } from '../../support/servers.ts';
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

describe('the real client throws', () => {
  it.each(rows(sample))('on a stream without its end, %s: %s', async (...row) => {
    const [protocol, , recorded] = row;
    const events = beforeEnd(recorded);

    for (const at of [1, events.length >> 1, events.length].filter((one) => one > 0)) {
      const origin = await serving(recorded, events.slice(0, at));

      const pending = protocol === 'chat' ? chatting(origin) : generating(origin);

      await expect(pending).rejects.toBeInstanceOf(protocol === 'chat' ? APIError : ApiError);
    }
  });

  it('has the whole content of a complete stream', async () => {
    const [chat, native] = ['gemini/v-stream-text', 'openai-chat/stream-basic.1'].map((name) =>
      streams.filter((one) => one.name === name),
    );

    for (const recorded of chat ?? []) {
      const origin = await serving(recorded, eventsOf(recorded.text));
      expect((await chatting(origin)).length).toBeGreaterThan(20);
    }
    for (const recorded of native ?? []) {
      const origin = await serving(recorded, eventsOf(recorded.text));
      expect((await generating(origin)).length).toBeGreaterThan(20);
    }
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
  const { gateway } = anyModelGateway({ upstream, channel: { dialect, upstreamModel: 'm' } });
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
