// suite: search
/**
 * Conversations of which little or nothing is left for an upstream: each is sent with a message, or
 * refused by the path of a member. Providers answer an empty conversation with an error of their
 * own, which names a member that the caller never sent.
 */
import { expect, it } from 'vitest';
import { type Envelope, writeEnvelope } from '../../src/canonical/envelope.ts';
import { capabilitiesOf } from '../../src/dialects/capabilities.ts';
import { dialects } from '../../src/dialects/table.ts';
import { GatewayError } from '../../src/errors.ts';
import { items, type JsonObject, type JsonValue, member } from '../../src/json.ts';
import type { Capabilities } from '../../src/ports/models/capabilities.ts';
import { isPathIn } from '../support/body-paths.ts';
import { parsed } from '../support/codec.ts';
import { clientCodecs, serverCodecs } from '../support/codecs.ts';
import { type Upstream, upstreams } from './responses/read.ts';

const providers = ['openai', 'gemini', 'anthropic', 'any', 'unknown'];
const envelopes: readonly Envelope[] = providers.flatMap((provider) =>
  (['thinking', 'redacted', 'call', 'text'] as const).flatMap((kind) =>
    ['', 'aGk='].flatMap((data) =>
      [undefined, '', 'Hm.'].map((text) => ({ provider, kind, data, text })),
    ),
  ),
);
const sealed: readonly string[] = [
  ...envelopes.map((one) => writeEnvelope(one)),
  ...['gAAAAsealed', 'Z3cyOdamaged', ''],
];
const blanks = ['', ' ', '\n\t'];

/** Each is the only content of a request. */
const contents: Readonly<Record<'responses' | 'chat' | 'native', readonly JsonObject[]>> = {
  responses: [
    ...sealed.flatMap((encrypted_content) =>
      [[], [{ type: 'summary_text', text: 'Hm.' }]].map((summary) => ({
        type: 'reasoning',
        id: 'rs_1',
        summary,
        encrypted_content,
      })),
    ),
    { type: 'reasoning', id: 'rs_tg_1', summary: [] },
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    ...blanks.flatMap((content) => [
      { role: 'user', content },
      { role: 'assistant', content },
      { role: 'developer', content },
    ]),
  ],
  chat: [
    ...sealed.map((data) => ({
      role: 'assistant',
      content: null,
      reasoning_details: [{ type: 'reasoning.encrypted', data, format: 'anthropic-claude-v1' }],
    })),
    { role: 'assistant', content: null, reasoning_content: 'Hm.' },
    { role: 'assistant', content: null, extra_content: { anthropic: { blocks: [{ type: 'x' }] } } },
    { role: 'assistant', content: null, extra_content: { google: { parts: [{ x: 1 }] } } },
    ...blanks.flatMap((content) => [
      { role: 'user', content },
      { role: 'assistant', content },
      { role: 'system', content },
    ]),
  ],
  native: [
    ...sealed.flatMap((thoughtSignature) => [
      { role: 'model', parts: [{ text: '', thoughtSignature }] },
      { role: 'model', parts: [{ text: 'Hm.', thought: true, thoughtSignature }] },
    ]),
    { role: 'model', parts: [{ text: 'Hm.', thought: true }] },
    { role: 'model', parts: [{ executableCode: { code: 'x' } }] },
    ...blanks.flatMap((text) => [
      { role: 'user', parts: [{ text }] },
      { role: 'model', parts: [{ text }] },
    ]),
  ],
};

const listOf = { responses: 'input', chat: 'messages', native: 'contents' } as const;
const lists = ['messages', 'contents'];
const flags: readonly Capabilities[] = [
  {},
  { prefill: true },
  { prefill: false, midSystem: 'lift' },
  { systemInstruction: false },
];

const cases = (['responses', 'chat', 'native'] as const).flatMap((protocol) =>
  upstreams.flatMap((upstream) => flags.map((own) => ({ protocol, upstream, own }))),
);

/** What is sent; undefined if the request was refused by a path. */
function sentOf(
  protocol: 'responses' | 'chat' | 'native',
  body: JsonObject,
  { dialect, model, own }: Upstream,
): JsonValue | undefined {
  const { content } = serverCodecs[protocol];
  if (content === undefined) throw new Error('The protocol has no codec.');
  try {
    const { request } = content.begin(body, { streamed: false });
    const { capabilities: table } = dialects[dialect];
    const exchange = clientCodecs[dialect].content.begin(request, {
      upstreamModel: model,
      capabilities: capabilitiesOf(table, model, own),
      maxOutputTokens: undefined,
      ids: () => 'made-up',
    });
    return parsed(exchange.body);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { param = '', message } = error;
    expect({ message, param, isNamed: isPathIn(body, param) }).toEqual({
      message,
      param,
      isNamed: true,
    });
    return undefined;
  }
}

it.each(cases)('$protocol over $upstream.dialect with $own', ({ protocol, upstream, own }) => {
  let refused = 0;
  for (const only of contents[protocol]) {
    const body = { model: 'm', [listOf[protocol]]: [only] };
    const sent = sentOf(protocol, body, { ...upstream, own });
    if (sent === undefined) {
      refused += 1;
      continue;
    }
    const messages = lists.flatMap((name) => items(member(sent, name)));
    expect({ only, count: messages.length > 0 }).toEqual({ only, count: true });
  }
  expect(refused).toBeGreaterThan(0);
});
