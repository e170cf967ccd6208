// suite: slow host
/** The end of a broken stream makes the real SDKs throw, with the gateway's text. */
import { createServer, type ServerResponse } from 'node:http';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anyModelGateway } from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { type CallerApi, doorOf, eventsOf } from './oracle.ts';
import { sse, streamed, streams } from './streams.ts';

let reply: CallerReply;
const server = createServer((request, response) => {
  request.resume().once('end', () => void replay(response));
});
let origin = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const message = /The upstream failed to answer this request\. Retry later\./;
const unfinished: readonly (readonly [string, CallerApi, string])[] = streams.map((recorded) => {
  const events = eventsOf(recorded.response.toString());
  const ended = events.findIndex((event) =>
    /\[DONE\]|"finish_reason":"|"(?:finish|block)Reason" ?: ?"/.test(event),
  );
  const half = (events.at(ended) ?? '').slice(0, -12);
  return [recorded.name, doorOf(recorded), events.slice(0, ended).join('') + half];
});

describe('a broken stream', () => {
  it.each(unfinished)('%s makes its SDK throw', async (_, api, text) => {
    reply = await anyModelGateway({ upstream: scriptedUpstream(sse(...eventsOf(text))) }).call(
      streamed(api),
    );

    const reading = api === 'native' ? readWithGoogle() : readWithOpenAI();

    await expect(reading).rejects.toThrow(message);
  });

  it('with only an error event makes both SDKs throw the text that may be forwarded', async () => {
    const bad = { message: 'Bad `top_k`.', type: 'invalid_request_error', code: 400 };
    const events = {
      chat: 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
      native: 'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\r\n\r\n',
    };
    for (const api of ['chat', 'native'] as const) {
      const upstream = scriptedUpstream(
        sse(events[api], `data: ${JSON.stringify({ error: bad })}\n\n`),
      );
      reply = await anyModelGateway({ upstream }).call(streamed(api));

      const reading = api === 'native' ? readWithGoogle() : readWithOpenAI();

      await expect(reading).rejects.toThrow('Bad `top_k`.');
    }
  });
});

/** Replays the gateway's response, each of its writes separately on the wire. */
async function replay(response: ServerResponse): Promise<void> {
  response.writeHead(reply.status, reply.headers);
  for (const bytes of reply.writes) {
    await new Promise<void>((resolve) => {
      response.write(bytes, () => setImmediate(() => setImmediate(resolve)));
    });
  }
  if (reply.isCut) response.destroy();
  else response.end();
}

async function readWithOpenAI(): Promise<number> {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'k', maxRetries: 0 });
  const stream = await client.chat.completions.create({ model: 'm', messages: [], stream: true });
  return countOf(stream);
}

async function readWithGoogle(): Promise<number> {
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: origin } });
  return countOf(await client.models.generateContentStream({ model: 'm', contents: 'hi' }));
}

async function countOf(stream: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of stream) count += 1;
  return count;
}
