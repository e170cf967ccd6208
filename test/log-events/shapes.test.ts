// suite: quick
/** How `logEvents` writes to each shape of logger, at which level, and that BigInts never throw. */
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { logEvents } from 'tollgate';
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { GatewayEvent, LogLevel } from '../../src/events/events.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';

const ended: GatewayEvent = {
  type: 'call_ended',
  code: 'upstream_failed',
  record: usageRecord({
    requestId: 'request-1',
    chargeNanos: 9_007_199_254_740_991n,
    costNanos: 1_500_000n,
    heldNanos: 0n,
    durationMs: 12.6,
    firstByteMs: 3.2,
  }),
};
const lost: GatewayEvent = {
  type: 'settlement_lost',
  requestId: 'request-2',
  end: {
    operation: 'settle',
    input: {
      id: 'hold-2',
      partition: 'default',
      lines: [{ subject: 'key', period: '', amount: 7n }],
      basis: 'usage',
    },
  },
};
const channelBack: GatewayEvent = {
  type: 'channel_changed',
  channelId: 'a',
  upstreamModel: undefined,
  state: 'ready',
  reason: undefined,
  untilMs: undefined,
};
const unbounded: GatewayEvent = { type: 'no_stated_maximum', modelId: 'forged %s\nlevel=error' };

type Line = readonly [level: string, ...rest: unknown[]];

function recorder(): { readonly lines: Line[]; of(level: LogLevel): (...rest: unknown[]) => void } {
  const lines: Line[] = [];
  return {
    lines,
    of:
      (level) =>
      (...rest) =>
        void lines.push([level, ...rest]),
  };
}

function methods(of: ReturnType<typeof recorder>['of']) {
  return { debug: of('debug'), info: of('info'), warn: of('warn'), error: of('error') };
}

describe('logEvents', () => {
  it('writes a call in one flat line, with exact amounts', () => {
    const { lines, of } = recorder();
    logEvents(methods(of))(ended);

    expect(lines).toEqual([
      [
        'info',
        expect.objectContaining({
          event: 'call_ended',
          requestId: 'request-1',
          code: 'upstream_failed',
          charge: '9007199.254740991',
          cost: '0.0015',
          held: '0',
          durationMs: 13,
          firstByteMs: 3,
        }),
        'tollgate call_ended',
      ],
    ]);
    const [line] = lines;
    expect(() => JSON.stringify(line)).not.toThrow();
  });

  it('passes the message first to winston and others that have log', () => {
    const { lines, of } = recorder();
    logEvents({ ...methods(of), log: () => {} })(lost);

    expect(lines).toEqual([
      [
        'error',
        'tollgate settlement_lost',
        {
          event: 'settlement_lost',
          requestId: 'request-2',
          end: {
            operation: 'settle',
            input: {
              id: 'hold-2',
              partition: 'default',
              lines: [{ subject: 'key', period: '', amount: '7' }],
              basis: 'usage',
            },
          },
        },
      ],
    ]);
  });

  it('passes the whole line to a logger that has only log', () => {
    const entries: unknown[] = [];
    logEvents({ log: (entry) => entries.push(entry) })(channelBack);

    expect(entries).toEqual([
      {
        event: 'channel_changed',
        channelId: 'a',
        state: 'ready',
        level: 'info',
        message: 'tollgate channel_changed',
      },
    ]);
  });

  it('writes one line to the console, whatever a text contains', () => {
    const written: string[] = [];
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        written.push(String(chunk));
        done();
      },
    });
    const log = logEvents(new Console(stream));
    log(unbounded);
    log(ended);

    expect(written).toHaveLength(2);
    expect(written.map((line) => line.split('\n').length)).toEqual([2, 2]);
    expect(written[0]).toContain('forged %s\\nlevel=error');
  });

  it('leaves out what is below the level', () => {
    const { lines, of } = recorder();
    const log = logEvents(methods(of), { level: 'warn' });
    for (const event of [ended, channelBack, unbounded, lost]) log(event);

    expect(lines.map(([level]) => level)).toEqual(['warn', 'error']);
  });

  it('asks a function for the level of each event', () => {
    const { lines, of } = recorder();
    const log = logEvents(methods(of), {
      level: ({ type }) => (type === 'call_ended' ? 'debug' : undefined),
    });
    for (const event of [ended, lost]) log(event);

    expect(lines.map(([level]) => level)).toEqual(['debug']);
  });

  it('refuses a value that is not a logger, and an unknown level', () => {
    // Values that only JavaScript can pass.
    expect(() => Reflect.apply(logEvents, undefined, [{ info: () => {} }])).toThrow(
      ConfigurationError,
    );
    expect(() => Reflect.apply(logEvents, undefined, [undefined])).toThrow(/must have the methods/);
    expect(() => Reflect.apply(logEvents, undefined, [console, { level: 'loud' }])).toThrow(
      /options\.level must be one of debug, info, warn, error/,
    );
  });

  it('writes each event at its level', () => {
    const levelOf = (event: GatewayEvent): string | undefined => {
      const { lines, of } = recorder();
      logEvents(methods(of))(event);
      return lines[0]?.[0];
    };

    const started = {
      type: 'attempt_started' as const,
      requestId: 'r',
      reservationId: 'h',
      attempt: 1,
      modelId: 'm',
      channelId: 'c',
      upstreamModel: 'm',
      account: undefined,
      dialect: 'openai' as const,
      afterMs: 0,
    };
    expect([started, ended, lost, unbounded].map(levelOf)).toEqual([
      'debug',
      'info',
      'error',
      'warn',
    ]);
    const { dialect: _, afterMs: __, ...attempt } = started;
    const over = { ...attempt, type: 'attempt_ended', status: 200, mayHaveRun: true } as const;
    const levels = (['reset', 'caller_left', undefined] as const).map((reason) =>
      levelOf({ ...over, reason, durationMs: 1 }),
    );
    expect(levels).toEqual(['warn', 'debug', 'debug']);
  });
});
