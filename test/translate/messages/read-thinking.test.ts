// suite: quick
/** Thinking blocks of a history: what each becomes in the common form. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seal, writeEnvelope } from '../../../src/canonical/envelope.ts';
import {
  reasoningEnvelope,
  textEnvelope,
  unsignedEnvelope,
} from '../../../src/canonical/reasoning-envelopes.ts';
import {
  type ReadThinking,
  readRedactedThinking,
  readThinking,
} from '../../../src/dialects/anthropic/server/read-parts.ts';
import { isJsonObject, type JsonObject } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';

const at = 'messages[1].content[0]';
const read = (block: JsonObject): ReadThinking =>
  readThinking({ at, value: { type: 'thinking', ...block } });
const redacted = (data: string): ReadThinking =>
  readRedactedThinking({ at, value: { type: 'redacted_thinking', data } });
const signedBy = (data: string) => ({ provider: 'gemini', kind: 'signature', data }) as const;
const listed = 'messages.thinking';

describe('a thinking block', () => {
  it('gives back the text that was signed, from the block or from its envelope', () => {
    const part = {
      kind: 'reasoning',
      at: listed,
      providerDataAt: listed,
      providerData: signedBy('s'),
    };
    const beside = reasoningEnvelope(undefined, signedBy('s'));
    const inside = reasoningEnvelope('All of it.', signedBy('s'));

    expect(read({ thinking: 'Shown.', signature: beside }).entries).toEqual([
      { ...part, text: 'Shown.' },
    ]);
    expect(read({ thinking: '', signature: inside }).entries).toEqual([
      { ...part, text: 'All of it.' },
    ]);
    // The form of the first envelopes.
    expect(read({ thinking: 'Shown.', signature: seal(signedBy('s')) }).entries).toEqual([
      { ...part, text: 'Shown.' },
    ]);
    const first = Buffer.from('gw1:gemini:signature:s').toString('base64');
    expect(read({ thinking: 'Shown.', signature: first }).entries).toEqual([
      { ...part, text: 'Shown.' },
    ]);
  });

  it('that nobody signed is what was shown', () => {
    const shown = { kind: 'reasoning', at, displayOnly: true };

    expect(read({ thinking: 'Hm.', signature: unsignedEnvelope() }).entries).toEqual([
      { ...shown, text: 'Hm.' },
    ]);
    expect(read({ thinking: '', signature: unsignedEnvelope('Hm.') }).entries).toEqual([
      { ...shown, text: 'Hm.' },
    ]);
    expect(read({ thinking: '', signature: unsignedEnvelope() })).toEqual({
      entries: [],
      dropped: [],
    });
  });

  it('marks the call or the text that its signature belongs to', () => {
    const mark = { kind: 'signature_mark', at: listed, providerData: signedBy('s') };
    const ofCall = writeEnvelope({ provider: 'gemini', kind: 'call', data: 's', callId: 'c1' });

    expect(read({ thinking: '', signature: ofCall }).entries).toEqual([
      { ...mark, signs: 'call', callId: 'c1' },
    ]);
    expect(read({ thinking: '', signature: textEnvelope(signedBy('s')) ?? '' }).entries).toEqual([
      { ...mark, signs: 'text', callId: undefined },
    ]);
  });

  it.each([
    ['of Anthropic', 'EqQBCkYIBBgCKkBVbWl0'],
    ['with a damaged envelope', unsignedEnvelope('Hm.').slice(0, -4)],
    ['without a signature', ''],
  ])('%s is left out and listed', (_, signature) => {
    const nothing = { entries: [], dropped: [listed] };

    expect(read({ thinking: 'Hm.', signature })).toEqual(nothing);
    expect(redacted(signature)).toEqual(nothing);
  });

  it('that is redacted has only what is encrypted', () => {
    const providerData = { provider: 'openai', kind: 'encrypted', data: 'x' } as const;

    expect(redacted(reasoningEnvelope('', providerData)).entries).toEqual([
      { kind: 'reasoning', at: listed, text: '', providerData, providerDataAt: listed },
    ]);
  });

  it('of any form is read, or refused by its path', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.string().map((data) => reasoningEnvelope('t', signedBy(data))),
      fc.string().map((inside) => Buffer.from(`gw2:${inside}`).toString('base64url')),
    );
    const names = fc.constantFrom('thinking', 'signature', 'data');
    fc.assert(
      fc.property(fc.dictionary(names, value), fc.boolean(), (drawn, isRedacted) => {
        const block = parsed(JSON.stringify(drawn));
        const located = { at, value: isJsonObject(block) ? block : {} };
        try {
          const { entries, dropped } = (isRedacted ? readRedactedThinking : readThinking)(located);

          expect(entries.length + dropped.length).toBeLessThanOrEqual(2);
        } catch (error) {
          expect(error).toMatchObject({
            code: 'invalid_request',
            param: expect.stringMatching(
              /^messages\[1\]\.content\[0\]\.(thinking|signature|data)$/,
            ),
          });
        }
      }),
      { numRuns: 500 },
    );
  });
});
