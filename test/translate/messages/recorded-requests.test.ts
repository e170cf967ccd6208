// suite: quick
/**
 * Requests that Anthropic answered: each is read, and written for every other dialect, or refused
 * by name.
 */
import { describe, expect, it } from 'vitest';
import { jsonText } from '../../../src/canonical/raw-json.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { fixtures } from '../../support/recorded/fixtures.ts';
import { bodyOf, refusalOf, type Upstream, writtenFor } from '../responses/read.ts';
import { readBody } from './read.ts';
import { expectedRefusal } from './recorded-refusals.ts';

const recorded = fixtures('anthropic', 'messages').filter(({ request }) => request !== undefined);

const upstreams: readonly Upstream[] = [
  { dialect: 'openai', model: 'gpt-5.4' },
  { dialect: 'openai', model: 'deepseek-chat', own: { reasoningHistory: true } },
  { dialect: 'gemini', model: 'gemini-3-pro-preview' },
  { dialect: 'gemini', model: 'gemini-2.5-flash' },
];

it('the recordings are more than 80', () => {
  expect(recorded.length).toBeGreaterThan(80);
});

describe.each(
  upstreams.map((one) => [one.dialect, one.model, one] as const),
)('over %s (%s)', (_dialect, _model, upstream) => {
  it.each(recorded.map((one) => [one.name, one] as const))('%s', (name, { request }) => {
    const body = bodyOf(request);
    const run = () => writtenFor(upstream, readBody(body).request);
    const param = expectedRefusal(name, upstream.dialect);

    if (param !== undefined) {
      expect(refusalOf(run)).toMatchObject({ code: 'not_portable', param });
      return;
    }
    const sent = jsonText(run().body);
    for (const text of textsOf(body)) expect(sent).toContain(text);
  });
});

/** What was said since the last compaction, and what tools were called with and returned. */
function textsOf(body: JsonObject): readonly string[] {
  const blocks = [
    ...blocksIn(member(body, 'system')),
    ...items(member(body, 'messages')).flatMap((message) => blocksIn(member(message, 'content'))),
  ];
  const compaction = blocks.findLastIndex((block) => member(block, 'type') === 'compaction');
  return blocks
    .slice(Math.max(compaction, 0))
    .flatMap(textsOfBlock)
    .map((text) => jsonText(text).slice(1, -1));
}

function blocksIn(content: JsonValue | undefined): readonly JsonValue[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : items(content);
}

function textsOfBlock(block: JsonValue): readonly string[] {
  const content = member(block, 'content');
  switch (member(block, 'type')) {
    case 'text':
      return stringsOf(member(block, 'text'));
    case 'tool_use':
      return stringsOf(member(block, 'name'));
    case 'tool_result':
      return blocksIn(content).flatMap(textsOfBlock);
    case 'compaction':
      return stringsOf(content);
    case 'search_result':
      return [
        ...stringsOf(member(block, 'title')),
        ...stringsOf(member(block, 'source')),
        ...items(content).flatMap(textsOfBlock),
      ];
    default:
      return [];
  }
}

function stringsOf(value: JsonValue | undefined): readonly string[] {
  return typeof value === 'string' ? [value] : [];
}
