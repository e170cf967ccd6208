/**
 * Requests that Anthropic answered: each is read, and written for every other dialect, or refused
 * by name.
 */
import { describe, expect, it } from 'vitest';
import { jsonText } from '../../../src/canonical/raw-json.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { fixtures } from '../../support/fixtures.ts';
import { bodyOf, refusalOf, type Upstream, writtenFor } from '../responses/read.ts';
import { readBody } from './read.ts';

const recorded = fixtures('anthropic', 'messages').filter(({ request }) => request !== undefined);

const upstreams: readonly Upstream[] = [
  { dialect: 'openai', model: 'gpt-5.4' },
  { dialect: 'openai', model: 'deepseek-chat', own: { reasoningHistory: true } },
  { dialect: 'gemini', model: 'gemini-3-pro-preview' },
  { dialect: 'gemini', model: 'gemini-2.5-flash' },
];

/** Requests for what only Anthropic has, and the member that says so. */
const refused: Readonly<Record<string, string>> = {
  'anthropic/advisor': 'tools[0]',
  'anthropic/code-exec-container': 'tools[0]',
  'anthropic/stream-advisor': 'tools[0]',
  'anthropic/stream-code-exec': 'tools[0]',
  'messages/advisor': 'tools[0]',
  'messages/advisor-redacted': 'tools[0]',
  'messages/code-exec-container': 'tools[0]',
  'messages/code-exec-container.2': 'container',
  'messages/count-tokens-memory': 'tools[0]',
  'messages/mcp': 'mcp_servers',
  'messages/mcp-unfinished': 'mcp_servers',
  'messages/memory': 'tools[0]',
  'messages/stream-advisor': 'tools[0]',
  'messages/stream-code-exec': 'tools[0]',
  'messages/stream-pause-turn': 'tools[0]',
  'messages/stream-web-fetch': 'tools[0]',
  'messages/stream-web-search': 'tools[0]',
  'messages/tool-addition': 'messages[3].content[0]',
  'messages/tool-result-file-id': 'messages[2].content[0].content[0].source.file_id',
  'messages/web-fetch': 'tools[0]',
  'messages/web-search': 'tools[0]',
};

/** Media by URL that a dialect does not take. */
const refusedOver: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  openai: { 'messages/document-url.1': 'messages[0].content[1]' },
  gemini: { 'anthropic/image-mime.1': 'messages[0].content[1]' },
};

function expectedRefusal(name: string, { dialect }: Upstream): string | undefined {
  return refusedOver[dialect]?.[name] ?? refused[name] ?? refused[name.replace(/\.\d+$/, '')];
}

it('there are enough of them', () => {
  expect(recorded.length).toBeGreaterThan(80);
});

describe.each(
  upstreams.map((one) => [one.dialect, one.model, one] as const),
)('over %s (%s)', (_dialect, _model, upstream) => {
  it.each(recorded.map((one) => [one.name, one] as const))('%s', (name, { request }) => {
    const body = bodyOf(request);
    const run = () => writtenFor(upstream, readBody(body).request);
    const param = expectedRefusal(name, upstream);

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
