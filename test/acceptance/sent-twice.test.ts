// suite: slow host
/** A call that is sent twice runs once, with the real `openai` package and its retries. */
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { gate, json } from '../../src/testing/providers/scripts.ts';
import { type MountedGateway, mountedGateway } from '../support/mounted-gateway.ts';
import { hello } from '../testing/helpers.ts';

let harness: MountedGateway;

afterEach(() => harness.close());

const picture = { created: 1, data: [{ b64_json: 'aGVsbG8=' }] };
const prompt = { model: 'image-1', prompt: 'a cat', size: '1024x1024', quality: 'low' } as const;

function sdk(caller: 'chat' | 'image', options: ConstructorParameters<typeof OpenAI>[0] = {}) {
  return new OpenAI({
    baseURL: `${harness.origin}/v1`,
    apiKey: harness.secrets[caller],
    ...options,
  });
}

describe('with an Idempotency-Key', () => {
  it.each(['chat', 'image'] as const)('a %s that is sent twice is charged once', async (kind) => {
    harness = await mountedGateway();
    const client = sdk(kind);
    const headers = { 'Idempotency-Key': 'order-4711' };
    const send = () =>
      kind === 'image'
        ? client.images.generate(prompt, { headers }).withResponse()
        : client.chat.completions
            .create({ model: 'chat-1', messages: hello }, { headers })
            .withResponse();

    const first = await send();
    const second = await send();

    expect(second.data).toEqual(first.data);
    expect(second.response.headers.get('idempotent-replayed')).toBe('true');
    expect(second.response.headers.get('original-request')).toBe(first.request_id);
    expect(harness.upstream.calls).toHaveLength(1);
    expect(harness.records).toHaveLength(1);
  });

  it('a chat whose caller gave up is returned to the retry', async () => {
    harness = await mountedGateway();
    const held = gate();
    harness.upstream.enqueue({
      ...json(200, { choices: [{ index: 0, message: { content: 'Late.' } }] }),
      waitFor: held.opened,
    });
    const client = sdk('chat', { maxRetries: 0 });
    const headers = { 'Idempotency-Key': 'order-4712' };
    const controller = new AbortController();
    const body = { model: 'chat-1', messages: hello };

    const disconnected = client.chat.completions.create(body, {
      headers,
      signal: controller.signal,
    });
    await harness.upstream.nextCall();
    controller.abort();
    await expect(disconnected).rejects.toThrow('aborted');
    const again = client.chat.completions.create(body, { headers });
    held.open();

    expect((await again).choices[0]?.message.content).toBe('Late.');
    expect(harness.upstream.calls).toHaveLength(1);
  });
});

describe('with dedupeSdkRetries', () => {
  it('the SDK’s automatic retry of an image gets the first result', async () => {
    harness = await mountedGateway({ dedupeSdkRetries: true });
    const held = gate();
    harness.upstream.enqueue({ ...json(200, picture), waitFor: held.opened });
    let tries = 0;
    const client = sdk('image', {
      timeout: 300,
      fetch: (...request) => {
        tries += 1;
        if (tries === 2) held.open();
        return fetch(...request);
      },
    });

    const reply = await client.images.generate(prompt);

    expect(reply.data?.[0]?.b64_json).toBe('aGVsbG8=');
    expect(tries).toBe(2);
    expect(harness.upstream.calls).toHaveLength(1);
    expect(harness.records).toHaveLength(1);
  });
});
