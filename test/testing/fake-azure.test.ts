// suite: slow host
/** The fake Azure, tested with the real SDK: its keys, its paths and its errors. */
import { AzureOpenAI } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { hello as messages } from './helpers.ts';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await startFakeUpstream({ apiKey: 'right' });
});

afterEach(() => upstream.close());

function client(apiKey = 'right'): AzureOpenAI {
  const endpoint = upstream.origin;
  return new AzureOpenAI({ endpoint, apiKey, apiVersion: '2024-10-21', maxRetries: 0 });
}

describe('the fake Azure', () => {
  it('answers as the deployment in the path', async () => {
    const reply = await client().chat.completions.create({ model: 'gpt-eu', messages });

    expect(reply.model).toBe('gpt-eu');
  });

  it.each([
    ['demo-safety', { status: 400, code: 'content_filter', param: 'prompt' }],
    ['demo-429', { status: 429, code: '429' }],
    ['demo-500', { status: 500 }],
  ])('fails as %s says', async (model, error) => {
    const call = client().chat.completions.create({ model, messages });

    await expect(call).rejects.toMatchObject(error);
  });

  it('refuses a wrong key', async () => {
    const call = client('wrong').chat.completions.create({ model: 'm', messages });

    await expect(call).rejects.toMatchObject({ status: 401, code: '401' });
  });

  it.each([
    '/openai/deployments/m/chat/completions',
    '/openai/responses',
    '/openai/deployments/m/responses?api-version=2024-10-21',
    '/openai/v1/nothing',
    '/anthropic/v1/complete',
  ])('has no %s', async (path) => {
    const response = await fetch(upstream.origin + path, {
      method: 'POST',
      headers: { 'api-key': 'right', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages, input: 'Hi' }),
    });

    expect(response.status).toBe(404);
  });
});
