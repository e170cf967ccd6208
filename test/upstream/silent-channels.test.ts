/** Channels that do not answer in time, or keep their callers waiting while others answer. */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../src/ports/catalog.ts';
import type { ChannelLease, HealthSignal } from '../../src/upstream/channel-health.ts';
import { asked, channel, served, times, timesOut, type Ward, ward } from './ward.ts';

describe('a time-out', () => {
  it('draws the model on the account last, and the second opens its circuit', () => {
    const { call, clock, out } = ward();

    call(timesOut);
    expect([out('m'), out('other')]).toEqual(['last', 'open']);
    clock.advance(3_600_000);
    call(timesOut);

    expect([out('m'), out('other')]).toEqual(['headers_timeout', 'open']);
  });

  it('is forgotten with the first call that is served', () => {
    const { call, out } = ward();
    call(timesOut);

    call(served);
    expect(out()).toBe('open');
    call(timesOut);

    expect(out()).toBe('last');
  });

  it('is tried out by one call after half a minute, while others go elsewhere', () => {
    const { call, clock, health, out } = ward();
    call(timesOut);
    clock.advance(29_999);
    expect(out()).toBe('last');
    clock.advance(1);
    expect(out()).toBe('open');

    const trial = health.begin(channel, 'm', asked);
    expect(out()).toBe('last');
    trial.answered();

    expect(out()).toBe('open');
  });

  it('is tried out for as long as five times the median of a first byte', () => {
    const { call, clock, health } = ward();
    for (const ms of [1_000, 9_000, 4_000, 2_000, 60_000]) {
      const lease = health.begin({ ...channel, id: 'b' }, 'm', asked);
      clock.advance(ms);
      lease.firstByte(clock.monotonicMs());
      lease.answered();
      lease.end(served);
    }
    call(timesOut);
    clock.advance(30_000);

    const trial = health.begin(channel, 'm', asked);
    const beside = health.begin(channel, 'm', asked);

    expect([trial.trialMs, beside.trialMs]).toEqual([20_000, undefined]);
  });

  it('of a call that a later one has outrun counts for nothing', () => {
    const { clock, health, out } = ward();
    const stuck = health.begin(channel, 'm', asked);
    clock.advance(1);
    const later = health.begin(channel, 'm', asked);
    later.firstByte(clock.monotonicMs());
    later.answered();
    clock.advance(300_000);

    stuck.end(timesOut);

    expect(out()).toBe('open');
  });
});

describe('a caller that leaves a silent call', () => {
  const leaves = (keyId: string): HealthSignal => ({
    kind: 'left_waiting',
    reason: 'caller_left',
    keyId,
  });

  it('counts as half a time-out, each key once', () => {
    const { call, out } = ward();

    times(20, () => call(leaves('one')));
    expect(out()).toBe('open');
    call(leaves('two'));
    expect(out()).toBe('last');
    call(leaves('three'));
    expect(out()).toBe('last');
    call(leaves('four'));

    expect(out()).toBe('caller_left');
  });

  it('counts again once a call was served', () => {
    const { call, out } = ward();
    call(leaves('one'));
    call(served);
    call(leaves('one'));
    expect(out()).toBe('open');

    call(leaves('two'));

    expect(out()).toBe('last');
  });
});

describe('three calls that wait longer than is usual', () => {
  const other = { ...channel, id: 'b' };
  const begun = ({ health }: Ward, of: Channel): ChannelLease => health.begin(of, 'm', asked);
  /** A call through the other channel that takes as long. */
  const answered = (set: Ward, ms: number): void => {
    const lease = begun(set, other);
    set.clock.advance(ms);
    lease.firstByte(set.clock.monotonicMs());
    lease.answered();
    lease.end(served);
  };
  const slow = (): Ward => {
    const set = ward();
    times(3, () => begun(set, channel));
    set.clock.advance(10_001);
    return set;
  };

  it('draw their channel last while another has answered a later call, and say so', () => {
    const set = slow();
    answered(set, 0);

    set.health.tick();

    expect(set.out()).toBe('last');
    expect(set.events).toMatchObject([{ state: 'deprioritized', reason: 'slow', channelId: 'a' }]);
  });

  it('do not where no other has, where there are two, or within five medians', () => {
    const alone = slow();
    alone.health.tick();
    const two = ward();
    times(2, () => begun(two, channel));
    two.clock.advance(10_001);
    answered(two, 0);
    two.health.tick();
    const usual = ward();
    times(5, () => answered(usual, 4_000));
    times(3, () => begun(usual, channel));
    usual.clock.advance(19_000);
    answered(usual, 0);
    usual.health.tick();

    for (const { events } of [alone, two, usual]) expect(events).toEqual([]);
    expect([two.out(), usual.out()]).toEqual(['open', 'open']);
  });

  it('give way to any byte', () => {
    const set = slow();
    const fourth = begun(set, channel);
    set.clock.advance(1);
    answered(set, 0);
    set.health.tick();
    expect(set.out()).toBe('last');

    fourth.firstByte(set.clock.monotonicMs());
    set.health.tick();

    expect(set.out()).toBe('open');
  });

  it('send one call elsewhere to compare, where none has gone there', () => {
    const set = slow();
    set.health.tick();
    expect(set.out()).toBe('last');

    const comparison = begun(set, other);
    expect(set.out()).toBe('open');
    comparison.firstByte(set.clock.monotonicMs());
    comparison.answered();

    expect(set.out()).toBe('last');
    expect(set.events).toMatchObject([{ state: 'deprioritized', reason: 'slow' }]);
  });

  it('are forgotten when the host puts the channel back', () => {
    const set = slow();
    answered(set, 0);
    set.health.tick();

    set.health.enable('a');
    set.health.tick();

    expect(set.out()).toBe('open');
  });

  it('are kept apart by what they ask for: a whole reply takes longer than a stream', () => {
    const set = ward();
    times(3, () => begun(set, channel));
    set.clock.advance(10_001);
    const stream = set.health.begin(other, 'm', { modelId: 'm', reply: 'streamed' });
    stream.firstByte(set.clock.monotonicMs());
    stream.answered();

    set.health.tick();

    expect(set.events).toEqual([]);
  });
});
