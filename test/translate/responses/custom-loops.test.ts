// suite: slow
/**
 * Calls of custom tools, over each upstream: the caller gets the text that the model wrote, and the
 * model gets its call back as it made it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { type Upstream, upstreams } from '../loop.ts';
import { habits, play } from './loop.ts';

const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: /(.|\\n)+/' };
const tools: readonly JsonObject[] = [
  { type: 'custom', name: 'patch', description: 'Edits files.', format: grammar },
  {
    type: 'namespace',
    name: 'shell',
    description: 'Runs.',
    tools: [{ type: 'custom', name: 'exec' }],
  },
  { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } },
];

/** A call by the name that the model knows. */
interface Called {
  readonly name: 'patch' | 'shell__exec';
  readonly input: string;
}

const called: fc.Arbitrary<Called> = fc.record({
  name: fc.constantFrom('patch', 'shell__exec'),
  input: fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('{"input":"a"}', '{'),
  ),
});

const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
const chatReply = (toolCalls: readonly JsonObject[]): JsonValue => ({
  id: 'chatcmpl-1',
  choices: [
    { index: 0, message: { content: null, tool_calls: toolCalls }, finish_reason: 'tool_calls' },
  ],
  usage,
});
const json = ({ input }: Called): string => JSON.stringify({ input });

const replies: readonly [string, Upstream, (calls: readonly Called[]) => JsonValue][] = [
  [
    'Anthropic',
    upstreams.anthropic,
    (calls) => ({
      type: 'message',
      content: calls.map(({ name, input }, at) => ({
        type: 'tool_use',
        id: `toolu_${at}`,
        name,
        input: { input },
      })),
      stop_reason: 'tool_use',
    }),
  ],
  [
    'Gemini',
    upstreams.gemini,
    (calls) => {
      const parts = calls.map(({ name, input }) => ({ functionCall: { name, args: { input } } }));
      return { candidates: [{ index: 0, content: { parts }, finishReason: 'STOP' }] };
    },
  ],
  [
    'a compatible server',
    upstreams.deepseek,
    (calls) =>
      chatReply(
        calls.map((call, at) => ({
          id: `call_${at}`,
          type: 'function',
          function: { name: call.name, arguments: json(call) },
        })),
      ),
  ],
  [
    'OpenAI’s chat, which has custom tools',
    upstreams.openai,
    (calls) =>
      chatReply(
        calls.map((custom, at) => ({ id: `call_${at}`, type: 'custom', custom: { ...custom } })),
      ),
  ],
];

describe('custom calls', () => {
  it.each(replies)('over %s', (_, upstream, replyOf) => {
    fc.assert(
      fc.property(
        fc.array(called, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...Object.values(habits)),
        (calls, habit) => {
          const output: JsonObject[] = [];
          const reply = { streamed: false, documents: [replyOf(calls)] };

          const { received, sent } = play(upstream, [reply], {
            settings: { tools },
            habit: (items) => {
              output.push(...items);
              return habit(items);
            },
          });

          expect(output.filter(({ type }) => type === 'custom_tool_call')).toMatchObject(
            calls.map(({ name, input }) =>
              name === 'patch' ? { name, input } : { name: 'exec', namespace: 'shell', input },
            ),
          );
          expect(sent.at(-1)).toEqual(received);
        },
      ),
      { numRuns: 100 },
    );
  });
});
