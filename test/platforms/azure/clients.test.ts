// suite: slow host
/** `AzureOpenAI`, unmodified, before the gateway, and Azure behind it. */
import { AzureOpenAI } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { azure } from '../../../src/platforms/places.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { type Mount, mounts, type RunningMount } from '../../adapters/mounts.ts';
import {
  type ModelsOf,
  type UnmountedGateway,
  unmountedGateway,
} from '../../support/mounted-gateway.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { collect } from '../../testing/helpers.ts';

const kinds = {
  v1: { kind: 'v1' },
  deployments: { kind: 'deployments', apiVersion: '2025-04-01-preview' },
} as const;

/** One model, whose deployment has another name. */
const onAzure =
  (kind: keyof typeof kinds): ModelsOf =>
  ({ origin: baseUrl }, credential): readonly Model[] => [
    {
      id: 'gpt',
      price: { per: 'free' },
      groups: ['chat'],
      protocols: ['chat', 'responses', 'embeddings', 'images', 'messages'],
      channels: [
        { id: 'azure', credential, ...azure({ ...kinds[kind], baseUrl, deployment: 'up-1' }) },
      ],
    },
  ];

let gateway: UnmountedGateway;
let mounted: RunningMount;

async function start(mount: Mount | undefined, kind: keyof typeof kinds, azurePaths = true) {
  gateway = await unmountedGateway({ azurePaths }, onAzure(kind));
  if (mount === undefined) throw new Error('There is no such mount.');
  mounted = await mount.start(gateway.gateway);
}

afterEach(async () => {
  await mounted.close();
  await gateway.close();
  // That of a parser before the gateway.
  await takeWarnings();
});

function client(own: Partial<ConstructorParameters<typeof AzureOpenAI>[0]> = {}): AzureOpenAI {
  const endpoint = mounted.origin + mounted.base;
  const apiVersion = '2024-10-21';
  return new AzureOpenAI({
    endpoint,
    apiKey: gateway.secrets.chat,
    apiVersion,
    maxRetries: 0,
    ...own,
  });
}

const messages = [{ role: 'user' as const, content: 'Hi' }];
// The others are mounted at `/v1` and `/v1beta` alone.
const rooted = mounts.filter(({ name }) => !/\/v1|nested|in routes/.test(name));

describe.each(rooted)('under $name', (mount) => {
  it('AzureOpenAI calls the model that its deployment names', async () => {
    await start(mount, 'v1');

    const reply = await client({ deployment: 'gpt' }).chat.completions.create({
      model: 'something-else',
      messages,
    });

    expect(reply.choices[0]?.message.content).toMatch(/^Hi/);
    expect(gateway.upstream.calls.map(({ json }) => json())).toEqual([{ model: 'up-1', messages }]);
  });

  it('the paths are the host’s without the option', async () => {
    await start(mount, 'v1', false);

    const call = client().chat.completions.create({ model: 'gpt', messages });

    await expect(call).rejects.toMatchObject({ status: 404 });
    expect(gateway.upstream.calls).toEqual([]);
  });
});

describe.each(['v1', 'deployments'] as const)('with Azure behind it (%s)', (kind) => {
  beforeEach(() => start(mounts[0], kind));

  it('streams', async () => {
    const stream = await client().chat.completions.create({ model: 'gpt', messages, stream: true });

    const chunks = await collect(stream);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toMatch(/^Hi/);
  });

  it('passes on a recorded stream with its filter results', async () => {
    const recorded = fixture('openai-chat/azure-stream.1');
    const body = Buffer.from(recorded.response);
    gateway.upstream.enqueue({ headers: { 'content-type': 'text/event-stream' }, chunks: [body] });

    const stream = await client().chat.completions.create({
      model: 'gpt',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });

    const texts = body
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('data: {'));
    expect(await collect(stream)).toEqual(texts.map((line) => JSON.parse(line.slice(6))));
  });

  it('serves embeddings and images', async () => {
    const vectors = await client().embeddings.create({ model: 'gpt', input: ['a', 'b'] });
    const images = await client().images.generate({ model: 'gpt', prompt: 'a cat' });

    expect(vectors.data.map(({ embedding }) => embedding.length > 0)).toEqual([true, true]);
    expect(images.data?.[0]?.b64_json).toMatch(/^iVBOR/);
  });

  it('stores, reads and deletes responses', async () => {
    const { responses } = client();
    const first = await responses.create({ model: 'gpt', input: 'Hi' });
    const next = await responses.create({
      model: 'gpt',
      input: 'Go on',
      previous_response_id: first.id,
    });

    expect((await responses.retrieve(next.id)).id).toBe(next.id);
    expect((await responses.inputItems.list(next.id)).data.length).toBeGreaterThan(0);
    await responses.delete(next.id);
    await expect(responses.retrieve(next.id)).rejects.toMatchObject({ status: 404 });
  });

  it('lists models', async () => {
    const listed = await collect(client().models.list());

    expect(listed.map(({ id }) => id)).toEqual(['gpt']);
    await expect(client().models.retrieve('nothing')).rejects.toMatchObject({ status: 404 });
  });

  it('names what is not served', async () => {
    const { audio } = client();
    const call = audio.speech.create({ model: 'gpt', input: 'Hi', voice: 'alloy' });

    await expect(call).rejects.toMatchObject({ status: 404, code: 'unknown_url' });
  });

  it('takes a token in place of the key, as the identity library sends it', async () => {
    const { secrets } = gateway;
    const azureADTokenProvider = async () => secrets.chat;
    const reply = await client({ apiKey: undefined, azureADTokenProvider }).responses.create({
      model: 'gpt',
      input: 'Hi',
    });

    expect(reply.output_text).toMatch(/^Hi/);
  });

  it('tells a filtered prompt and an unknown model apart', async () => {
    gateway.upstream.enqueue({
      status: 400,
      headers: { 'content-type': 'application/json' },
      body: '{"error":{"code":"content_filter","message":"Filtered.","innererror":{}}}',
    });
    const { chat } = client();

    await expect(chat.completions.create({ model: 'gpt', messages })).rejects.toMatchObject({
      status: 400,
      code: 'content_filter',
    });
    await expect(chat.completions.create({ model: 'nothing', messages })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });
});
