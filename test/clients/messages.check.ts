/** Methods of `@anthropic-ai/sdk` other than those that create messages, and rarer options. */
import type { default as AnthropicSdk, ClientOptions } from '@anthropic-ai/sdk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { apis } from './apis.ts';
import { anthropicSdk } from './drivers/anthropic.ts';
import { rootOf } from './drivers/client.ts';
import { pairs, type RunningPair, started } from './pairs.ts';
import type { UpstreamName } from './upstreams.ts';

const versions = [
  ['0.71', 'anthropic-sdk-0.71'],
  ['0.137', 'anthropic-sdk-0.137'],
  ['1', '@anthropic-ai/sdk'],
] as const;
const names = apis
  .filter(({ protocol }) => protocol === 'messages')
  .flatMap(({ upstreams }) => upstreams.map(({ name }) => name));
const messages = [{ role: 'user' as const, content: 'Hello!' }];
const weather = {
  name: 'get_weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};

describe.each(
  versions.flatMap(([version, packageName]) =>
    names.map((name) => [version, name, packageName] as const),
  ),
)('version %s over %s', (version, name, packageName) => {
  it('counts tokens, more for a longer prompt', async () => {
    const { sdk, model } = await setUp(packageName, version, name);
    const count = async (system: string): Promise<number> =>
      (await sdk.messages.countTokens({ model, messages, system, tools: [weather] })).input_tokens;

    const few = await count('Be brief.');
    const many = await count('Be brief. '.repeat(1_000));

    expect(few).toBeGreaterThan(0);
    // Google's fake has one count for all prompts.
    expect(many).toBeGreaterThanOrEqual(name === 'gemini' ? few : few + 1_000);
  });

  it('lists models to the end, and returns one by an id with a slash', async () => {
    const { sdk, model } = await setUp(packageName, version, name);

    const ids: string[] = [];
    for await (const one of sdk.models.list({ limit: 2 })) ids.push(one.id);
    const one = await sdk.models.retrieve(model);

    expect(ids).toContain(model);
    expect(new Set(ids).size).toBe(ids.length);
    expect(one).toMatchObject({ id: model, type: 'model', display_name: expect.any(String) });
    await expect(sdk.models.retrieve('nothing')).rejects.toMatchObject({ status: 404 });
  });

  it('hides thinking that it asks to be omitted, and keeps its signature', async () => {
    const { sdk, agent } = await setUp(packageName, version, name);
    const thinking = { type: 'adaptive' as const, display: 'omitted' as const };
    const request = { model: agent, max_tokens: 2048, thinking, tools: [weather] };

    const first = await sdk.messages.create({ ...request, messages });
    const results = first.content.flatMap((block) =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'foggy' }]
        : [],
    );
    const second = await sdk.messages.create({
      ...request,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ],
    });

    const thoughts = first.content.filter(({ type }) => type === 'thinking');
    expect(thoughts).toEqual(
      thoughts.map(() => expect.objectContaining({ thinking: '', signature: expect.any(String) })),
    );
    expect(second.content.at(-1)).toMatchObject({
      type: 'text',
      text: expect.stringMatching('°F'),
    });
  });

  it('has the id of the request in its messages and errors', async () => {
    const { sdk, model } = await setUp(packageName, version, name);

    const message = await sdk.messages.create({ model, max_tokens: 64, messages });

    // What is relayed keeps every byte, and so the name that the upstream has for the model.
    expect(message.model).toBe(name === 'anthropic' ? 'claude-opus-5' : model);
    expect(message._request_id).toMatch(/\w/);
    await expect(
      sdk.messages.create({ model: 'nothing', max_tokens: 64, messages }),
    ).rejects.toMatchObject({ requestID: expect.stringMatching(/\w/) });
  });
});

describe.each(versions)('version %s', (version, packageName) => {
  it('gets a refusal that explains what only Anthropic can do', async () => {
    const { sdk, model, fake } = await setUp(packageName, version, 'gemini');
    const search = { type: 'web_search_20250305' as const, name: 'web_search' as const };

    const asking = sdk.messages.create({ model, max_tokens: 64, messages, tools: [search] });

    await expect(asking).rejects.toThrow(/tools\[0\]|web_search/);
    expect(fake.calls).toHaveLength(0);
  });

  it('pays nothing for counts and lists', async () => {
    const { sdk, model, records } = await setUp(packageName, version, 'anthropic');

    await sdk.messages.countTokens({ model, messages });
    await sdk.models.list();

    expect(records.filter(({ chargeNanos }) => chargeNanos > 0n)).toEqual([]);
  });
});

interface Setup extends Pick<RunningPair, 'records'> {
  readonly sdk: AnthropicSdk;
  readonly model: string;
  readonly agent: string;
  readonly fake: RunningPair['upstream'];
}

async function setUp(packageName: string, version: string, name: UpstreamName): Promise<Setup> {
  const Anthropic: new (options: ClientOptions) => AnthropicSdk = await anthropicSdk(packageName);
  const [, pair] =
    pairs(0, 'messages').find(
      ([, { client, upstream }]) =>
        client.name === `anthropic ${version} create` && upstream.name === name,
    ) ?? [];
  if (pair === undefined) throw new Error('There is no such pair.');
  const { target, records, upstream } = await started(pair, onTestFinished);
  const { baseURL, apiKey, model } = target('plain');
  return {
    sdk: new Anthropic({ baseURL: rootOf(baseURL), apiKey, maxRetries: 0 }),
    model,
    agent: target('agent-1').model,
    records,
    fake: upstream,
  };
}
