// suite: quick
/** Custom tools, which take a text in place of arguments, and `verbosity`, at each provider. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { customArguments, customInput } from '../../../src/canonical/custom-tools.ts';
import type { CustomTool, FunctionTool, ToolCallPart } from '../../../src/canonical/request.ts';
import { vendorCapabilities } from '../../../src/dialects/vendors.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { functionTool } from '../../support/codec.ts';
import { assistant, user } from '../../support/plain-request.ts';
import * as anthropic from '../anthropic/client.ts';
import * as gemini from '../gemini/client.ts';
import { pick } from '../matrix/json.ts';
import * as openai from '../openai/client.ts';

const grammar = (definition: string): JsonObject => ({
  type: 'grammar',
  syntax: 'lark',
  definition,
});
const customTool = (format?: JsonObject, description?: string): FunctionTool =>
  functionTool('patch', { description, at: 'tools[0]', custom: customOf(format) });
const customOf = (format: JsonObject | undefined): CustomTool => ({
  format,
  formatAt: 'tools[0].format',
});
const patchCall = (args: string): ToolCallPart => ({
  kind: 'tool_call',
  at: 'input[1]',
  id: 'c1',
  name: 'patch',
  arguments: args,
});
const native = { customTools: true };

describe('the arguments of a call', () => {
  it.each([
    '{"input":"a","path":"b"}',
    '{"path":"b"}',
    '{"input":1}',
    '["input"]',
    'a',
    '',
  ])('are the text themselves if they have another form: %s', (args) => {
    expect(customInput(args)).toBe(args);
  });

  it('are a text that comes back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(customInput(customArguments(text))).toBe(text);
      }),
    );
  });
});

describe('for OpenAI’s chat', () => {
  it('a custom tool keeps its kind, and its format is nested', () => {
    const written = (format?: JsonObject) =>
      openai.parametersFor({ tools: [customTool(format, 'Edits.')] }, native).tools;
    const custom = { name: 'patch', description: 'Edits.' };

    expect(written()).toEqual([{ type: 'custom', custom }]);
    expect(written({ type: 'text' })).toEqual([
      { type: 'custom', custom: { ...custom, format: { type: 'text' } } },
    ]);
    const nested = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
    for (const format of [grammar('start: "a"'), nested]) {
      expect(written(format)).toEqual([{ type: 'custom', custom: { ...custom, format: nested } }]);
      expect(openai.droppedFrom({ tools: [customTool(format)] }, native)).toEqual([]);
    }
  });

  it('its calls in the history and the tool choice are of its kind too', () => {
    const tools = [customTool(), functionTool('look')];
    const turns = [user(openai.text('Go.')), assistant(patchCall(customArguments('a\nb')))];
    const chosen = (names: readonly string[], mode: 'auto' | 'required') =>
      openai.parametersFor({ tools, toolChoice: { mode, names } }, native).tool_choice;
    const named = { type: 'custom', custom: { name: 'patch' } };

    expect(
      pick(openai.bodyOf(openai.contentRequest({ tools, turns }), native), 'messages', 1),
    ).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'patch', input: 'a\nb' } }],
    });
    expect(chosen(['patch'], 'required')).toEqual(named);
    expect(chosen(['patch', 'look'], 'auto')).toMatchObject({
      allowed_tools: { tools: [named, { type: 'function', function: { name: 'look' } }] },
    });
  });

  it('arguments of another form are handed over as they are', () => {
    const turns = [assistant(patchCall('{"patch":1}'))];

    const messages = openai.messagesOf(
      openai.contentRequest({ tools: [customTool()], turns }),
      native,
    );

    expect(pick(messages, 0, 'tool_calls', 0, 'custom', 'input')).toBe('{"patch":1}');
  });

  it('models before GPT-5 and compatible servers get a function', () => {
    const kind = (model: string, flags = {}) =>
      pick(openai.parametersFor({ tools: [customTool()] }, flags, model), 'tools', 0, 'type');

    expect(['gpt-5', 'gpt-5.6', 'unknown'].map((model) => kind(model))).toEqual([
      'custom',
      'custom',
      'custom',
    ]);
    expect(['gpt-4.1', 'o3', 'gpt-5-chat-latest'].map((model) => kind(model))).toEqual([
      'function',
      'function',
      'function',
    ]);
    expect(kind('deepseek-chat', vendorCapabilities.deepseek)).toBe('function');
  });
});

describe('elsewhere a custom tool is a function of one text', () => {
  const parameters = {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  };
  const writers: readonly [string, (tool: FunctionTool) => [JsonValue, readonly string[]]][] = [
    [
      'a compatible server',
      (tool) => {
        const declared = pick(openai.parametersFor({ tools: [tool] }), 'tools', 0, 'function');
        return [
          {
            name: 'patch',
            parameters: pick(declared, 'parameters') ?? null,
            text: textOf(declared),
          },
          openai.droppedFrom({ tools: [tool] }),
        ];
      },
    ],
    [
      'Gemini',
      (tool) => {
        const declared = pick(
          gemini.bodyOf({ tools: [tool] }),
          'tools',
          0,
          'functionDeclarations',
          0,
        );
        const schema = pick(declared, 'parametersJsonSchema') ?? null;
        return [
          { name: 'patch', parameters: schema, text: textOf(declared) },
          gemini.begin({ tools: [tool] }).dropped,
        ];
      },
    ],
    [
      'Anthropic',
      (tool) => {
        const { body, dropped } = anthropic.written({ tools: [tool] });
        const declared = pick(body, 'tools', 0);
        const schema = pick(declared, 'input_schema') ?? null;
        return [{ name: 'patch', parameters: schema, text: textOf(declared) }, dropped];
      },
    ],
  ];
  const textOf = (declared: JsonValue | undefined): JsonValue =>
    pick(declared, 'description') ?? null;

  it.each(writers)('at %s', (_, write) => {
    const rule = 'The input must follow this lark grammar:\nstart: "a"';
    const tool = (text: string | null) => ({ name: 'patch', parameters, text });

    expect(write(customTool())).toEqual([tool(null), []]);
    expect(write(customTool({ type: 'text' }, 'Edits.'))).toEqual([tool('Edits.'), []]);
    expect(write(customTool(grammar('start: "a"')))).toEqual([tool(rule), ['tools[0].format']]);
    expect(write(customTool(grammar('start: "a"'), 'Edits.'))).toEqual([
      tool(`Edits.\n\n${rule}`),
      ['tools[0].format'],
    ]);
  });

  it.each(writers)('at %s, without a grammar of more than 8 KiB', (_, write) => {
    const [fitting, listed] = write(customTool(grammar('é'.repeat(4096)), 'Edits.'));
    const [tooLong, alsoListed] = write(customTool(grammar(`${'é'.repeat(4096)}a`), 'Edits.'));

    expect(String(pick(fitting, 'text'))).toContain('é'.repeat(4096));
    expect(pick(tooLong, 'text')).toBe('Edits.');
    expect([listed, alsoListed]).toEqual([['tools[0].format'], ['tools[0].format']]);
  });
});

describe('a custom call in a reply', () => {
  const textual = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('{', '{}', ''),
  );
  const message = (input: string) => ({
    role: 'assistant',
    tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'patch', input } }],
  });
  const whole = (input: string, finish: string) =>
    openai
      .exchange()
      .readReply({ choices: [{ index: 0, message: message(input), finish_reason: finish }] });
  const streamed = (input: string, finish: string | null) => {
    const begun = message('').tool_calls.map((call) => ({ ...call, index: 0 }));
    const pieces = [...input].map((piece) => [{ index: 0, custom: { input: piece } }]);
    const deltas = [begun, ...pieces].map((calls) => ({
      choices: [{ index: 0, delta: { tool_calls: calls } }],
    }));
    const end = { choices: [{ index: 0, delta: {}, finish_reason: finish }] };
    return openai.eventsOfStream([...deltas, end]);
  };
  const reading = { numRuns: 200 };

  it('has its text as the arguments, whole or streamed', () => {
    fc.assert(
      fc.property(textual, (input) => {
        for (const events of [whole(input, 'tool_calls'), streamed(input, 'tool_calls')]) {
          const [call] = openai.callsOf(events);

          expect(call).toMatchObject({ id: 'c1', name: 'patch' });
          expect(customInput(call?.arguments ?? '')).toBe(input);
          expect(openai.finishesOf(events)).toMatchObject([{ reason: 'tool_calls' }]);
        }
      }),
      reading,
    );
  });

  it('that a limit may have cut does not look complete', () => {
    for (const events of [whole('*** Begin', 'length'), streamed('*** Begin', 'length')]) {
      const [call] = openai.callsOf(events);

      expect(call?.arguments).toBe('{"input":"*** Begin"');
      expect(openai.finishesOf(events)).toMatchObject([{ reason: 'length' }]);
    }
  });

  it('without a finish reason makes the reply incomplete', () => {
    expect(streamed('*** Begin', null)).toMatchObject([
      {},
      {},
      { type: 'unusable', reason: 'upstream_unusable_output' },
    ]);
  });
});

describe('verbosity', () => {
  it('is sent where the model has it, and listed elsewhere unless it is the usual one', () => {
    const dropped = (verbosity: string) => [
      openai.droppedFrom({ verbosity }, {}, 'gpt-4.1'),
      openai.droppedFrom({ verbosity }, vendorCapabilities.deepseek, 'deepseek-chat'),
      gemini.begin({ verbosity }).dropped,
      anthropic.written({ verbosity }).dropped,
    ];

    expect(openai.parametersFor({ verbosity: 'low' }, {}, 'gpt-5.2')).toMatchObject({
      verbosity: 'low',
    });
    expect(openai.parametersFor({ verbosity: 'low' }, {}, 'gpt-4.1')).not.toHaveProperty(
      'verbosity',
    );
    expect(dropped('low')).toEqual([['verbosity'], ['verbosity'], ['verbosity'], ['verbosity']]);
    expect(dropped('medium')).toEqual([[], [], [], []]);
  });
});
