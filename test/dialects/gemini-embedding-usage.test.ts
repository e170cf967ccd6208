// suite: quick
/** The usage of Gemini's embeddings: the tokens of each kind, however its details list them. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { geminiEmbeddingUsage } from '../../src/dialects/usage/embedding-usage.ts';

const modalities = ['TEXT', 'IMAGE', 'DOCUMENT', 'AUDIO', 'VIDEO', 'MODALITY_UNSPECIFIED'] as const;
const details = fc.array(
  fc.record({
    modality: fc.constantFrom(...modalities),
    tokenCount: fc.integer({ min: 1, max: 999 }),
  }),
  { maxLength: 8 },
);

it('the parts of each kind are added up, and pages of documents are images', () => {
  fc.assert(
    fc.property(details, fc.boolean(), (list, isVertex) => {
      const sumOf = (...kinds: readonly string[]): number =>
        list
          .filter(({ modality }) => kinds.includes(modality))
          .reduce((sum, { tokenCount }) => sum + tokenCount, 0);
      const promptTokenCount = sumOf(...modalities);
      const name = isVertex ? 'promptTokensDetails' : 'promptTokenDetails';

      const usage = geminiEmbeddingUsage({ promptTokenCount, [name]: list });

      expect(usage?.inputTokens ?? 0).toBe(promptTokenCount);
      expect(usage?.imageInputTokens ?? 0).toBe(sumOf('IMAGE', 'DOCUMENT'));
      expect(usage?.audioInputTokens ?? 0).toBe(sumOf('AUDIO'));
      expect(usage?.videoInputTokens ?? 0).toBe(sumOf('VIDEO'));
    }),
    { numRuns: 200 },
  );
});
