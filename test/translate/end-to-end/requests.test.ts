// suite: quick
/** Requests that other gateways were reported to break. */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { pick } from '../matrix/json.ts';
import { sent, upstreamBody } from './translated-call.ts';

const user = (content: JsonValue): JsonObject => ({ role: 'user', content });
const turn = (role: string, ...parts: readonly JsonObject[]): JsonObject => ({ role, parts });
const chatTool = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, ...more },
});
const call = (id: string, name: string, args: string): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const result = (id: string, content: JsonValue): JsonObject => ({
  role: 'tool',
  tool_call_id: id,
  content,
});

describe('instructions', () => {
  it('of several messages do not replace each other (genaiscript#926)', async () => {
    const messages = [
      { role: 'system', content: 'A.' },
      { role: 'developer', content: 'B.' },
      user('hi'),
    ];

    const body = await upstreamBody('chat over gemini', { messages });

    expect(pick(body, 'systemInstruction')).toEqual({ parts: [{ text: 'A.' }, { text: 'B.' }] });
  });

  it.each([
    { parts: [{ text: 'A.' }, { text: 'B.' }] },
    [{ text: 'A.' }, { text: 'B.' }],
  ])('of several parts arrive all (LL#27078)', async (systemInstruction) => {
    const body = await upstreamBody('native over anthropic', { systemInstruction });

    expect(pick(body, 'system')).toEqual([
      { type: 'text', text: 'A.' },
      { type: 'text', text: 'B.' },
    ]);
  });

  it('may be a string, or a Content with any role', async () => {
    const bare = await upstreamBody('native over openai', { systemInstruction: 'A.' });
    const content = await upstreamBody('native over openai', {
      systemInstruction: turn('user', { text: 'A.' }),
    });

    expect(pick(bare, 'messages', 0)).toEqual({ role: 'system', content: 'A.' });
    expect(pick(content, 'messages', 0)).toEqual({ role: 'system', content: 'A.' });
  });

  it('an empty assistant message is accepted (LL#22930, #25669, any-llm#1325)', async () => {
    const messages = [user('hi'), { role: 'assistant', content: '' }, user('still there?')];

    const gemini = await sent('chat over gemini', { messages });
    const anthropic = await sent('chat over anthropic', { messages });

    expect([gemini.answer.status, anthropic.answer.status]).toEqual([200, 200]);
    expect(JSON.stringify(anthropic.upstream)).not.toContain('"text":""');
  });
});

describe('media', () => {
  it('an image URL is never fetched by the gateway (LL#6936, #8809, #4262)', async () => {
    const url = 'https://example.com/a/b.jpeg?token=1';
    const messages = [user([{ type: 'image_url', image_url: { url } }])];

    const gemini = await upstreamBody('chat over gemini', { messages });
    const anthropic = await upstreamBody('chat over anthropic', { messages });

    expect(pick(gemini, 'contents', 0, 'parts', 0, 'fileData', 'fileUri')).toBe(url);
    expect(pick(anthropic, 'messages', 0, 'content', 0, 'source', 'url')).toBe(url);
  });

  it('an image of an earlier reply is returned to Gemini with its signature', async () => {
    const image = {
      type: 'image_url',
      image_url: { url: 'data:image/png;base64,iVBORw==' },
      extra_content: { google: { thought_signature: 'c2ln' } },
    };
    const messages = [user('A cat.'), { role: 'assistant', content: null, images: [image] }];

    const body = await upstreamBody('chat over gemini', {
      messages: [...messages, user('Bigger.')],
    });

    expect(pick(body, 'contents', 1, 'parts')).toEqual([
      { inlineData: { mimeType: 'image/png', data: 'iVBORw==' }, thoughtSignature: 'c2ln' },
    ]);
  });

  it.each([
    ['audio/wav', 'input_audio'],
    ['application/pdf', 'file'],
    ['image/png', 'image_url'],
  ])('%s is not taken for an image (NA)', async (mimeType, type) => {
    const contents = [turn('user', { inlineData: { mimeType, data: 'AAAA' } })];

    const body = await upstreamBody('native over openai', { contents });

    expect(pick(body, 'messages', 0, 'content', 0, 'type')).toBe(type);
  });
});

describe('tools', () => {
  it('without parameters are declared without any to Gemini', async () => {
    const body = await upstreamBody('chat over gemini', { tools: [chatTool('now')] });

    expect(pick(body, 'tools', 0, 'functionDeclarations')).toEqual([{ name: 'now' }]);
  });

  it('called with text keep the text (hermes-agent#69231)', async () => {
    const messages = [
      user('hi'),
      { role: 'assistant', content: 'Let me see.', tool_calls: [call('a', 'now', '{}')] },
      result('a', 'noon'),
    ];

    const body = await upstreamBody('chat over gemini', { messages, tools: [chatTool('now')] });

    expect(pick(body, 'contents', 1, 'parts')).toMatchObject([
      { text: 'Let me see.' },
      { functionCall: { name: 'now' } },
    ]);
  });

  it('of the provider are not silently dropped with functions (LL#23337)', async () => {
    const tools = [{ googleSearch: {}, functionDeclarations: [{ name: 'now' }] }];

    const { answer: reply } = await sent('native over anthropic', { tools });

    expect(reply.status).toBe(400);
  });

  it('`allowedFunctionNames` is never sent with mode AUTO', async () => {
    const allowed = { mode: 'auto', tools: [chatTool('now')] };
    const body = {
      tools: [chatTool('now'), chatTool('then')],
      tool_choice: { type: 'allowed_tools', allowed_tools: allowed },
    };

    const older = await upstreamBody('chat over gemini', body, {
      channel: { upstreamModel: 'gemini-2.0-flash' },
    });

    expect(pick(older, 'toolConfig', 'functionCallingConfig', 'allowedFunctionNames')).toBe(
      undefined,
    );
    expect(pick(older, 'tools', 0, 'functionDeclarations')).toEqual([{ name: 'now' }]);
  });
});

describe('calls', () => {
  it('in separate contents, as streamed by Google, are one message to OpenAI', async () => {
    const contents = [
      turn('user', { text: 'hi' }),
      turn('model', { text: 'Let me see.' }),
      turn('model', { functionCall: { name: 'now', args: {} } }),
      turn('model', { functionCall: { name: 'then', args: {} } }),
      turn(
        'user',
        { functionResponse: { name: 'now', response: { output: 'noon' } } },
        { functionResponse: { name: 'then', response: { output: 'one' } } },
      ),
    ];
    const tools = [{ functionDeclarations: [{ name: 'now' }, { name: 'then' }] }];

    const body = await upstreamBody('native over openai', { contents, tools });

    expect(pick(body, 'messages')).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Let me see.', tool_calls: [{}, {}] },
      { role: 'tool' },
      { role: 'tool' },
    ]);
  });

  it('of one name are not distinguished by name (cherry-studio#16921, token.js#36)', async () => {
    const answer = (output: string) => ({
      functionResponse: { name: 'now', response: { output } },
    });
    const contents = [
      turn('user', { text: 'hi' }),
      turn(
        'model',
        { functionCall: { name: 'now', args: { at: 'Rome' } } },
        { functionCall: { name: 'now', args: { at: 'Oslo' } } },
      ),
      turn('user', answer('noon'), answer('one')),
    ];

    const body = await upstreamBody('native over anthropic', { contents });

    expect(pick(body, 'messages', 2, 'content')).toMatchObject([
      { tool_use_id: 'call_t1p0', content: [{ text: 'noon' }] },
      { tool_use_id: 'call_t1p1', content: [{ text: 'one' }] },
    ]);
  });

  it('have the same ids in every request, so that prompt caches match', async () => {
    const history = [
      turn('user', { text: 'hi' }),
      turn('model', { functionCall: { name: 'now' } }),
    ];
    const done = turn('user', { functionResponse: { name: 'now', response: {} } });

    const first = await upstreamBody('native over openai', { contents: [...history, done] });
    const next = await upstreamBody('native over openai', {
      contents: [...history, done, turn('model', { text: 'Noon.' }), turn('user', { text: 'Ok.' })],
    });

    expect(pick(next, 'messages', 1)).toEqual(pick(first, 'messages', 1));
  });

  it.each([
    ['', {}],
    ['  ', {}],
    ['[1]', { _raw: '[1]' }],
    ['{"a":', { _raw: '{"a":' }],
  ])('with arguments %j are objects (LL#5063, omni#402, llmgateway#2468)', async (args, input) => {
    const messages = [
      user('hi'),
      { role: 'assistant', tool_calls: [call('a', 'now', args)] },
      result('a', 'noon'),
    ];

    const anthropic = await sent('chat over anthropic', { messages });
    const gemini = await sent('chat over gemini', { messages });

    expect(pick(anthropic.upstream, 'messages', 1, 'content', 0, 'input')).toEqual(input);
    expect(pick(gemini.upstream, 'contents', 1, 'parts', 0, 'functionCall', 'args')).toEqual(input);
    const isListed = anthropic.dropped.length > 0;
    expect(isListed).toBe('_raw' in input);
  });

  it('have no LiteLLM signature in their ids (LL#16895, #18374, #41534)', async () => {
    const id = 'call_1__thought__c2ln';
    const messages = [
      user('hi'),
      { role: 'assistant', tool_calls: [call(id, 'now', '{}')] },
      result(id, 'noon'),
    ];

    const anthropic = await upstreamBody('chat over anthropic', { messages });
    const gemini = await upstreamBody('chat over gemini', { messages });

    expect(JSON.stringify(anthropic)).not.toContain('c2ln');
    expect(pick(gemini, 'contents', 1, 'parts', 0)).toMatchObject({
      functionCall: { id: 'call_1' },
      thoughtSignature: 'c2ln',
    });
  });
});

describe('results', () => {
  it.each<[JsonValue, JsonObject]>([
    ['sunny', { output: 'sunny' }],
    ['[1,2]', { output: [1, 2] }],
    ['7', { output: 7 }],
    ['{"a":1}', { a: 1 }],
    ['', { output: '' }],
    [
      [
        { type: 'text', text: 'sun' },
        { type: 'text', text: 'ny' },
      ],
      { output: 'sunny' },
    ],
  ])('%j is an object for Gemini (AstrBot#7216, 9router#3318)', async (content, response) => {
    const messages = [
      user('hi'),
      { role: 'assistant', tool_calls: [call('a', 'now', '{}')] },
      result('a', content),
    ];

    const body = await upstreamBody('chat over gemini', { messages });

    expect(pick(body, 'contents', 2)).toMatchObject({
      role: 'user',
      parts: [{ functionResponse: { name: 'now', response } }],
    });
  });

  it('are as many as calls, in a separate content (gemini-cli#4217)', async () => {
    const messages = [
      user('hi'),
      { role: 'assistant', tool_calls: [call('a', 'now', '{}'), call('b', 'then', '{}')] },
      result('b', 'one'),
      user('And?'),
    ];

    const gemini = await upstreamBody('chat over gemini', { messages });
    const anthropic = await upstreamBody('chat over anthropic', { messages });

    expect(pick(gemini, 'contents')).toMatchObject([
      {},
      {},
      {
        parts: [
          { functionResponse: { name: 'now', response: { error: 'no result' } } },
          { functionResponse: { name: 'then', response: { output: 'one' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'And?' }] },
    ]);
    expect(pick(anthropic, 'messages', 2, 'content')).toMatchObject([
      { type: 'tool_result', tool_use_id: 'a' },
      { type: 'tool_result', tool_use_id: 'b' },
      { type: 'text', text: 'And?' },
    ]);
  });

  it('of one call twice: the last counts, and the first is reported', async () => {
    const messages = [
      user('hi'),
      { role: 'assistant', tool_calls: [call('a', 'now', '{}')] },
      result('a', 'noon'),
      result('a', 'one'),
    ];

    const { upstream, dropped } = await sent('chat over anthropic', { messages });

    expect(pick(upstream, 'messages', 2, 'content')).toMatchObject([
      { content: [{ text: 'one' }] },
    ]);
    expect(dropped).toEqual(['messages[2]']);
  });

  it('that failed have is_error for Anthropic', async () => {
    const contents = [
      turn('user', { text: 'hi' }),
      turn('model', { functionCall: { name: 'now' } }),
      turn('function', { functionResponse: { name: 'now', response: { error: 'no clock' } } }),
    ];

    const body = await upstreamBody('native over anthropic', { contents });

    expect(pick(body, 'messages', 2)).toMatchObject({
      role: 'user',
      content: [{ is_error: true, content: [{ text: 'no clock' }] }],
    });
  });
});
