// suite: search
/**
 * A streamed reply begins with its first content. After any noise before that, a failure still has
 * its own status, costs nothing, and another channel is tried.
 */
import { describe, expect, it } from 'vitest';
import { dialectNames } from '../../../src/ports/models/capabilities.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import {
  gatewayInProcess,
  type InProcessGateway,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, events, type Kind, model, sampleRequests } from '../../support/models.ts';

type DialectName = Channel['dialect'];
type Streamed = Extract<Kind, 'chatStream' | 'nativeStream'>;

const empty = (delta: object): string => events({ choices: [{ index: 0, delta }] });
const part = (value: object): string => events({ candidates: [{ content: { parts: [value] } }] });

/** Events without content, common to all dialects and specific to each. */
const comments = [': PROCESSING\n\n', '\n', 'retry: 100\n\n', 'id: 7\n\n', 'event: ping\n\n'];
const noise: Readonly<Record<DialectName, readonly string[]>> = {
  openai: [
    ...comments,
    events({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
    events({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] }),
    events({ choices: [{ index: 0, delta: {}, content_filter_results: {} }] }),
    events({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 0 } }),
    events({ choices: [], usage: { prompt_tokens: 5_000, completion_tokens: 50 } }),
    empty({ content: [] }),
    empty({ content: [{ type: 'text', text: '' }] }),
    empty({ content: [{ type: 'thinking', thinking: [] }] }),
    empty({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: '' }] }] }),
    empty({ reasoning_details: [{ type: 'reasoning.text', text: '', format: 'x', index: 0 }] }),
    empty({ tool_calls: [], function_call: {}, images: [], annotations: [], audio: {} }),
    empty({ tool_calls: [{ index: 0, type: 'function', function: { arguments: '' } }] }),
  ],
  gemini: [
    ...comments,
    events({}),
    events({ modelVersion: 'g', responseId: 'r' }),
    events({ usageMetadata: { promptTokenCount: 10 } }),
    events({ usageMetadata: { promptTokenCount: 5_000, candidatesTokenCount: 50 } }),
    events({ candidates: [] }),
    events({ candidates: [{ content: { role: 'model' }, index: 0 }] }),
    events({ candidates: [{ index: 0, safetyRatings: [{ category: 'X', probability: 'LOW' }] }] }),
    part({ text: '' }),
    part({ text: '', thought: true }),
    part({ inlineData: { mimeType: 'image/png', data: '' } }),
  ],
  anthropic: [
    ...comments,
    events({ type: 'ping' }),
    events({ type: 'message_start', message: { id: 'm', usage: { input_tokens: 10 } } }),
    events({
      type: 'message_start',
      message: { id: 'm', usage: { input_tokens: 5_000, output_tokens: 50 } },
    }),
    events({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    events({ type: 'message_delta', delta: {}, usage: { output_tokens: 7 } }),
  ],
};

/** The first content of each dialect. */
const word: Readonly<Record<DialectName, string>> = {
  openai: events({ choices: [{ index: 0, delta: { content: 'Once' } }] }),
  gemini: events({ candidates: [{ content: { parts: [{ text: 'Once' }] } }] }),
  anthropic: events(
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 10, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Once' } },
  ),
};

const limited: Readonly<Record<DialectName, string>> = {
  openai: events({ error: { code: 429, message: 'slow', type: 'rate_limit_error' } }),
  gemini: events({ error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED' } }),
  anthropic: events({ type: 'error', error: { type: 'rate_limit_error', message: 'slow' } }),
};

interface Fault {
  readonly name: string;
  readonly status: number;
  readonly happens: (up: DrivenCall, dialect: DialectName) => void;
}

const faults: readonly Fault[] = [
  { name: 'a 429', status: 429, happens: (up, dialect) => up.write(limited[dialect]) },
  { name: 'its end', status: 502, happens: (up) => up.end() },
  { name: 'a reset', status: 502, happens: (up) => up.breakOff('reset') },
  {
    name: 'half a document',
    status: 502,
    happens: (up) => up.write('data: {"choices":[{"delta\n\n'),
  },
  {
    name: 'a silence',
    status: 504,
    happens: (up) => up.breakOff('idle_timeout', { timedOut: true }),
  },
];

const streamed: readonly Streamed[] = ['chatStream', 'nativeStream'];
const ways = streamed.flatMap((kind) => dialectNames.map((dialect) => ({ kind, dialect })));
/** Faults after which another channel is tried. */
const triedElsewhere = faults.filter(({ status }) => status !== 504);

/** A model for both protocols, with one channel of the dialect or more. */
function setOver(dialect: DialectName, channels = 1): InProcessGateway {
  const list = Array.from({ length: channels }, (_, at) =>
    channel({ id: `${dialect}-${at}`, dialect, priority: -at }),
  );
  return gatewayInProcess({
    models: [
      model({ channels: list }),
      model({ id: 'native', protocols: ['native'], channels: list }),
    ],
  });
}

const stream = { 'content-type': 'text/event-stream' };
const labels = ['text/event-stream', 'application/json', 'text/plain', 'text/html', undefined];
/** Text that no dialect sends, but proxies in front of an upstream do. */
const invalidText = ['lorem ipsum\n\n', '<html><body>x</body></html>\n\n'];
const documents = ['{}\n\n', '[]\n'];

/**
 * One label at a time, in turn. With four faults and two kinds each dialect meets every noise under
 * every label; `TEST_FORM=full` plays all labels each time.
 */
function labelsOf(at: number, fault: Fault, kind: Streamed): typeof labels {
  if (process.env.TEST_FORM === 'full') return labels;
  const turn = triedElsewhere.indexOf(fault) + triedElsewhere.length * streamed.indexOf(kind);
  const which = (at + turn) % labels.length;
  return labels.slice(which, which + 1);
}

/** The call to the next channel; undefined if there is none. */
async function nextOf({ upstream }: InProcessGateway): Promise<DrivenCall | undefined> {
  for (let turns = 0; turns < 50 && upstream.calls.length < 2; turns += 1) await turn();
  return upstream.calls[1];
}

describe.each(ways)('$kind over $dialect', ({ kind, dialect }) => {
  it.each(faults)('$name after any noise has its own status and costs nothing', async (fault) => {
    for (const before of [...noise[dialect], noise[dialect].join('')]) {
      for (const isCut of [false, true]) {
        const harness = setOver(dialect);
        const calling = harness.start(sampleRequests[kind]);
        const up = await harness.upstream.next();
        up.respond(200, stream);
        for (const piece of isCut ? before : [before]) up.write(piece);
        await turn();
        fault.happens(up, dialect);

        const reply = await calling.reply;
        expect([before, reply.status]).toEqual([before, fault.status]);
        expect(await harness.nextRecord()).toMatchObject({ chargeNanos: 0n });
        expect(await harness.state()).toEqual(untouched);
      }
    }
  });

  it.each(
    triedElsewhere,
  )('$name after any noise is tried elsewhere, whatever the content type', async (fault) => {
    // A document is a reply, though it is not a stream.
    const isOver = fault.name === 'its end' || fault.name === 'a reset';
    const others = isOver ? invalidText : [...invalidText, ...documents];
    for (const [at, before] of ['', ...noise[dialect], ...others].entries()) {
      for (const type of labelsOf(at, fault, kind)) {
        const harness = setOver(dialect, 2);
        const calling = harness.start(sampleRequests[kind]);
        const first = await harness.upstream.next();
        first.respond(200, type === undefined ? {} : { 'content-type': type });
        first.write(before);
        await turn();
        fault.happens(first, dialect);
        const second = await nextOf(harness);
        expect([type, before, second === undefined]).toEqual([type, before, false]);
        second?.respond(200, stream);
        second?.write(word[dialect]);

        expect(await calling.firstBytes).toContain('Once');
        calling.disconnect();
      }
    }
  });

  it('a silence after any noise is not tried on another channel', async () => {
    for (const before of noise[dialect]) {
      const harness = setOver(dialect, 2);
      const calling = harness.start(sampleRequests[kind]);
      const up = await harness.upstream.next();
      up.respond(200, stream);
      up.write(before);
      await turn();
      up.breakOff('idle_timeout', { timedOut: true });

      expect((await calling.reply).status).toBe(504);
      expect(harness.upstream.calls).toHaveLength(1);
    }
  });

  it('is sent at its first content, with the noise that belongs to its dialect', async () => {
    const harness = setOver(dialect);
    const calling = harness.start(sampleRequests[kind]);
    const up = await harness.upstream.next();
    up.respond(200, stream);
    for (const piece of noise[dialect]) up.write(piece);
    await turn();
    up.write(word[dialect]);

    const text = await calling.firstBytes;
    expect(text).toContain('Once');
    expect(text).not.toMatch(/PROCESSING|retry|^id:|event:/m);
    calling.disconnect();
  });

  it('is sent after 15 s without content, and a failure after that costs nothing', async () => {
    for (const fault of faults) {
      const harness = setOver(dialect);
      const calling = harness.start(sampleRequests[kind]);
      const up = await harness.upstream.next();
      up.respond(200, stream);
      up.write(noise[dialect].join(''));
      await turn();
      for (let second = 0; second < 15; second += 1) {
        harness.clock.advance(1_000);
        await turn();
      }
      await calling.firstBytes;
      fault.happens(up, dialect);

      const reply = await calling.reply;
      expect([fault.name, reply.status]).toEqual([fault.name, 200]);
      expect(reply.text).toMatch(/"error":/);
      expect(await harness.nextRecord()).toMatchObject({ outcome: 'unknown', chargeNanos: 0n });
      expect(await harness.state()).toEqual(untouched);
      expect(harness.eventTypes()).toContain('attempt_ended');
    }
  });
});

describe('a quiet stream', () => {
  const quiet = async (kind: Streamed) => {
    const harness = setOver(kind === 'chatStream' ? 'openai' : 'gemini');
    const calling = harness.start(sampleRequests[kind]);
    const up = await harness.upstream.next();
    up.respond(200, stream);
    return { set: harness, calling, up };
  };
  const pass = async ({ clock }: InProcessGateway, seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      await turn();
    }
  };

  it('is kept alive with comments for OpenAI’s clients', async () => {
    const { set: harness, calling, up } = await quiet('chatStream');
    await pass(harness, 46);
    up.write(word.openai);
    up.write(events('[DONE]'));
    up.end();

    expect((await calling.reply).text).toBe(
      `${': keep-alive\n\n'.repeat(3)}${word.openai}${events('[DONE]')}`,
    );
  });

  it('of Google’s clients gets line ends before its first event, and nothing else', async () => {
    const { set: harness, calling, up } = await quiet('nativeStream');
    await pass(harness, 46);
    const last = events({
      candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
    });
    up.write(last);
    up.end();

    expect((await calling.reply).text).toBe(`\r\n${last}`);
  });

  it.each([
    [15],
    [1, 16, 44],
    [0, 14, 15, 29, 60],
    [7, 8, 9, 40, 56, 57],
  ])('is also kept alive after 15 s of silence between events: %i, …', async (...seconds) => {
    const { set: harness, calling, up } = await quiet('chatStream');
    let expected = '';
    let silentSeconds = 0;
    for (let second = 0; second <= 80; second += 1) {
      if (seconds.includes(second)) {
        up.write(word.openai);
        expected += word.openai;
        silentSeconds = 0;
        await turn();
      }
      await pass(harness, 1);
      silentSeconds += 1;
      if (silentSeconds === 15) {
        expected += ': keep-alive\n\n';
        silentSeconds = 0;
      }
    }
    up.write(events('[DONE]'));
    up.end();

    expect((await calling.reply).text).toBe(`${expected}${events('[DONE]')}`);
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('an Anthropic stream', () => {
  const rest = events(
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  );

  it.each(
    streamed,
  )('ends at message_stop, whatever its connection does after it: %s', async (kind) => {
    const after: readonly ((up: DrivenCall) => void)[] = [
      () => {},
      (up) => up.breakOff('reset'),
      (up) => up.write(word.anthropic),
    ];
    for (const happens of after) {
      const harness = setOver('anthropic');
      const calling = harness.start(sampleRequests[kind]);
      const up = await harness.upstream.next();
      up.respond(200, stream);
      up.write(word.anthropic + rest);
      await turn();
      happens(up);

      expect((await calling.reply).text).not.toContain('"error"');
      expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 20n });
    }
  });
});
