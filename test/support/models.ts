/** The models of the gateway in process, and requests and replies for them. */
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import type { CallHandler } from './driven-upstream.ts';
import type { CallerRequest } from './gateway-in-process.ts';

/** 1 nano per prompt token, 2 per completion token. */
const tokenPrice = {
  per: 'token',
  rates: { input: 1_000_000n, output: 2_000_000n },
} as const;

/** A channel; by default `openai-a` of the openai dialect. */
export function channel(change: Partial<Channel> = {}): Channel {
  return {
    id: 'openai-a',
    dialect: 'openai',
    baseUrl: 'https://openai.example/v1',
    credential: 'account-secret',
    priority: 0,
    weight: 1,
    ...change,
  };
}

/** The context of the default models. It is so small that every prompt holds the same amount. */
const promptTokens = 11;

/** A model; by default for chat, with one channel. */
export function model(change: Partial<Model> = {}): Model {
  return {
    id: 'chat',
    vendor: 'Acme',
    protocols: ['chat'],
    groups: ['staff'],
    price: tokenPrice,
    channels: [channel()],
    maxOutputTokens: 100,
    contextTokens: promptTokens,
    ...change,
  };
}

/** One model for each protocol, one without a stated maximum, one for another group. */
export function defaultModels(): readonly Model[] {
  const gemini = channel({
    id: 'gemini-a',
    dialect: 'gemini',
    baseUrl: 'https://gemini.example/v1beta',
  });
  return [
    model(),
    model({ id: 'image', protocols: ['images'], price: imagePrice }),
    model({ id: 'native', protocols: ['native'], channels: [gemini] }),
    unbounded('open'),
    model({ id: 'foreign', groups: ['others'] }),
  ];
}

/** A chat model that does not bound its output. */
export function unbounded(id: string): Model {
  const { maxOutputTokens: _unstated, ...rest } = model({ id });
  return rest;
}

const imagePrice = { per: 'image', rows: [{ size: '1024x1024', nanos: 500n }] } as const;

const messages = [{ role: 'user', content: 'hi' }];

/** The contents of a native call. */
export const contents: readonly unknown[] = [{ parts: [{ text: 'hi' }] }];

/** A kind of call. */
export type Kind = 'chat' | 'chatStream' | 'image' | 'native' | 'nativeStream';

/** A minimal request of each kind. */
export const sampleRequests: Readonly<Record<Kind, CallerRequest>> = {
  chat: chat(),
  chatStream: chat({ stream: true }),
  image: image(),
  native: { path: '/v1beta/models/native:generateContent', body: { contents } },
  nativeStream: {
    path: '/v1beta/models/native:streamGenerateContent',
    search: 'alt=sse',
    body: { contents },
  },
};

/** Every kind of call. */
export const kinds: readonly Kind[] = ['chat', 'chatStream', 'image', 'native', 'nativeStream'];

/** A chat call with other members. */
export function chat(members: Readonly<Record<string, unknown>> = {}): CallerRequest {
  return { path: '/v1/chat/completions', body: { model: 'chat', messages, ...members } };
}

/** An image call with other members. */
export function image(members: Readonly<Record<string, unknown>> = {}): CallerRequest {
  return {
    path: '/v1/images/generations',
    body: { model: 'image', prompt: 'a cat', ...members },
  };
}

/** The holds of {@link sampleRequests}: a prompt of 11 tokens and 100 tokens of output. */
export const heldNanos: Readonly<Record<Kind, bigint>> = {
  chat: 211n,
  chatStream: 211n,
  image: 500n,
  native: 211n,
  nativeStream: 211n,
};

/** The cost of {@link replies}. */
export const costNanos: Readonly<Record<Kind, bigint>> = {
  chat: 20n,
  chatStream: 20n,
  image: 500n,
  native: 20n,
  nativeStream: 20n,
};

/** Complete replies, with usage where the protocol has it: 10 and 5 tokens cost 20 nanos. */
export const replies: Readonly<Record<Kind, string>> = {
  chat: JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
  chatStream: events(
    { choices: [{ index: 0, delta: { content: 'Hi!' }, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
    '[DONE]',
  ),
  image: JSON.stringify({ created: 1, data: [{ b64_json: 'aGk=' }] }),
  native: JSON.stringify(geminiReply('STOP')),
  nativeStream: events(geminiReply('STOP')),
};

/** An upstream that sends a complete reply immediately. */
export function completeReply(kind: Kind): CallHandler {
  return (up) => up.answer(200, replies[kind], headersOf(kind));
}

/** The beginning of an unfinished stream. */
export const streamBeginnings: Readonly<Record<'chatStream' | 'nativeStream', string>> = {
  chatStream: events({ choices: [{ index: 0, delta: { content: 'Once' }, finish_reason: null }] }),
  nativeStream: events(geminiReply(undefined)),
};

/** The content type of an upstream's reply. */
export function headersOf(kind: Kind): Readonly<Record<string, string>> {
  const type = kind.endsWith('Stream') ? 'text/event-stream' : 'application/json';
  return { 'content-type': type };
}

/** Server-sent events, one each. */
export function events(...data: readonly unknown[]): string {
  return data
    .map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`)
    .join('');
}

function geminiReply(finishReason: string | undefined): unknown {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi!' }] }, finishReason }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  };
}
