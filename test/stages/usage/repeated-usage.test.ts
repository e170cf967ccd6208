// suite: slow
/**
 * The usage of a complete stream is what its upstream stated with or after the finish, however
 * often it was stated before: relayed and translated alike.
 */
import { describe, expect, it } from 'vitest';
import { dialectNames } from '../../../src/ports/models/capabilities.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, events, model, sampleRequests } from '../../support/models.ts';

type DialectName = Channel['dialect'];
type Figures = readonly [input: number, output: number] | undefined;

const text = 'x'.repeat(100);

/** A stream with usage in its first event, with its text, and with its finish. */
const streams: Readonly<Record<DialectName, (figures: readonly Figures[]) => string>> = {
  openai: (figures) => {
    const [first, midst, last] = figures.map((pair) =>
      pair === undefined ? {} : { usage: { prompt_tokens: pair[0], completion_tokens: pair[1] } },
    );
    return events(
      { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }], ...first },
      { choices: [{ index: 0, delta: { content: text } }], ...midst },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...last },
      '[DONE]',
    );
  },
  gemini: (figures) => {
    const [first, midst, last] = figures.map((pair) =>
      pair === undefined
        ? {}
        : { usageMetadata: { promptTokenCount: pair[0], candidatesTokenCount: pair[1] } },
    );
    const part = (text: string) => ({ content: { role: 'model', parts: [{ text }] } });
    return events(
      { candidates: [part('a')], ...first },
      { candidates: [part(text)], ...midst },
      { candidates: [{ ...part('b'), finishReason: 'STOP' }], ...last },
    );
  },
  anthropic: (figures) => {
    const [first, midst, last] = figures.map((pair) =>
      pair === undefined ? {} : { usage: { input_tokens: pair[0], output_tokens: pair[1] } },
    );
    return events(
      { type: 'message_start', message: { id: 'm', content: [], ...first } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'message_delta', delta: {}, ...midst },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...last },
      { type: 'message_stop' },
    );
  },
};

const pool: readonly Figures[] = [undefined, [10, 5], [10, 20], [9, 20], [0, 0]];
const last: readonly Figures[] = [
  [10, 5],
  [10, 20],
  [9, 7],
];
const sequences = pool.flatMap((first) =>
  pool.flatMap((midst) => last.map((end) => [first, midst, end] as const)),
);
const ways = (['chatStream', 'nativeStream'] as const).flatMap((kind) =>
  dialectNames.map((dialect) => ({ kind, dialect })),
);

async function usageOf(kind: 'chatStream' | 'nativeStream', dialect: DialectName, body: string) {
  const channels = [channel({ dialect })];
  const models = [model({ channels }), model({ id: 'native', protocols: ['native'], channels })];
  const harness = gatewayInProcess({
    models,
    handlers: [(up) => up.answer(200, body, eventStream)],
  });
  await harness.call(sampleRequests[kind]);
  return harness.nextRecord();
}

const eventStream = { 'content-type': 'text/event-stream' };

describe.each(ways)('$kind over $dialect', ({ kind, dialect }) => {
  it('is charged for the usage that came with the finish, whatever came before', async () => {
    for (const figures of sequences) {
      const record = await usageOf(kind, dialect, streams[dialect](figures));
      const [inputTokens, outputTokens] = figures[2] ?? [];

      expect([figures, record.outcome, record.basis]).toEqual([figures, 'complete', 'usage']);
      expect([figures, record.usage]).toMatchObject([figures, { inputTokens, outputTokens }]);
    }
  });

  it('is charged for what was counted after usage that only zeros follow', async () => {
    const record = await usageOf(kind, dialect, streams[dialect]([[10, 5], undefined, [0, 0]]));

    expect(record.usage?.outputTokens).toBeGreaterThanOrEqual(5 + 40);
  });

  it.runIf(dialect === 'anthropic')('keeps input that its end repeats as zero', async () => {
    for (const midst of pool) {
      const figures: readonly Figures[] = [[10, 1], midst, [0, 20]];
      const record = await usageOf(kind, dialect, streams[dialect](figures));
      const inputTokens = midst?.[0] || 10;

      expect([midst, record.outcome, record.basis]).toEqual([midst, 'complete', 'usage']);
      expect([midst, record.usage]).toMatchObject([midst, { inputTokens, outputTokens: 20 }]);
    }
  });
});
