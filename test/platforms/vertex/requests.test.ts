// suite: slow
/** What Vertex AI refuses of a request is changed or taken out of it, and nothing else is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeholderSignature } from '../../../src/dialects/gemini/placeholder-signature.ts';
import type { JsonValue } from '../../../src/json.ts';
import { type ClaudeFeature, claudeFeatures } from '../../../src/platforms/anthropic-betas.ts';
import { vertex } from '../../../src/platforms/vertex.ts';
import type { Model } from '../../../src/ports/catalog.ts';
import { reachMembers } from '../../../src/ports/reach-members.ts';
import { anyModelGateway, images, messages, native } from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { type Sent, sentBy, token } from './sent-requests.ts';

const google = vertex({ kind: 'google', project: 'p', location: 'us-central1' });
const claude = vertex({ kind: 'anthropic', project: 'p', location: 'us-east5' });

type Call = Parameters<ReturnType<typeof anyModelGateway>['call']>[0];

interface Setup {
  readonly place?: typeof google;
  readonly upstreamModel?: string;
  readonly model?: Partial<Model>;
  readonly reply?: string;
}

const geminiReply = '{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}';
const claudeReply =
  '{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",' +
  '"usage":{"input_tokens":3,"output_tokens":1}}';

async function ask(
  call: Call,
  { place = google, upstreamModel, model = {}, reply = geminiReply }: Setup = {},
): Promise<{ readonly reply: CallerReply; readonly sent: readonly Sent[] }> {
  const upstream = scriptedUpstream({
    headers: { 'content-type': 'application/json' },
    chunks: [reply],
  });
  const channel = { credential: token, ...place, ...(upstreamModel && { upstreamModel }) };
  const answer = await anyModelGateway({ upstream, channel, model }).call(call);
  return { reply: answer, sent: sentBy(upstream) };
}

const text = (value: unknown): string => JSON.stringify(value);

describe('ids of function calls', () => {
  const id = fc.constantFrom({}, { id: 'call_1' }, { id: '' });
  const value = fc.constantFrom<JsonValue>({}, { id: 'kept' }, { a: [{ id: 1 }] });
  const named = fc.constantFrom({ name: 'f' }, { name: 'id' });
  const part = fc.oneof(
    fc.tuple(id, named, value).map(([one, name, args]) => ({
      functionCall: { ...one, ...name, args },
    })),
    fc.tuple(named, value, id).map(([name, response, one]) => ({
      functionResponse: { ...name, response, ...one },
    })),
    fc.tuple(named, id).map(([name, one]) => ({ function_call: { ...name, ...one } })),
    fc.constant({ text: '"id"' }),
  );
  const contents = fc.array(
    fc.record({ role: fc.constantFrom('user', 'model'), parts: fc.array(part, { maxLength: 4 }) }),
    { minLength: 1, maxLength: 4 },
  );
  const indents = fc.constantFrom(0, 2);

  function withoutIds(all: JsonValue): JsonValue {
    return JSON.parse(text(all), (name, inner) => {
      const isCall = /^function_?(?:call|response)$/i.test(name);
      if (!isCall) return inner;
      const { id: _, ...rest } = inner;
      return rest;
    });
  }

  it('are taken out, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(contents, indents, async (all, indent) => {
        const body = JSON.stringify({ contents: all, generationConfig: { seed: 1 } }, null, indent);
        const { sent } = await ask(native('json', body));
        const expected = { contents: withoutIds(all as JsonValue), generationConfig: { seed: 1 } };
        expect(sent[0]?.body).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('and signatures of other providers too', async () => {
    // The envelope in which the gateway hands out the signatures of other providers.
    const signature = Buffer.from('gw2:{"provider":"openai"}').toString('base64');
    const parts = [{ functionCall: { id: 'call_1', name: 'f' }, thoughtSignature: signature }];
    const { sent } = await ask(native('json', text({ contents: [{ role: 'model', parts }] })));

    expect(sent[0]?.body).toEqual({
      contents: [
        {
          role: 'model',
          parts: [{ functionCall: { name: 'f' }, thoughtSignature: placeholderSignature }],
        },
      ],
    });
  });

  it('are not written in translations', async () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    };
    const body = {
      model: 'm',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
      ],
    };
    const { sent } = await ask({ path: '/v1/chat/completions', body: text(body) });

    expect(text(sent[0]?.body)).not.toContain('call_1');
    expect(text(sent[0]?.body)).toContain('functionResponse');
  });
});

describe('members of Google’s other API', () => {
  const places: readonly (readonly [path: string, body: JsonValue])[] = [
    ['store', { store: false }],
    ['generationConfig.enableEnhancedCivicAnswers', civic('enableEnhancedCivicAnswers')],
    ['generation_config.enable_enhanced_civic_answers', civicInSnakeCase()],
    [
      'toolConfig.includeServerSideToolInvocations',
      { toolConfig: { includeServerSideToolInvocations: true } },
    ],
    ['contents[].parts[].partMetadata', { contents: [part({ partMetadata: {} })] }],
    [
      'contents[].parts[].functionResponse.willContinue',
      { contents: [part({ functionResponse: { name: 'f', response: {}, willContinue: true } })] },
    ],
    [
      'contents[].parts[].functionResponse.parts[].mediaProcessing',
      { contents: [part({ functionResponse: { name: 'f', parts: [{ mediaProcessing: {} }] } })] },
    ],
  ];

  function civic(name: string): JsonValue {
    return { generationConfig: { [name]: true, seed: 1 } };
  }

  function civicInSnakeCase(): JsonValue {
    return { generation_config: { enable_enhanced_civic_answers: true } };
  }

  function part(members: JsonValue): JsonValue {
    return { role: 'user', parts: [members] };
  }

  it.each(places)('%s is left out, and listed', async (path, body) => {
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
    const call = native('json', text({ contents, ...(body as object) }));
    const { reply, sent } = await ask(call);

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-dropped']).toBe(path);
    expect(text(sent[0]?.body)).not.toContain(path.split('.').at(-1));
  });

  it.each(places)('%s is refused by a strict model', async (path, body) => {
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
    const call = native('json', text({ contents, ...(body as object) }));
    const { reply, sent } = await ask(call, { model: { strict: true } });

    expect(reply.status).toBe(400);
    expect(reply.text).toContain(path);
    expect(sent).toEqual([]);
  });
});

describe('a token count', () => {
  const contents = [
    { role: 'user', parts: [{ text: 'Hi' }] },
    { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'f', args: {} } }] },
  ];
  const counted = {
    contents: [contents[0], { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] }],
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    generationConfig: { responseMimeType: 'application/json' },
  };
  const request = { ...counted, contents };
  const others = { toolConfig: {}, safetySettings: [], cachedContent: 'cachedContents/1' };
  const count = { path: '/v1beta/models/m:countTokens' };
  const reply = '{"totalTokens":9}';

  it.each<readonly [string, JsonValue]>([
    ['plain', request],
    ['with its model', { ...request, model: 'models/m' }],
    ['with members that do not count', { ...others, ...request }],
    ['wrapped', { generateContentRequest: { model: 'models/m', ...others, ...request } }],
    ['wrapped beside contents', { generateContentRequest: request, contents: [] }],
  ])('%s has the members that Vertex counts', async (_, body) => {
    for (const upstreamModel of ['m', 'gemini-3-flash']) {
      const { reply: answer, sent } = await ask(
        { ...count, body: text(body) },
        { upstreamModel, reply },
      );

      expect(answer.status, answer.text).toBe(200);
      expect(sent[0]?.url).toMatch(new RegExp(`/publishers/google/models/${upstreamModel}:count`));
      expect(sent[0]?.body).toEqual(counted);
    }
  });

  it('of another API is counted by Vertex', async () => {
    const body = { model: 'm', system: 'Be brief.', messages: [{ role: 'user', content: 'Hi' }] };
    const call = { path: '/v1/messages/count_tokens', body: text(body) };
    const { reply: answer, sent } = await ask(call, { reply });

    expect(answer.text).toBe('{"input_tokens":9}');
    expect(sent[0]?.body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
    });
  });
});

describe('the path', () => {
  it.each([
    ['gemini-3-flash', 'publishers/google/models/gemini-3-flash'],
    ['meta/llama-4@x', 'publishers/meta/models/llama-4@x'],
    ['publishers/google/models/gemini-3-flash', 'publishers/google/models/gemini-3-flash'],
    ['endpoints/1234', 'endpoints/1234'],
    ['a b?c#d', 'publishers/google/models/a%20b%3Fc%23d'],
  ])('of %s is %s', async (upstreamModel, path) => {
    const { sent } = await ask(native('json'), { upstreamModel });
    const place =
      'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1';
    expect(sent[0]?.url).toBe(`${place}/${path}:generateContent`);
  });

  it('of Imagen is not offered, which the error says', async () => {
    const setup = { upstreamModel: 'imagen-4.0-generate-001', model: imageModel };
    const { reply, sent } = await ask(images(), setup);

    expect(reply.status).toBe(501);
    expect(reply.text).toContain('Imagen');
    expect(sent).toEqual([]);
  });

  const imageModel = {
    price: { per: 'image', rows: [{ size: '1024x1024', nanos: 5n }] },
    protocols: ['images'],
  } as const;
});

describe('the version of Anthropic’s API', () => {
  const date = fc
    .date({ min: new Date('2020-01-01'), max: new Date('2029-12-31'), noInvalidDate: true })
    .map((day) => day.toISOString().slice(0, 10));

  const names: Readonly<Record<string, string>> = {
    '2023-06-01': 'vertex-2023-10-16',
    '2026-10-21': '2026-10-21',
  };

  it.each(
    Object.entries(names),
  )('of a caller is moved from the header: %s', async (sent, there) => {
    const headers = { 'anthropic-version': sent };
    const body = { ...claudeBody(), anthropic_version: 'bedrock-2023-05-31' };
    const call = await askClaude(body, { headers });

    expect(call.sent[0]?.body).toMatchObject({ anthropic_version: there });
    expect(call.sent[0]?.headers).not.toHaveProperty('anthropic-version');
  });

  it('of a caller is one of these, or the answer is 400 and names the header', async () => {
    await fc.assert(
      fc.asyncProperty(date, async (version) => {
        fc.pre(!Object.hasOwn(names, version));
        const headers = { 'anthropic-version': version };
        const { reply, sent } = await askClaude(claudeBody(), { headers });

        expect(reply.status).toBe(400);
        expect(reply.text).toContain('anthropic-version');
        expect(sent).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});

function claudeBody(members: object = {}): object {
  return { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], ...members };
}

function askClaude(
  body: object,
  { headers = {}, ...setup }: Setup & { readonly headers?: Record<string, string> } = {},
) {
  const call = { ...messages(text(body)), headers };
  return ask(call, { place: claude, reply: claudeReply, ...setup });
}

/** A request with a member at this path of the table. */
function bodyWith(path: string): JsonValue {
  // It must be a list of models.
  if (path === 'fallbacks') return { fallbacks: [{ model: 'm' }] };
  const [step = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? { kept: 'no' } : bodyWith(rest.join('.'));
  const isList = step.endsWith('[]');
  return { [isList ? step.slice(0, -2) : step]: isList ? [inner] : inner };
}

const sample: Readonly<Record<string, object>> = {
  tools: { name: 't', input_schema: { type: 'object' } },
  messages: { role: 'user' },
};

/** The same in a request that is valid but for it. */
function requestWith(path: string): object {
  const made = bodyWith(path) as Record<string, JsonValue>;
  const [name = '', value = null] = Object.entries(made)[0] ?? [];
  const listed = Array.isArray(value)
    ? value.map((one) => ({ ...sample[name], ...Object(one) }))
    : value;
  return claudeBody({ [name]: listed });
}

describe('each feature of Claude that Vertex does not have', () => {
  const refused = claudeFeatures.filter(({ vertex: support }) => support === 'refused');
  const flagged = refused.filter((feature) => feature.flag !== undefined);

  it.each(
    flagged.map((feature) => [feature.flag, feature] as const),
  )('%s: its flag and its members are taken out together', async (flag, {
    members = [],
    tools = [],
  }: ClaudeFeature) => {
    const headers = { 'anthropic-beta': `interleaved-thinking-2025-05-14,${flag}-2026-01-02` };
    for (const path of [...members, undefined]) {
      const body = path === undefined ? claudeBody() : requestWith(path);
      const { reply, sent } = await askClaude(body, { headers, model: allowed });
      const names = [`anthropic-beta:${flag}-2026-01-02`, ...(path === undefined ? [] : [path])];

      expect(reply.status, reply.text).toBe(200);
      expect(reply.headers['x-tollgate-dropped']).toBe(names.join(','));
      expect(sent[0]?.headers['anthropic-beta']).toBe('interleaved-thinking-2025-05-14');
      expect(text(sent[0]?.body)).not.toContain('"kept":"no"');
      expect(sent[0]?.body).toMatchObject({ max_tokens: 9 });
    }
    for (const tool of tools) {
      const own = { name: 'own', input_schema: { type: 'object' } };
      const body = claudeBody({ tools: [own, { type: `${tool}_20260101`, name: 'x' }] });
      const { reply, sent } = await askClaude(body, { headers, model: allowed });

      expect(reply.headers['x-tollgate-dropped']).toMatch(/tools\[1\]$/);
      expect(sent[0]?.body).toMatchObject({ tools: [own] });
    }
  });

  it.each(
    refused.flatMap(({ members = [] }) => members),
  )('%s is refused by a strict model, by its name', async (path) => {
    const model = { ...allowed, strict: true };
    const { reply, sent } = await askClaude(requestWith(path), { model });

    expect(reply.status).toBe(400);
    expect(reply.text).toContain(path);
    expect(sent).toEqual([]);
  });

  it('what Vertex knows stays as it is', async () => {
    const flags = 'context-management-2025-06-27,compact-2026-01-12,some-beta-2027-01-01';
    const body = claudeBody({
      context_management: { edits: [{ type: 'compact_20260112' }] },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: {} } },
      tools: [{ name: 'scope', input_schema: { properties: { scope: {} } }, strict: true }],
    });
    const headers = { 'anthropic-beta': flags };
    const { reply, sent } = await askClaude(body, { headers, model: allowed });
    const { model: _, ...expected } = body as Record<string, JsonValue>;

    expect(reply.status, reply.text).toBe(200);
    expect(reply.headers).not.toHaveProperty('x-tollgate-dropped');
    expect(sent[0]?.headers['anthropic-beta']).toBe(flags);
    expect(sent[0]?.body).toEqual({ ...expected, anthropic_version: 'vertex-2023-10-16' });
  });

  it('a feature with another name there is sent by that, once', async () => {
    const flags = 'advanced-tool-use-2025-11-20,tool-search-tool-2025-10-19';
    const { sent } = await askClaude(claudeBody(), { headers: { 'anthropic-beta': flags } });
    expect(sent[0]?.headers['anthropic-beta']).toBe('tool-search-tool-2025-10-19');
  });

  it('the flag of web search is taken out of counts only', async () => {
    const headers = { 'anthropic-beta': 'web-search-2025-03-05' };
    const { sent } = await askClaude(claudeBody(), { headers });
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
    const counted = await ask(
      { path: '/v1/messages/count_tokens', body: text(body), headers },
      { place: claude, reply: '{"input_tokens":3}' },
    );

    expect(sent[0]?.headers).toMatchObject(headers);
    expect(counted.sent[0]?.headers).not.toHaveProperty('anthropic-beta');
    expect(counted.sent[0]?.body).toEqual({ ...body, anthropic_version: 'vertex-2023-10-16' });
  });
});

/** What reaches beyond a call, or costs more, is allowed here, so that it gets as far as the platform. */
const allowed: Partial<Model> = {
  price: { per: 'free' },
  allow: Object.fromEntries(reachMembers.map((name) => [name, true])),
};
