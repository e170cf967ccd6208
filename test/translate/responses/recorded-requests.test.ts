// suite: quick
/**
 * Requests of real clients, and those that OpenAI answered: each is read, and written for every
 * dialect, or refused by name.
 */
import { describe, expect, it } from 'vitest';
import { jsonText } from '../../../src/canonical/raw-json.ts';
import { capabilitiesOf } from '../../../src/dialects/capabilities.ts';
import { dialects } from '../../../src/dialects/table.ts';
import { GatewayError } from '../../../src/errors.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { clientCodecs } from '../../support/codecs.ts';
import { responsesFixture, responsesFixtures } from '../../support/recorded/responses-fixtures.ts';
import { bodyOf, readBody, refusalOf, upstreams, writtenFor } from './read.ts';

/** Conversations of which only the beginning can be read, and tools that only OpenAI has. */
const refused: Readonly<Record<string, string>> = {
  'openai/background': 'background',
  'openai/background-stream': 'background',
  'openai/compact-context.4': 'input[6].type',
  'openai/compact.4': 'input[0].type',
  'openai/conversation': 'conversation',
  'openai/file-search': 'tools[0].type',
  'openai/mcp': 'tools[0].type',
  'openai/moderation-block': 'moderation',
  'openai/tool-search': 'tools[0].type',
  'openai/web-search': 'tools[0].type',
  'openai/web-search-no-external': 'tools[0].type',
  // These refer to items that an earlier reply left with the gateway.
  'clients/ai6-default.2': 'input[2]',
  'clients/ai7-default.2': 'input[2]',
  'clients/ai7-default-reasoning.2': 'input[2]',
};

const recorded = responsesFixtures('clients', 'openai', 'compat').filter(
  ({ request }) => request !== undefined,
);

function expectedRefusal(name: string): string | undefined {
  return refused[name] ?? refused[name.replace(/\.\d+$/, '')];
}

describe.each(upstreams)('over $dialect', (upstream) => {
  it.each(recorded.map((one) => [one.name, one] as const))('%s', (name, { request }) => {
    const run = () => writtenFor(upstream, readBody(bodyOf(request)).request);
    const param = expectedRefusal(name);

    if (param !== undefined) {
      expect(refusalOf(run)).toMatchObject({ code: 'not_portable', param });
    } else if (name === 'openai/compact.3' && upstream.dialect === 'anthropic') {
      expect(refusalOf(run).message).toContain('prefill');
    } else if (isForeignMedia(name, upstream.dialect)) {
      expect(refusalOf(run)).toMatchObject({ code: 'not_portable', param: 'input[3].output[0]' });
    } else {
      const sent = jsonText(run().body);
      for (const text of textsOf(bodyOf(request))) expect(sent).toContain(text);
    }
  });
});

/** The texts of all messages. */
function textsOf(body: JsonObject): readonly string[] {
  const input = member(body, 'input');
  if (typeof input === 'string') return [quotedInside(input)];
  return items(input).flatMap((item) => {
    const content = member(item, 'content') ?? '';
    const parts = typeof content === 'string' ? [content] : items(content).map(textOfPart);
    return member(item, 'type') === 'reasoning' ? [] : parts.map(quotedInside);
  });
}

function textOfPart(part: JsonValue): string {
  const text = member(part, 'text') ?? '';
  return typeof text === 'string' ? text : '';
}

function quotedInside(text: string): string {
  return jsonText(text.trim()).slice(1, -1);
}

/** Audio and documents by URL in a tool's result, which only some dialects accept. */
function isForeignMedia(name: string, dialect: string): boolean {
  if (name === 'openai/err-tool-output-audio.2') return dialect !== 'gemini';
  return name === 'openai/tool-output-pdf.2' && dialect === 'openai';
}

describe('what clients send without being asked', () => {
  const requests = [
    'agents.1',
    'ai6-default.1',
    'ai6-store-false.1',
    'ai7-default.1',
    'ai7-default-reasoning.1',
    'ai7-store-false.1',
    'codex-namespace.1',
    'codex-parallel.1',
    'langchain.1',
    'langchain-zdr.1',
  ];
  const models = [
    ['openai', 'gpt-5.4'],
    ['openai', 'gpt-4.1'],
    ['gemini', 'gemini-2.5-flash'],
    ['anthropic', 'claude-opus-4-8'],
    ['gemini', 'gemini-3-pro-preview'],
    ['anthropic', 'claude-sonnet-4-5'],
  ] as const;

  it.each(requests)('a strict model refuses nothing of %s but the web search of Codex', (name) => {
    const { request, unasked } = readBody(bodyOf(responsesFixture(`clients/${name}`).request));
    const webSearch = name.startsWith('codex') ? ['tools[8]'] : [];

    for (const [dialect, model] of models) {
      const { dropped } = writtenFor({ dialect, model }, request);
      const refusedMembers = dropped.filter((member) => !unasked.has(member));
      expect({ model, refusedMembers }).toEqual({ model, refusedMembers: webSearch });
    }
  });

  it('the web search is all that a strict model refuses of Codex for a model that it knows', () => {
    const { request, unasked } = readBody(
      bodyOf(responsesFixture('clients/codex-gpt-5.5.1').request),
    );

    expect(request.dropped.toSorted()).toEqual(['tools[8]', 'tools[9]']);
    expect(request.dropped.filter((member) => !unasked.has(member))).toEqual(['tools[9]']);
  });
});

describe('tools of Codex', () => {
  it('those in an item reach every upstream, and their names come back', () => {
    const body = bodyOf(responsesFixture('clients/codex-gpt-6-sol.1').request);
    const { request, context } = readBody(body);
    const callers = request.tools.map(({ name }) => context.tools.find(name));

    expect(callers).toContainEqual({ namespace: 'functions', name: 'exec', kind: 'custom' });
    expect(callers).toContainEqual({ namespace: 'clock', name: 'sleep', kind: 'function' });
    expect(callers).toHaveLength(11);
    for (const { dialect, model } of upstreams) {
      const exchange = clientCodecs[dialect].content.begin(request, {
        upstreamModel: model,
        capabilities: capabilitiesOf(dialects[dialect].capabilities, model, undefined),
        maxOutputTokens: undefined,
        ids: () => 'made-up',
      });
      for (const { name } of request.tools) expect(exchange.body).toContain(`"${name}"`);
    }
  });
});

it('a request that is refused says so with an error of the gateway', () => {
  for (const { request } of recorded) {
    try {
      readBody(bodyOf(request));
    } catch (error) {
      expect(error).toBeInstanceOf(GatewayError);
    }
  }
});
