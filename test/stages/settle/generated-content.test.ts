// suite: slow
/**
 * Where an upstream reports no usage, everything that a model generated is charged by its bytes,
 * in members that the gateway knows and in members that it does not; framing costs nothing.
 */
import { describe, expect, it } from 'vitest';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { channel, events, headersOf, model, sampleRequests } from '../../support/models.ts';

type Plant = (value: string) => Readonly<Record<string, unknown>>;
type Plants = Readonly<Record<string, Plant>>;

const tool = (members: object) => ({ tool_calls: [{ index: 0, id: 'c', ...members }] });
/** The members of a chat message or delta. */
const chatPlants: Plants = {
  content: (value) => ({ content: value }),
  'content parts': (text) => ({ content: [{ type: 'text', text }] }),
  'an unknown part': (value) => ({ content: [{ type: 'new', planted: value }] }),
  refusal: (refusal) => ({ refusal }),
  reasoning_content: (value) => ({ reasoning_content: value }),
  reasoning: (reasoning) => ({ reasoning }),
  reasoning_details: (text) => ({ reasoning_details: [{ type: 'reasoning.text', text }] }),
  reasoning_text: (value) => ({ reasoning_text: value }),
  'reasoning in four members': (text) => ({
    reasoning: text,
    reasoning_content: text,
    reasoning_details: [{ type: 'reasoning.text', text }],
    thinking_blocks: [{ type: 'thinking', thinking: text, signature: 'c2ln'.repeat(99) }],
  }),
  thinking: (thinking) => ({ thinking }),
  thinking_blocks: (thinking) => ({ thinking_blocks: [{ type: 'thinking', thinking }] }),
  output_text: (value) => ({ output_text: value }),
  arguments: (value) => tool({ type: 'function', function: { name: 'f', arguments: value } }),
  'the input of a custom tool': (input) => tool({ type: 'custom', custom: { name: 'f', input } }),
  'an unknown tool': (value) => tool({ type: 'new', new: { planted: value } }),
  'an unknown member of a tool call': (planted) => tool({ planted }),
  function_call: (value) => ({ function_call: { name: 'f', arguments: value } }),
  'a transcript': (transcript) => ({ audio: { id: 'a', transcript } }),
  'an unknown member': (planted) => ({ planted }),
  'an unknown member beside text': (planted) => ({ content: '', planted: [{ deep: [planted] }] }),
};

/** The members of a native part. */
const nativePlants: Plants = {
  text: (text) => ({ text }),
  thoughts: (text) => ({ text, thought: true }),
  code: (code) => ({ executableCode: { language: 'PYTHON', code } }),
  'output of code': (output) => ({ codeExecutionResult: { outcome: 'OUTCOME_OK', output } }),
  partialArgs: (stringValue) => ({
    functionCall: { name: 'f', partialArgs: [{ jsonPath: '$.a', stringValue }] },
  }),
  toolCall: (planted) => ({ toolCall: { toolType: 'NEW', planted } }),
  functionResponse: (planted) => ({ functionResponse: { name: 'f', planted } }),
  'an unknown part': (planted) => ({ planted }),
  'an unknown member beside text': (planted) => ({ text: '', planted: [{ deep: [planted] }] }),
};

const pieces = 3;
const piece = (at: number): string => String(at).repeat(100);
const everything = [0, 1, 2].map(piece).join('');
/** 300 bytes count 120 tokens, at 2 nanos each. */
const charge = 240n;
const chatPrompt = 11n;
const nativePrompt = 10n;

interface Way {
  readonly ask: typeof sampleRequests.chat;
  readonly plants: Plants;
  readonly prompt: bigint;
  readonly type: string;
  /** The reply without its end, in pieces of any size. */
  readonly begin: (plant: Plant) => readonly string[];
  readonly finish: string;
}

const choice = { index: 0, finish_reason: null };
const chunk = (delta: object) => events({ choices: [{ ...choice, delta }] });
const candidate = (part: object) => ({ candidates: [{ content: { parts: [part] }, index: 0 }] });
const each = (write: (value: string, at: number) => string): readonly string[] =>
  Array.from({ length: pieces }, (_, at) => write(piece(at), at));
const streamOf = headersOf('nativeStream')['content-type'] ?? '';
const geminiEnd = { candidates: [{ content: {}, finishReason: 'STOP', index: 0 }] };

const ways: Readonly<Record<string, Way>> = {
  chat: {
    ask: sampleRequests.chat,
    plants: chatPlants,
    prompt: chatPrompt,
    type: 'application/json',
    begin: (plant) => [
      JSON.stringify({ choices: [{ ...choice, message: plant(everything) }] }).slice(0, -1),
    ],
    finish: '}',
  },
  'chat stream': {
    ask: sampleRequests.chatStream,
    plants: chatPlants,
    prompt: chatPrompt,
    type: streamOf,
    begin: (plant) => each((value) => chunk(plant(value))),
    finish: events({ choices: [{ ...choice, delta: {}, finish_reason: 'stop' }] }, '[DONE]'),
  },
  native: {
    ask: sampleRequests.native,
    plants: nativePlants,
    prompt: nativePrompt,
    type: 'application/json',
    begin: (plant) => [JSON.stringify(candidate(plant(everything))).slice(0, -1)],
    finish: '}',
  },
  'native stream': {
    ask: sampleRequests.nativeStream,
    plants: nativePlants,
    prompt: nativePrompt,
    type: streamOf,
    begin: (plant) => each((value) => events(candidate(plant(value)))),
    finish: events(geminiEnd),
  },
  'native array': {
    ask: { ...sampleRequests.nativeStream, search: '' },
    plants: nativePlants,
    prompt: nativePrompt,
    type: 'application/json',
    begin: (plant) =>
      each((value, at) => `${at === 0 ? '[' : ','}${JSON.stringify(candidate(plant(value)))}`),
    finish: `,${JSON.stringify(geminiEnd)}]`,
  },
};

function harnessOf(): InProcessGateway {
  const size = { maxOutputTokens: 10_000 };
  const channels = [channel({ id: 'gemini-a', dialect: 'gemini' })];
  const models = [model(size), model({ ...size, id: 'native', protocols: ['native'], channels })];
  return gatewayInProcess({ models });
}

type End = (up: DrivenCall, way: Way, disconnect: () => void) => void;
const ends: Readonly<Record<string, End>> = {
  finishes: (up, { finish }) => {
    up.write(finish);
    up.end();
  },
  'breaks off': (up) => up.breakOff('reset'),
  'loses its caller': (up, _, disconnect) => {
    disconnect();
    up.breakOff('reset');
  },
};

async function recordOf(way: Way, plant: Plant, end: End): Promise<UsageRecord> {
  const harness = harnessOf();
  const calling = harness.start(way.ask);
  const up = await harness.upstream.next();
  up.respond(200, { 'content-type': way.type });
  for (const text of way.begin(plant)) up.write(text);
  if (way.type === streamOf) await calling.firstBytes;
  end(up, way, calling.disconnect);
  return harness.nextRecord();
}

const cases = Object.entries(ways).flatMap(([name, way]) =>
  Object.entries(ends)
    .filter(([end]) => name.includes('stream') || end === 'finishes')
    .map(([end, happens]) => ({ name, end, way, happens })),
);

describe.each(cases)('a $name that $end without usage', ({ way, happens }) => {
  it('is charged every byte that was generated, wherever it is', async () => {
    for (const [place, plant] of Object.entries(way.plants)) {
      const { chargeNanos } = await recordOf(way, plant, happens);
      expect([place, chargeNanos]).toEqual([place, way.prompt + charge]);
    }
  });

  it('is not charged framing', async () => {
    const long = 'abcd'.repeat(250);
    const labels = { id: long, type: long, role: 'assistant', index: 12_345, annotations: [long] };
    for (const plant of Object.values(way.plants)) {
      const framed: Plant = (value) => ({ ...labels, ...plant(value) });
      expect((await recordOf(way, framed, happens)).chargeNanos).toBe(way.prompt + charge);
    }
  });

  it('is charged unknown members beside what was generated, but no ids', async () => {
    const beside = (planted: string): Way => ({
      ...way,
      begin: (plant) =>
        way.begin(plant).map((text) => text.replace('"index":0', `"index":0,"new":"${planted}"`)),
    });
    const [plant = () => ({})] = Object.values(way.plants);

    const short = await recordOf(beside('request-1234'), plant, happens);
    const long = await recordOf(beside('word '.repeat(2_000)), plant, happens);

    expect(short.chargeNanos).toBe(way.prompt + charge);
    // 10,000 bytes count 4,000 tokens.
    expect(long.chargeNanos).toBeGreaterThan(way.prompt + charge + 7_900n);
  });

  it('is charged a fifth of sealed reasoning, once, unless reasoning is readable', async () => {
    const sealed: Plant = (value) => {
      const all = value.repeat(10);
      return { thoughtSignature: all, signature: all, encrypted_content: all };
    };
    const { chargeNanos } = await recordOf(way, sealed, happens);
    // 3,000 bytes count 600 tokens.
    expect(chargeNanos).toBe(way.prompt + 1_200n);
    const thoughts = way.plants.thinking ?? way.plants.thoughts ?? sealed;
    const both: Plant = (value) => ({ ...sealed(value), ...thoughts(value) });
    expect((await recordOf(way, both, happens)).chargeNanos).toBe(way.prompt + charge);
  });
});

it('a name that is longer than any function may have is charged', async () => {
  for (const way of [ways.chat, ways['chat stream']]) {
    if (way === undefined) continue;
    const plant: Plant = (name) => tool({ type: 'function', function: { name: name.repeat(10) } });
    const { chargeNanos } = await recordOf(way, plant, ends.finishes ?? (() => {}));
    expect(chargeNanos).toBeGreaterThan(way.prompt + 2n * 1_000n);
  }
});

it('a document that was cut off is charged what arrived of it', async () => {
  for (const way of [ways.chat, ways.native]) {
    if (way === undefined) continue;
    for (const plant of Object.values(way.plants)) {
      const cut: End = (up) => up.end();
      const { chargeNanos } = await recordOf(way, plant, cut);
      expect(chargeNanos).toBe(way.prompt + charge);
    }
  }
});
