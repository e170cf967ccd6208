// suite: quick
/** Token counts of Messages calls: relayed, made by Gemini, or estimated and marked as such. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import {
  type CallerRequest,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';

function claude(dialect: DialectName): Model {
  return model({
    id: 'claude',
    protocols: ['messages'],
    channels: [channel({ id: 'only', dialect, upstreamModel: 'upstream-model' })],
  });
}

const messages = [{ role: 'user', content: 'How many tokens are these words?' }];
const count: CallerRequest = {
  path: '/v1/messages/count_tokens',
  body: { model: 'claude', messages, system: 'Be brief.' },
};
const message: CallerRequest = {
  path: '/v1/messages',
  body: { model: 'claude', messages, max_tokens: 5 },
};
const answer: JsonObject = {
  type: 'message',
  content: [{ type: 'text', text: 'Hi!' }],
  usage: { input_tokens: 1, output_tokens: 1 },
};
const json = { 'content-type': 'application/json' };

describe('a count over Anthropic', () => {
  it('is relayed with the model of the channel, free of charge', async () => {
    let sent = '';
    const harness = gatewayInProcess({
      models: [claude('anthropic')],
      handlers: [
        (up) => {
          sent = `${up.request.path} ${Buffer.concat(up.request.body).toString()}`;
          up.answer(200, '{"input_tokens": 11}', json);
        },
      ],
    });
    const reply = await harness.call(count);

    expect([reply.status, reply.text]).toEqual([200, '{"input_tokens": 11}']);
    const expected = { ...Object(count.body), model: 'upstream-model' };
    expect(sent).toBe(`/v1/messages/count_tokens ${JSON.stringify(expected)}`);
    expect(await harness.state()).toEqual(untouched);
  });

  it.each(['0', '-5', 'null', '"9"'])('of %s is refused', async (tokens) => {
    const harness = gatewayInProcess({
      models: [claude('anthropic')],
      handlers: [(up) => up.answer(200, `{"input_tokens":${tokens}}`, json)],
    });

    expect((await harness.call(count)).status).toBe(502);
  });

  it.each([
    [400, 400],
    [404, 404],
    [429, 429],
    [500, 502],
    [529, 529],
    [401, 502],
  ])('that fails with %i is an error, and the channel is still used', async (status, shown) => {
    const failures = 12;
    const refused = { type: 'error', error: { type: 'x', message: 'No.' } };
    const harness = gatewayInProcess({
      models: [claude('anthropic')],
      handlers: [
        ...Array.from({ length: failures }, () => (up: Parameters<typeof fail>[0]) => fail(up)),
        (up) => up.answer(200, JSON.stringify(answer), json),
      ],
    });
    function fail(up: { answer(status: number, body: unknown, headers?: object): void }): void {
      up.answer(status, refused, json);
    }
    for (let index = 0; index < failures; index += 1) {
      const reply = await harness.call(count);

      expect([index, reply.status]).toEqual([index, shown]);
      expect(JSON.parse(reply.text)).toMatchObject({ type: 'error' });
    }

    expect((await harness.call(message)).status).toBe(200);
  });
});

describe('a count over another provider', () => {
  it('is made by Gemini', async () => {
    let path = '';
    const harness = gatewayInProcess({
      models: [claude('gemini')],
      handlers: [
        (up) => {
          ({ path } = up.request);
          up.answer(200, '{"totalTokens": 17}', json);
        },
      ],
    });
    const reply = await harness.call(count);

    expect(path).toContain(':countTokens');
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { input_tokens: 17 }]);
    expect(reply.headers).not.toHaveProperty('x-tollgate-estimated');
  });

  it('is made by Gemini with the schema of the output, which is prompt', async () => {
    const schema = { type: 'object', properties: { word: { type: 'string' } } };
    const format = { type: 'json_schema', schema };
    const sent: JsonObject[] = [];
    for (const capabilities of [
      {},
      { structuredOutput: 'subset' },
      { structuredOutput: 'none' },
    ] as const) {
      const [only] = claude('gemini').channels;
      const harness = gatewayInProcess({
        models: [model({ ...claude('gemini'), channels: [channel({ ...only, capabilities })] })],
        handlers: [
          (up) => {
            sent.push(JSON.parse(Buffer.concat(up.request.body).toString()).generateContentRequest);
            up.answer(200, '{"totalTokens": 17}', json);
          },
        ],
      });
      const body = { ...Object(count.body), output_config: { format, effort: 'low' } };
      expect((await harness.call({ ...count, body })).status).toBe(200);
    }

    const responseMimeType = 'application/json';
    const converted = { properties: { word: { type: 'STRING' } }, propertyOrdering: ['word'] };
    expect(sent.map(({ generationConfig }) => generationConfig)).toEqual([
      { responseMimeType, responseJsonSchema: schema },
      { responseMimeType, responseSchema: { type: 'OBJECT', ...converted } },
      undefined,
    ]);
    expect(JSON.stringify(sent[2])).toContain('matches this JSON Schema');
  });

  it.each(['0', '-1', '1.5', '"17"', 'null'])('is refused if Gemini’s is %s', async (tokens) => {
    const harness = gatewayInProcess({
      models: [claude('gemini')],
      handlers: [(up) => up.answer(200, `{"totalTokens":${tokens}}`, json)],
    });

    const reply = await harness.call(count);

    expect(reply.status).toBe(502);
    expect(await harness.state()).toEqual(untouched);
  });

  it('is made on a strict model too, without what its call would be refused for', async () => {
    const members = { unheard_of: 1 };
    const harness = gatewayInProcess({
      models: [{ ...claude('gemini'), strict: true }],
      handlers: [(up) => up.answer(200, '{"totalTokens": 17}', json)],
    });
    const counted = await harness.call({ ...count, body: { ...Object(count.body), ...members } });
    const called = await harness.call({
      ...message,
      body: { ...Object(message.body), ...members },
    });

    expect([counted.status, counted.headers['x-tollgate-dropped']]).toEqual([200, 'unheard_of']);
    expect([called.status, called.text]).toEqual([400, expect.stringContaining('unheard_of')]);
  });

  it('is the error of Gemini if that refuses, and not an estimate', async () => {
    const error = { code: 400, message: 'No such thing.', status: 'INVALID_ARGUMENT' };
    const harness = gatewayInProcess({
      models: [claude('gemini')],
      handlers: [(up) => up.answer(400, { error }, json)],
    });
    const reply = await harness.call(count);

    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error).toMatchObject({ type: 'invalid_request_error' });
  });

  it('is estimated over OpenAI, high, and marked', async () => {
    const harness = gatewayInProcess({ models: [claude('openai')] });
    const reply = await harness.call(count);

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-estimated']).toBe('input_tokens');
    // No tokenizer makes as many tokens of English as a quarter of its letters.
    const letters = JSON.stringify(messages).length;
    expect(JSON.parse(reply.text).input_tokens).toBeGreaterThan(letters / 8);
    expect(harness.upstream.calls).toEqual([]);
    expect(await harness.state()).toEqual(untouched);
  });

  it('is never 0, and grows with every part', async () => {
    const harness = gatewayInProcess({ models: [claude('openai')] });
    const counted = async (members: JsonObject): Promise<number> => {
      const reply = await harness.call({
        ...count,
        body: { model: 'claude', messages: [{ role: 'user', content: 'x' }], ...members },
      });
      return JSON.parse(reply.text).input_tokens;
    };
    const least = await counted({});
    expect(least).toBeGreaterThan(0);
    const words = 'word '.repeat(50);
    for (const members of [
      { system: words },
      { tools: [{ name: 'f', description: words, input_schema: { type: 'object' } }] },
      { messages: [{ role: 'user', content: words }] },
    ]) {
      expect(await counted(members)).toBeGreaterThan(least + 49);
    }
  });
});
