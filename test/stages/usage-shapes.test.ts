// suite: quick
/**
 * Every form in which a provider states its usage: the documented examples of all, and each row of
 * the table as it is, absent and contradicted, of whole replies and streams, relayed and translated.
 */
import { describe, expect, it } from 'vitest';
import {
  anthropicRows,
  type CountName,
  geminiRows,
  openaiRows,
  type UsageRow,
  type UsageRows,
} from '../../src/dialects/usage-table.ts';
import type { JsonObject } from '../../src/json.ts';
import type { Usage } from '../../src/money.ts';
import { someOf } from '../support/sample.ts';
import { usageExamples } from './usage-examples.ts';
import {
  callsWith,
  contentApis,
  rawNumber,
  type UpstreamApi,
  type UsageCall,
} from './usage-replies.ts';

/** Nanos of a token of each kind, so different that a charge shows the counts that it is for. */
const rates = {
  input: 1_000_000n,
  cachedInput: 10_000n,
  cacheWrite5m: 2_000_000n,
  cacheWrite1h: 4_000_000n,
  output: 7_000_000n,
  reasoning: 5_000_000n,
  audioInput: 3_000_000n,
  imageInput: 6_000_000n,
  videoInput: 8_000_000n,
  audioOutput: 9_000_000n,
  imageOutput: 11_000_000n,
};
const model = {
  price: { per: 'token', rates, members: { web_search: {}, web_fetch: {} } },
} as const;

/** The cost of these counts, in which each token is in one kind. */
function costOf(usage: Usage): bigint {
  const { inputTokens, cachedInputTokens: cached, outputTokens } = usage;
  const kinds: readonly (readonly [number, bigint])[] = [
    [cached, rates.cachedInput],
    [usage.cacheWrite5mTokens ?? 0, rates.cacheWrite5m],
    [usage.cacheWrite1hTokens ?? 0, rates.cacheWrite1h],
    [usage.audioInputTokens ?? 0, rates.audioInput],
    [usage.imageInputTokens ?? 0, rates.imageInput],
    [usage.videoInputTokens ?? 0, rates.videoInput],
  ];
  const made: readonly (readonly [number, bigint])[] = [
    [usage.reasoningTokens ?? 0, rates.reasoning],
    [usage.audioOutputTokens ?? 0, rates.audioOutput],
    [usage.imageOutputTokens ?? 0, rates.imageOutput],
  ];
  const sum = (parts: typeof kinds, whole: number, rest: bigint): bigint => {
    const inside = parts.reduce((all, [tokens]) => all + tokens, 0);
    const other = BigInt(Math.max(0, whole - inside)) * rest;
    return parts.reduce((all, [tokens, rate]) => all + BigInt(tokens) * rate, other);
  };
  const millionths = sum(kinds, inputTokens, rates.input) + sum(made, outputTokens, rates.output);
  return (millionths + 999_999n) / 1_000_000n;
}

const streamable: ReadonlySet<UpstreamApi> = new Set(contentApis);

/** The callers that reach an upstream of this API, each with whole replies and streams. */
function callsOf(api: UpstreamApi): readonly (readonly [caller: UpstreamApi, isStream: boolean])[] {
  if (!streamable.has(api)) return [[api, false]];
  const callers = api === 'responses' ? [api] : contentApis;
  return callers.flatMap((caller) => [[caller, false] as const, [caller, true] as const]);
}

describe.each(usageExamples)('$provider ($source)', (example) => {
  const { api, usage, place, expected, costNanos } = example;

  it.each(callsOf(api))('is read for a caller of %s, streamed: %s', async (caller, isStream) => {
    const call: UsageCall = {
      ...{ api, caller, usage, isStream, model, channel: { cost: 'reported' } },
      ...(place === undefined ? {} : { place }),
    };

    const { record, anomalies, unknown } = await callsWith(call);

    expect(record.usage).toMatchObject(expected);
    expect(record.usage).not.toHaveProperty('remarks');
    expect(record.chargeNanos).toBe(costOf(record.usage ?? noUsage));
    expect(record.costNanos).toBe(costNanos);
    const isAbove = { reason: 'above_hold' };
    expect(anomalies).toEqual(anomalies.map(() => expect.objectContaining(isAbove)));
    expect(unknown).toEqual([]);
  });
});

const noUsage: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, images: 0 };

/** A member with the row that it is read by. */
interface Member {
  readonly path: readonly string[];
  readonly row: UsageRow;
  /** The list's element of this modality. */
  readonly modality?: string;
  readonly count: CountName;
}

function membersOf(rows: UsageRows, before: readonly string[] = []): readonly Member[] {
  return [...rows].flatMap(([name, row]) => {
    const path = [...before, name];
    const { count, modalities = {}, members } = row;
    return [
      ...(count === undefined ? [] : [{ path, row, count }]),
      ...Object.entries(modalities).map(([modality, of]) => ({ path, row, modality, count: of })),
      ...(members === undefined ? [] : membersOf(members, path)),
    ];
  });
}

/** A usage object with a value for each member. */
function usageWith(...values: readonly (readonly [Member, number])[]): JsonObject {
  const usage: Record<string, unknown> = {};
  for (const [{ path, modality }, value] of values) {
    let holder = usage;
    for (const name of path.slice(0, -1)) {
      const inner = (holder[name] ?? {}) as Record<string, unknown>;
      holder[name] = inner;
      holder = inner;
    }
    const name = path.at(-1) ?? '';
    holder[name] =
      modality === undefined
        ? value
        : [...((holder[name] ?? []) as object[]), { modality, tokenCount: value }];
  }
  return usage as JsonObject;
}

/** The counts that a record has of a member that is stated beside a prompt and an answer. */
const recorded: Readonly<Partial<Record<CountName, keyof Usage>>> = {
  cached: 'cachedInputTokens',
  written: 'cacheWrite5mTokens',
  written5m: 'cacheWrite5mTokens',
  written1h: 'cacheWrite1hTokens',
  reasoning: 'reasoningTokens',
  audioInput: 'audioInputTokens',
  imageInput: 'imageInputTokens',
  videoInput: 'videoInputTokens',
  audioOutput: 'audioOutputTokens',
  imageOutput: 'imageOutputTokens',
};

const inputs: ReadonlySet<CountName> = new Set([
  ...(['cached', 'written', 'written5m', 'written1h', 'toolPrompt'] as const),
]);
const [prompt, answer, part] = [1_000, 500, 120];

interface Table {
  readonly api: UpstreamApi;
  readonly members: readonly Member[];
  readonly input: Member;
  readonly output: Member;
  readonly total: Member | undefined;
}

function tableOf(api: UpstreamApi, rows: UsageRows, names: readonly string[]): Table {
  const members = membersOf(rows);
  const [input, output, total] = names.map((name) => members.find(({ path }) => path[0] === name));
  if (input === undefined || output === undefined) throw new Error('The table has no totals.');
  return { api, members, input, output, total };
}

const tables = [
  tableOf('chat', openaiRows, ['prompt_tokens', 'completion_tokens', 'total_tokens']),
  tableOf('responses', openaiRows, ['input_tokens', 'output_tokens', 'total_tokens']),
  tableOf('messages', anthropicRows, ['input_tokens', 'output_tokens']),
  tableOf('native', geminiRows, ['promptTokenCount', 'candidatesTokenCount', 'totalTokenCount']),
];

const cases = tables.flatMap(({ members, ...table }) =>
  members
    .filter(({ count }) => recorded[count] !== undefined)
    .flatMap((member) =>
      [false, true].map((isStream) => ({
        ...{ ...table, members, member, isStream },
        name: `${table.api} ${member.path.join('.')} ${member.modality ?? ''}`,
      })),
    ),
);

async function read(table: Pick<Table, 'api'>, usage: JsonObject, isStream: boolean) {
  const { api } = table;
  const call = { api, caller: api, usage, isStream, model };
  const { record, anomalies } = await callsWith(call);
  if (record.usage === undefined) throw new Error('The record has no usage.');
  // Each token is charged once.
  expect(record.chargeNanos).toBe(costOf(record.usage));
  const reasons = anomalies.map((event) => 'reason' in event && event.reason);
  return { usage: record.usage, reasons };
}

describe.each(someOf(cases))('$name, streamed: $isStream', (one) => {
  const { input, output, total, member, members, isStream } = one;
  const { row, count } = member;
  const isBeside = row.place === 'beside';
  const isInput = inputs.has(count);
  const stated = [[input, prompt] as const, [output, answer] as const];
  const sum = (beside: number) =>
    total === undefined ? [] : [[total, prompt + answer + beside] as const];
  const sums = (beside: number) => ({
    inputTokens: prompt + (isInput ? beside : 0),
    outputTokens: answer + (isInput ? 0 : beside),
  });
  const name = recorded[count] ?? 'images';

  it('is read where it is, with and without a total', async () => {
    const beside = isBeside ? part : 0;
    for (const totals of [[], sum(beside)]) {
      const usage = usageWith(...stated, ...totals, [member, part]);

      const found = await read(one, usage, isStream);

      expect(found).toMatchObject({ usage: { [name]: part, ...sums(beside) }, reasons: [] });
    }
  });

  it('is not made up where it is absent', async () => {
    const found = await read(one, usageWith(...stated, ...sum(0)), isStream);

    expect(found).toMatchObject({ usage: sums(0), reasons: [] });
    expect(found.usage[name] ?? 0).toBe(0);
  });

  if (total !== undefined && row.place !== undefined) {
    it('lies on the other side if the total says so', async () => {
      const beside = isBeside ? 0 : part;
      const usage = usageWith(...stated, ...sum(beside), [member, part]);

      const found = await read(one, usage, isStream);

      expect(found).toMatchObject({ usage: { [name]: part, ...sums(beside) }, reasons: [] });
    });
  }

  it('causes an event if it or the total contradicts the others', async () => {
    const isOutput = !isInput && count.endsWith('Output');
    const above = (isInput || count.endsWith('Input') ? prompt : answer) + part;
    const isAlone = isBeside || row.place === 'inside_if_room';
    const found = await read(one, usageWith(...stated, [member, above]), isStream);
    expect(found.reasons).toEqual(isAlone ? [] : ['inconsistent']);
    if (isOutput) expect(found.usage[name]).toBe(answer);

    if (total === undefined) return;
    const off = usageWith(...stated, [total, prompt + answer + part + 7], [member, part]);
    expect((await read(one, off, isStream)).reasons).toEqual(['inconsistent']);
  });

  it('is read once, and the larger if another member states it differently', async () => {
    for (const other of members) {
      if (other === member || other.count !== count || other.modality !== undefined) continue;
      const larger = part + 40;
      const beside = isBeside ? larger : 0;

      const same = await read(one, usageWith(...stated, [member, part], [other, part]), isStream);
      const differs = usageWith(...stated, [member, part], [other, larger]);
      const found = await read(one, differs, isStream);

      expect(same).toMatchObject({ usage: { [name]: part }, reasons: [] });
      expect(found).toMatchObject({
        usage: { [name]: larger, ...sums(beside) },
        reasons: ['inconsistent'],
      });
    }
  });
});

describe('DeepSeek’s hits and misses', () => {
  it.each([
    [{ prompt_tokens: 1_000, prompt_cache_hit_tokens: 800, prompt_cache_miss_tokens: 200 }, 1_000],
    [{ prompt_cache_hit_tokens: 800, prompt_cache_miss_tokens: 200 }, 1_000],
    [{ prompt_tokens: 900, prompt_cache_hit_tokens: 800, prompt_cache_miss_tokens: 200 }, 1_000],
    [{ prompt_tokens: 1_100, prompt_cache_hit_tokens: 800, prompt_cache_miss_tokens: 200 }, 1_100],
  ])('are the prompt, else the larger is charged with an event: %j', async (counts, inputTokens) => {
    const usage = { ...counts, completion_tokens: 5 };
    const { usage: found, reasons } = await read({ api: 'chat' }, usage, false);

    expect(found).toMatchObject({ inputTokens, cachedInputTokens: 800, outputTokens: 5 });
    const isOff = 'prompt_tokens' in counts && counts.prompt_tokens !== 1_000;
    expect(reasons).toEqual(isOff ? ['inconsistent'] : []);
  });
});

it('writes to a cache that are not the sum of their kinds are an event', async () => {
  const figures = [undefined, 0, 100, 700];
  for (const isStream of [false, true]) {
    for (const written of figures) {
      for (const minutes of figures) {
        const usage = {
          ...{ input_tokens: 10, output_tokens: 5 },
          ...(written === undefined ? {} : { cache_creation_input_tokens: written }),
          ...(minutes === undefined
            ? {}
            : { cache_creation: { ephemeral_5m_input_tokens: minutes } }),
        };
        const found = await read({ api: 'messages' }, usage, isStream);

        const isOff = Boolean(written) && Boolean(minutes) && written !== minutes;
        expect([usage, found.reasons]).toEqual([usage, isOff ? ['inconsistent'] : []]);
        expect(found.usage.inputTokens).toBe(10 + Math.max(written ?? 0, minutes ?? 0));
      }
    }
  }
});

describe('a reported cost', () => {
  const costs = [
    ['0.000000001', 1n],
    ['0.0000000010000000000000000001', 2n],
    ['1.4e-07', 140n],
    ['0.123456789012345678901234567890', 123_456_790n],
    ['9007199.254740991', 9_007_199_254_740_991n],
    ['9007199.254740992', undefined],
    ['-0.5', undefined],
    ['0', 0n],
  ] as const;
  const calls = (['chat', 'responses', 'embeddings'] as const).flatMap((api) =>
    [false, true]
      .filter((isStream) => !isStream || api !== 'embeddings')
      .map((isStream) => ({ api, isStream })),
  );

  it.each(calls)('is read from its digits: $api, streamed: $isStream', async ({
    api,
    isStream,
  }) => {
    for (const [digits, costNanos] of costs) {
      const usage = {
        prompt_tokens: 7,
        completion_tokens: 0,
        total_tokens: 7,
        cost: rawNumber(digits),
      };
      const call = { api, caller: api, usage, isStream, model } as const;

      const { record } = await callsWith({ ...call, channel: { cost: 'reported' } });
      const other = await callsWith({ ...call, channel: { cost: { per: 'free' } } });

      expect([digits, record.costNanos]).toEqual([digits, costNanos]);
      expect(other.record.costNanos).toBe(0n);
    }
  });

  it('of a translated reply is read from its digits too', async () => {
    const usage = {
      prompt_tokens: 7,
      completion_tokens: 1,
      cost: rawNumber(`0.1${'0'.repeat(20)}1`),
    };
    const call = { api: 'chat', caller: 'messages', usage, isStream: true, model } as const;

    const { record } = await callsWith({ ...call, channel: { cost: 'reported' } });

    expect(record.costNanos).toBe(100_000_001n);
  });
});

describe('a number that no row knows', () => {
  const plain = { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 };
  const call = { api: 'chat', caller: 'chat', model } as const;

  it.each([false, true])('is an event once for the channel, streamed: %s', async (isStream) => {
    const usage = {
      ...plain,
      thought_tokens: 3,
      prompt_tokens_details: { new_tokens: 2.5, cached_tokens: 1 },
      nested: { deep: { tokens: 1 } },
      text: 'a text',
      zero_tokens: 0,
      [`long_${'x'.repeat(70)}`]: 5,
      'a name that could be a text': 5,
    };
    const { unknown, anomalies } = await callsWith({ ...call, usage, isStream }, 3);

    const members = ['thought_tokens', 'prompt_tokens_details.new_tokens', 'nested.deep.tokens'];
    expect(unknown).toEqual([{ type: 'unknown_usage', channelId: 'openai', members }]);
    expect(anomalies).toEqual([]);
  });

  it('names at most eight', async () => {
    const numbers = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`n${at}`, 1]));
    const { unknown } = await callsWith({
      ...call,
      usage: { ...plain, ...numbers },
      isStream: false,
    });

    expect(unknown).toMatchObject([{ members: Array.from({ length: 8 }, (_, at) => `n${at}`) }]);
  });
});
