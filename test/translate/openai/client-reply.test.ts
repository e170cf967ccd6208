// suite: quick
/** Recorded replies of OpenAI and compatible vendors, read as events. */
import { describe, expect, it } from 'vitest';
import { items, type JsonValue, member } from '../../../src/json.ts';
import { documentsOf, parsed } from '../../support/codec.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import {
  callsOf,
  eventsOf,
  exchange,
  finishesOf,
  reasoningOf,
  recordings,
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

  it('do not treat a choice emptied by the content filter as an error', () => {
    const events = eventsOf(fixture('openai-chat/azure-content-filter-output.1'));

    expect(events.map(({ type }) => type)).toEqual(['start', 'usage', 'finish']);
    expect(finishesOf(events)).toMatchObject([{ reason: 'content_filter' }]);
  });
});

describe('malformed replies', () => {
  const read = (reply: JsonValue) => exchange().readReply(reply);
  const choice = (message: JsonValue, finish: JsonValue, index: JsonValue = 0) => ({
    index,
    message,
    finish_reason: finish,
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

  it('have choices without an index, numbered by position', () => {
    const events = read({
      choices: [choice({ content: 'a' }, 'stop', null), choice({ content: 'b' }, 'stop', 'x')],
    });

    expect([textOf(events, 0), textOf(events, 1)]).toEqual(['a', 'b']);
  });
});
