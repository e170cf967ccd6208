// suite: slow
/**
 * What the gateway checks of a Responses request, what it does not serve, and its token counts and
 * compactions over each kind of upstream.
 */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import {
  type CallerReply,
  type CallerRequest,
  gatewayInProcess,
  type InProcessGateway,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';

const body = { model: 'text', input: 'hi' } as const;

function request(members: object, path = '/v1/responses'): CallerRequest {
  return { path, body: { ...body, ...members } };
}

const baseUrls: Readonly<Record<DialectName, string>> = {
  openai: 'https://openai.example/v1',
  gemini: 'https://gemini.example/v1beta',
  anthropic: 'https://anthropic.example/v1',
};

function over(dialect: DialectName, change: Partial<Channel> = {}): readonly Model[] {
  const channels = [channel({ id: dialect, dialect, baseUrl: baseUrls[dialect], ...change })];
  const { maxOutputTokens: _unstated, ...rest } = model({ id: 'text', protocols: ['responses'] });
  return [{ ...rest, channels }];
}

interface Sent {
  readonly url: string;
  readonly body: unknown;
}

/** Sends a request, for which the upstream has this reply. */
async function sent(
  sending: CallerRequest,
  models: readonly Model[],
  reply: unknown = {},
): Promise<{ reply: CallerReply; calls: readonly Sent[]; gateway: InProcessGateway }> {
  const calls: Sent[] = [];
  const gateway = gatewayInProcess({
    models,
    handlers: [
      (up) => {
        const { origin, path, body: bytes } = up.request;
        calls.push({ url: origin + path, body: JSON.parse(Buffer.concat([...bytes]).toString()) });
        up.answer(200, JSON.stringify(reply), { 'content-type': 'application/json' });
      },
    ],
  });
  return { reply: await gateway.call(sending), calls, gateway };
}

describe('a Responses request', () => {
  it.each<readonly [object, string, RegExp]>([
    [{ model: undefined }, 'model', /must be/],
    [{ model: '' }, 'model', /not empty/],
    [{ input: 1 }, 'input', /a string or an array of objects/],
    [{ input: {} }, 'input', /a string or an array of objects/],
    [{ input: ['hi'] }, 'input', /array of objects/],
    [{ input: [{ role: 'user', content: 'a' }, null] }, 'input', /array of objects/],
    [{ input: undefined, messages: [] }, 'input', /\/v1\/chat\/completions/],
    [{ input: null, messages: [] }, 'input', /\/v1\/chat\/completions/],
    [{ stream: 'yes' }, 'stream', /true or false/],
    [{ store: 1 }, 'store', /true or false/],
    [{ background: 'no' }, 'background', /true or false/],
    [{ background: true }, 'background', /serves no background responses/],
    [{ max_output_tokens: 0 }, 'max_output_tokens', /positive integer/],
    [{ max_output_tokens: '9' }, 'max_output_tokens', /positive integer/],
    [{ max_output_tokens: 9, max_tokens: 99 }, 'max_output_tokens', /differ/],
    [{ max_output_tokens: 9, extra_body: { max_tokens: 99 } }, 'extra_body.max_tokens', /differs/],
    [{ extra_body: { model: 'other' } }, 'extra_body.model', /differs/],
    [{ extra_body: { input: 'other' } }, 'extra_body.input', /differs/],
    [
      { extra_body: { previous_response_id: 'resp_1' } },
      'extra_body.previous_response_id',
      /differs/,
    ],
    [{ extra_body: { background: true } }, 'extra_body.background', /differs/],
    [{ extra_body: { conversation: 'conv_1' } }, 'extra_body.conversation', /differs/],
    [{ extra_body: { instructions: [{}] } }, 'extra_body.instructions', /differs/],
    [
      { instructions: [{ type: 'item_reference', id: 'msg_1' }] },
      'instructions',
      /must be a string/,
    ],
    [{ tools: {} }, 'tools', /must be an array/],
    [{ previous_response_id: 7 }, 'previous_response_id', /must be a string/],
    [{ conversation: 'conv_1' }, 'conversation', /stored at the provider/],
    [{ conversation: { id: 'conv_1' } }, 'conversation', /stored at the provider/],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt', /stored at the provider/],
  ])('%j is refused by the name %s', async (members, param, message) => {
    for (const dialect of ['openai', 'anthropic'] as const) {
      for (const path of ['/v1/responses', '/v1/responses/input_tokens', '/v1/responses/compact']) {
        const { reply, calls, gateway } = await sent(request(members, path), over(dialect));

        expect(reply.status).toBe(400);
        const { error } = JSON.parse(reply.text);
        expect(error).toMatchObject({ type: 'invalid_request_error', param });
        expect(error.message).toMatch(message);
        expect(calls).toEqual([]);
        expect(await gateway.state()).toEqual(untouched);
      }
    }
  });

  const done = { object: 'response', id: 'resp_1', status: 'completed', output: [] };

  it.each([
    {},
    { input: [] },
    { input: [{ role: 'user', content: 'hi' }] },
    { input: undefined, instructions: 'Say hi.' },
    { input: null, instructions: 'Say hi.', messages: null },
    { stream: null, store: null, background: null, conversation: null, prompt: null, tools: null },
    { background: false, store: true, max_output_tokens: null, previous_response_id: null },
    { client_metadata: { a: 1 }, something: { new: [1.0] } },
  ])('%j goes up as it came', async (members) => {
    const { reply, calls } = await sent(request(members), over('openai'), done);

    expect(reply.status).toBe(200);
    expect(calls).toEqual([
      {
        url: 'https://openai.example/v1/responses',
        body: JSON.parse(JSON.stringify({ ...body, ...members })),
      },
    ]);
  });

  it('changes only the name of the model, byte for byte', async () => {
    const text = '{ "input":"h\\u0069", "x":1.0,\n"model" : "text", "store":false }';
    const models = over('openai', { upstreamModel: 'gpt-up' });
    let up = '';
    const gateway = gatewayInProcess({
      models,
      handlers: [
        (call) => {
          up = Buffer.concat([...call.request.body]).toString();
          call.answer(200, JSON.stringify(done), { 'content-type': 'application/json' });
        },
      ],
    });

    await gateway.call({ path: '/v1/responses', body: text });

    expect(up).toBe(text.replace('"text"', '"gpt-up"'));
  });

  it('is refused if it has two members of one name', async () => {
    const text = '{"model":"text","input":"a","input":"b"}';
    const { reply } = await sent({ path: '/v1/responses', body: text }, over('openai'));

    expect(reply.status).toBe(400);
  });

  it('is held with its own bound, else that of the model, else 16,384 tokens', async () => {
    const [open] = over('openai');
    const held = async (members: object, path: string, change: Partial<Model>): Promise<bigint> => {
      const gateway = gatewayInProcess({
        models: open === undefined ? [] : [{ ...open, ...change }],
      });
      const { reply } = gateway.start(request(members, path));
      reply.catch(() => {});
      await gateway.upstream.next();
      return (await gateway.state()).held;
    };
    const [whole, compact] = ['/v1/responses', '/v1/responses/compact'] as const;
    const prompt = 11n;

    expect(await held({ max_output_tokens: 7 }, whole, {})).toBe(prompt + 14n);
    expect(await held({}, whole, { maxOutputTokens: 50 })).toBe(prompt + 100n);
    expect(await held({}, whole, {})).toBe(prompt + 32_768n);
    expect(await held({}, compact, { maxOutputTokens: 100_000 })).toBe(prompt + 32_768n);
    // The API has no such member for compactions, so that it bounds nothing.
    const bounded = await held({ max_output_tokens: 16 }, compact, {});
    expect(bounded).toBeGreaterThanOrEqual(prompt + 32_768n);
  });
});

describe('input_tokens', () => {
  const path = '/v1/responses/input_tokens';

  it('is relayed and free, and a reply without a count is refused', async () => {
    const reply = { object: 'response.input_tokens', input_tokens: 51 };
    const good = await sent(request({ stream: true }, path), over('openai'), reply);
    const bad = await sent(request({}, path), over('openai'), { object: 'response' });

    expect(JSON.parse(good.reply.text)).toEqual(reply);
    expect(good.calls[0]?.url).toBe('https://openai.example/v1/responses/input_tokens');
    expect(await good.gateway.state()).toEqual(untouched);
    expect(bad.reply.status).toBe(502);
  });

  it('is Google’s and Anthropic’s own count, of what is part of the prompt', async () => {
    const members = { instructions: 'Be brief.', temperature: 0.5, max_output_tokens: 9 };
    const google = await sent(request(members, path), over('gemini'), { totalTokens: 12 });
    const anthropic = await sent(request(members, path), over('anthropic'), { input_tokens: 13 });

    expect(JSON.parse(google.reply.text)).toEqual(counted(12));
    expect(google.calls).toEqual([
      {
        url: 'https://gemini.example/v1beta/models/text:countTokens',
        body: {
          generateContentRequest: {
            model: 'models/text',
            systemInstruction: { parts: [{ text: 'Be brief.' }] },
            contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
          },
        },
      },
    ]);
    expect(JSON.parse(anthropic.reply.text)).toEqual(counted(13));
    expect(anthropic.calls[0]?.url).toBe('https://anthropic.example/v1/messages/count_tokens');
    for (const { reply } of [google, anthropic]) {
      expect(reply.headers['x-tollgate-estimated']).toBeUndefined();
    }
  });

  it('is an estimate, and says so, where the upstream has no count', async () => {
    const models = over('openai', { capabilities: { responses: false } });
    const { reply, calls } = await sent(request({ input: 'word '.repeat(100) }, path), models);

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-estimated']).toBe('input_tokens');
    expect(JSON.parse(reply.text).input_tokens).toBeGreaterThan(50);
    expect(calls).toEqual([]);
  });
});

describe('compact', () => {
  const path = '/v1/responses/compact';
  const compacted = {
    object: 'response.compaction',
    id: 'resp_2',
    output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'AAAA' }],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  };

  it('is relayed, and charged by its usage', async () => {
    const { reply, calls, gateway } = await sent(request({}, path), over('openai'), compacted);

    expect(JSON.parse(reply.text)).toEqual(compacted);
    expect(calls[0]?.url).toBe('https://openai.example/v1/responses/compact');
    expect(await gateway.nextRecord()).toMatchObject({ protocol: 'responses', chargeNanos: 20n });
  });

  it('is not accepted as a response, nor a response as a compaction', async () => {
    const response = { ...compacted, object: 'response' };

    expect((await sent(request({}, path), over('openai'), response)).reply.status).toBe(502);
    expect((await sent(request({}), over('openai'), compacted)).reply.status).toBe(502);
  });

  it.each([
    'gemini',
    'anthropic',
    'openai',
  ] as const)('is refused over %s by translation', async (dialect) => {
    const models = over(dialect, { capabilities: { responses: false } });
    const { reply, calls } = await sent(request({}, path), models);

    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error.message).toMatch(/no Responses API/);
    expect(calls).toEqual([]);
  });
});

it('one Idempotency-Key does not make a response of a count or a compaction', async () => {
  const replies = [
    { object: 'response', id: 'resp_1', status: 'completed', output: [] },
    { object: 'response.input_tokens', input_tokens: 5 },
    { object: 'response.compaction', id: 'resp_2', output: [] },
  ];
  const gateway = gatewayInProcess({
    models: over('openai'),
    handlers: replies.map((reply) => (up) => {
      up.answer(200, JSON.stringify(reply), { 'content-type': 'application/json' });
    }),
  });
  const paths = ['/v1/responses', '/v1/responses/input_tokens', '/v1/responses/compact'];
  const ask = async (path: string): Promise<unknown> => {
    const { text } = await gateway.call({
      ...request({}, path),
      headers: { 'idempotency-key': 'same' },
    });
    return JSON.parse(text);
  };

  for (const [index, path] of paths.entries()) expect(await ask(path)).toEqual(replies[index]);
  for (const [index, path] of paths.entries()) expect(await ask(path)).toEqual(replies[index]);
  expect(gateway.upstream.calls).toHaveLength(3);
});

function counted(tokens: number): object {
  return { object: 'response.input_tokens', input_tokens: tokens };
}
