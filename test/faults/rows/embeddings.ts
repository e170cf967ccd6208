/**
 * F37, F40, F50 as embeddings have them: replies without vectors or with another number of them,
 * unusual usage, and a large reply that breaks off after its head.
 */

import { brokenStream, everywhere, fine, noContent } from '../classes.ts';
import { batchReply, embedContentReply, embeddingsReply } from '../embeddings-kinds.ts';
import { embeddingKinds, isNative, type Kind, protocolOf } from '../kinds.ts';
import { ends, reads, sends } from '../raw-upstream.ts';
import { answer, head } from '../responses.ts';
import type { ExpectedOfKinds, FaultRow } from './row.ts';

const kinds = embeddingKinds.filter((kind) => protocolOf(kind).name === 'embeddings');
const both: Pick<FaultRow, 'kinds' | 'mounts'> = { ...everywhere, kinds };

/** The usual reply of a kind, with these members in place of its own. */
const replyWith =
  (openai: object, google: object) =>
  (kind: Kind): string =>
    JSON.stringify(
      isNative(kind)
        ? nativeReply(kind, { ...embedContentReply, ...google })
        : { ...embeddingsReply, ...openai },
    );

function nativeReply(kind: Kind, reply: { readonly embedding?: unknown }): object {
  return kind === 'embedContent' ? reply : batchReply(reply);
}

/** A reply in one write, which callers get unchanged if it counts as one. */
const documents = (
  id: string,
  fault: string,
  text: (kind: Kind) => string,
  expected: ExpectedOfKinds,
): FaultRow => ({
  id,
  fault,
  ...both,
  upstream: (kind) => [
    reads,
    sends(answer(200, text(kind), { 'content-type': 'application/json' })),
  ],
  circumstances: { expectedBody: text },
  expected,
});

const noVectors: ExpectedOfKinds = { ...noContent, reason: 'upstream_protocol_error' };

const figures = (fault: string, usage: object, usageMetadata: object): FaultRow =>
  documents('F50', fault, replyWith(usage, usageMetadata), { ...fine, charge: 'observed' });

const vector = { object: 'embedding', index: 0, embedding: 'mpkZPs3MTL8=' };
const counts = [0, 2, 3].map(
  (count): FaultRow => ({
    ...documents(
      'F40',
      `${count} vectors of one input pass`,
      replyWith({ data: Array(count).fill(vector) }, {}),
      { ...fine, reason: 'upstream_count' },
    ),
    // A native reply to one input can't have several.
    kinds: ['embeddings'],
  }),
);

/** More than the gateway holds back of a reply. */
const large = (kind: Kind): string => {
  const numbers = Array(60_000).fill(0.15);
  return replyWith(
    { data: [{ ...vector, embedding: numbers }] },
    { embedding: { values: numbers } },
  )(kind);
};

/** The rows. */
export const rowsEmbeddings: readonly FaultRow[] = [
  documents(
    'F40',
    'vectors under no name that is known',
    replyWith({ data: undefined, vectors: [] }, { embedding: undefined, vectors: [] }),
    noVectors,
  ),
  documents(
    'F40',
    'null in place of vectors',
    replyWith({ data: null }, { embedding: null }),
    noVectors,
  ),
  ...counts,
  figures('no figures of vectors', { usage: undefined }, { usageMetadata: undefined }),
  figures(
    'figures of vectors that are no numbers',
    { usage: { prompt_tokens: 'ten', total_tokens: null } },
    { usageMetadata: { promptTokenCount: 'ten', totalTokenCount: null } },
  ),
  figures(
    'negative figures of vectors',
    { usage: { prompt_tokens: -10, total_tokens: -10 } },
    { usageMetadata: { promptTokenCount: -10, totalTokenCount: -10 } },
  ),
  {
    id: 'F37',
    fault: 'a large reply that ends without its last quarter',
    ...both,
    upstream: (kind) => {
      const text = large(kind);
      return [
        reads,
        sends(head(200, { 'content-type': 'application/json' }), text.slice(0, text.length * 0.75)),
        ends,
      ];
    },
    expected: { ...brokenStream, callerGets: 'cut' },
  },
];
