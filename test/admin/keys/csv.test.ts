// suite: quick
/** Reading CSV files, and the files of keys to issue: every row, or every mistake. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvLine, readCsv } from '../../../src/admin/csv.ts';
import { type KeyRow, maxBatch, readKeyCsv } from '../../../src/admin/keys/csv.ts';
import { rateLineOf, rateLinesOf, ratesOf, rateText } from '../../../src/admin/keys/texts.ts';
import { formatMoney, nanosOf } from '../../../src/prices/amount.ts';
import { runsOf } from '../../support/sample.ts';

const nowMs = Date.UTC(2026, 10, 23);
const read = (text: string) => readKeyCsv(text, { nowMs, nanosOf });

/** Text of the characters that CSV treats in a special way, and some others. */
const cell = fc.string({
  unit: fc.constantFrom('"', ',', '\r', '\n', ' ', ';', 'a', 'é', '𝄞', '\ufeff', "'", '='),
  maxLength: 6,
});
const lineEnd = fc.constantFrom('\r\n', '\n', '\r');

/** A cell as a program may write it: in quotes where it must be, or always. */
function written(text: string, inQuotes: boolean): string {
  return inQuotes || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

describe('a CSV file', () => {
  it('has the cells that were written, whatever is in them and however lines end', () => {
    const row = fc.array(fc.tuple(cell, fc.boolean()), { minLength: 2, maxLength: 4 });
    const file = fc.record({
      rows: fc.array(fc.tuple(row, lineEnd, fc.nat(2)), { minLength: 1, maxLength: 5 }),
      mark: fc.boolean(),
      ends: fc.boolean(),
    });
    fc.assert(
      fc.property(file, ({ rows, mark, ends }) => {
        const text = rows
          .map(([cells, end, blank], index) => {
            const line = cells.map(([value, inQuotes]) => written(value, inQuotes)).join(',');
            const isLast = index === rows.length - 1;
            return isLast && !ends ? line : `${line}${end}${'\n'.repeat(end === '\r' ? 0 : blank)}`;
          })
          .join('');
        // Only a mark at the very beginning is one.
        const found = readCsv(mark || text.startsWith('\ufeff') ? `\ufeff${text}` : text);

        expect(found.problem).toBeUndefined();
        expect(found.rows.map(({ cells }) => cells)).toEqual(
          rows.map(([cells]) => cells.map(([value]) => value)),
        );
      }),
      { numRuns: runsOf(2_000) },
    );
  });

  it('says in which line each row begins', () => {
    const { rows } = readCsv('a,b\r\n\r\n"x\r\ny\nz",2\r3,4\n\n5,6');
    expect(rows.map(({ line }) => line)).toEqual([1, 3, 6, 8]);
  });

  it.each([
    ['a,"b', 1],
    ['a,b\n"x" ,y', 2],
    ['a,b\n"1\n2",x"y"', 3],
    ['a""', 1],
  ])('with misplaced quotes is refused at its line: %j', (text, line) => {
    expect(readCsv(text).problem).toEqual({ line, sentence: expect.stringContaining('quotes') });
  });

  it('is read in a time that grows with its length, also where a quote is never closed', () => {
    const { problem, rows } = readCsv(`"${'x""\r\n'.repeat(100_000)}`);
    expect([problem?.line, rows.length]).toEqual([1, 0]);
  });
});

const word = fc.stringMatching(/^[a-z0-9._-]{1,12}$/).filter((text) => !/^\.+$/.test(text));
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const line = fc.record({
  of: fc.constantFrom('calls' as const, 'tokens' as const),
  amount: fc.integer({ min: 1, max: 10_000_000_000 }),
  per: fc.constantFrom('minute' as const, 'hour' as const, 'day' as const),
});
const keyRow = fc.record({
  group: word,
  limitNanos: fc.bigInt({ min: 0n, max: 9_007_199_254_740_991n }),
  period: fc.constantFrom('total' as const, 'day' as const, 'week' as const, 'month' as const),
  owner: optional(word),
  models: optional(fc.array(word, { minLength: 1, maxLength: 3 })),
  rates: optional(fc.array(line, { minLength: 1, maxLength: 4 }).map(ratesOf)),
  maxConcurrentCalls: optional(fc.integer({ min: 1, max: 999 })),
  expiresAtMs: optional(fc.integer({ min: nowMs + 1, max: nowMs * 2 })),
  metadata: optional(fc.dictionary(word, word, { minKeys: 1, maxKeys: 2 })),
});

type WrittenRow = { readonly [Name in keyof Omit<KeyRow, 'line'>]?: KeyRow[Name] | undefined };

/** The file of the rows, with a column for each name in a row's metadata. */
function fileOf(rows: readonly WrittenRow[]): string {
  const labels = [...new Set(rows.flatMap(({ metadata = {} }) => Object.keys(metadata)))];
  const names = 'id group limit period owner models rates max_calls expires'.split(' ');
  return [
    csvLine([...names, ...labels.map((label) => `metadata.${label}`)]),
    ...rows.map((row) =>
      [
        ...[row.id, row.group, formatMoney(row.limitNanos ?? 0n), row.period, row.owner],
        ...[
          row.models?.join(' '),
          rateLinesOf(row.rates ?? [])
            .map(rateText)
            .join(' '),
        ],
        row.maxConcurrentCalls,
        row.expiresAtMs === undefined ? '' : new Date(row.expiresAtMs).toISOString(),
        ...labels.map((label) => row.metadata?.[label]),
      ]
        .map((value) => `"${value ?? ''}"`)
        .join(',')
        .concat('\n'),
    ),
  ].join('');
}

describe('a file of keys', () => {
  it('has the keys that were written', () => {
    fc.assert(
      fc.property(fc.array(keyRow, { minLength: 1, maxLength: 5 }), (keys) => {
        const rows = keys.map((key, index) => ({ id: `key-${index}`, ...key }));
        const { rows: found, problems } = read(fileOf(rows));

        expect(problems).toEqual([]);
        expect(found).toEqual(rows.map((row, index) => ({ line: index + 2, ...row })));
      }),
      { numRuns: runsOf(500) },
    );
  });

  it('may have a mark, empty lines and quotes, and leaves out what is empty', () => {
    const text =
      '\ufeffid,group,limit,metadata.user\r\n\r\nada,staff,0.50,"Ada ""A"", Ltd"\r\n,staff,5,\r\n';
    expect(read(text)).toEqual({
      problems: [],
      rows: [
        {
          ...{ line: 3, id: 'ada', group: 'staff', limitNanos: 500_000_000n },
          metadata: { user: 'Ada "A", Ltd' },
        },
        { line: 4, group: 'staff', limitNanos: 5_000_000_000n },
      ],
    });
  });

  it('with mistakes has no keys, and all mistakes by their lines', () => {
    const { rows, problems } = read(
      [
        'id,group,limit,period,anchor_day,rates,max_calls,expires,owner',
        'ada,staff,5,year,,,,,',
        'bob,,,,,,,,',
        'dan,,x,,,,,,',
        'ada,staff,0,50,,,,,',
        'eve,staff,5,day,3,,,,',
        'joe,staff,5,month,32,calls=60,0,2026-01-01,a b',
        'kim,staff,,month,,,,,team-a',
        '..,staff,5,,,,,2027-02-30,',
        'ada,staff,5,month,,,,,,',
      ].join('\n'),
    );

    expect(rows).toEqual([]);
    expect(problems.map(({ line: at, sentence }) => `${at} ${sentence.split(' ')[0]}`)).toEqual([
      ...['2 period', '3 group', '3 limit', '4 limit', '4 group', '5 period', '5 id'],
      ...['6 anchor_day', '7 anchor_day', '7 rates', '7 max_calls', '7 expires', '7 owner'],
      ...['8 period', '9 id', '9 expires', '10 The', '10 id'],
    ]);
  });

  it.each([
    ['', 'needs a line with the names'],
    ['id,group,limit\n', 'needs a line with the names'],
    ['id;group;limit\na;b;5\n', 'write commas'],
    ['id,limit\na,5\n', 'The column group is missing'],
    ['group,limit,limit\na,5,5\n', 'The column limit is there twice'],
    ['group,limit,team\na,5,x\n', 'There is no column "team"'],
    ['group,limit,constructor\na,5,x\n', 'There is no column "constructor"'],
    ['group,limit,metadata.user\na,5,Jos\ufffd\n', 'not UTF-8'],
    ['group,limit,metadata.caf\ufffd\na,5,x\n', 'not UTF-8'],
    ['group,limit\n"a,5\n', 'quotes'],
  ])('that begins %j is refused as a whole', (text, sentence) => {
    expect(read(text)).toMatchObject({ rows: [], problems: [{}] });
    expect(read(text).problems[0]?.sentence).toContain(sentence);
  });

  it(`has at most ${maxBatch} keys`, () => {
    const text = (count: number): string => `group,limit\n${'staff,5\n'.repeat(count)}`;
    const most = read(text(maxBatch));
    const more = read(text(maxBatch + 1));

    expect([most.rows.length, most.problems]).toEqual([maxBatch, []]);
    expect(more.rows).toEqual([]);
    expect(more.problems).toEqual([
      { line: maxBatch + 2, sentence: expect.stringContaining('Split it') },
    ]);
  });
});

describe('a rate limit as text', () => {
  it('is the same after it was read and written', () => {
    const any = fc.record({ ...{ model: optional(word), subject: optional(word) } });
    fc.assert(
      fc.property(line, any, (limit, { model, subject }) => {
        const text = rateText({
          ...limit,
          ...(model === undefined ? {} : { model: `${model}:7b` }),
          ...(subject === undefined ? {} : { subject }),
        });
        const parsed = rateLineOf(text);

        expect(parsed === undefined ? undefined : rateText(parsed)).toBe(text);
        const [again] = rateLinesOf(ratesOf(parsed === undefined ? [] : [parsed]));
        expect(again).toEqual(parsed);
      }),
      { numRuns: runsOf(500) },
    );
  });

  it.each([
    'calls',
    'calls=0/minute',
    'calls=6.5/minute',
    'calls=60/week',
    'requests=60/minute',
    'calls=10000000001/day',
    'calls=60/minute@',
    'calls=60/minute@a b',
    ':calls=60/minute',
  ])('must be one: %s', (text) => {
    expect(rateLineOf(text)).toBeUndefined();
  });
});
