// suite: quick
/**
 * The replies of OpenAI-compatible servers of embeddings, in the shapes in which they differ: where
 * the usage stands and what it states, `index`, further members, and the format of the vectors,
 * which many choose by themselves. Callers get what they asked for, and pay what is stated.
 */
import { describe, expect, it } from 'vitest';
import {
  answering,
  asFloats,
  base64Of,
  embedGateway,
  nativeCall,
  openaiCall,
} from './embed-gateway.ts';

const vectors = [
  [0.25, -0.5, 0.125],
  [1, 0, -0.75],
] as const;
const rows = vectors.map((embedding, index) => ({ object: 'embedding', embedding, index }));
const packedRows = rows.map((row) => ({ ...row, embedding: base64Of(row.embedding) }));
const list = { object: 'list', model: 'embedder' };
const counted = { prompt_tokens: 7, total_tokens: 7 };

/** The reply, and the tokens that it states; undefined if it states none. */
const shapes: readonly (readonly [string, object, number | undefined])[] = [
  ['OpenAI', { ...list, data: packedRows, usage: counted }, 7],
  ['Ollama, Cohere and TEI: floats only', { ...list, data: rows, usage: counted }, 7],
  [
    'vLLM: an id, a time and unused counts',
    {
      ...{ id: 'embd-1', created: 1, ...list, data: rows },
      usage: { ...counted, completion_tokens: 0, prompt_tokens_details: null },
    },
    7,
  ],
  [
    'Mistral: counts of other kinds',
    {
      ...{ id: 'm1', ...list, data: rows },
      usage: { ...counted, completion_tokens: 0, prompt_audio_seconds: null, request_count: 1 },
    },
    7,
  ],
  ['Voyage: a total only', { ...list, data: rows, usage: { total_tokens: 7 } }, 7],
  [
    'Jina and llama.cpp: the usage before the vectors',
    { ...list, usage: { total_tokens: 7, prompt_tokens: 7 }, data: rows },
    7,
  ],
  ['vectors in another order', { ...list, data: [...rows].reverse(), usage: counted }, 7],
  ['no index', { ...list, data: rows.map(({ index: _index, ...row }) => row), usage: counted }, 7],
  ['nothing but vectors', { data: rows.map(({ embedding }) => ({ embedding })) }, undefined],
  ['null as usage', { ...list, data: rows, usage: null }, undefined],
  [
    'LocalAI: zeros as usage',
    { ...list, data: rows, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
    undefined,
  ],
];

interface Reading {
  readonly status: number;
  readonly text: string;
  readonly chargeNanos: bigint | undefined;
  readonly basis: string | undefined;
}

async function replyTo(
  reply: object,
  call: Parameters<typeof openaiCall>[0] | 'native',
): Promise<Reading> {
  const upstream = answering(() => ({ chunks: [JSON.stringify(reply)] }));
  const gateway = embedGateway({ dialect: 'openai', upstream });
  const requests = ['first', 'other'].map((text) => ({ content: { parts: [{ text }] } }));
  const { status, text } = await gateway.call(
    call === 'native' ? nativeCall('batchEmbedContents', { requests }) : openaiCall(call),
  );
  const [record] = gateway.records;
  return { status, text, chargeNanos: record?.chargeNanos, basis: record?.basis };
}

/** Two inputs of five letters, estimated at a quarter of a token a byte. */
const estimatedNanos = 4n;

describe.each(shapes)('%s', (_, reply, tokens) => {
  const expected = {
    chargeNanos: tokens === undefined ? estimatedNanos : BigInt(tokens),
    basis: tokens === undefined ? 'estimate' : 'usage',
  };
  const input = ['first', 'other'];

  it.each(['float', 'base64'] as const)('is relayed as %s', async (format) => {
    const { status, text, ...charge } = await replyTo(reply, { input, encoding_format: format });

    expect(status).toBe(200);
    expect(charge).toEqual(expected);
    // A relay keeps the order, which `index` states.
    const { data } = JSON.parse(text);
    for (const [position, { embedding, index = position }] of data.entries()) {
      const vector = vectors[index] ?? [];
      if (format === 'base64') expect(embedding).toBe(base64Of(vector));
      else expect(asFloats(embedding)).toEqual(asFloats(vector));
    }
  });

  it('is translated for native callers', async () => {
    const { status, text, ...charge } = await replyTo(reply, 'native');

    expect(status).toBe(200);
    expect(charge).toEqual(expected);
    const { embeddings } = JSON.parse(text);
    expect(embeddings.map(({ values }: { values: readonly number[] }) => values)).toEqual(
      vectors.map(asFloats),
    );
  });
});
