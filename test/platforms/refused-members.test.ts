// suite: quick
/** Whatever members a request for Claude has, in any order: all that its host refuses go. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spliceMembers } from '../../src/bytes/body/splice.ts';
import {
  type ClaudeHost,
  claudeFeatures,
  messagesEdits,
} from '../../src/platforms/anthropic-betas.ts';
import { tapeOf } from '../bytes/scanned.ts';

const hosts: readonly ClaudeHost[] = ['vertex', 'bedrock', 'mantle', 'foundry', 'aws'];

/** Some of these members, in any order. */
function membersOf(
  all: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .record(all, { requiredKeys: [] })
    .chain((value) => fc.shuffledSubarray(Object.entries(value)))
    .map((entries) => Object.fromEntries(entries));
}

const value = fc.constantFrom<unknown>('x', 1, [], {});
const some = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 4 });
const cache_control = membersOf({ type: value, scope: value, ttl: value });
const toolTypes = claudeFeatures.flatMap(({ tools = [] }) => tools);
const tool = membersOf({
  name: value,
  type: fc.constantFrom('custom', ...toolTypes.map((type) => `${type}_20260101`)),
  cache_control,
  allowed_callers: value,
  input_examples: value,
});
const block = membersOf({ type: value, cache_control });
const refusedNames = claudeFeatures
  .flatMap(({ members = [] }) => members)
  .filter((path) => /^\w+$/.test(path));
const request = membersOf({
  ...Object.fromEntries(refusedNames.map((name) => [name, value])),
  cache_control,
  max_tokens: value,
  tool_choice: value,
  tools: some(tool),
  system: some(block),
  output_config: membersOf({ effort: value, task_budget: value, format: value }),
  messages: some(
    membersOf({ role: value, content: some(membersOf({ cache_control, content: some(block) })) }),
  ),
});

/** What the table says, on plain values. */
function expectedOf(body: Record<string, unknown>, host: ClaudeHost): Record<string, unknown> {
  const rest = structuredClone(body);
  const refused = claudeFeatures.filter((feature) => feature[host] === 'refused');
  for (const path of refused.flatMap(({ members = [] }) => members)) {
    removeAt(rest, path.split('.'));
  }
  const types = new Set(refused.flatMap(({ tools = [] }) => tools));
  const { tools } = rest;
  if (!Array.isArray(tools) || tools.length === 0) return rest;
  const kept = tools.filter(({ type = '' }) => !types.has(type.replace('_20260101', '')));
  if (kept.length > 0) return { ...rest, tools: kept };
  const { tools: _tools, tool_choice: _choice, ...others } = rest;
  return others;
}

function removeAt(holder: unknown, [step = '', ...steps]: readonly string[]): void {
  if (!isRecord(holder)) return;
  const name = step.replace('[]', '');
  const inner = holder[name];
  if (steps.length === 0) delete holder[name];
  else for (const one of Array.isArray(inner) ? inner : [inner]) removeAt(one, steps);
}

function isRecord(one: unknown): one is Record<string, unknown> {
  return typeof one === 'object' && one !== null;
}

describe.each(hosts)('a request for Claude on %s', (host) => {
  it('loses what is refused there, and nothing else', () =>
    fc.assert(
      fc.property(request, fc.constantFrom(undefined, 1), (body, indent) => {
        const tape = tapeOf(JSON.stringify(body, undefined, indent));
        const { edits, cuts, dropped } = messagesEdits(
          {
            ...{ tape, operation: 'content', framing: 'json', upstreamModel: 'm' },
            ...{ headers: {}, channelHeaders: {}, search: '' },
          },
          host,
        );
        const sent: unknown = JSON.parse(
          Buffer.concat([...spliceMembers(tape, edits, cuts)]).toString(),
        );

        const expected = expectedOf(body, host);
        expect(sent).toEqual(expected);
        expect(dropped.length > 0).toBe(JSON.stringify(body) !== JSON.stringify(expected));
      }),
      { numRuns: 300 },
    ));
});
