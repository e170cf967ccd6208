/** A busy hour of a gateway, the same in every run, for the admin library of console-fake.ts. */
import { explained, explainedRefusal } from '../../../src/admin/calls/summary.ts';
import type {
  CallDetail,
  CallPage,
  CallSummary,
  Clause,
  Now,
  NowBucket,
  RefusalSummary,
} from '../../../src/admin/index.ts';
import type { FailureReason } from '../../../src/failure-reasons.ts';

/** The time of the fake gateway, and of the browser: a Monday morning. */
export const nowMs: number = Date.UTC(2026, 10, 23, 9, 30, 20);

const minuteMs = 60_000;
const unit = 1_000_000_000n;

/** Minutes that rise and fall like those of people at work. */
function buckets(count: number, bucketMs: number = minuteMs): readonly NowBucket[] {
  const lastMs = Math.floor(nowMs / bucketMs) * bucketMs;
  return Array.from({ length: count }, (_, index) => {
    const wave = Math.sin(index / 7) + Math.sin(index / 3) / 2;
    const isLast = index === count - 1;
    const complete = Math.round((isLast ? 0.3 : 1) * (190 + 60 * wave));
    return {
      startMs: lastMs - (count - 1 - index) * bucketMs,
      complete,
      refused: index % 5 === 0 ? 7 : 3,
      failed: index === 38 ? 24 : index % 11 === 0 ? 2 : 0,
      left: index % 4 === 0 ? 4 : 1,
      firstByteP50Ms: Math.round(420 + 60 * Math.sin(index / 5)),
      firstByteP95Ms: Math.round(1_900 + 400 * Math.sin(index / 4)),
      chargeNanos: (BigInt(complete) * unit) / 240n,
    };
  });
}

const startedAtMs = nowMs - 192 * minuteMs;

/** A healthy gateway. */
export function wellNow(): Now {
  return {
    range: '1h',
    source: 'process',
    nowMs,
    startedAtMs,
    status: {
      startedAtMs,
      isClosing: false,
      runningCalls: 14,
      bufferedBytes: 81_920,
      openHolds: 14,
      outbox: { waiting: 0, oldestMs: undefined },
      ports: [],
    },
    replica: { host: 'gw-7f9c', pid: 1, version: '0.1.0', isShared: true, replicas: 3 },
    bucketMs: minuteMs,
    buckets: buckets(60),
    firstByteP50Ms: 424,
    firstByteP95Ms: 1_910,
    refusals: [
      refusals('insufficient_quota', 'insufficient', 148),
      refusals('rate_limited', 'rate', 61),
      refusals('model_not_found', undefined, 14),
      refusals('invalid_request', 'too_deep', 3),
    ],
    sentence: [clause('host', 'All is well.', { severity: 'ok' })],
    attention: [],
    today: {
      calls: 96_412,
      chargeNanos: 412_873_500_000n,
      unbookedNanos: 0n,
      costNanos: 287_000_000_000n,
    },
    dayBefore: {
      fromMs: nowMs - 25 * 60 * minuteMs,
      toMs: nowMs - 24 * 60 * minuteMs,
      complete: 10_204,
      failed: 31,
      left: 118,
      firstByteP95Ms: 1_720,
      chargeNanos: 41_204_000_000n,
    },
  };
}

/** A gateway with several failures at night. */
export function failingNow(): Now {
  const well = wellNow();
  return {
    ...well,
    buckets: well.buckets.map((minute, index) =>
      index < 41
        ? minute
        : {
            ...minute,
            complete: Math.round(minute.complete * 0.35),
            refused: 38,
            failed: Math.round(minute.complete * 0.5),
            firstByteP50Ms: 2_900,
          },
    ),
    firstByteP95Ms: 14_200,
    refusals: [
      refusals('insufficient_quota', 'insufficient', 694),
      refusals('no_channel', 'cooling_down', 203),
      refusals('rate_limited', 'rate', 61),
    ],
    sentence: [
      clause('store', 'The usage log can’t be written.', {
        detail: 'usage.record: timeout',
        sinceMs: nowMs - 19 * minuteMs,
        severity: 'bad',
      }),
      clause('channel', 'Every channel of claude-opus-4 is out.', {
        detail:
          'anthropic-eu: failing, the upstream is overloaded, back 2026-11-23T09:31:00.000Z; ' +
          'anthropic-us: refused, the provider refuses the credential',
        href: '#/channels?model=claude-opus-4',
        severity: 'bad',
      }),
      clause('refusal', '14 % of requests have a key without enough quota.', {
        detail: 'raise the limit or top up, if the caller is entitled to more',
        href: '#/calls?outcome=refused&code=insufficient_quota',
      }),
      clause('doubt', 'Did req_7b19c4 run?', {
        detail: 'gpt-image-2, team-design; look for it at the provider',
        href: '#/calls/req_7b19c4',
        sinceMs: nowMs - 6 * minuteMs,
      }),
    ],
    attention: attention(),
    today: {
      calls: 96_412,
      chargeNanos: 412_873_500_000n,
      unbookedNanos: 1_204_000_000n,
      costNanos: 287_000_000_000n,
    },
  };
}

function refusals(
  code: string,
  reason: FailureReason | undefined,
  count: number,
): Now['refusals'][number] {
  return { code, reason, count, detail: 'input', ...explainedRefusal({ code, reason }) };
}

/** The day of the same gateway, hour by hour from its log. */
export function dayNow(): Now {
  const bucketMs = 60 * minuteMs;
  return { ...wellNow(), range: '24h', source: 'log', bucketMs, buckets: buckets(24, bucketMs) };
}

function attention(): Now['attention'] {
  return [
    {
      kind: 'quota',
      text: 'team-search has used 97 % of its limit',
      detail: undefined,
      href: '#/keys?q=team-search',
      sinceMs: nowMs - 44 * minuteMs,
    },
  ];
}

/** A clause of the sentence: a warning of this process, unless it says otherwise. */
export function clause(kind: Clause['kind'], text: string, more: Partial<Clause> = {}): Clause {
  return {
    kind,
    text,
    detail: undefined,
    href: '#/now',
    sinceMs: undefined,
    severity: 'warn',
    ...more,
  };
}

const keyIds = ['team-search', 'team-design', 'app-mobile', 'batch-nightly', 'app-web'] as const;
const modelIds = ['gpt-5-mini', 'claude-opus-4', 'gemini-3-flash', 'gpt-5', 'gpt-5-mini'] as const;
const channelIds = [
  'openai-main',
  'anthropic-eu',
  'gemini-1',
  'azure-sweden',
  'openai-main',
] as const;

/** A call of the log. */
export function call(index: number, change: Partial<CallSummary> = {}): CallSummary {
  const outputTokens = 120 + ((index * 137) % 900);
  const inputTokens = 800 + ((index * 389) % 5_000);
  return {
    kind: 'call',
    requestId: `req_${(0x7b19c4 + index * 7_919).toString(16)}`,
    reservationId: `hold_${(0x51d0 + index).toString(16)}`,
    startedAtMs: nowMs - index * 2_300 - 900,
    keyId: keyIds[index % 5] ?? 'app-web',
    group: index % 3 === 0 ? 'batch' : 'default',
    protocol: index % 4 === 1 ? 'messages' : 'chat',
    modelId: modelIds[index % 5] ?? 'gpt-5',
    channelId: channelIds[index % 5],
    streamed: index % 2 === 0,
    status: 200,
    outcome: 'complete',
    reason: undefined,
    durationMs: 1_200 + ((index * 433) % 9_000),
    firstByteMs: 310 + ((index * 71) % 900),
    inputTokens,
    outputTokens,
    images: undefined,
    heldNanos: 41_000_000n,
    chargeNanos: BigInt(inputTokens) * 150n + BigInt(outputTokens) * 600n,
    costNanos: BigInt(inputTokens) * 110n + BigInt(outputTokens) * 440n,
    booked: true,
    ...change,
  };
}

/** Calls that show a row in each of its looks. */
export function callPage(): CallPage {
  const calls = Array.from({ length: 40 }, (_, index) => call(index));
  const changed: Readonly<Record<number, Partial<CallSummary>>> = {
    0: inDoubt,
    3: failed,
    8: { outcome: 'caller_left', status: 499, reason: 'caller_left' },
    13: { outcome: 'not_run', status: 400, reason: 'upstream_refused', chargeNanos: 0n },
    17: { booked: false },
  };
  return {
    data: calls.map((one, index) => ({ ...one, ...changed[index] })),
    next: '40',
    source: 'log',
  };
}

const inDoubt: Partial<CallSummary> = {
  outcome: 'unknown',
  status: 504,
  reason: 'headers_timeout',
  booked: false,
  modelId: 'gpt-image-2',
  keyId: 'team-design',
  channelId: 'openai-main',
  protocol: 'images',
  firstByteMs: undefined,
  inputTokens: undefined,
  outputTokens: undefined,
  chargeNanos: 0n,
  costNanos: undefined,
  durationMs: 120_000,
};

const failed: Partial<CallSummary> = {
  booked: true,
  outcome: 'truncated',
  status: 503,
  reason: 'upstream_overloaded',
  chargeNanos: 0n,
  costNanos: 0n,
  firstByteMs: undefined,
  outputTokens: undefined,
};

/** Everything that is known about a call. */
export function detail(summary: CallSummary): CallDetail {
  const isInDoubt = summary.outcome === 'unknown' && !summary.booked;
  return {
    ...summary,
    ...explained(summary.reason),
    upstreamModel: `${summary.modelId}-2026-09`,
    attempts: [
      {
        channelId: 'azure-sweden',
        status: 429,
        reason: 'upstream_rate_limited',
        ...explained('upstream_rate_limited'),
        mayHaveRun: false,
        durationMs: 240,
      },
      {
        channelId: summary.channelId ?? 'openai-main',
        status: isInDoubt ? undefined : summary.status,
        reason: reasonOf(summary),
        ...explained(reasonOf(summary)),
        mayHaveRun: true,
        durationMs: summary.durationMs - 300,
      },
    ],
    metadata: { team: 'search', feature: 'autocomplete' },
    basis: isInDoubt ? 'policy' : 'usage',
    revision: 1,
    lines: [
      { subject: summary.keyId, period: '2026-11', heldNanos: summary.heldNanos },
      { subject: 'company', period: '2026-11-23', heldNanos: summary.heldNanos },
    ],
    isInDoubt,
  };
}

function reasonOf({ outcome, reason }: CallSummary): FailureReason | undefined {
  return outcome === 'complete' ? undefined : reason;
}

/** A request that was refused because of insufficient quota. */
export function refusal(index: number): RefusalSummary {
  return {
    kind: 'refusal',
    requestId: `req_r${index}`,
    atMs: nowMs - index * 5_000,
    keyId: 'team-search',
    group: 'default',
    protocol: 'chat',
    modelId: 'gpt-5',
    code: 'insufficient_quota',
    reason: 'insufficient',
    ...explained('insufficient'),
    status: 403,
    ...{ limit: undefined, param: undefined, path: undefined, requestedModel: undefined },
  };
}
