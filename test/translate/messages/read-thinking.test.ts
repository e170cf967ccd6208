// suite: quick
/** Thinking blocks of a history: what each becomes in the common form. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reasoningEnvelope } from '../../../src/canonical/reasoning-envelopes.ts';
import {
  readRedactedThinking,
  readThinking,
} from '../../../src/dialects/anthropic/server/read-parts.ts';
import { isJsonObject } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';

const at = 'messages[1].content[0]';
const signedBy = (data: string) => ({ provider: 'gemini', kind: 'signature', data }) as const;

describe('a thinking block', () => {
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
