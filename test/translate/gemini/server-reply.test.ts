// suite: quick
/** Whole replies of any upstream in the native format. */

import { describe, expect, it } from 'vitest';
import { seal } from '../../../src/canonical/envelope.ts';
import type { ProviderData } from '../../../src/canonical/provider-data.ts';
import type { ContentEvent, FinishReason, ReplyUsage } from '../../../src/canonical/reply.ts';
import type { ReplyHead } from '../../../src/dialects/codec.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import { writeReply } from '../../../src/dialects/gemini/server/write-reply.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { fixture } from '../../support/fixtures.ts';

const head: ReplyHead = {
  fallbackId: 'fallback-1',
  createdSeconds: 0,
  newId: () => 'id',
  modelId: 'asked-1',
  wantsUsage: true,
  framing: 'json',
};
const figures: ReplyUsage = {
  inputTokens: 10,
  outputTokens: 8,
  cachedInputTokens: 4,
  cacheWriteTokens: undefined,
  reasoningTokens: 5,
  audioInputTokens: undefined,
  audioOutputTokens: undefined,
};
const stop = finish('stop');

describe('the parts', () => {
  it('are in the order of the events, with consecutive texts joined', () => {
    const parts = partsOf([
      { type: 'reasoning', choice: 0, text: 'h' },
      { type: 'reasoning', choice: 0, text: 'm' },
      { type: 'text', choice: 0, text: 'a\n' },
      { type: 'text', choice: 0, text: '' },
      { type: 'text', choice: 0, text: ' b' },
      ...call(0, 'f', '{}'),
      { type: 'text', choice: 0, text: 'c' },
      { type: 'media', choice: 0, mimeType: 'image/png', data: 'AAAA' },
      stop,
    ]);

    expect(parts).toEqual([
      { text: 'hm', thought: true },
      { text: 'a\n b' },
      { functionCall: { id: 'id-f', name: 'f', args: {} } },
      { text: 'c' },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
    ]);
  });

  it('have another provider’s data in place of Google’s signature', () => {
    const signature: ProviderData = { provider: 'anthropic', kind: 'signature', data: 's' };
    const hidden: ProviderData = { provider: 'anthropic', kind: 'encrypted', data: 'e' };
    const own: ProviderData = { provider: 'gemini', kind: 'signature', data: 'Z29vZ2xl' };

    const parts = partsOf([
      { type: 'reasoning', choice: 0, text: 'hm' },
      { type: 'reasoning', choice: 0, text: '', providerData: signature },
      { type: 'reasoning', choice: 0, text: '', providerData: hidden },
      { type: 'text', choice: 0, text: 'a', providerData: own },
      { type: 'text', choice: 0, text: 'b' },
      {
        type: 'tool_begin',
        choice: 0,
        call: 0,
        id: 'i',
        name: 'f',
        arguments: '',
        providerData: own,
      },
      { type: 'tool_end', choice: 0, call: 0 },
      stop,
    ]);

    expect(parts).toEqual([
      { text: 'hm', thought: true, thoughtSignature: seal(signature) },
      { text: '', thought: true, thoughtSignature: seal(hidden) },
      { text: 'a', thoughtSignature: 'Z29vZ2xl' },
      { text: 'b' },
      { functionCall: { id: 'i', name: 'f', args: {} }, thoughtSignature: 'Z29vZ2xl' },
    ]);
  });

  it('come back unchanged when the caller echoes them', () => {
    const providerData: ProviderData = { provider: 'anthropic', kind: 'signature', data: 's' };
    const reply = write([
      { type: 'reasoning', choice: 0, text: 'hm', providerData },
      { type: 'text', choice: 0, text: 'a' },
      ...call(0, 'f', '{"n":1}'),
      stop,
    ]);
    const content = member(items(member(reply, 'candidates'))[0], 'content') ?? null;

    const { turns } = geminiServer.begin({ contents: [content] }, { streamed: false }).request;

    expect(turns).toMatchObject([
      {
        role: 'assistant',
        parts: [
          { kind: 'reasoning', text: 'hm', providerData },
          { kind: 'text', text: 'a' },
          { kind: 'tool_call', id: 'id-f', name: 'f', arguments: '{"n":1}' },
        ],
      },
    ]);
  });

  it('keep every digit of a call’s arguments, and have those that are not an object', () => {
    const events = [
      ...call(0, 'f', '{"n": 12345678901234567890}'),
      ...call(1, 'g', '[1]'),
      ...call(2, 'h', ''),
      stop,
    ];

    const { text, dropped } = writeReply(events, head);

    expect(text).toContain('"args":{"n": 12345678901234567890}');
    expect(partsOf(events)).toMatchObject([
      {},
      { functionCall: { args: { _raw: '[1]' } } },
      { functionCall: { args: {} } },
    ]);
    expect(dropped).toEqual(['tool_calls.arguments']);
  });

  it('of several choices are separate, in the order of their index', () => {
    const reply = write([
      { type: 'text', choice: 1, text: 'b' },
      { type: 'text', choice: 0, text: 'a' },
      { type: 'text', choice: 1, text: 'c' },
      stop,
      { ...stop, choice: 1 },
    ]);

    expect(member(reply, 'candidates')).toMatchObject([
      { index: 0, content: { parts: [{ text: 'a' }] } },
      { index: 1, content: { parts: [{ text: 'bc' }] } },
    ]);
  });
});

describe('the finish', () => {
  it.each<[FinishReason, string]>([
    ['stop', 'STOP'],
    ['tool_calls', 'STOP'],
    ['length', 'MAX_TOKENS'],
    ['content_filter', 'SAFETY'],
    ['other', 'OTHER'],
  ])('%s is %s', (reason, word) => {
    const reply = write([{ type: 'text', choice: 0, text: 'a' }, finish(reason)]);

    expect(member(reply, 'candidates')).toEqual([
      { content: { role: 'model', parts: [{ text: 'a' }] }, index: 0, finishReason: word },
    ]);
  });

  it.each<[FinishReason, JsonValue | undefined]>([
    ['stop', { role: 'model', parts: [{ text: '' }] }],
    ['length', { role: 'model', parts: [{ text: '' }] }],
    ['content_filter', undefined],
  ])('%s of an empty reply has the content %j', (reason, content) => {
    const reply = write([finish(reason)]);

    expect(member(items(member(reply, 'candidates'))[0], 'content')).toEqual(content);
  });

  it('of a refusal is SAFETY, with its text as content and as the message', () => {
    const reply = write([
      { type: 'refusal', choice: 0, text: 'I can’t ' },
      { type: 'refusal', choice: 0, text: 'do that.' },
      stop,
    ]);

    expect(member(reply, 'candidates')).toMatchObject([
      {
        content: { parts: [{ text: 'I can’t do that.' }] },
        finishReason: 'SAFETY',
        finishMessage: 'I can’t do that.',
      },
    ]);
  });

  it('is present even if the upstream sent none', () => {
    const reply = write([{ type: 'text', choice: 0, text: 'a' }]);

    expect(member(reply, 'candidates')).toMatchObject([{ finishReason: 'OTHER' }]);
  });
});

describe('a blocked prompt', () => {
  it.each([
    ['SAFETY', 'SAFETY'],
    ['prohibited_content', 'PROHIBITED_CONTENT'],
    ['content_filter', 'SAFETY'],
    ['SOMETHING_NEW', 'OTHER'],
  ])('for %s has the reason %s and no candidates', (reason, blockReason) => {
    const reply = write([{ type: 'blocked', reason, message: 'No.' }]);

    expect(reply).toEqual({
      promptFeedback: { blockReason, blockReasonMessage: 'No.' },
      modelVersion: 'asked-1',
      responseId: 'fallback-1',
    });
  });
});

describe('the other members', () => {
  it('have the upstream’s model and id', () => {
    const reply = write([{ type: 'start', id: 'up-1', model: 'model-2' }, stop]);

    expect(reply).toMatchObject({ modelVersion: 'model-2', responseId: 'up-1' });
  });

  it('have a total that is the sum of prompt, candidates and thoughts', () => {
    expect(usageOf(figures)).toEqual({
      promptTokenCount: 10,
      candidatesTokenCount: 3,
      totalTokenCount: 18,
      thoughtsTokenCount: 5,
      cachedContentTokenCount: 4,
    });
  });

  it('have no negative count, even if the upstream’s parts exceed the total', () => {
    const usage = usageOf({ ...figures, outputTokens: 10, reasoningTokens: 11 });

    expect(usage).toMatchObject({ candidatesTokenCount: 0, totalTokenCount: 20 });
  });

  it('have no usage if the upstream sent none', () => {
    expect(write([stop])).not.toHaveProperty('usageMetadata');
  });

  it('have logprobs as in recordings of Google', () => {
    const recorded = parseJson(Buffer.from(fixture('gemini/logprobs.1').response).toString());
    const candidate = items(member(recorded, 'candidates'))[0];
    const result = member(candidate, 'logprobsResult');
    const rows = items(member(result, 'chosenCandidates'));
    const tops = items(member(result, 'topCandidates'));
    const tokens = rows.map((row, index) => ({
      ...tokenOf(row),
      top: items(member(tops[index], 'candidates')).map(tokenOf),
    }));

    const reply = write([{ type: 'logprobs', choice: 0, tokens }, stop]);

    const written = member(items(member(reply, 'candidates'))[0], 'logprobsResult');
    expect(written).toEqual(withoutIds(result ?? null));
  });

  it('have the sources of the text, and drop other providers’ data', () => {
    const citation = { url: 'https://a', title: 'A', start: 0, end: 2 };

    const { text, dropped } = writeReply(
      [
        { type: 'citations', choice: 0, citations: [citation] },
        { type: 'citations', choice: 0, citations: [{ ...citation, url: 'https://b' }] },
        { type: 'provider_specific', choice: 0, provider: 'anthropic', name: 'blocks', value: [] },
        stop,
      ],
      head,
    );

    expect(text).toContain(
      '"citationMetadata":{"citationSources":[{"uri":"https://a","title":"A"},' +
        '{"uri":"https://b","title":"A"}]}',
    );
    expect(dropped).toEqual(['annotations.start_index', 'blocks']);
  });
});

function write(events: readonly ContentEvent[]): JsonValue {
  const parsed = parseJson(writeReply(events, head).text);
  if (!isJsonObject(parsed)) throw new Error('The reply is no JSON object.');
  return parsed;
}

function partsOf(events: readonly ContentEvent[]): JsonValue | undefined {
  return member(member(items(member(write(events), 'candidates'))[0], 'content'), 'parts');
}

function usageOf(usage: ReplyUsage): JsonValue | undefined {
  return member(write([{ type: 'usage', usage }, stop]), 'usageMetadata');
}

function finish(reason: FinishReason): Extract<ContentEvent, { readonly type: 'finish' }> {
  return { type: 'finish', choice: 0, reason };
}

function call(number: number, name: string, text: string): readonly ContentEvent[] {
  return [
    { type: 'tool_begin', choice: 0, call: number, id: `id-${name}`, name, arguments: '' },
    { type: 'tool_arguments', choice: 0, call: number, text },
    { type: 'tool_end', choice: 0, call: number },
  ];
}

function tokenOf(row: JsonValue): { readonly token: string; readonly logprob: number } {
  return { token: String(member(row, 'token')), logprob: Number(member(row, 'logProbability')) };
}

/** Other dialects don't carry the ids of tokens. */
function withoutIds(value: JsonValue): unknown {
  return JSON.parse(JSON.stringify(value), (name, one) => (name === 'tokenId' ? undefined : one));
}
