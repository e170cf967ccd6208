// suite: quick
/** Channels that time out, or keep their callers waiting while others reply. */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../src/ports/models/catalog.ts';
import type { ChannelLease } from '../../src/upstream/channel-health.ts';
import type { HealthSignal } from '../../src/upstream/record-health.ts';
import {
  channel,
  type HealthSetup,
  healthSetup,
  served,
  times,
  timesOut,
  wholeCall,
} from './health-setup.ts';

describe('a timeout', () => {
  it('deprioritizes the model on the account, and the second one opens its circuit', () => {
    const { call, clock, stateOf } = healthSetup();

    call(timesOut);
    expect([stateOf('m'), stateOf('other')]).toEqual(['deprioritized', 'available']);
    clock.advance(3_600_000);
    call(timesOut);

    expect([stateOf('m'), stateOf('other')]).toEqual(['headers_timeout', 'available']);
  });

  it('is forgotten after the first call that is served', () => {
    const { call, stateOf } = healthSetup();
    call(timesOut);

    call(served);
    expect(stateOf()).toBe('available');
    call(timesOut);

    expect(stateOf()).toBe('deprioritized');
  });

  it('is followed by one trial call after half a minute, while others go elsewhere', () => {
    const { call, clock, health, stateOf } = healthSetup();
    call(timesOut);
    clock.advance(29_999);
    expect(stateOf()).toBe('deprioritized');
    clock.advance(1);
    expect(stateOf()).toBe('available');

    const trial = health.begin(channel, 'm', wholeCall);
    expect(stateOf()).toBe('deprioritized');
    trial.answered();

    expect(stateOf()).toBe('available');
  });

  it('gives its trial call five times the median time to a first byte', () => {
    const { call, clock, health } = healthSetup();
    for (const ms of [1_000, 9_000, 4_000, 2_000, 60_000]) {
      const lease = health.begin({ ...channel, id: 'b' }, 'm', wholeCall);
      clock.advance(ms);
      lease.firstByte(clock.monotonicMs());
      lease.answered();
      lease.end(served);
    }
    call(timesOut);
    clock.advance(30_000);

    const trial = health.begin(channel, 'm', wholeCall);
    const concurrent = health.begin(channel, 'm', wholeCall);

    expect([trial.trialMs, concurrent.trialMs]).toEqual([20_000, undefined]);
  });

  it('of a call that a later one has overtaken does not count', () => {
    const { clock, health, stateOf } = healthSetup();
    const stuck = health.begin(channel, 'm', wholeCall);
    clock.advance(1);
    const later = health.begin(channel, 'm', wholeCall);
    later.firstByte(clock.monotonicMs());
    later.answered();
    clock.advance(300_000);

    stuck.end(timesOut);

    expect(stateOf()).toBe('available');
  });
});

describe('a caller that disconnects from a silent call', () => {
  const disconnects = (keyId: string): HealthSignal => ({
    kind: 'disconnected_waiting',
    reason: 'caller_left',
    keyId,
  });

  it('counts as half a timeout, each key once', () => {
    const { call, stateOf } = healthSetup();

    times(20, () => call(disconnects('one')));
    expect(stateOf()).toBe('available');
    call(disconnects('two'));
    expect(stateOf()).toBe('deprioritized');
    call(disconnects('three'));
    expect(stateOf()).toBe('deprioritized');
    call(disconnects('four'));

    expect(stateOf()).toBe('caller_left');
  });

  it('counts again after a call was served', () => {
    const { call, stateOf } = healthSetup();
    call(disconnects('one'));
    call(served);
    call(disconnects('one'));
    expect(stateOf()).toBe('available');

    call(disconnects('two'));

    expect(stateOf()).toBe('deprioritized');
  });
});

describe('three calls that wait longer than usual', () => {
  const other = { ...channel, id: 'b' };
  const begin = ({ health }: HealthSetup, of: Channel): ChannelLease =>
    health.begin(of, 'm', wholeCall);
  /** A call through the other channel that is answered after `ms`. */
  const answered = (harness: HealthSetup, ms: number): void => {
    const lease = begin(harness, other);
    harness.clock.advance(ms);
    lease.firstByte(harness.clock.monotonicMs());
    lease.answered();
    lease.end(served);
  };
  const slow = (): HealthSetup => {
    const harness = healthSetup();
    times(3, () => begin(harness, channel));
    harness.clock.advance(10_001);
    return harness;
  };

  it('deprioritize their channel once another has replied to a later call', () => {
    const harness = slow();
    answered(harness, 0);

    harness.health.tick();

    expect(harness.stateOf()).toBe('deprioritized');
    expect(harness.events).toMatchObject([
      { state: 'deprioritized', reason: 'slow', channelId: 'a' },
    ]);
  });

  it('do not if no other has replied, if there are only two, or within five medians', () => {
    const alone = slow();
    alone.health.tick();
    const two = healthSetup();
    times(2, () => begin(two, channel));
    two.clock.advance(10_001);
    answered(two, 0);
    two.health.tick();
    const usual = healthSetup();
    times(5, () => answered(usual, 4_000));
    times(3, () => begin(usual, channel));
    usual.clock.advance(19_000);
    answered(usual, 0);
    usual.health.tick();

    for (const { events } of [alone, two, usual]) expect(events).toEqual([]);
    expect([two.stateOf(), usual.stateOf()]).toEqual(['available', 'available']);
  });

  it('stop counting with any byte received', () => {
    const harness = slow();
    const fourth = begin(harness, channel);
    harness.clock.advance(1);
    answered(harness, 0);
    harness.health.tick();
    expect(harness.stateOf()).toBe('deprioritized');

    fourth.firstByte(harness.clock.monotonicMs());
    harness.health.tick();

    expect(harness.stateOf()).toBe('available');
  });

  it('send one call elsewhere to compare if none has been sent there', () => {
    const harness = slow();
    harness.health.tick();
    expect(harness.stateOf()).toBe('deprioritized');

    const comparison = begin(harness, other);
    expect(harness.stateOf()).toBe('available');
    comparison.firstByte(harness.clock.monotonicMs());
    comparison.answered();

    expect(harness.stateOf()).toBe('deprioritized');
    expect(harness.events).toMatchObject([{ state: 'deprioritized', reason: 'slow' }]);
  });

  it('are forgotten when the host enables the channel', () => {
    const harness = slow();
    answered(harness, 0);
    harness.health.tick();

    harness.health.enable('a');
    harness.health.tick();

    expect(harness.stateOf()).toBe('available');
  });

  it('are compared only with the same kind of reply: streams begin earlier', () => {
    const harness = healthSetup();
    times(3, () => begin(harness, channel));
    harness.clock.advance(10_001);
    const stream = harness.health.begin(other, 'm', { modelId: 'm', reply: 'streamed' });
    stream.firstByte(harness.clock.monotonicMs());
    stream.answered();

    harness.health.tick();

    expect(harness.events).toEqual([]);
  });
});
