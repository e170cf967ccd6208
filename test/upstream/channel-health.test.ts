// suite: quick
/** Cooldowns, circuit breakers and recovery, by the outcomes of calls. */
import { describe, expect, it } from 'vitest';
import {
  channel,
  fails,
  healthSetup,
  image,
  limited,
  neutral,
  refused,
  served,
  startMs,
  text,
  times,
  timesOut,
  unreachable,
  wholeCall,
} from './health-setup.ts';

describe('a cooldown', () => {
  it.each<[string, number | undefined, number]>([
    ['lasts as long as the upstream names', 20_000, 20_000],
    ['lasts at least a second', 0, 1_000],
    ['lasts at most an hour', 1e12, 3_600_000],
    ['lasts ten seconds if the upstream names no length', undefined, 10_000],
  ])('%s', (_what, forMs, cooldownMs) => {
    const { call, clock, stateOf } = healthSetup();
    call(limited(forMs));

    clock.advance(cooldownMs - 1);
    expect(stateOf()).toBe('upstream_rate_limited');
    clock.advance(1);
    expect(stateOf()).toBe('available');
  });

  it('doubles up to five minutes if the upstream names no length, until a call is served', () => {
    const { call, clock, health } = healthSetup();
    const spans: number[] = [];
    const coolDown = (): void => {
      call(limited());
      const untilMs = health.statuses()[0]?.models[0]?.untilMs ?? 0;
      spans.push(untilMs - clock.now());
      clock.advance(untilMs - clock.now());
    };

    times(7, coolDown);
    call(served);
    coolDown();

    expect(spans).toEqual([10, 20, 40, 80, 160, 300, 300, 10].map((seconds) => seconds * 1_000));
  });

  it('is not doubled by last-resort calls during it', () => {
    const { call, clock, health } = healthSetup();
    const remainingMs = (): number => (health.statuses()[0]?.models[0]?.untilMs ?? 0) - clock.now();

    times(6, () => {
      call(limited());
      clock.advance(2_000);
    });
    expect(remainingMs()).toBe(8_000);

    clock.advance(8_000);
    call(limited());
    expect(remainingMs()).toBe(20_000);
  });

  it('applies to one model, or to the account with all its models', () => {
    const { call, stateOf } = healthSetup();
    call(limited(5_000));
    expect([stateOf('m'), stateOf('other')]).toEqual(['upstream_rate_limited', 'available']);

    call({
      kind: 'cooldown',
      reason: 'upstream_unpaid',
      where: 'account',
      forMs: 9_000,
      lastResort: false,
    });
    expect(stateOf('other')).toBe('upstream_unpaid');
  });

  it('is not ended by the success of a call that began before it', () => {
    const { health, call, stateOf } = healthSetup();
    const early = health.begin(channel, 'm', wholeCall);
    call(limited(60_000));

    early.end(served);

    expect(stateOf()).toBe('upstream_rate_limited');
  });

  it('ends when a last-resort call is served', () => {
    const { call, stateOf } = healthSetup();
    call(limited(60_000));

    call(served);

    expect(stateOf()).toBe('available');
  });
});

describe('an open circuit', () => {
  it('follows the fifth failure in a row', () => {
    const { call, stateOf } = healthSetup();
    times(4, () => call(fails));
    expect(stateOf()).toBe('available');

    call(fails);

    expect(stateOf()).toBe('upstream_error');
  });

  it('does not follow if a call was served in between', () => {
    const { call, stateOf } = healthSetup();
    times(4, () => call(fails));

    call(served);
    call(fails);

    expect(stateOf()).toBe('available');
  });

  it('follows however much time lies between the failures', () => {
    const { call, clock, stateOf } = healthSetup();

    times(5, () => {
      clock.advance(3_600_000);
      call(fails);
    });

    expect(stateOf()).toBe('upstream_error');
  });

  it('is not hastened by mistakes of callers', () => {
    const { call, stateOf } = healthSetup();
    times(4, () => call(fails));
    times(9, () => call(neutral));

    expect(stateOf()).toBe('available');
  });

  it('counts connection failures for the account, other failures for the model', () => {
    const { call, stateOf } = healthSetup();
    times(3, () => call(unreachable, 'm'));
    times(3, () => call(fails, 'm'));
    expect(stateOf('m')).toBe('available');

    times(2, () => call(unreachable, 'other'));

    expect(stateOf('m')).toBe('connect_refused');
  });

  it.each([
    [0, 24_000],
    [0.5, 30_000],
    [1, 36_000],
  ])('lasts half a minute, plus or minus a fifth (%d)', (random, lastsMs) => {
    const { call, clock, stateOf } = healthSetup(() => random);
    times(5, () => call(fails));

    clock.advance(lastsMs - 1);
    expect(stateOf()).toBe('upstream_error');
    clock.advance(1);
    expect(stateOf()).toBe('available');
  });

  it('is tested by one half-open trial call, while others wait', () => {
    const { call, clock, health, stateOf } = healthSetup();
    times(5, () => call(fails));
    clock.advance(30_000);

    const trial = health.begin(channel, 'm', wholeCall);
    expect(stateOf()).toBe('upstream_error');
    trial.answered();

    expect(stateOf()).toBe('available');
  });

  it('lasts longer each time the trial fails, five minutes at most', () => {
    const { call, clock, health } = healthSetup();
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

  it('is tested again after a trial that proved nothing', () => {
    const { call, clock, stateOf } = healthSetup();
    times(5, () => call(fails));
    clock.advance(30_000);

    call(neutral);
    expect(stateOf()).toBe('available');
    call(fails);

    expect(stateOf()).toBe('upstream_error');
  });

  it('is not doubled by calls that were running when it opened', () => {
    const { call, clock, health, stateOf } = healthSetup();
    const running = Array.from({ length: 50 }, () => health.begin(channel, 'm', wholeCall));

    for (const lease of running) lease.end(fails);
    clock.advance(30_000);

    expect(stateOf()).toBe('available');
    call(served);
    times(4, () => call(fails));
    expect(stateOf()).toBe('available');
  });

  it('takes an image as its trial only after twice the time, if others can serve it', () => {
    const { call, clock, stateOf } = healthSetup();
    times(5, () => call(fails));

    clock.advance(30_000);
    expect([stateOf('m', text), stateOf('m', image)]).toEqual(['available', 'deprioritized']);
    clock.advance(30_000);
    expect(stateOf('m', image)).toBe('available');
  });

  it('takes an image call as its trial only after an hour if it opened for timeouts', () => {
    const { call, clock, stateOf } = healthSetup();
    times(2, () => call(timesOut));

    clock.advance(3_600_000);
    expect([stateOf('m', text), stateOf('m', image)]).toEqual(['available', 'deprioritized']);
    clock.advance(30_000);
    expect(stateOf('m', image)).toBe('available');
  });
});

describe('a rejected credential', () => {
  it('makes the account unavailable until there is another credential', () => {
    const { call, clock, stateOf, health } = healthSetup();
    call(refused);
    clock.advance(1e9);
    const rotated = { ...channel, credential: 'another' };
    expect([stateOf('m'), stateOf('other'), stateOf('m', text, rotated)]).toEqual([
      'upstream_auth_error',
      'upstream_auth_error',
      'available',
    ]);

    health.begin(rotated, 'm', wholeCall).end(served);

    expect(health.statuses()[0]?.state).toBe('ready');
  });

  it('makes it unavailable until the host reloads the catalog or enables the channel', () => {
    const { call, stateOf, health } = healthSetup();
    call(refused);
    health.reloaded();
    expect(stateOf()).toBe('available');

    call(refused);
    health.enable('a');
    expect(stateOf()).toBe('available');
  });

  it('makes it unavailable for a minute if it comes from a function', () => {
    const { clock, health } = healthSetup();
    const rotating = { ...channel, credential: async () => 'secret' };
    const isOpen = (): boolean => health.availability(rotating, 'm', text).kind === 'available';

    health.begin(rotating, 'm', wholeCall).end(refused);

    expect(isOpen()).toBe(false);
    clock.advance(60_000);
    expect(isOpen()).toBe(true);
  });

  it('does not appear in a status', () => {
    const { call, health } = healthSetup();
    call(refused);

    expect(JSON.stringify(health.statuses())).not.toContain('secret');
  });
});

describe('a channel', () => {
  it('takes no more concurrent calls than allowed', () => {
    const { health, stateOf } = healthSetup();
    const bounded = { ...channel, maxConcurrentCalls: 2 };
    const first = health.begin(bounded, 'm', wholeCall);
    health.begin(bounded, 'other', wholeCall);
    expect(stateOf('m', text, bounded)).toBe('busy');

    first.end(served);
    first.end(served);

    expect(stateOf('m', text, bounded)).toBe('available');
    expect(health.inFlight(bounded)).toBe(1);
  });

  it('is unavailable while the host has disabled it, and starts clean when enabled', () => {
    const { call, health, stateOf } = healthSetup();
    call({
      kind: 'cooldown',
      reason: 'upstream_unpaid',
      where: 'account',
      forMs: 9_000,
      lastResort: false,
    });
    health.disable('a');
    expect(stateOf()).toBe('switched_off');

    health.enable('a');

    expect(stateOf()).toBe('available');
  });

  it('emits each change once, with the reason and the end of the cooldown', () => {
    const { call, events, clock } = healthSetup();
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

  it('is listed with its calls and its unhealthy models', () => {
    const { call, clock, health } = healthSetup();
    health.begin(channel, 'm', wholeCall);
    call(limited(20_000), 'other');

    const [status] = health.statuses();
    expect(status).toMatchObject({ channelId: 'a', inFlight: 1, state: 'ready' });
    expect(status?.models).toMatchObject([{ upstreamModel: 'other', state: 'cooling_down' }]);
    clock.advance(20_000);
    expect(health.statuses()[0]?.models).toEqual([]);
  });

  it('does not fill the memory when ever new ids come', () => {
    const { health } = healthSetup();

    for (let made = 0; made < 20_000; made += 1) {
      health.begin({ ...channel, id: `made-up-${made}` }, 'm', wholeCall).end(served);
    }
    for (let made = 0; made < 5_000; made += 1) {
      health.begin(channel, `made-up-${made}`, wholeCall).end(limited(1e6));
    }

    expect(health.statuses().length).toBeLessThanOrEqual(10_000);
    expect(health.statuses().at(-1)?.models.length).toBeLessThanOrEqual(1_000);
  });
});
