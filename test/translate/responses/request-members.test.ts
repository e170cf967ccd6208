// suite: quick
/** The members of a Responses request: what is carried, acted on, left out and refused. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { readBody, refusalOf, requestWith } from './read.ts';

describe('a member that models of every provider may have', () => {
  it.each<[JsonObject, object]>([
    [{ max_output_tokens: 64 }, { maxOutputTokens: 64 }],
    [
      { temperature: 0.5, top_p: 0 },
      { temperature: 0.5, topP: 0 },
    ],
    [{ top_logprobs: 3 }, { logprobs: { top: 3 } }],
    [{ include: ['message.output_text.logprobs'] }, { logprobs: { top: undefined } }],
    [{ safety_identifier: 'id' }, { endUserId: 'id' }],
    [{ user: 'old' }, { endUserId: 'old' }],
    [{ service_tier: 'flex' }, { serviceTier: 'flex' }],
    [{ text: { verbosity: 'low' } }, { verbosity: 'low' }],
    [{ prompt_cache_key: 'k' }, { promptCacheKey: 'k' }],
    [{ text: { format: { type: 'json_object' } } }, { format: { type: 'json' } }],
    [{ text: { format: { type: 'text' } } }, { format: undefined }],
    [
      { reasoning: { effort: 'high' } },
      { reasoning: { effort: 'high', budgetTokens: undefined, includeThoughts: false } },
    ],
    [
      { reasoning: { effort: 'none' } },
      { reasoning: { effort: 'none', budgetTokens: undefined, includeThoughts: false } },
    ],
  ])('%j is carried', (members, expected) => {
    const request = requestWith(members);

    expect(request).toMatchObject(expected);
    expect(request.dropped).toEqual([]);
  });

  it('a schema is read from the format itself', () => {
    const schema = { type: 'object', properties: {} };
    const format = { type: 'json_schema', name: 'n', description: 'd', schema, strict: true };

    expect(requestWith({ text: { format } }).format).toEqual(format);
    expect(requestWith({ text: { format: { ...format, strict: null } } }).format).toEqual({
      ...format,
      strict: undefined,
    });
  });

  it.each(['auto', 'concise', 'detailed'])('a summary (%s) asks for the reasoning', (summary) => {
    for (const name of ['summary', 'generate_summary']) {
      const { request, context } = readBody({
        model: 'm',
        input: 'Hi',
        reasoning: { [name]: summary },
      });

      expect(request.reasoning).toMatchObject({ effort: undefined, includeThoughts: true });
      expect(request.dropped).toEqual([]);
      expect(context.wantsSummary).toBe(true);
    }
  });

  it('the newer name of the end user counts, and another one is listed', () => {
    const request = requestWith({ safety_identifier: 'a', user: 'b' });

    expect(request).toMatchObject({ endUserId: 'a', dropped: ['user'] });
    expect(requestWith({ safety_identifier: 'a', user: 'a' }).dropped).toEqual([]);
  });
});

describe('a member that only the gateway acts on', () => {
  it.each<JsonObject>([
    { metadata: { team: 'a' } },
    { store: false },
    { store: true },
    { client_metadata: { thread_id: 't' } },
    { include: ['reasoning.encrypted_content'] },
    { include: ['message.input_image.image_url'] },
    { include: [] },
    { stream_options: { include_obfuscation: true } },
    { max_tool_calls: 3 },
  ])('%j has no effect on the request, and is not listed', (members) => {
    expect(requestWith(members)).toEqual(requestWith({}));
  });
});

describe('a neutral value', () => {
  it.each<JsonObject>([
    { background: false },
    { truncation: 'disabled' },
    { service_tier: 'auto' },
    { service_tier: 'default' },
    { prompt_cache_options: { prewarm: false } },
    { reasoning: { context: 'current_turn', mode: 'standard' } },
    { reasoning: { context: 'auto' } },
    { tool_choice: 'auto', parallel_tool_calls: false },
    { tool_choice: 'none' },
    { text: {} },
    { reasoning: {} },
    { top_logprobs: 0 },
    { include: ['web_search_call.results', 'computer_call_output.output.image_url'] },
  ])('%j has no effect', (members) => {
    expect(requestWith(members)).toEqual(requestWith({}));
  });

  it('null has no effect, for every member', () => {
    const names = [
      ...['instructions', 'stream', 'stream_options', 'store', 'previous_response_id'],
      ...['conversation', 'background', 'include', 'max_output_tokens', 'max_tool_calls'],
      ...['temperature', 'top_p', 'top_logprobs', 'tools', 'tool_choice', 'parallel_tool_calls'],
      ...['reasoning', 'text', 'truncation', 'service_tier', 'metadata', 'prompt_cache_key'],
      ...['prompt_cache_options', 'prompt_cache_retention', 'safety_identifier', 'user'],
      ...['context_management', 'prompt', 'moderation', 'access_programs', 'image'],
      ...['client_metadata', 'some_new_member'],
    ];
    const body = Object.fromEntries(names.map((name) => [name, null]));

    expect(requestWith(body)).toEqual(requestWith({}));
    expect(
      requestWith({
        reasoning: { effort: null, summary: null, context: null, mode: null },
        text: { format: null, verbosity: null },
        prompt_cache_options: { prewarm: null, mode: null },
      }),
    ).toEqual(requestWith({}));
  });
});

describe('a member without a counterpart', () => {
  it.each<[JsonObject, readonly string[]]>([
    [{ truncation: 'auto' }, ['truncation']],
    [{ reasoning: { context: 'all_turns' } }, ['reasoning.context']],
    [{ reasoning: { mode: 'pro' } }, ['reasoning.mode']],
    [{ prompt_cache_retention: '24h' }, ['prompt_cache_retention']],
    [
      { prompt_cache_options: { mode: 'explicit', ttl: '30m' } },
      ['prompt_cache_options.mode', 'prompt_cache_options.ttl'],
    ],
    [{ context_management: [{ type: 'compaction' }] }, ['context_management']],
    [{ image: { context_compression: 'auto' } }, ['image']],
    [{ access_programs: { cyber: true } }, ['access_programs']],
    [{ seed: 1, stop: ['x'], n: 2 }, ['seed', 'stop', 'n']],
    [{ include: ['something.new'] }, ['include[0]']],
    [
      {
        include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
        tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }],
      },
      ['tools[1]', 'include[1]'],
    ],
  ])('%j is left out and listed', (members, dropped) => {
    expect(requestWith(members).dropped.toSorted()).toEqual(dropped.toSorted());
  });
});

describe('a member without which the request would mean something else', () => {
  it.each<[JsonObject, string, RegExp]>([
    [
      { previous_response_id: 'resp_1' },
      'previous_response_id',
      /^This model keeps no conversations\. Send the whole history as `input`\.$/,
    ],
    [{ conversation: 'conv_1' }, 'conversation', /whole history/],
    [{ conversation: { id: 'conv_1' } }, 'conversation', /whole history/],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt', /instructions/],
    [{ background: true }, 'background', /Leave it out/],
    [{ moderation: { model: 'm' } }, 'moderation', /moderation/],
    [{ prompt_cache_options: { prewarm: true } }, 'prompt_cache_options.prewarm', /cache/],
  ])('%j is refused', (members, param, message) => {
    const refusal = refusalOf(() => requestWith(members));

    expect(refusal).toMatchObject({ code: 'not_portable', param });
    expect(refusal.message).toMatch(message);
  });
});

describe('a member of the wrong type', () => {
  it.each<[JsonObject, string]>([
    [{ instructions: 1 }, 'instructions'],
    [{ input: 5 }, 'input'],
    [{ input: ['Hi'] }, 'input[0]'],
    [{ max_output_tokens: 1.5 }, 'max_output_tokens'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ text: 'plain' }, 'text'],
    [{ text: { format: 'json' } }, 'text.format'],
    [{ text: { format: { type: 'xml' } } }, 'text.format.type'],
    [{ reasoning: 'high' }, 'reasoning'],
    [{ reasoning: { effort: 'extreme' } }, 'reasoning.effort'],
    [{ store: 'no' }, 'store'],
    [{ tools: {} }, 'tools'],
    [{ tools: [{}] }, 'tools[0].type'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].name'],
    [{ tool_choice: 7 }, 'tool_choice'],
    [{ tool_choice: { type: 'allowed_tools', mode: 'none' } }, 'tool_choice.mode'],
    [{ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }, 'tool_choice.tools'],
    [{ prompt_cache_options: 'all' }, 'prompt_cache_options'],
    [{ service_tier: 1 }, 'service_tier'],
    [{ input: [] }, 'input'],
  ])('%j is refused by its name', (members, param) => {
    expect(refusalOf(() => requestWith(members))).toMatchObject({ code: 'invalid_request', param });
  });
});

describe('instructions', () => {
  it('come before the system and developer messages at the beginning, each a part', () => {
    const { system, turns } = requestWith({
      instructions: 'a',
      input: [
        { role: 'developer', content: 'b' },
        { type: 'additional_tools', role: 'developer', tools: [] },
        { role: 'system', content: [{ type: 'input_text', text: 'c' }] },
        { role: 'user', content: 'Hi' },
      ],
    });

    expect(system).toMatchObject([
      { text: 'a', at: 'instructions' },
      { text: 'b', at: 'input[0].content' },
      { text: 'c', at: 'input[2].content[0]' },
    ]);
    expect(turns).toMatchObject([{ role: 'user', parts: [{ text: 'Hi' }] }]);
  });

  it('alone become the message of the user', () => {
    const { system, turns } = readBody({ model: 'm', instructions: 'Write.' }).request;

    expect(system).toEqual([]);
    expect(turns).toMatchObject([{ role: 'user', parts: [{ text: 'Write.' }] }]);
  });
});

describe('an item that changes the configuration', () => {
  const update = (members: JsonObject): JsonObject => ({
    type: 'configuration_update',
    ...members,
  });

  it('the last effort and the last format count', () => {
    const { reasoning, format, names, turns, dropped } = requestWith({
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_object' } },
      input: [
        update({ reasoning: { effort: 'medium' } }),
        { role: 'user', content: 'Hi' },
        update({ reasoning: { effort: 'high' }, text: { format: { type: 'text' } } }),
        update({ reasoning: { effort: null } }),
      ],
    });

    expect(reasoning).toMatchObject({ effort: 'high', includeThoughts: true });
    expect(format).toBeUndefined();
    expect(names).toMatchObject({
      reasoning: 'input[2].reasoning.effort',
      format: 'input[2].text.format',
    });
    expect(turns).toHaveLength(1);
    expect(dropped).toEqual([]);
  });

  it('other members of it are listed', () => {
    const { dropped } = requestWith({
      input: [{ role: 'user', content: 'Hi' }, update({ tools: [{}], text: { verbosity: 'low' } })],
    });

    expect(dropped).toEqual(['input.tools', 'input.text.verbosity']);
  });
});

describe('what the reply repeats', () => {
  it('has the defaults of OpenAI where nothing is set', () => {
    expect(readBody({ model: 'm', input: 'Hi' }).context).toMatchObject({
      echo: {
        settings: {
          background: false,
          max_output_tokens: null,
          metadata: {},
          parallel_tool_calls: true,
          previous_response_id: null,
          reasoning: { effort: null, summary: null },
          temperature: null,
          text: { format: { type: 'text' } },
          tool_choice: 'auto',
          top_p: null,
          truncation: 'disabled',
        },
        prompt: { instructions: null, tools: [] },
      },
      wantsSummary: false,
      wantsLogprobs: false,
      stores: true,
    });
  });

  it('is what the caller sent, unchanged', () => {
    const tools = [{ type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'c' }] }];
    const settings = {
      max_output_tokens: 64,
      metadata: { a: 'b' },
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      safety_identifier: 's',
      temperature: 0.5,
      tool_choice: { type: 'custom', name: 'c' },
      top_p: 0.5,
      truncation: 'auto',
    };

    const { context } = readBody({
      model: 'm',
      input: 'Hi',
      instructions: 'i',
      store: false,
      include: ['message.output_text.logprobs'],
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low' },
      tools,
      ...settings,
    });

    expect(context.echo).toMatchObject({
      settings: {
        ...settings,
        reasoning: { effort: 'low', summary: 'auto' },
        text: { format: { type: 'text' }, verbosity: 'low' },
      },
      prompt: { instructions: 'i', tools },
    });
    expect(context).toMatchObject({ wantsSummary: true, wantsLogprobs: true, stores: false });
  });
});
