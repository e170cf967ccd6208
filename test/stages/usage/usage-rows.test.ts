// suite: quick
/**
 * Each row of the table of usage: its member as it is, absent and contradicted, of whole replies
 * and streams. Each token is charged once, and a contradiction is an event.
 */
import { describe, expect, it } from 'vitest';
import {
  anthropicRows,
  type CountName,
  geminiRows,
  openaiRows,
  type UsageRow,
  type UsageRows,
} from '../../../src/dialects/usage/usage-table.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/json.ts';
import type { Usage } from '../../../src/money.ts';
import { someOf } from '../../support/sample.ts';
import { costOf, ratedModel as model } from './usage-charges.ts';
import { callsWith, type UpstreamApi } from './usage-replies.ts';

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
  return values.reduce<JsonObject>((usage, [{ path, modality }, value]) => {
    const stated = modality === undefined ? value : [{ modality, tokenCount: value }];
    const placed = path.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), stated);
    return isJsonObject(placed) ? together(usage, placed) : usage;
  }, {});
}

function together(one: JsonObject, other: JsonObject): JsonObject {
  const merged = Object.entries(other).map(([name, value]) => {
    const before = one[name];
    if (isJsonObject(before) && isJsonObject(value)) return [name, together(before, value)];
    return [name, Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value];
  });
  return { ...one, ...Object.fromEntries(merged) };
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

  if (count === 'reasoning') {
    it('is the output if it is larger, unless the total is the sum with it beside', async () => {
      const larger = answer + part;
      const isAdded = row.place !== 'inside';
      for (const sumOfAll of [0, prompt + answer, prompt + larger, prompt + answer + larger]) {
        const totals = total === undefined || sumOfAll === 0 ? [] : [[total, sumOfAll] as const];
        const usage = usageWith(...stated, ...totals, [member, larger]);

        const found = await read(one, usage, isStream);

        const isSum = totals.length > 0 && sumOfAll === prompt + answer + larger;
        const outputTokens = isSum || isAdded ? answer + larger : larger;
        expect(found.usage).toMatchObject({ outputTokens, reasoningTokens: larger });
        // Perplexity states a total without the reasoning that it adds.
        const isUsual = totals.length === 0 || sumOfAll === prompt + answer;
        const isOff =
          !isSum && !(isUsual && isAdded && (row.place !== 'beside' || totals.length === 0));
        expect(found.reasons).toEqual(isOff ? ['inconsistent'] : []);
      }
    });
  }

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
  ])('are the prompt, else the larger count is charged: %j', async (counts, inputTokens) => {
    const usage = { ...counts, completion_tokens: 5 };
    const { usage: found, reasons } = await read({ api: 'chat' }, usage, false);

    expect(found).toMatchObject({ inputTokens, cachedInputTokens: 800, outputTokens: 5 });
    const isOff = 'prompt_tokens' in counts && counts.prompt_tokens !== 1_000;
    expect(reasons).toEqual(isOff ? ['inconsistent'] : []);
  });
});

const withTotals = tables.flatMap(({ total, ...table }) =>
  total === undefined ? [] : [{ ...table, total }],
);

describe.each(withTotals)('a total of $api that is not a count', ({
  api,
  input,
  output,
  total,
}) => {
  it.each([
    -5,
    10.5,
    '120',
    null,
    {},
  ])('%j is what the sum leaves for it, else missing', async (no) => {
    const [sum, given] = [120, 50];
    for (const [wrong, right] of [
      [input, output],
      [output, input],
    ] as const) {
      for (const isStream of [false, true]) {
        const usage = { ...usageWith([right, given]), [wrong.path.join('.')]: no };
        const [inputTokens, outputTokens] =
          wrong === input ? [sum - given, given] : [given, sum - given];

        const found = await read({ api }, { ...usage, ...usageWith([total, sum]) }, isStream);

        expect(found).toMatchObject({ usage: { inputTokens, outputTokens }, reasons: [] });
        const { anomalies } = await callsWith({ api, caller: api, usage, isStream, model });
        expect(anomalies).toMatchObject([{ reason: 'missing' }]);
      }
    }
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
