// suite: quick
/**
 * The laws of prices, over one generator of prices and usages: a cost is that of an independent
 * sum in fractions, a usage within the bound of a call costs no more than was held, each token is
 * charged once, and neither the order of tiers nor a rate that is left out changes anything.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type CostMember,
  maxNanos,
  type PassUsage,
  type Price,
  type TokenPrice,
  type TokenRates,
  type ToolCalls,
  type Usage,
} from '../../src/money.ts';
import {
  costOf,
  maxCostOf,
  mostExpensiveInput,
  mostExpensiveUnit,
  type PricedRequest,
  type UsageBound,
} from '../../src/prices/cost.ts';
import { runsOf } from '../support/sample.ts';
import { anyUsage } from './arbitrary.ts';

type Kind = keyof TokenRates;
/** What a rate is where it is left out, as docs/costs.md says; in an order that needs one pass. */
const defaults = [
  ['output', 'input'],
  ['cachedInput', 'input'],
  ['cacheWrite5m', 'input'],
  ['cacheWrite1h', 'cacheWrite5m'],
  ['reasoning', 'output'],
  ['audioOutput', 'output'],
  ['imageOutput', 'output'],
  ['audioInput', 'input'],
  ['imageInput', 'input'],
  ['videoInput', 'input'],
] as const satisfies readonly (readonly [Kind, Kind])[];
const kinds: readonly Kind[] = ['input', ...defaults.map(([kind]) => kind)];

/** How many tokens of each kind a usage has; `input` and `output` are what is of no other kind. */
type Counts = Readonly<Record<Kind, number>>;
type PassCounts = Pick<
  Counts,
  'input' | 'cachedInput' | 'cacheWrite5m' | 'cacheWrite1h' | 'output'
>;

/** Amounts that leave remainders, amounts that leave none, and the largest. */
const whole = fc.bigInt(0n, 9n).map((nanos) => nanos * 1_000_000n);
const rate = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt(0n, 5_000_000_000n) },
  { weight: 2, arbitrary: fc.bigInt(0n, 9n) },
  { weight: 2, arbitrary: whole },
  { weight: 1, arbitrary: fc.bigInt(maxNanos - 9n, maxNanos) },
);
const ratesFrom = (rate: fc.Arbitrary<bigint>): fc.Arbitrary<TokenRates> =>
  fc.record(
    {
      ...{ input: rate, output: rate, cachedInput: rate, cacheWrite5m: rate, cacheWrite1h: rate },
      ...{ reasoning: rate, audioInput: rate, audioOutput: rate, imageInput: rate },
      ...{ imageOutput: rate, videoInput: rate },
    },
    { requiredKeys: ['input'] },
  );
const rates = fc.oneof(ratesFrom(rate), ratesFrom(whole));
const rows = ['web_search', 'maps', 'speed', 'inference_geo'] as const satisfies CostMember[];
const member = fc.record(
  {
    multiplier: fc.constantFrom('6', '1.1', '0.333333333', '0.000000001'),
    perCallNanos: rate,
    holdCalls: fc.integer({ min: 1, max: 20 }),
  },
  { requiredKeys: [] },
);
const members = fc.record(
  { web_search: member, maps: member, speed: member, inference_geo: member },
  { requiredKeys: [] },
);

/** Few different counts, so that prompts often have exactly as many tokens as a tier begins at. */
const few = fc.nat(9);
const passCounts: fc.Arbitrary<PassCounts> = fc.record({
  ...{ input: few, cachedInput: few, cacheWrite5m: few, cacheWrite1h: few, output: few },
});
const counts: fc.Arbitrary<Counts> = fc.record({
  ...{ input: few, output: few, cachedInput: few, cacheWrite5m: few, cacheWrite1h: few },
  ...{ reasoning: few, audioInput: few, audioOutput: few, imageInput: few, imageOutput: few },
  videoInput: few,
});

/** A price, the tokens of a call by kind, and what its request says. */
interface Case {
  readonly price: TokenPrice;
  /** The tokens that no pass accounts for. */
  readonly rest: Counts;
  readonly passes: readonly PassCounts[];
  readonly largestPassInputTokens: number | undefined;
  readonly request: PricedRequest;
  readonly toolCalls: ToolCalls | undefined;
}

const cases: fc.Arbitrary<Case> = fc
  .record({
    scale: fc.constantFrom(1, 7, 997, 10_000),
    rates,
    tiers: fc.option(
      fc.uniqueArray(fc.record({ above: fc.integer({ min: 1, max: 60 }), rates }), {
        maxLength: 4,
        selector: ({ above }) => above,
      }),
      { nil: undefined },
    ),
    members: fc.option(members, { nil: undefined }),
    rest: counts,
    passes: fc.array(passCounts, { maxLength: 3 }),
    largest: fc.option(fc.nat(120), { nil: undefined }),
    requested: fc.option(fc.subarray([...rows]), { nil: undefined }),
    maxCalls: fc.option(fc.record({ web_search: fc.integer({ min: 1, max: 5 }) }), {
      nil: undefined,
    }),
    toolCalls: fc.option(fc.record({ web_search: fc.nat(5), maps: fc.nat(5) }), {
      nil: undefined,
    }),
  })
  .map(({ scale, rates, tiers, members, rest, passes, largest, ...call }) => ({
    price: {
      per: 'token',
      rates,
      ...(members === undefined ? {} : { members }),
      ...(tiers === undefined
        ? {}
        : { tiers: tiers.map(({ above, rates }) => ({ aboveInputTokens: above * scale, rates })) }),
    },
    rest: mapCounts(rest, (count) => count * scale),
    passes: passes.map((pass) => mapCounts(pass, (count) => count * scale)),
    largestPassInputTokens: largest === undefined ? undefined : largest * scale,
    request: { members: call.requested, maxCalls: call.maxCalls },
    toolCalls: call.toolCalls,
  }));

function mapCounts<Name extends string>(
  counts: Readonly<Record<Name, number>>,
  change: (count: number) => number,
): Record<Name, number>;
function mapCounts(counts: Readonly<Record<string, number>>, change: (count: number) => number) {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, change(count)]));
}

function passOf({ input, cachedInput, cacheWrite5m, cacheWrite1h, output }: PassCounts): PassUsage {
  return {
    inputTokens: input + cachedInput + cacheWrite5m + cacheWrite1h,
    cachedInputTokens: cachedInput,
    cacheWrite5mTokens: cacheWrite5m,
    cacheWrite1hTokens: cacheWrite1h,
    outputTokens: output,
  };
}

/** The tokens of each kind in the whole call. */
function totalsOf({ rest, passes }: Pick<Case, 'rest' | 'passes'>): Counts {
  const all = (kind: keyof PassCounts): number =>
    passes.reduce((sum, pass) => sum + pass[kind], rest[kind]);
  return {
    ...rest,
    ...{ input: all('input'), cachedInput: all('cachedInput'), output: all('output') },
    ...{ cacheWrite5m: all('cacheWrite5m'), cacheWrite1h: all('cacheWrite1h') },
  };
}

/** The usage as a reply reports it. */
function usageOf(one: Case): Usage {
  const { rest, passes, largestPassInputTokens, toolCalls } = one;
  const totals = totalsOf(one);
  const media = rest.audioInput + rest.imageInput + rest.videoInput;
  const parts = rest.reasoning + rest.audioOutput + rest.imageOutput;
  const { inputTokens, outputTokens, ...cache } = passOf(totals);
  return {
    ...cache,
    inputTokens: inputTokens + media,
    outputTokens: outputTokens + parts,
    images: 0,
    reasoningTokens: rest.reasoning,
    audioInputTokens: rest.audioInput,
    imageInputTokens: rest.imageInput,
    videoInputTokens: rest.videoInput,
    audioOutputTokens: rest.audioOutput,
    imageOutputTokens: rest.imageOutput,
    largestPassInputTokens,
    passes: passes.length === 0 ? undefined : passes.map(passOf),
    toolCalls,
  };
}

/** Every rate stated. */
function filled(rates: TokenRates): Readonly<Record<Kind, bigint>> {
  const all: Record<Kind, bigint> = {
    ...{ input: rates.input, output: 0n, cachedInput: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n },
    ...{ reasoning: 0n, audioInput: 0n, audioOutput: 0n, imageInput: 0n, imageOutput: 0n },
    videoInput: 0n,
  };
  for (const [kind, fallback] of defaults) all[kind] = rates[kind] ?? all[fallback];
  return all;
}

/** The rates of a prompt with this many tokens: those of the highest tier that it exceeds. */
function ratesOf({ rates, tiers = [] }: TokenPrice, promptTokens: number): TokenRates {
  const reached = tiers.filter(({ aboveInputTokens }) => promptTokens > aboveInputTokens);
  const [highest] = reached.sort((a, b) => b.aboveInputTokens - a.aboveInputTokens);
  return highest?.rates ?? rates;
}

/** The cost by the documents, as one fraction that is rounded up at its end. */
function referenceCost(one: Case): bigint {
  const { price, rest, passes, request, toolCalls } = one;
  const { inputTokens, largestPassInputTokens = inputTokens } = usageOf(one);
  const costAt = (counts: Partial<Counts>, promptTokens: number): bigint => {
    const rates = filled(ratesOf(price, promptTokens));
    return kinds.reduce((sum, kind) => sum + BigInt(counts[kind] ?? 0) * rates[kind], 0n);
  };
  let cost = costAt(rest, Math.min(largestPassInputTokens, inputTokens));
  for (const pass of passes) cost += costAt(pass, passOf(pass).inputTokens);
  let divisor = 1_000_000n;
  let fees = 0n;
  for (const row of rows) {
    const { multiplier = '1', perCallNanos = 0n } = price.members?.[row] ?? {};
    const isRequested = request.members?.includes(row) === true;
    if (isRequested) {
      const [whole = '', decimals = ''] = multiplier.split('.');
      cost *= BigInt(whole + decimals);
      divisor *= 10n ** BigInt(decimals.length);
    }
    const called = toolCalls === undefined ? Number(isRequested) : (toolCalls[row] ?? 0);
    fees += perCallNanos * BigInt(called);
  }
  const whole = cost / divisor + (cost % divisor === 0n ? 0n : 1n) + fees;
  return whole > maxNanos ? maxNanos : whole;
}

function holds(law: (one: Case) => void, numRuns = runsOf(5_000)): void {
  fc.assert(fc.property(cases, law), { numRuns });
}

it('a cost is the sum by the documents, rounded up once to a whole nano', () => {
  holds((one) => {
    expect(costOf(usageOf(one), one.price, one.request)).toBe(referenceCost(one));
  });
});

const slack = fc.nat(3);
const bounds = fc.record({ text: slack, media: slack, output: slack, mayCache: fc.boolean() });

it('a usage within the bound costs no more than the hold, however its tokens are called', () => {
  const law = (
    one: Case,
    more: { text: number; media: number; output: number; mayCache: boolean },
  ) => {
    const { rest, price, request } = one;
    const usage = usageOf(one);
    const mediaTokens = rest.audioInput + rest.imageInput + rest.videoInput + more.media;
    const bound: UsageBound = {
      textTokens: Math.max(0, usage.inputTokens - mediaTokens) + more.text,
      mediaTokens,
      outputTokens: usage.outputTokens + more.output,
      images: 0,
      mayCacheForAnHour: more.mayCache || totalsOf(one).cacheWrite1h > 0,
    };
    const requested = request.members ?? [];
    const called = requested.map((row) => {
      const most = request.maxCalls?.[row] ?? price.members?.[row]?.holdCalls ?? 10;
      return [row, Math.min(usage.toolCalls?.[row] ?? 0, most)] as const;
    });
    const toolCalls = usage.toolCalls === undefined ? undefined : Object.fromEntries(called);

    expect(costOf({ ...usage, toolCalls }, price, request)).toBeLessThanOrEqual(
      maxCostOf(bound, price, request),
    );
  };
  fc.assert(fc.property(cases, bounds, law), { numRuns: runsOf(10_000) });
});

/** A price of 1 nano a token of one kind, and nothing for the others, at every tier. */
function probe(kind: Kind, { tiers }: TokenPrice): TokenPrice {
  const rates = { ...filled({ input: 0n }), [kind]: 1_000_000n };
  return {
    per: 'token',
    rates,
    ...(tiers === undefined ? {} : { tiers: tiers.map((tier) => ({ ...tier, rates })) }),
  };
}

it('each token is charged once, as its own kind, in a pass or outside of it', () => {
  holds((one) => {
    const usage = usageOf(one);
    const charged = kinds.map((kind) => [kind, costOf(usage, probe(kind, one.price))]);
    const counted = Object.entries(totalsOf(one)).map(([kind, count]) => [kind, BigInt(count)]);

    expect(Object.fromEntries(charged)).toEqual(Object.fromEntries(counted));
  }, 2_000);
});

it('each token is charged once, though its kinds overlap and its passes exceed the total', () => {
  const law = ({ price, passes }: Case, overlapping: Usage): void => {
    const usage = { ...overlapping, passes: passes.map(passOf) };
    const ofKinds = (...names: readonly Kind[]): bigint =>
      names.reduce((sum, kind) => sum + costOf(usage, probe(kind, price)), 0n);
    const most = (name: 'inputTokens' | 'outputTokens'): bigint => {
      const inPasses = usage.passes.reduce((sum, pass) => sum + pass[name], 0);
      return BigInt(Math.max(usage[name], price.tiers === undefined ? 0 : inPasses));
    };
    const output = ['output', 'reasoning', 'audioOutput', 'imageOutput'] as const;
    const input = kinds.filter((kind) => !output.some((name) => name === kind));

    expect(ofKinds(...input)).toBe(most('inputTokens'));
    expect(ofKinds(...output)).toBe(most('outputTokens'));
  };
  fc.assert(fc.property(cases, anyUsage, law), { numRuns: runsOf(1_000) });
});

it('the order of tiers, and a rate that is left out, change nothing', () => {
  const law = (one: Case, random: number): void => {
    const { price, request } = one;
    const usage = usageOf(one);
    const { tiers } = price;
    const bound: UsageBound = {
      ...{ textTokens: usage.inputTokens, mediaTokens: 5, outputTokens: usage.outputTokens },
      ...{ images: 0, mayCacheForAnHour: random % 2 === 0 },
    };
    const same: readonly Price[] = [
      { ...price, rates: filled(price.rates) },
      ...(tiers === undefined
        ? []
        : [
            { ...price, tiers: [...tiers].reverse() },
            { ...price, tiers: [...tiers.slice(random % 3), ...tiers.slice(0, random % 3)] },
            { ...price, tiers: tiers.map((tier) => ({ ...tier, rates: filled(tier.rates) })) },
          ]),
    ];

    for (const other of same) {
      expect(costOf(usage, other, request)).toBe(costOf(usage, price, request));
      expect(maxCostOf(bound, other, request)).toBe(maxCostOf(bound, price, request));
      expect(mostExpensiveUnit(other)).toBe(mostExpensiveUnit(price));
      expect(mostExpensiveInput(other)).toBe(mostExpensiveInput(price));
    }
  };
  fc.assert(fc.property(cases, fc.nat(5), law), { numRuns: runsOf(2_000) });
});
