// suite: search
/**
 * Input items that change the settings of a Responses call may change the reasoning effort and the
 * format of the text, and nothing else. And `n`, which the API does not have.
 */
import { describe, expect, it } from 'vitest';
import { untouched } from '../../support/gateway-in-process.ts';
import { errorIn, responsesGateway } from './responses-gateway.ts';

const user = { role: 'user', content: 'hi' };

/** The members of a request, in OpenAI's types and of compatible servers, and unknown ones. */
const names = [
  ...['background', 'client_metadata', 'context_management', 'conversation', 'extra_body', 'image'],
  ...[
    'include',
    'input',
    'instructions',
    'max_output_tokens',
    'max_tool_calls',
    'metadata',
    'model',
  ],
  ...[
    'moderation',
    'n',
    'parallel_tool_calls',
    'previous_response_id',
    'prompt',
    'prompt_cache_key',
  ],
  ...[
    'prompt_cache_options',
    'prompt_cache_retention',
    'safety_identifier',
    'service_tier',
    'store',
  ],
  ...['stream', 'stream_options', 'temperature', 'tool_choice', 'tools', 'top_logprobs', 'top_p'],
  ...['truncation', 'user', 'access_programs', 'max_tokens', 'max_completion_tokens', 'best_of'],
  ...['models', 'plugins', 'provider', 'speed', 'fallbacks', 'reasoning_effort', 'thinking_budget'],
  ...['some_new_member', 'constructor', '__proto__', 'Reasoning', 'TEXT', ' reasoning', 'content'],
];
const inside = ['max_tokens', 'mode', 'model', 'context', 'some_new_member', 'Effort', 'toString'];
const values = [null, false, 0, '', 'gpt-4o', 16, true, [], {}, ['x'], { model: 'x' }];
const places = [
  ...names.map((name) => [name]),
  ...inside.flatMap((name) => [
    ['reasoning', name],
    ['text', name],
  ]),
];

/** An item with one more member, whose name may be written with an escape. */
function settingsItem([first = '', second]: readonly string[], value: unknown): string {
  const json = JSON.stringify(value);
  const member = second === undefined ? json : `{${JSON.stringify(second)}:${json}}`;
  return `{"type":"configuration_update",${JSON.stringify(first)}:${member}}`;
}

describe('an item that changes the settings', () => {
  it.each(places)('may not hold %s %s', async (...place) => {
    const path = place.filter((name) => name !== undefined);
    for (const value of values) {
      for (const index of [0, 1]) {
        const item = settingsItem(path, value);
        const input = index === 0 ? [item, JSON.stringify(user)] : [JSON.stringify(user), item];
        const gateway = responsesGateway();

        const reply = await gateway.ask({ input: JSON.parse(`[${input.join(',')}]`) });

        const at = `input[${index}].${path.join('.')}`;
        expect([reply.status, errorIn(reply).param], JSON.stringify(value)).toEqual([400, at]);
        expect([gateway.sent(), await gateway.state('k1')]).toEqual([[], untouched]);
      }
    }
  });

  it.each([
    [['x']],
    ['x'],
    [true],
    [[{ effort: 'high' }]],
  ])('may not have %j as reasoning', async (value) => {
    const item = { type: 'configuration_update', reasoning: value };

    const reply = await responsesGateway().ask({ input: [user, item] });

    expect([reply.status, errorIn(reply).param]).toEqual([400, 'input[1].reasoning']);
  });

  it('may hold what it is for', async () => {
    const gateway = responsesGateway();
    const reasoning = { effort: 'high', mode: 'standard' };
    const schema = { type: 'object', properties: { model: { type: 'string' } } };
    const format = { type: 'json_schema', name: 'a', schema };
    const item = { type: 'configuration_update', id: 'cu_1', reasoning, text: { format } };

    expect((await gateway.ask({ input: [item, user] })).status).toBe(200);
    const neutral = { type: 'configuration_update', reasoning: null, text: { format: null } };
    expect((await gateway.ask({ input: [neutral, user] })).status).toBe(200);
  });

  it('is one by its exact type only: other items have members of these names', async () => {
    const gateway = responsesGateway();
    const item = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', speed: 'x' };
    const output = { type: 'function_call_output', call_id: 'c', output: '' };

    expect((await gateway.ask({ input: [user, item, output] })).status).toBe(200);
  });
});

describe('`n` of a Responses call', () => {
  it.each([2, 50, 0, -1, 1.5, '50', true])('may not be %j', async (n) => {
    const gateway = responsesGateway();

    for (const members of [{ n }, { extra_body: { n } }]) {
      const reply = await gateway.ask(members);
      expect(reply.status).toBe(400);
      expect(errorIn(reply).param).toMatch(/^(?:extra_body\.)?n$/);
    }
    expect(gateway.sent()).toEqual([]);
  });

  it.each([1, null])('may be %j', async (n) => {
    expect((await responsesGateway().ask({ n })).status).toBe(200);
  });

  it('is held as often as the model allows it', async () => {
    const gateway = responsesGateway({ model: { maxCandidates: 4 } });
    const held = async (members: object): Promise<bigint> => {
      await gateway.ask(members);
      return gateway.records.at(-1)?.heldNanos ?? 0n;
    };

    const [one, four] = [await held({}), await held({ n: 4 })];

    // Each reply may have 100 tokens, at 2 nanos.
    expect(four - one).toBeGreaterThanOrEqual(600n);
  });
});
