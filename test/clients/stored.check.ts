/**
 * What OpenAI or the gateway keeps of a response, through the methods of the `openai` package:
 * later requests that refer to it, the paths of stored responses, and what belongs to another key.
 */
import OpenAI from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mounts } from '../adapters/mounts.ts';
import { unmountedGateway, upstreamSecret } from '../support/mounted-gateway.ts';
import { modelsOf, type UpstreamName, upstreams } from './upstreams.ts';

const names = upstreams.map(({ name }) => name);
const translated = names.filter((name) => name !== 'responses');

describe('relayed', () => {
  it('continues a stored response, for the key that made it', async () => {
    const { openai, other, model, fake } = await setUp('responses');
    const first = await openai.responses.create({ model, input: 'Hello!' });
    const more = { model, input: 'And now?', previous_response_id: first.id };

    const second = await openai.responses.create(more);
    const calls = fake.calls.length;

    expect(second.previous_response_id).toBe(first.id);
    await expect(other.responses.create(more)).rejects.toMatchObject({
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    });
    expect(fake.calls).toHaveLength(calls);
  });

  it('returns, lists and deletes it, for the key that made it', async () => {
    const { openai, other, model } = await setUp('responses');
    const { id, output_text } = await openai.responses.create({ model, input: 'Hello!' });

    expect((await openai.responses.retrieve(id)).output_text).toBe(output_text);
    expect((await openai.responses.inputItems.list(id)).data).toMatchObject([{ role: 'user' }]);
    await expect(other.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(other.responses.delete(id)).rejects.toMatchObject({ status: 404 });
    await openai.responses.delete(id);
    await expect(openai.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it('compacts a conversation, and continues from there', async () => {
    const { openai, model } = await setUp('responses');

    const compacted = await openai.responses.compact({ model, input: 'Hello!' });
    const next = await openai.responses.create({
      model,
      input: [...compacted.output.filter(isInput), { role: 'user', content: 'And now?' }],
    });

    expect(compacted.usage.total_tokens).toBeGreaterThan(0);
    expect(next.status).toBe('completed');
  });
});

describe.each(translated)('translated to %s', (name) => {
  it('puts kept items in place of references, until their response is deleted', async () => {
    const { openai, other, model, fake } = await setUp(name);
    const { id, output, output_text } = await openai.responses.create({ model, input: 'Hello!' });
    const message = output.find(({ type }) => type === 'message')?.id ?? '';
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: 'Hello!' },
      { type: 'item_reference', id: message },
      { role: 'user', content: 'And now?' },
    ];

    await openai.responses.create({ model, input });
    const sent = fake.calls.at(-1)?.body.toString();

    expect(sent).toContain(JSON.stringify(output_text).slice(1, -1));
    await expect(other.responses.create({ model, input })).rejects.toMatchObject({ status: 404 });
    await openai.responses.delete(id);
    await expect(openai.responses.create({ model, input })).rejects.toMatchObject({
      status: 404,
      param: 'input',
      message: expect.stringContaining(message),
    });
  });

  it('says why it does not continue, return or compact a conversation', async () => {
    const { openai, model } = await setUp(name);
    const { id } = await openai.responses.create({ model, input: 'Hello!' });

    const continued = openai.responses.create({ model, input: 'More', previous_response_id: id });
    await expect(continued).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
      message: expect.stringMatching(/whole (?:history|conversation)/),
    });
    await expect(openai.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(openai.responses.compact({ model, input: 'Hello!' })).rejects.toMatchObject({
      status: 400,
    });
  });
});

describe.each(names)('over %s', (name) => {
  it('counts input tokens', async () => {
    const { openai, model } = await setUp(name);

    const count = await openai.responses.inputTokens.count({ model, input: 'Hello!' });

    expect(count.object).toBe('response.input_tokens');
    expect(count.input_tokens).toBeGreaterThan(0);
  });

  it('keeps nothing with `store: false`', async () => {
    const { openai, model } = await setUp(name);
    const reply = await openai.responses.create({ model, input: 'Hello!', store: false });
    const id = reply.output.at(-1)?.id ?? '';

    expect(Reflect.get(reply, 'store')).toBe(false);
    await expect(
      openai.responses.create({ model, input: [{ type: 'item_reference', id }] }),
    ).rejects.toThrow(/^4\d\d Item with id '.*' not found/);
  });
});

type OutputItem = OpenAI.Responses.ResponseOutputItem;

function isInput(item: OutputItem): item is OutputItem & OpenAI.Responses.ResponseInputItem {
  return item.type === 'message' || item.type === 'compaction';
}

/** A gateway, and two keys that may use the upstream's model. */
async function setUp(name: UpstreamName) {
  const harness = await unmountedGateway({}, (fake) => modelsOf(fake, upstreamSecret));
  const [mount] = mounts;
  if (mount === undefined) throw new Error('There is no mount.');
  const server = await mount.start(harness.gateway);
  onTestFinished(async () => {
    await server.close();
    await harness.close();
  });
  const clientOf = (apiKey: string): OpenAI =>
    new OpenAI({ baseURL: `${server.origin}${server.base}/v1`, apiKey, maxRetries: 0 });
  return {
    openai: clientOf(harness.secrets.chat),
    other: clientOf(harness.secrets.native),
    model: `${name}/plain`,
    fake: harness.upstream,
  };
}
