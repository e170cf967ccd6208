// suite: slow host
/** The real `@google/genai` package as the caller, including its placeholder key. */
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { type MountedGateway, mountedGateway, vendorKey } from '../support/mounted-gateway.ts';
import { collect } from '../testing/helpers.ts';

let harness: MountedGateway;
let ai: GoogleGenAI;

beforeEach(async () => {
  harness = await mountedGateway();
  ai = new GoogleGenAI({
    apiKey: harness.secrets.native,
    httpOptions: { baseUrl: harness.origin },
  });
});

afterEach(() => harness.close());

const contents = 'Hello!';

describe('a native call', () => {
  it('returns text', async () => {
    const reply = await ai.models.generateContent({ model: 'native-1', contents });

    expect(reply.text).toMatch(/^Hello!/);
    expect(reply.usageMetadata?.promptTokenCount).toBe(9);
  });

  it('streams the same text as a whole reply', async () => {
    const whole = await ai.models.generateContent({ model: 'native-1', contents });
    const stream = await ai.models.generateContentStream({ model: 'native-1', contents });
    const chunks = await collect(stream);

    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.map(({ text }) => text ?? '').join('')).toBe(whole.text);
  });

  it('calls a function, and sends its result with the thought signature unchanged', async () => {
    const tools = [
      {
        functionDeclarations: [
          {
            name: 'get_weather',
            parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } } },
          },
        ],
      },
    ];
    const config = {
      tools,
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
    };
    const first = await ai.models.generateContent({ model: 'native-1', contents, config });
    const message = first.candidates?.[0]?.content;
    const call = first.functionCalls?.[0];

    const response = { temperature: 57 };
    const second = await ai.models.generateContent({
      model: 'native-1',
      contents: [
        { role: 'user', parts: [{ text: contents }] },
        message ?? {},
        { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response } }] },
      ],
      config: { tools },
    });

    expect(call?.name).toBe('get_weather');
    expect(second.text).toContain('57°F');
    expect(harness.upstream.calls[1]?.json()).toMatchObject({ contents: [{}, message ?? {}, {}] });
  });

  it('counts tokens', async () => {
    const count = await ai.models.countTokens({ model: 'native-1', contents });

    expect(count.totalTokens).toBe(9);
  });

  it('has no text where the reply was blocked, and does not throw', async () => {
    const blocked = await ai.models.generateContent({ model: 'gemini/demo-safety', contents });
    const empty = await ai.models.generateContent({ model: 'gemini/demo-empty', contents });

    expect([blocked.text, empty.text]).toEqual([undefined, undefined]);
  });

  it('reads a stream whose line ends are mixed and whose text is not all UTF-8', async () => {
    const event = (text: string) =>
      `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}]},"finishReason":"STOP"}]}`;
    const output = `${event('one')}\n\r\n${event('\u00ff')}\r\n\n${event('three')}\n\r\n`;
    harness.upstream.enqueue({ ...sse([]), chunks: [Buffer.from(output, 'latin1')] });

    const stream = await ai.models.generateContentStream({ model: 'native-1', contents });
    const texts = (await collect(stream)).map(({ text }) => text);

    expect(texts).toEqual(['one', '\ufffd', 'three']);
  });

  it('ends the call upstream when it breaks out of a stream', async () => {
    const never = gate();
    const first = { candidates: [{ content: { parts: [{ text: 'one' }] } }] };
    harness.upstream.enqueue(sse([first, never.opened], '\r\n'));

    const aborter = new AbortController();
    const stream = await ai.models.generateContentStream({
      model: 'native-1',
      contents,
      config: { abortSignal: aborter.signal },
    });
    for await (const chunk of stream) {
      expect(chunk.text).toBe('one');
      break;
    }
    aborter.abort();

    const call = await harness.upstream.nextCall();
    expect(await call.closed).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'caller_left' });
  });
});

describe('the key', () => {
  it('in the vendor header of httpOptions precedes the placeholder in apiKey', async () => {
    const client = new GoogleGenAI({
      apiKey: 'placeholder',
      httpOptions: { baseUrl: harness.origin, headers: { ...vendorKey(harness.secrets.native) } },
    });

    const reply = await client.models.generateContent({ model: 'native-1', contents });

    expect(reply.text).toMatch(/^Hello!/);
  });

  it('never reaches the upstream', async () => {
    await ai.models.generateContent({ model: 'native-1', contents });

    const [call] = harness.upstream.calls;
    expect(`${call?.path} ${call?.rawHeaders.join(' ')}`).not.toContain(harness.secrets.native);
  });
});

describe('a URL', () => {
  it('of version v1, as the SDK’s next major has it, is served too', async () => {
    const client = new GoogleGenAI({
      apiKey: harness.secrets.native,
      apiVersion: 'v1',
      httpOptions: { baseUrl: harness.origin },
    });

    const reply = await client.models.generateContent({ model: 'vendor/name:free', contents });

    expect(reply.text).toMatch(/^Hello!/);
  });
});

describe('models', () => {
  it('are listed page by page, and one is retrieved', async () => {
    const pager = await ai.models.list({ config: { pageSize: 5 } });
    const listed = await collect(pager);
    const one = await ai.models.get({ model: 'native-1' });

    expect(listed.map(({ name }) => name)).toContain('models/native-1');
    expect(new Set(listed.map(({ name }) => name)).size).toBe(listed.length);
    expect(one).toMatchObject({ displayName: 'Native One', inputTokenLimit: 1_048_576 });
  });
});

describe('an error is an ApiError with the status, whose message is the gateway’s JSON', () => {
  it.each([
    ['gemini/demo-429', 429, 'RESOURCE_EXHAUSTED'],
    ['gemini/demo-500', 502, 'UNAVAILABLE'],
    ['bare-1', 503, 'UNAVAILABLE'],
    ['foreign-1', 403, 'PERMISSION_DENIED'],
    ['nope', 404, 'NOT_FOUND'],
  ])('%s is %i', async (model, status, name) => {
    const error = await failure(ai.models.generateContent({ model, contents }));

    expect(error.status).toBe(status);
    expect(JSON.parse(error.message)).toMatchObject({ error: { code: status, status: name } });
  });

  it('a wrong key is 401', async () => {
    const client = new GoogleGenAI({ apiKey: 'x', httpOptions: { baseUrl: harness.origin } });

    const error = await failure(client.models.generateContent({ model: 'native-1', contents }));

    expect(error.status).toBe(401);
  });

  it('a stream that fails half-way throws with status and message', async () => {
    const stream = await ai.models.generateContentStream({ model: 'gemini/demo-cut', contents });

    const error = await failure(collect(stream));

    expect(error.status).toBe(502);
    expect(error.message).toContain('The upstream failed to answer this request.');
  });
});

async function failure(pending: Promise<unknown>): Promise<ApiError> {
  const error = await pending.catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw new Error(`no ApiError: ${String(error)}`);
  return error;
}
