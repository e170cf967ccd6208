// suite: quick
/** Whole replies of any upstream in the native format. */

import { describe, expect, it } from 'vitest';
import type { ProviderData } from '../../../src/canonical/provider-data.ts';
import type { ContentEvent, FinishReason } from '../../../src/canonical/reply.ts';
import type { ReplyHead } from '../../../src/dialects/codec.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import { writeReply } from '../../../src/dialects/gemini/server/write-reply.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { fixture } from '../../support/recorded/fixtures.ts';

const head: ReplyHead = {
  fallbackId: 'fallback-1',
  createdSeconds: 0,
  newId: () => 'id',
  modelId: 'asked-1',
  wantsUsage: true,
  framing: 'json',
};
const stop = finish('stop');

describe('the parts', () => {
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
});

describe('the other members', () => {
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
});

function write(events: readonly ContentEvent[]): JsonValue {
  const parsed = parseJson(writeReply(events, head).text);
  if (!isJsonObject(parsed)) throw new Error('The reply is no JSON object.');
  return parsed;
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
