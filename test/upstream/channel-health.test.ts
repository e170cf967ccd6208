/** Who rests, whose circuit is open and who is back, by what calls have shown. */
import { describe, expect, it } from 'vitest';
import {
  asked,
  channel,
  fails,
  image,
  limited,
  nothing,
  refused,
  served,
  startMs,
  text,
  times,
  timesOut,
  unreachable,
  ward,
} from './ward.ts';

describe('a rest', () => {
  it.each<[string, number | undefined, number]>([
    ['as long as the upstream names', 20_000, 20_000],
    ['at least a second', 0, 1_000],
    ['an hour at most', 1e12, 3_600_000],
    ['ten seconds where none is named', undefined, 10_000],
  ])('is %s', (_what, forMs, restMs) => {
    const { call, clock, out } = ward();
    call(limited(forMs));

    clock.advance(restMs - 1);
    expect(out()).toBe('upstream_rate_limited');
    clock.advance(1);
    expect(out()).toBe('open');
  });

  it('doubles where none is named, up to five minutes, until a call is served', () => {
    const { call, clock, health } = ward();
    const spans: number[] = [];
    const rest = (): void => {
      call(limited());
      const untilMs = health.statuses()[0]?.models[0]?.untilMs ?? 0;
      spans.push(untilMs - clock.now());
      clock.advance(untilMs - clock.now());
    };

    times(7, rest);
    call(served);
    rest();

    expect(spans).toEqual([10, 20, 40, 80, 160, 300, 300, 10].map((seconds) => seconds * 1_000));
  });

  it('is not doubled by calls that are let through while it lasts', () => {
    const { call, clock, health } = ward();
    const leftMs = (): number => (health.statuses()[0]?.models[0]?.untilMs ?? 0) - clock.now();

    times(6, () => {
      call(limited());
      clock.advance(2_000);
    });
    expect(leftMs()).toBe(8_000);

    clock.advance(8_000);
    call(limited());
    expect(leftMs()).toBe(20_000);
  });

  it('is for the model alone, or for the account with all of them', () => {
    const { call, out } = ward();
    call(limited(5_000));
    expect([out('m'), out('other')]).toEqual(['upstream_rate_limited', 'open']);

    call({ kind: 'rest', reason: 'unpaid', where: 'account', forMs: 9_000, yields: false });
    expect(out('other')).toBe('unpaid');
  });

  it('is not cut short by a call that had begun before it', () => {
    const { health, call, out } = ward();
    const early = health.begin(channel, 'm', asked);
    call(limited(60_000));

    early.end(served);

    expect(out()).toBe('upstream_rate_limited');
  });

  it('ends when the channel serves all the same', () => {
    const { call, out } = ward();
    call(limited(60_000));

    call(served);

    expect(out()).toBe('open');
  });
});

describe('an ejection', () => {
  it('comes with the fifth failure in a row', () => {
    const { call, out } = ward();
    times(4, () => call(fails));
    expect(out()).toBe('open');

    call(fails);

    expect(out()).toBe('upstream_error');
  });

  it('does not come if a call was served between them', () => {
    const { call, out } = ward();
    times(4, () => call(fails));

    call(served);
    call(fails);

    expect(out()).toBe('open');
  });

  it('comes whatever time lies between them', () => {
    const { call, clock, out } = ward();

    times(5, () => {
      clock.advance(3_600_000);
      call(fails);
    });

    expect(out()).toBe('upstream_error');
  });

  it('is not hastened by what a caller does wrong', () => {
    const { call, out } = ward();
    times(4, () => call(fails));
    times(9, () => call(nothing));

    expect(out()).toBe('open');
  });

  it('counts what can’t be reached for the account, what fails for the model', () => {
    const { call, out } = ward();
    times(3, () => call(unreachable, 'm'));
    times(3, () => call(fails, 'm'));
    expect(out('m')).toBe('open');

    times(2, () => call(unreachable, 'other'));

    expect(out('m')).toBe('connect_refused');
  });

  it.each([
    [0, 24_000],
    [0.5, 30_000],
    [1, 36_000],
  ])('lasts half a minute, and a fifth more or less (%d)', (random, lastsMs) => {
    const { call, clock, out } = ward(() => random);
    times(5, () => call(fails));

    clock.advance(lastsMs - 1);
    expect(out()).toBe('upstream_error');
    clock.advance(1);
    expect(out()).toBe('open');
  });

  it('ends with one call that probes, while others wait', () => {
    const { call, clock, health, out } = ward();
    times(5, () => call(fails));
    clock.advance(30_000);

    const probe = health.begin(channel, 'm', asked);
    expect(out()).toBe('upstream_error');
    probe.answered();

    expect(out()).toBe('open');
  });

  it('lasts longer each time the probe fails, five minutes at most', () => {
    const { call, clock, health } = ward();
    times(5, () => call(fails));
    const spans: number[] = [];

    times(12, () => {
      const { untilMs = 0 } = health.statuses()[0]?.models[0] ?? {};
      spans.push((untilMs - clock.now()) / 1_000);
      clock.advance(untilMs - clock.now());
      call(fails);
    });

    expect(spans).toEqual([30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]);
  });

  it('is probed again after a probe that proved nothing', () => {
    const { call, clock, out } = ward();
    times(5, () => call(fails));
    clock.advance(30_000);

    call(nothing);
    expect(out()).toBe('open');
    call(fails);

    expect(out()).toBe('upstream_error');
  });

  it('is not doubled by calls that were under way when it came', () => {
    const { call, clock, health, out } = ward();
    const crowd = Array.from({ length: 50 }, () => health.begin(channel, 'm', asked));

    for (const lease of crowd) lease.end(fails);
    clock.advance(30_000);

    expect(out()).toBe('open');
    call(served);
    times(4, () => call(fails));
    expect(out()).toBe('open');
  });

  it('is probed by an image that others can serve when as long again no text has been one', () => {
    const { call, clock, out } = ward();
    times(5, () => call(fails));

    clock.advance(30_000);
    expect([out('m', text), out('m', image)]).toEqual(['open', 'last']);
    clock.advance(30_000);
    expect(out('m', image)).toBe('open');
  });

  it('for time-outs is probed by an image that others can serve after an hour', () => {
    const { call, clock, out } = ward();
    times(2, () => call(timesOut));

    clock.advance(3_600_000);
    expect([out('m', text), out('m', image)]).toEqual(['open', 'last']);
    clock.advance(30_000);
    expect(out('m', image)).toBe('open');
  });
});

describe('a credential that is not accepted', () => {
  it('takes the account out until there is another', () => {
    const { call, clock, out, health } = ward();
    call(refused);
    clock.advance(1e9);
    const rotated = { ...channel, credential: 'another' };
    expect([out('m'), out('other'), out('m', text, rotated)]).toEqual([
      'upstream_auth_error',
      'upstream_auth_error',
      'open',
    ]);

    health.begin(rotated, 'm', asked).end(served);

    expect(health.statuses()[0]?.state).toBe('ready');
  });

  it('takes it out until the host gives another catalog, or switches it on', () => {
    const { call, out, health } = ward();
    call(refused);
    health.reloaded();
    expect(out()).toBe('open');

    call(refused);
    health.enable('a');
    expect(out()).toBe('open');
  });

  it('takes it out for a minute if it comes from a function, which may give another', () => {
    const { clock, health } = ward();
    const rotating = { ...channel, credential: async () => 'secret' };
    const isOpen = (): boolean => health.availability(rotating, 'm', text).kind === 'open';

    health.begin(rotating, 'm', asked).end(refused);

    expect(isOpen()).toBe(false);
    clock.advance(60_000);
    expect(isOpen()).toBe(true);
  });

  it('is in no status', () => {
    const { call, health } = ward();
    call(refused);

    expect(JSON.stringify(health.statuses())).not.toContain('secret');
  });
});

describe('a channel', () => {
  it('takes as many calls at once as it may', () => {
    const { health, out } = ward();
    const bounded = { ...channel, maxConcurrentCalls: 2 };
    const first = health.begin(bounded, 'm', asked);
    health.begin(bounded, 'other', asked);
    expect(out('m', text, bounded)).toBe('busy');

    first.end(served);
    first.end(served);

    expect(out('m', text, bounded)).toBe('open');
    expect(health.inFlight(bounded)).toBe(1);
  });

  it('is out while the host has switched it off, and comes back with a clean slate', () => {
    const { call, health, out } = ward();
    call({ kind: 'rest', reason: 'unpaid', where: 'account', forMs: 9_000, yields: false });
    health.disable('a');
    expect(out()).toBe('switched_off');

    health.enable('a');

    expect(out()).toBe('open');
  });

  it('tells each change once, with what it rests for and until when', () => {
    const { call, events, clock } = ward();
    times(3, () => call(limited(20_000)));
    clock.advance(20_000);
    call(served);

    expect(events).toEqual([
      {
        type: 'channel_changed',
        channelId: 'a',
        upstreamModel: 'm',
        state: 'cooling_down',
        reason: 'upstream_rate_limited',
        untilMs: startMs + 20_000,
      },
      {
        type: 'channel_changed',
        channelId: 'a',
        upstreamModel: 'm',
        state: 'ready',
        reason: undefined,
        untilMs: undefined,
      },
    ]);
  });

  it('is listed with its calls and its models in trouble', () => {
    const { call, clock, health } = ward();
    health.begin(channel, 'm', asked);
    call(limited(20_000), 'other');

    const [status] = health.statuses();
    expect(status).toMatchObject({ channelId: 'a', inFlight: 1, state: 'ready' });
    expect(status?.models).toMatchObject([{ upstreamModel: 'other', state: 'cooling_down' }]);
    clock.advance(20_000);
    expect(health.statuses()[0]?.models).toEqual([]);
  });

  it('of which there are ever new ones does not fill the memory', () => {
    const { health } = ward();

    for (let made = 0; made < 20_000; made += 1) {
      health.begin({ ...channel, id: `made-up-${made}` }, 'm', asked).end(served);
    }
    for (let made = 0; made < 5_000; made += 1) {
      health.begin(channel, `made-up-${made}`, asked).end(limited(1e6));
    }

    expect(health.statuses().length).toBeLessThanOrEqual(10_000);
    expect(health.statuses().at(-1)?.models.length).toBeLessThanOrEqual(1_000);
  });
});
