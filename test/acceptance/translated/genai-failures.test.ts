// suite: slow host
/**
 * How calls end and fail for the real `@google/genai` package where the upstream speaks another
 * dialect.
 */
import { ApiError, GoogleGenAI } from '@google/genai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MountedGateway } from '../../support/mounted-gateway.ts';
import { collect } from '../../testing/helpers.ts';
import { ended, refused } from '../provider-replies.ts';
import { translatingGateway } from './translating-gateway.ts';

let harness: MountedGateway;
let ai: GoogleGenAI;

beforeEach(async () => {
  harness = await translatingGateway();
  ai = new GoogleGenAI({
    apiKey: harness.secrets.native,
    httpOptions: { baseUrl: harness.origin },
  });
});

afterEach(() => harness.close());

const contents = 'Hello!';

describe('an end', () => {
  it.each([
    ['openai', 'length', 'MAX_TOKENS'],
    ['openai', 'content_filter', 'SAFETY'],
    ['anthropic', 'max_tokens', 'MAX_TOKENS'],
    ['anthropic', 'refusal', 'SAFETY'],
  ] as const)('of %s with the reason %s is %s', async (dialect, reason, expected) => {
    harness.upstream.enqueue(ended(dialect, reason));

    const model = `${dialect}/demo-empty`;
    const reply = await ai.models.generateContent({ model, contents });

    expect(reply.candidates?.[0]?.finishReason).toBe(expected);
  });

  it.each([
    'openai/demo-safety',
    'anthropic/demo-safety',
  ])('of a prompt that %s blocks does not throw, streamed or not', async (model) => {
    const whole = await ai.models.generateContent({ model, contents });
    const chunks = await collect(await ai.models.generateContentStream({ model, contents }));

    expect(whole.candidates?.[0]?.finishReason).toBe('SAFETY');
    expect(chunks.at(-1)?.candidates?.[0]?.finishReason).toBe('SAFETY');
    expect(whole.text).toBeUndefined();
  });
});

describe.each(['openai', 'anthropic'] as const)('an error of %s', (dialect) => {
  it.each([
    ['demo-429', 429, 'RESOURCE_EXHAUSTED'],
    ['demo-500', 502, 'UNAVAILABLE'],
    ['demo-503', 503, 'UNAVAILABLE'],
    ['demo-html', 502, 'UNAVAILABLE'],
  ])('%s is an ApiError with %i', async (name, code, status) => {
    const model = `${dialect}/${name}`;
    const whole = await failure(ai.models.generateContent({ model, contents }));
    const streamed = await failure(ai.models.generateContentStream({ model, contents }));

    expect([whole.status, streamed.status]).toEqual([code, code]);
    expect(JSON.parse(whole.message)).toMatchObject({ error: { code, status } });
  });

  it('that is the caller’s mistake is a 400 with the provider’s message', async () => {
    harness.upstream.enqueue(refused(dialect, 'No such tune.'));

    const pending = ai.models.generateContent({ model: `${dialect}/demo-empty`, contents });

    const error = await failure(pending);
    expect(error.status).toBe(400);
    expect(JSON.parse(error.message)).toMatchObject({
      error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining('No such tune.') },
    });
  });

  it.each([
    ['demo-cut', 502, 'The upstream failed to answer this request.'],
    ['demo-error-event', dialect === 'anthropic' ? 503 : 502, 'The upstream'],
  ])('in the middle of a stream (%s) is thrown with %i', async (name, status, message) => {
    const model = `${dialect}/${name}`;
    const stream = await ai.models.generateContentStream({ model, contents });

    const error = await failure(collect(stream));

    expect(error.status).toBe(status);
    expect(error.message).toContain(message);
  });

  it('results from a member without an equivalent where the model is strict', async () => {
    const model = `${dialect}/strict`;
    const error = await failure(
      ai.models.generateContent({ model, contents, config: { topK: 3 } }),
    );

    expect(error.status).toBe(400);
    expect(error.message).toContain('topK');
    expect(harness.upstream.calls).toHaveLength(0);
  });
});

async function failure(pending: Promise<unknown>): Promise<ApiError> {
  const error = await pending.catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw new Error(`no ApiError: ${String(error)}`);
  return error;
}
