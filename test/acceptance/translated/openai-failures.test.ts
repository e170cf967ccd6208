// suite: slow host
/**
 * How calls end and fail for the real `openai` package where the upstream speaks another dialect.
 */
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MountedGateway } from '../../support/mounted-gateway.ts';
import { collect, hello } from '../../testing/helpers.ts';
import { ended, refused } from '../provider-replies.ts';
import { translatingGateway } from './translating-gateway.ts';

let harness: MountedGateway;
let openai: OpenAI;

beforeEach(async () => {
  harness = await translatingGateway();
  openai = new OpenAI({
    baseURL: `${harness.origin}/v1`,
    apiKey: harness.secrets.chat,
    maxRetries: 0,
  });
});

afterEach(() => harness.close());

describe('an end', () => {
  it.each([
    ['gemini', 'MAX_TOKENS', 'length'],
    ['gemini', 'SAFETY', 'content_filter'],
    ['anthropic', 'max_tokens', 'length'],
    ['anthropic', 'refusal', 'content_filter'],
  ] as const)('of %s with the reason %s is %s', async (dialect, reason, expected) => {
    harness.upstream.enqueue(ended(dialect, reason));

    const model = `${dialect}/demo-empty`;
    const reply = await openai.chat.completions.create({ model, messages: hello });

    expect(reply.choices[0]?.finish_reason).toBe(expected);
  });

  it.each([
    'gemini/demo-safety',
    'anthropic/demo-safety',
  ])('of a prompt that %s blocks is content_filter, streamed or not', async (model) => {
    const whole = await openai.chat.completions.create({ model, messages: hello });
    const stream = await openai.chat.completions.create({ model, messages: hello, stream: true });
    const chunks = await collect(stream);

    expect(whole.choices[0]?.finish_reason).toBe('content_filter');
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('content_filter');
  });
});

describe.each(['gemini', 'anthropic'] as const)('an error of %s', (dialect) => {
  it.each([
    ['demo-429', OpenAI.RateLimitError, 429],
    ['demo-500', OpenAI.InternalServerError, 502],
    ['demo-503', OpenAI.InternalServerError, 503],
    ['demo-html', OpenAI.InternalServerError, 502],
  ])('%s has the package’s own class', async (name, kind, status) => {
    const model = `${dialect}/${name}`;
    const whole = await failure(openai.chat.completions.create({ model, messages: hello }));
    const streamed = await failure(
      openai.chat.completions.create({ model, messages: hello, stream: true }),
    );

    expect([whole, streamed]).toEqual([expect.any(kind), expect.any(kind)]);
    expect([whole, streamed]).toMatchObject([{ status }, { status }]);
    expect(String(whole)).toMatch(/\d{3} [A-Z].{10,}/);
  });

  it('that is the caller’s mistake is a 400 with the provider’s message', async () => {
    harness.upstream.enqueue(refused(dialect, 'No such tune.'));

    const error = await failure(
      openai.chat.completions.create({ model: `${dialect}/demo-empty`, messages: hello }),
    );

    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining('No such tune.') });
  });

  it.each([
    'demo-cut',
    'demo-error-event',
  ])('in the middle of a stream (%s) is thrown', async (name) => {
    const stream = await openai.chat.completions.create({
      model: `${dialect}/${name}`,
      messages: hello,
      stream: true,
    });

    await expect(collect(stream)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The upstream failed to answer this request|^The upstream is overloaded/,
      ),
    });
  });

  it('results from a member without an equivalent where the model is strict', async () => {
    const pending = openai.chat.completions.create({
      model: `${dialect}/strict`,
      messages: hello,
      logit_bias: { '50256': -100 },
    });

    await expect(pending).rejects.toMatchObject({ status: 400, param: 'logit_bias' });
    expect(harness.upstream.calls).toHaveLength(0);
  });
});

async function failure(pending: PromiseLike<unknown>): Promise<unknown> {
  try {
    await pending;
  } catch (error) {
    return error;
  }
  throw new Error('It did not fail.');
}
