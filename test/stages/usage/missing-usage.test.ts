// suite: slow
/**
 * Usage that states only the prompt or only the output, or zeros for a reply that has content, does
 * not make the missing part free: for every dialect, whole and streamed, relayed and translated.
 */
import { describe, expect, it } from 'vitest';
import { dialectNames } from '../../../src/ports/models/capabilities.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  events,
  headersOf,
  type Kind,
  model,
  sampleRequests,
} from '../../support/models.ts';

type DialectName = Channel['dialect'];
type TextKind = Exclude<Kind, 'image'>;

/** 100 bytes count 40 tokens. */
const text = 'x'.repeat(100);
const counted = 40n;
/** The estimated prompt of a call. */
const promptOf = (kind: TextKind): bigint => (kind.startsWith('chat') ? 11n : 10n);

const missing: readonly unknown[] = [undefined, null, 0, -1, 1.5, '7'];

interface Names {
  readonly input: string;
  readonly output: string;
}

const names: Readonly<Record<DialectName, Names>> = {
  openai: { input: 'prompt_tokens', output: 'completion_tokens' },
  gemini: { input: 'promptTokenCount', output: 'candidatesTokenCount' },
  anthropic: { input: 'input_tokens', output: 'output_tokens' },
};

const replies: Readonly<Record<DialectName, (usage: unknown, isStream: boolean) => string>> = {
  openai: (usage, isStream) => {
    const choice = { index: 0, finish_reason: 'stop' };
    return isStream
      ? events({ choices: [{ ...choice, delta: { content: text } }] }, { choices: [], usage })
      : JSON.stringify({ choices: [{ ...choice, message: { content: text } }], usage });
  },
  gemini: (usageMetadata, isStream) => {
    const content = { role: 'model', parts: [{ text }] };
    const reply = { candidates: [{ content, finishReason: 'STOP' }], usageMetadata };
    return isStream ? events(reply) : JSON.stringify(reply);
  },
  anthropic: (usage, isStream) =>
    isStream
      ? events(
          { type: 'message_start', message: { id: 'm', content: [] } },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
          { type: 'message_stop' },
        )
      : JSON.stringify({
          id: 'm',
          type: 'message',
          content: [{ type: 'text', text }],
          stop_reason: 'end_turn',
          usage,
        }),
};

const kinds: readonly TextKind[] = ['chat', 'chatStream', 'native', 'nativeStream'];
const ways = kinds.flatMap((kind) => dialectNames.map((dialect) => ({ kind, dialect })));

async function charged(kind: TextKind, dialect: DialectName, usage: unknown) {
  const channels = [channel({ dialect })];
  const models = [model({ channels }), model({ id: 'native', protocols: ['native'], channels })];
  const body = replies[dialect](usage, kind.endsWith('Stream'));
  const harness = gatewayInProcess({
    models,
    handlers: [(up) => up.answer(200, body, headersOf(kind))],
  });
  await harness.call(sampleRequests[kind]);
  const { chargeNanos, outcome, basis } = await harness.nextRecord();
  const anomalies = harness.events.flatMap((event) =>
    event.type === 'usage_anomaly' ? [event.reason] : [],
  );
  return { chargeNanos, outcome, basis, anomalies };
}

describe.each(ways)('$kind over $dialect', ({ kind, dialect }) => {
  const { input, output } = names[dialect];
  const ends = { outcome: 'complete', anomalies: ['missing'] };

  it('counts an output that is missing', async () => {
    for (const value of missing) {
      const record = await charged(kind, dialect, { [input]: 9, [output]: value });

      const chargeNanos = 9n + 2n * counted;
      expect([value, record]).toEqual([value, { ...ends, basis: 'counted', chargeNanos }]);
    }
  });

  it('estimates a prompt that is missing', async () => {
    for (const value of missing) {
      const record = await charged(kind, dialect, { [input]: value, [output]: 5 });

      const chargeNanos = promptOf(kind) + 2n * 5n;
      expect([value, record]).toEqual([value, { ...ends, basis: 'estimate', chargeNanos }]);
    }
  });

  it('does both where both are', async () => {
    for (const value of missing) {
      const record = await charged(kind, dialect, { [input]: value, [output]: value });

      const chargeNanos = promptOf(kind) + 2n * counted;
      expect([value, record]).toEqual([value, { ...ends, basis: 'counted', chargeNanos }]);
    }
  });

  it('takes usage that is stated unchanged', async () => {
    expect(await charged(kind, dialect, { [input]: 9, [output]: 5 })).toEqual({
      outcome: 'complete',
      basis: 'usage',
      anomalies: [],
      chargeNanos: 19n,
    });
  });
});

const blocked = ['chat', 'chatStream', 'native', 'nativeStream'] as const;

it.each(blocked)('a blocked prompt without usage costs nothing: %s', async (kind) => {
  const channels = [channel({ dialect: 'gemini' })];
  const models = [model({ channels }), model({ id: 'native', protocols: ['native'], channels })];
  for (const usage of [
    { usageMetadata: {} },
    { usageMetadata: { trafficType: 'ON_DEMAND' } },
    {},
  ]) {
    const reply = { promptFeedback: { blockReason: 'SAFETY' }, ...usage };
    const body = kind.endsWith('Stream') ? events(reply) : JSON.stringify(reply);
    const harness = gatewayInProcess({
      models,
      handlers: [(up) => up.answer(200, body, headersOf(kind))],
    });

    await harness.call(sampleRequests[kind]);

    expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 0n });
  }
});
