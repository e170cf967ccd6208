// suite: quick
/** The members of a Responses request: what is carried, acted on, left out and refused. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { readBody, requestWith } from './read.ts';
import { wholeOf } from './writer.ts';

describe('a neutral value', () => {
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

describe('instructions', () => {
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
    const { context } = readBody({ model: 'm', input: 'Hi' });

    expect(wholeOf([], context)).toMatchObject({
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
      instructions: null,
      tools: [],
    });
    expect(context).toMatchObject({ wantsSummary: false, wantsLogprobs: false, stores: true });
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

    expect(wholeOf([], context)).toMatchObject({
      ...settings,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'text' }, verbosity: 'low' },
      instructions: 'i',
      tools,
    });
    expect(context).toMatchObject({ wantsSummary: true, wantsLogprobs: true, stores: false });
  });
});
