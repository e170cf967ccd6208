// suite: slow
/**
 * Tools of Responses requests that run at the provider: refused or left out, wherever they are
 * declared.
 */
import { describe, expect, it } from 'vitest';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../../src/json.ts';
import { responsesFixtures } from '../../support/recorded/responses-fixtures.ts';
import { refusal, request, responsesModel, run, search, weather } from './responses-calls.ts';

describe('a tool that runs at the provider', () => {
  const places: readonly (readonly [at: string, place: (tool: JsonValue) => JsonObject])[] = [
    ['tools[1].type', (tool) => ({ tools: [weather, tool] })],
    [
      'tools[0].tools[1].type',
      (tool) => ({ tools: [{ type: 'namespace', name: 'n', tools: [weather, tool] }] }),
    ],
    [
      'tools[0].tools[0].tools[0].type',
      (tool) => ({
        tools: [
          {
            type: 'namespace',
            name: 'n',
            tools: [{ type: 'namespace', name: 'm', tools: [tool] }],
          },
        ],
      }),
    ],
    [
      'input[1].tools[0].type',
      (tool) => ({
        input: [
          { role: 'user', content: 'hi' },
          { type: 'additional_tools', role: 'developer', tools: [tool, weather] },
        ],
      }),
    ],
    [
      'input[0].tools[1].tools[0].type',
      (tool) => ({
        input: [
          {
            type: 'additional_tools',
            role: 'developer',
            tools: [weather, { type: 'namespace', name: 'n', tools: [tool] }],
          },
        ],
      }),
    ],
    [
      'input[0].tools[0].type',
      (tool) => ({ input: [{ type: 'tool_search_output', call_id: 'c', tools: [tool] }] }),
    ],
    ['tools[0].type', (tool) => ({ tools: [tool] })],
    ['extra_body.tools[0].type', (tool) => ({ extra_body: { tools: [tool] } })],
  ];
  const guarded: readonly JsonObject[] = [
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'image_generation' },
    { type: 'mcp', server_label: 's', server_url: 'https://evil.example' },
    { type: 'mcp', server_label: 's', connector_id: 'connector_1' },
    { type: 'shell' },
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } },
    { type: 'tool_search' },
    { type: 'tool_search', execution: 'server' },
    { type: 'programmatic_tool_calling' },
  ];

  it.each(places)('is refused by name at %s', async (at, place) => {
    for (const tool of guarded) {
      const reply = await refusal(request(place(tool)));

      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.text).error).toMatchObject({ param: at });
    }
  });

  it.each(
    places,
  )('that is a search is refused where it is not an extra, at %s', async (at, place) => {
    if (at === 'tools[1].type') return;
    const reply = await refusal(request(place(search)));

    expect(JSON.parse(reply.text).error).toMatchObject({ param: at });
  });

  it.each(places)('passes at %s if the caller runs it', async (_at, place) => {
    for (const tool of [
      weather,
      { type: 'custom', name: 'apply_patch', format: { type: 'text' } },
      { type: 'tool_search', execution: 'client', parameters: {} },
      { type: 'shell', environment: { type: 'local' } },
      { type: 'local_shell' },
      { type: 'apply_patch' },
      { type: 'computer' },
      { type: 'computer_use_preview', display_width: 1, display_height: 1, environment: 'mac' },
      { type: 'namespace', name: 'n', description: 'd', tools: [weather] },
    ]) {
      const { reply } = await run(request(place(tool)), responsesModel());

      expect(reply.status, `${JSON.stringify(tool)}: ${reply.text}`).toBe(200);
    }
  });
});

it.each<[at: string, members: JsonObject]>([
  ['service_tier', { service_tier: 'ultrafast' }],
  ['service_tier', { service_tier: 'scale' }],
  ['reasoning.mode', { reasoning: { mode: 'pro' } }],
  ['context_management', { context_management: [{ type: 'compaction' }] }],
  [
    'prompt_cache_options.comparison_response_id',
    { prompt_cache_options: { comparison_response_id: 'resp_1' } },
  ],
  ['extra_body.conversation', { extra_body: { conversation: 'conv_1' } }],
  ['extra_body.prompt', { extra_body: { prompt: { id: 'pmpt_1' } } }],
  ['input[0].content[0].file_id', userFile({ type: 'input_image', file_id: 'file-1' })],
])('%s is refused by name: %j', async (at, members) => {
  const reply = await refusal(request(members));

  expect(JSON.parse(reply.text).error).toMatchObject({ param: at });
});

function userFile(part: JsonObject): JsonObject {
  return { input: [{ role: 'user', content: [part] }] };
}

it('a price of images does not cover a mask that the account stores', async () => {
  const tool = { type: 'image_generation', input_image_mask: { file_id: 'file-1' } };
  const of = responsesModel({ image_generation: { perCall: '0.00001', holdInputTokens: 1 } });

  const reply = await refusal(request({ tools: [tool] }), of);

  expect(JSON.parse(reply.text).error.param).toBe('tools[0].input_image_mask.file_id');
});

describe('a search that a client declares unasked', () => {
  it('is left out byte for byte, and listed', async () => {
    const body =
      '{"model":"chat", "input":"hi","tools":[ {"type":"function","name":"a","n":1.0} ,' +
      '{"type":"web_search","external_web_access":false},' +
      ' {"type":"custom","name":"b"}],"top_p":1.0}';

    const { reply, sent, record } = await run({ path: '/v1/responses', body }, responsesModel());

    expect(sent).toBe(
      '{"model":"chat", "input":"hi","tools":[ {"type":"function","name":"a","n":1.0} ,' +
        ' {"type":"custom","name":"b"}],"top_p":1.0}',
    );
    expect(reply.headers['x-tollgate-dropped']).toBe('tools[1]');
    expect(record.chargeNanos).toBe(20n);
  });

  it('is left out under any of its names, and several at once', async () => {
    const tools = [
      search,
      weather,
      { type: 'web_search_preview_2025_03_11' },
      { type: 'x_search' },
    ];

    const { reply, sent } = await run(
      request({ tools, tool_choice: 'required' }),
      responsesModel(),
    );

    expect(JSON.parse(sent).tools).toEqual([weather]);
    expect(reply.headers['x-tollgate-dropped']).toBe('tools[0],tools[2],tools[3]');
  });

  it.each<[what: string, members: JsonObject]>([
    ['it is the only tool', { tools: [search] }],
    ['there are only searches', { tools: [search, { type: 'web_search_preview' }] }],
    ['the tool choice names it', { tools: [weather, search], tool_choice: { type: 'web_search' } }],
    [
      'the tool choice lists it',
      {
        tools: [weather, search],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] },
      },
    ],
  ])('is refused if %s', async (_what, members) => {
    const reply = await refusal(request(members));

    expect(reply.status).toBe(400);
    expect(reply.text).toContain('searches the web for a fee');
  });

  it('is refused by a strict model', async () => {
    const of = responsesModel({}, { strict: true });

    expect((await refusal(request({ tools: [weather, search] }), of)).status).toBe(400);
  });

  it('is relayed by a free model, and by one with a price for it', async () => {
    const bounded = { perCall: '0.00001', holdInputTokens: 1 };
    for (const of of [
      responsesModel({}, { price: { per: 'free' } }),
      responsesModel({ web_search: bounded }),
    ]) {
      const { reply, sent } = await run(request({ tools: [weather, search] }), of);

      expect(JSON.parse(sent).tools).toHaveLength(2);
      expect(reply.headers['x-tollgate-dropped']).toBeUndefined();
    }
  });

  it('is kept if the tool choice is of another kind', async () => {
    for (const choice of ['none', { type: 'function', name: 'weather' }]) {
      const call = request({ tools: [weather, search], tool_choice: choice });

      expect(JSON.parse((await run(call, responsesModel())).sent).tools).toEqual([weather]);
    }
  });
});

/** What real clients send, but for the model, apart from requests that refer to stored items. */
const sentByClients = responsesFixtures('clients').flatMap(({ name, request: sent, features }) => {
  const body = parseJson(Buffer.from(sent ?? []).toString());
  const refers = features.includes('req:item_reference');
  return body !== undefined && isJsonObject(body) && !refers ? [{ name, body }] : [];
});

it.each(sentByClients)('nothing that $name sends is refused', async ({ body }) => {
  const { stream: _streamed, model: _model, ...members } = body;
  const of = responsesModel({}, { contextTokens: 100_000 });

  const { reply, sent } = await run(request(members), of);

  expect(reply.status, reply.text).toBe(200);
  const tools = items(member(body, 'tools'));
  const searches = tools.flatMap((tool, index) =>
    member(tool, 'type') === 'web_search' ? [`tools[${index}]`] : [],
  );
  expect(reply.headers['x-tollgate-dropped'] ?? '').toBe(searches.join(','));
  expect(items(member(parseJson(sent), 'tools'))).toHaveLength(tools.length - searches.length);
});
