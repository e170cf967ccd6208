/** A server that records what it gets, and answers as Bedrock would. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { expect } from 'vitest';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { undiciClient } from '../../../src/upstream/undici-client.ts';
import { anyModelGateway } from '../../support/any-model-gateway.ts';
import { closed, listening } from '../../support/servers.ts';
import { modelId } from './calls.ts';
import { asServerSent, chunk, replyEvents, streamHeaders } from './messages.ts';

export interface Recorded {
  readonly method: string;
  /** Raw, with the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface CallOptions {
  /** Default: `/v1/messages` */
  readonly path?: string;
  readonly search?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Recorder {
  readonly origin: string;
  /**
   * Sends a call through a gateway, and returns what arrives here. The caller's version of the API
   * is that of Anthropic's newest client.
   */
  throughGateway(channel: Partial<Channel>, body: object, options?: CallOptions): Promise<Recorded>;
  /** The last request. */
  last(): Recorded;
  forget(): void;
  /** Answers the next request with an error. */
  refuseNext(status: number, headers: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

const message = {
  id: 'msg_bdrk_01',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 25, output_tokens: 15 },
};
const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'openai.gpt-oss-120b',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 25, completion_tokens: 15, total_tokens: 40 },
};
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'openai.gpt-oss-120b',
  output: [],
  usage: { input_tokens: 25, output_tokens: 15, total_tokens: 40 },
};

interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

function json(document: unknown): Answer {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(document) };
}

function events(text: string): Answer {
  return { headers: { 'content-type': 'text/event-stream' }, body: text };
}

function answerTo({ path, body }: Recorded): Answer {
  const isStream = /"stream":\s*true/.test(body.toString());
  if (path.endsWith('/invoke-with-response-stream')) {
    return { headers: streamHeaders, body: Buffer.concat(replyEvents().map(chunk)) };
  }
  if (path.endsWith('/count-tokens')) return json({ inputTokens: 11 });
  if (path.includes('/count_tokens')) return json({ input_tokens: 11 });
  if (path.endsWith('/chat/completions')) {
    const part = {
      ...completion,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }],
    };
    return isStream
      ? events(`data: ${JSON.stringify(part)}\n\ndata: [DONE]\n\n`)
      : json(completion);
  }
  if (path.endsWith('/responses')) return json(response);
  return isStream ? events(asServerSent(replyEvents())) : json(message);
}

export async function startRecorder(): Promise<Recorder> {
  const requests: Recorded[] = [];
  let refusal: (Omit<Answer, 'body'> & { readonly status: number }) | undefined;
  const server = createServer((request, reply) => {
    void readAll(request).then((body) => {
      const { method = '', url = '', headers } = request;
      const recorded = { method, path: url, headers, body };
      requests.push(recorded);
      const {
        status,
        headers: sent,
        body: answer,
      } = refusal
        ? { ...refusal, body: '{"message":"No."}' }
        : { status: 200, ...answerTo(recorded) };
      refusal = undefined;
      reply.writeHead(status, sent).end(answer);
    });
  });
  const origin = await listening(server);
  const upstream = undiciClient();
  const last = (): Recorded => {
    const latest = requests.at(-1);
    if (latest === undefined) throw new Error('Nothing was sent.');
    return latest;
  };
  return {
    origin,
    throughGateway: async (channel, body, { path = '/v1/messages', search = '', headers } = {}) => {
      const gateway = anyModelGateway({
        upstream,
        model: { maxOutputTokens: 4_000 },
        channel: { upstreamModel: modelId, ...channel },
      });
      const { status, text } = await gateway.call({
        path,
        search,
        headers: { 'anthropic-version': '2026-10-21', ...headers },
        body: JSON.stringify({ model: 'm', ...body }),
      });
      expect(text, `status ${status}`).not.toContain('"error"');
      expect(status).toBe(200);
      return last();
    },
    last,
    forget: () => {
      requests.length = 0;
    },
    refuseNext: (status, headers) => {
      refusal = { status, headers };
    },
    close: async () => {
      await upstream.close();
      await closed(server);
    },
  };
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}
