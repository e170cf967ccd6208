// suite: quick
/** Recorded replies of OpenAI and compatible vendors, read as events. */
import { describe, expect, it } from 'vitest';
import { openaiClient } from '../../../src/dialects/openai/client/codec.ts';
import { items, type JsonValue, member } from '../../../src/json.ts';
import { documentsOf, parsed } from '../../support/codec.ts';
import { fixture } from '../../support/fixtures.ts';
import {
  callsOf,
  contentRequest,
  eventsOf,
  exchange,
  finishesOf,
  reasoningOf,
  recordings,
  target,
  textOf,
} from './client.ts';

/** The text of a recording, extracted without the codec. */
function recordedText(body: string, isStreamed: boolean): string {
  const documents = isStreamed ? documentsOf(body) : [parsed(body)];
  return documents
    .flatMap((document) => items(member(document, 'choices')))
    .map((choice) => member(member(choice, isStreamed ? 'delta' : 'message'), 'content'))
    .map((content) => (typeof content === 'string' ? content : partsText(content)))
    .join('');
}

function partsText(content: JsonValue | undefined): string {
  return items(content)
    .map((part) => member(part, 'text'))
    .filter((part) => typeof part === 'string')
    .join('');
}

describe('every recorded reply', () => {
  it.each(
    recordings.map((recording) => [recording.name, recording] as const),
  )('%s keeps its text and its calls, and ends once', (_name, recording) => {
    const body = Buffer.from(recording.response).toString();

    const events = eventsOf(recording);

    expect(textOf(events)).toBe(recordedText(body, recording.streamed));
    expect(finishesOf(events)).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('finish');
    expect(callsOf(events).length > 0).toBe(/"tool_calls"\s*:\s*\[\s*\{/.test(body));
    expect(finishesOf(events)[0]?.reason === 'tool_calls').toBe(callsOf(events).length > 0);
  });

  it.each(
    recordings.map((recording) => [recording.name, recording] as const),
  )('%s has usage that adds up', (_name, recording) => {
    const body = Buffer.from(recording.response).toString();

    const usages = eventsOf(recording).flatMap((event) =>
      event.type === 'usage' ? [event.usage] : [],
    );

    expect(usages.length > 0).toBe(/"prompt_tokens"\s*:\s*\d/.test(body));
    for (const usage of usages) {
      expect(usage.reasoningTokens ?? 0).toBeLessThanOrEqual(usage.outputTokens);
      expect(usage.cachedInputTokens ?? 0).toBeLessThanOrEqual(usage.inputTokens);
      expect(body).toMatch(
        new RegExp(`"total_tokens"\\s*:\\s*${usage.inputTokens + usage.outputTokens}\\b`),
      );
    }
  });

  it('is one of more than 40', () => {
    expect(recordings.length).toBeGreaterThan(40);
  });
});

describe('the events of a reply', () => {
  it('begin with the id and the model that the upstream sent', () => {
    const [first] = eventsOf(fixture('openai-chat/tools.1'));

    expect(first).toMatchObject({ type: 'start', model: 'gpt-5-nano-2025-08-07' });
  });

  it('have reasoning before the text, under either of its names', () => {
    const zai = eventsOf(fixture('openai-compat/zai-thinking-roundtrip.1'));
    const openrouter = eventsOf(fixture('openai-compat/openrouter-usage.1'));

    expect(reasoningOf(zai)).toMatch(/^\nThe user is asking/);
    expect(zai.findIndex(({ type }) => type === 'reasoning')).toBeLessThan(
      zai.findIndex(({ type }) => type === 'text'),
    );
    expect(reasoningOf(openrouter)).not.toBe('');
  });

  it('have reasoning once that was sent as text and as details, with its encrypted part', () => {
    const events = eventsOf(fixture('openai-compat/openrouter-reasoning-details.2'));

    expect(reasoningOf(events).match(/Structuring Voltaire/g)).toHaveLength(1);
    const hidden = events.flatMap((event) =>
      event.type === 'reasoning' ? [event.providerData] : [],
    );
    expect(hidden).toContainEqual(
      expect.objectContaining({ provider: 'openai', kind: 'encrypted' }),
    );
  });

  it("recognise Anthropic's signature on a detail", () => {
    const events = eventsOf(fixture('openai-compat/snowflake-thinking.1'));

    expect(reasoningOf(events)).toBe('Let me get the weather for Mexico City.');
    expect(events.find(({ type }) => type === 'reasoning')).toMatchObject({
      providerData: {
        provider: 'anthropic',
        kind: 'signature',
        data: expect.stringMatching(/^EvAB/),
      },
    });
  });

  it('keep reasoning inside an array of parts before the text', () => {
    const events = eventsOf(fixture('openai-compat/mistral-reasoning'));

    expect(events.map(({ type }) => type)).toEqual([
      'start',
      'reasoning',
      'text',
      'usage',
      'finish',
    ]);
    expect(textOf(events)).toBe('2 + 2 = 4');
  });

  it('give a call without an id one, and keep its signature', () => {
    const events = eventsOf(fixture('openai-compat/google-compat-tool-empty-id.1'));

    expect(callsOf(events)).toMatchObject([
      {
        id: expect.stringMatching(/^call_[A-Za-z0-9]{24}$/),
        name: 'get_current_time',
        arguments: '{}',
        providerData: { provider: 'gemini', kind: 'signature' },
      },
    ]);
  });

  it('have the arguments as they were received', () => {
    const events = eventsOf(fixture('openai-compat/crusoe-tools.1'));

    expect(callsOf(events)[0]).toMatchObject({
      call: 0,
      id: 'chatcmpl-tool-bbb91941bf76335c',
      arguments: '{"city": "Paris"}',
    });
  });

  it('number parallel calls without gaps and end each', () => {
    const events = eventsOf(fixture('openai-chat/tools-parallel.1'));

    const calls = callsOf(events);
    expect(calls.map(({ call }) => call)).toEqual(calls.map((_, position) => position));
    expect(events.filter(({ type }) => type === 'tool_end')).toHaveLength(calls.length);
  });

  it('have tool_calls as the reason for an empty finish_reason with calls', () => {
    const events = eventsOf(fixture('openai-compat/snowflake-thinking.1'));

    expect(finishesOf(events)).toMatchObject([{ choice: 0, reason: 'tool_calls' }]);
  });

  it('have a refusal whose text explains the finish', () => {
    const events = eventsOf(fixture('openai-chat/refusal-json-schema.1'));

    const refusal = "I'm very sorry, but I can't assist with that request.";
    expect(events).toContainEqual({ type: 'refusal', choice: 0, text: refusal });
    expect(finishesOf(events)).toMatchObject([
      { reason: 'content_filter', native: 'stop', message: refusal },
    ]);
  });

  it('have a length as the reason of a refusal that the limit cut', () => {
    const whole = fixture('openai-chat/refusal-json-schema.1');
    const text = Buffer.from(whole.response).toString();
    const response = Buffer.from(text.replace(/("finish_reason": ?)"stop"/, '$1"length"'));
    const events = eventsOf({ ...whole, response });

    expect(events.some(({ type }) => type === 'refusal')).toBe(true);
    expect(finishesOf(events)).toMatchObject([{ reason: 'length', message: undefined }]);
  });

  it('do not treat a choice emptied by the content filter as an error', () => {
    const events = eventsOf(fixture('openai-chat/azure-content-filter-output.1'));

    expect(events.map(({ type }) => type)).toEqual(['start', 'usage', 'finish']);
    expect(finishesOf(events)).toMatchObject([{ reason: 'content_filter' }]);
  });

  it('have the original name of a function that was renamed for the upstream', () => {
    const parameters = { type: 'object', properties: {} };
    const tool = { kind: 'function', name: 'weather.now', parameters, at: 't[0]' } as const;
    const request = contentRequest({
      tools: [{ ...tool, description: undefined, strict: undefined }],
    });
    const begun = openaiClient.begin(request, target());
    const declared = member(items(member(parsed(begun.body), 'tools'))[0] ?? null, 'function');
    const name = member(declared, 'name') ?? null;

    const events = begun.readReply({
      choices: [
        {
          message: { tool_calls: [{ id: 'a', function: { name, arguments: '{}' } }] },
          finish_reason: 'tool_calls',
        },
      ],
    });

    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(callsOf(events)).toMatchObject([{ name: 'weather.now' }]);
  });
});

describe('malformed replies', () => {
  const read = (reply: JsonValue) => exchange().readReply(reply);
  const choice = (message: JsonValue, finish: JsonValue, index: JsonValue = 0) => ({
    index,
    message,
    finish_reason: finish,
  });

  it('without choices, message or content are unusable', () => {
    const empty = { type: 'unusable', reason: 'upstream_empty_response' };

    expect(read({ choices: [] })).toEqual([empty]);
    expect(read({})).toEqual([empty]);
    expect(read('no JSON object')).toEqual([empty]);
    expect(read({ choices: [choice({ content: null }, null)] })).toEqual([empty]);
    expect(read({ choices: [choice({ content: '' }, 'other')] })).toEqual([empty]);
  });

  it('with the finish_reason error are unusable, whatever came before', () => {
    const broken = { type: 'unusable', reason: 'upstream_unusable_output' };

    expect(read({ choices: [choice({ content: '' }, 'error')] })).toEqual([broken]);
    expect(read({ choices: [choice({ content: 'Hi' }, 'error')] }).at(-1)).toEqual(broken);
  });

  it('with the finish_reason tool_calls but neither calls nor text are unusable', () => {
    const events = read({ choices: [choice({ tool_calls: [{ id: 'a' }] }, 'tool_calls')] });

    expect(events).toEqual([{ type: 'unusable', reason: 'upstream_unusable_output' }]);
  });

  it('have usage even if they are unusable, because they were billed', () => {
    const events = read({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } });

    expect(events).toMatchObject([
      { type: 'usage', usage: { inputTokens: 3, outputTokens: 4 } },
      { type: 'unusable' },
    ]);
  });

  it.each([
    ['stop', 'stop', undefined],
    ['eos', 'stop', undefined],
    ['end_turn', 'stop', undefined],
    ['length', 'length', undefined],
    ['model_length', 'length', undefined],
    ['content_filter', 'content_filter', undefined],
    ['sensitive', 'content_filter', undefined],
    ['tool_calls', 'stop', undefined],
    [null, 'stop', undefined],
    ['', 'stop', undefined],
    ['insufficient_system_resource', 'other', 'insufficient_system_resource'],
  ] as const)('%s after text is the finish %s', (reported, reason, native) => {
    const events = read({ choices: [choice({ content: 'Hi' }, reported)] });

    expect(finishesOf(events)).toMatchObject([{ reason }]);
    expect(finishesOf(events)[0]?.native).toBe(native);
  });

  it.each([
    ['stop', 'tool_calls'],
    [null, 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
  ] as const)('%s after a call is the finish %s', (reported, reason) => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };

    const events = read({ choices: [choice({ tool_calls: [call] }, reported)] });

    expect(finishesOf(events)).toMatchObject([{ reason }]);
    expect(callsOf(events)).toMatchObject([{ name: 'f', arguments: '{"a":1}' }]);
  });

  it.each([
    ['stop', '{"a":'],
    ['tool_calls', '{"a":'],
    [null, '{"a":'],
    [null, ''],
    [null, 'Paris'],
  ] as const)('%s after the cut call %j makes all choices unusable', (reported, args) => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: args } };
    const choices = [choice({ content: 'Hi' }, 'stop'), choice({ tool_calls: [call] }, reported)];

    const events = read({ choices: choices.map((one, index) => ({ ...one, index })) });

    expect(finishesOf(events)).toEqual([]);
    expect(events.at(-1)).toEqual({ type: 'unusable', reason: 'upstream_unusable_output' });
  });

  it('may have one empty choice among several', () => {
    const events = read({
      choices: [choice({ content: 'Hi' }, 'stop', 0), choice({ content: '' }, null, 1)],
    });

    expect(finishesOf(events)).toMatchObject([
      { choice: 0, reason: 'stop' },
      { choice: 1, reason: 'other' },
    ]);
  });

  it('have choices without an index, numbered by position', () => {
    const events = read({
      choices: [choice({ content: 'a' }, 'stop', null), choice({ content: 'b' }, 'stop', 'x')],
    });

    expect([textOf(events, 0), textOf(events, 1)]).toEqual(['a', 'b']);
  });

  it('with one id on two calls get a new id on the second', () => {
    const call = { id: 'a', function: { name: 'f', arguments: '{}' } };

    const [first, second] = callsOf(
      read({ choices: [choice({ tool_calls: [call, call] }, 'stop')] }),
    );

    expect(first?.id).toBe('a');
    expect(second?.id).toMatch(/^call_/);
  });

  it('may have arguments as an object, or the older function_call', () => {
    const events = read({
      choices: [
        choice(
          {
            tool_calls: [{ id: 'a', function: { name: 'f', arguments: { b: 1 } } }],
            function_call: { name: 'g', arguments: '{}' },
          },
          'stop',
        ),
      ],
    });

    expect(callsOf(events).map(({ name, arguments: json }) => [name, json])).toEqual([
      ['f', '{"b":1}'],
      ['g', '{}'],
    ]);
  });

  it('have images, audio, citations and logprobs as separate events', () => {
    const png = 'iVBORw0KGgo=';
    const events = read({
      choices: [
        {
          message: {
            content: 'Look',
            images: [
              { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
              { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            ],
            audio: { data: 'UklGRiQAAABXQVZF', transcript: 'Listen' },
            annotations: [
              {
                type: 'url_citation',
                url_citation: { url: 'https://a', start_index: 0, end_index: 4 },
              },
              { type: 'file', file: {} },
            ],
          },
          logprobs: {
            content: [
              { token: 'Look', logprob: -0.5, top_logprobs: [{ token: 'See', logprob: -2 }, 7] },
              { token: 'lost' },
            ],
          },
          finish_reason: 'stop',
        },
      ],
    });

    expect(events).toMatchObject([
      { type: 'text', text: 'Look' },
      { type: 'media', mimeType: 'image/png', data: png },
      { type: 'media_url', url: 'https://example.com/a.png' },
      { type: 'text', text: 'Listen' },
      { type: 'media', mimeType: 'audio/wav', data: 'UklGRiQAAABXQVZF' },
      { type: 'logprobs', tokens: [{ token: 'Look', top: [{ token: 'See', logprob: -2 }] }] },
      { type: 'citations', citations: [{ url: 'https://a', title: undefined, start: 0, end: 4 }] },
      { type: 'finish' },
    ]);
  });
});
