// suite: quick
/**
 * Incomplete usage: a finish that states only the prompt, reasoning without the rest of the output,
 * a sum without its parts. What was stated of the output is charged unchanged, and the rest is
 * counted: for every dialect, whole and streamed, relayed and translated.
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
const counted = 40;

interface Names {
  readonly input: string;
  readonly output: string;
  /** Google and OpenAI state a sum; Anthropic does not. */
  readonly total?: string;
  readonly reasoning: (tokens: number) => object;
}

const names: Readonly<Record<DialectName, Names>> = {
  openai: {
    input: 'prompt_tokens',
    output: 'completion_tokens',
    total: 'total_tokens',
    reasoning: (tokens) => ({ completion_tokens_details: { reasoning_tokens: tokens } }),
  },
  gemini: {
    input: 'promptTokenCount',
    output: 'candidatesTokenCount',
    total: 'totalTokenCount',
    reasoning: (tokens) => ({ thoughtsTokenCount: tokens }),
  },
  anthropic: {
    input: 'input_tokens',
    output: 'output_tokens',
    reasoning: (tokens) => ({ output_tokens_details: { thinking_tokens: tokens } }),
  },
};

/** Text, then text again with `usage` before the second; the last usage comes with the finish. */
const streams: Readonly<Record<DialectName, (early: object, last: object) => string>> = {
  openai: (early, last) =>
    events(
      { choices: [{ index: 0, delta: { content: text } }] },
      { choices: [], usage: early },
      { choices: [{ index: 0, delta: { content: text } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: last },
      '[DONE]',
    ),
  gemini: (early, last) => {
    const candidate = (text: string) => ({ content: { role: 'model', parts: [{ text }] } });
    return events(
      { candidates: [candidate(text)], usageMetadata: early },
      { candidates: [candidate(text)] },
      { candidates: [{ ...candidate(''), finishReason: 'STOP' }], usageMetadata: last },
    );
  },
  anthropic: (early, last) => {
    const delta = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    };
    return events(
      { type: 'message_start', message: { id: 'm', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      delta,
      { type: 'message_delta', delta: {}, usage: early },
      delta,
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: last },
      { type: 'message_stop' },
    );
  },
};

const wholes: Readonly<Record<DialectName, (usage: object) => object>> = {
  openai: (usage) => ({
    choices: [{ index: 0, finish_reason: 'stop', message: { content: text } }],
    usage,
  }),
  gemini: (usageMetadata) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata,
  }),
  anthropic: (usage) => ({
    id: 'm',
    type: 'message',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage,
  }),
};

async function recordOf(kind: TextKind, dialect: DialectName, body: string) {
  const channels = [channel({ dialect })];
  const contextTokens = 1_000;
  const models = [
    model({ channels, contextTokens }),
    model({ id: 'native', protocols: ['native'], channels, contextTokens }),
  ];
  const harness = gatewayInProcess({
    models,
    handlers: [(up) => up.answer(200, body, headersOf(kind))],
  });
  await harness.call(sampleRequests[kind]);
  return harness.nextRecord();
}

async function streamed(kind: TextKind, dialect: DialectName, early: object, last: object) {
  const { outcome, usage } = await recordOf(kind, dialect, streams[dialect](early, last));
  return { outcome, input: usage?.inputTokens, output: usage?.outputTokens };
}

async function whole(kind: TextKind, dialect: DialectName, stated: object) {
  const body = JSON.stringify(wholes[dialect](stated));
  const { outcome, usage } = await recordOf(kind, dialect, body);
  return { outcome, input: usage?.inputTokens, output: usage?.outputTokens };
}

const streamWays = (['chatStream', 'nativeStream'] as const).flatMap((kind) =>
  dialectNames.map((dialect) => ({ kind, dialect })),
);
const wholeWays = (['chat', 'native'] as const).flatMap((kind) =>
  dialectNames.map((dialect) => ({ kind, dialect })),
);
const noCounts: readonly unknown[] = [undefined, null, -1, 1.5, '7'];

describe.each(streamWays)('$kind over $dialect', ({ kind, dialect }) => {
  const { input, output, total, reasoning } = names[dialect];

  it('counts what arrived after a stated output that the finish does not repeat', async () => {
    for (const value of noCounts) {
      const last = { [input]: 10, [output]: value };

      expect([value, await streamed(kind, dialect, { [input]: 10, [output]: 5 }, last)]).toEqual([
        value,
        { outcome: 'complete', input: 10, output: 5 + counted },
      ]);
    }
  });

  it('counts the output if only its reasoning was stated', async () => {
    const last = { [input]: 10, ...reasoning(7) };

    expect(await streamed(kind, dialect, {}, last)).toEqual({
      outcome: 'complete',
      input: 10,
      output: 7 + 2 * counted,
    });
  });

  it.runIf(total)('takes the output from the sum if the prompt is known', async () => {
    for (const last of [{ [input]: 10, [`${total}`]: 62 }, { [`${total}`]: 62 }]) {
      const early = { [input]: 10, [output]: 5 };
      expect(await streamed(kind, dialect, early, last)).toEqual({
        outcome: 'complete',
        input: 10,
        output: 52,
      });
    }
  });

  it.runIf(total)('divides a sum without parts by what was counted', async () => {
    for (const [sum, of] of [
      [100, 2 * counted],
      [60, 59],
    ] as const) {
      expect(await streamed(kind, dialect, {}, { [`${total}`]: sum })).toEqual({
        outcome: 'complete',
        input: sum - of,
        output: of,
      });
    }
  });
});

describe.each(wholeWays)('$kind over $dialect', ({ kind, dialect }) => {
  const { input, total, reasoning } = names[dialect];

  it('counts the output if only its reasoning was stated', async () => {
    expect(await whole(kind, dialect, { [input]: 10, ...reasoning(7) })).toEqual({
      outcome: 'complete',
      input: 10,
      output: 7 + counted,
    });
  });

  it.runIf(total)('divides a sum without parts by what was counted', async () => {
    for (const [sum, of] of [
      [100, counted],
      [20, 19],
    ] as const) {
      expect(await whole(kind, dialect, { [`${total}`]: sum })).toEqual({
        outcome: 'complete',
        input: sum - of,
        output: of,
      });
    }
  });
});

describe('a native reply without stated output tokens', () => {
  const call = { functionCall: { name: 'f', args: { query: 'x'.repeat(88) } } };
  const parts: readonly (readonly [string, object, bigint])[] = [
    // The arguments are 100 bytes.
    ['a function call', call, 40n],
    ['text', { text }, 40n],
    ['a sound', { inlineData: { mimeType: 'audio/wav', data: 'A'.repeat(6_400) } }, 2n],
  ];

  it.each(parts)('counts %s', async (_name, part, tokens) => {
    const content = { role: 'model', parts: [part] };
    const usageMetadata = { promptTokenCount: 9 };
    const reply = { candidates: [{ content, finishReason: 'STOP' }], usageMetadata };
    const body = { native: JSON.stringify(reply), nativeStream: events(reply) };

    for (const kind of ['native', 'nativeStream'] as const) {
      const { outcome, basis, chargeNanos } = await recordOf(kind, 'gemini', body[kind]);

      const end = { outcome: 'complete', basis: 'counted', chargeNanos: 9n + 2n * tokens };
      expect([kind, { outcome, basis, chargeNanos }]).toEqual([kind, end]);
    }
  });
});
