// suite: slow
/**
 * The accounts that a channel's credential names: each has a health of its own, which changes
 * neither the channel's nor that of any other account.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChannelLease, NamedAccount } from '../../src/upstream/channel-health.ts';
import type { HealthSignal } from '../../src/upstream/record-health.ts';
import {
  channel as base,
  fails,
  type HealthSetup,
  healthSetup,
  image,
  limited,
  neutral,
  refused,
  served,
  text,
  times,
  timesOut,
  unreachable,
  wholeCall,
} from './health-setup.ts';

const channel = { ...base, credential: async () => 'of a function' };
const alice: NamedAccount = { name: 'alice', secret: 'sk-of-alice' };
const bob: NamedAccount = { name: 'bob', secret: 'sk-of-bob' };
/** The channel's own account, and two that were named. */
const accounts: readonly (NamedAccount | undefined)[] = [undefined, alice, bob];

/** `available`, `deprioritized`, or the reason why the account is unavailable. */
function stateOf({ health }: HealthSetup, account: NamedAccount | undefined, model = 'm'): string {
  const found = health.availability(channel, model, text, account);
  return found.kind === 'unavailable' ? found.reason : found.kind;
}

function call({ health }: HealthSetup, account: NamedAccount | undefined, signal: HealthSignal) {
  health.begin(channel, 'm', wholeCall, account).end(signal);
}

interface Step {
  readonly account: number;
  readonly model: 'm' | 'other';
  readonly action:
    | { readonly kind: 'begin' }
    | { readonly kind: 'first byte' }
    | { readonly kind: 'answered' }
    | { readonly kind: 'end'; readonly signal: HealthSignal };
  readonly gapMs: number;
}

const signals: readonly HealthSignal[] = [
  served,
  neutral,
  fails,
  timesOut,
  unreachable,
  limited(),
  limited(40_000),
  refused,
  { kind: 'forbidden', reason: 'upstream_forbidden' },
  { kind: 'disconnected_waiting', reason: 'caller_left', keyId: 'k' },
  { kind: 'cooldown', reason: 'upstream_unpaid', where: 'account', forMs: 3e6, lastResort: false },
];

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    account: fc.nat(accounts.length - 1),
    model: fc.constantFrom('m' as const, 'other' as const),
    action: fc.oneof(
      { weight: 3, arbitrary: fc.constant({ kind: 'begin' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'first byte' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'answered' as const }) },
      {
        weight: 4,
        arbitrary: fc.constantFrom(...signals).map((signal) => ({ kind: 'end' as const, signal })),
      },
    ),
    gapMs: fc.constantFrom(0, 0, 500, 11_000, 31_000, 61_000),
  }),
  { maxLength: 60 },
);

/** Runs the steps of these accounts, and returns what each step leaves of `seen`. */
function run(all: readonly Step[], only: readonly number[], seen: number): readonly unknown[] {
  const setup = healthSetup();
  const { health, clock, events } = setup;
  const running = accounts.map((): ChannelLease[] => []);
  return all.map(({ account, model, action, gapMs }) => {
    if (only.includes(account)) {
      const leases = running[account] ?? [];
      if (action.kind === 'begin') {
        leases.push(health.begin(channel, model, wholeCall, accounts[account]));
      }
      if (action.kind === 'first byte') leases[0]?.firstByte(clock.monotonicMs());
      if (action.kind === 'answered') leases[0]?.answered();
      if (action.kind === 'end') leases.shift()?.end(action.signal);
    }
    clock.advance(gapMs);
    health.tick();
    const kinds = [text, image].flatMap((kind) =>
      ['m', 'other'].map((name) => health.availability(channel, name, kind, accounts[seen])),
    );
    return { kinds, events: seen === 0 ? events.length : undefined };
  });
}

describe('the health of an account', () => {
  it.each([0, 1, 2])('is the same whatever happens on the others: account %d', (seen) => {
    fc.assert(
      fc.property(steps, (all) => {
        expect(run(all, [0, 1, 2], seen)).toEqual(run(all, [seen], seen));
      }),
      { numRuns: 400 },
    );
  });

  it('follows the usual rules', () => {
    const setup = healthSetup();

    times(5, () => call(setup, alice, fails));
    expect(accounts.map((account) => stateOf(setup, account))).toEqual([
      'available',
      'upstream_error',
      'available',
    ]);

    setup.clock.advance(30_000);
    call(setup, alice, served);
    expect(stateOf(setup, alice)).toBe('available');
  });

  it('counts a timeout, although another account has answered a later call', () => {
    const setup = healthSetup();
    for (let round = 0; round < 2; round += 1) {
      const silent = setup.health.begin(channel, 'm', wholeCall, alice);
      setup.clock.advance(1_000);
      const lively = setup.health.begin(channel, 'm', wholeCall, bob);
      lively.firstByte(setup.clock.monotonicMs());
      lively.answered();
      lively.end(served);
      silent.end(timesOut);
    }

    expect([stateOf(setup, alice), stateOf(setup, bob)]).toEqual(['headers_timeout', 'available']);
  });

  it('emits no event, so that no metric of the channel counts it', () => {
    const setup = healthSetup();

    for (const signal of signals) times(6, () => call(setup, alice, signal));

    expect(setup.events).toEqual([]);
  });
});

describe('a named account that was refused', () => {
  it.each<[string, HealthSignal]>([
    ['its key', refused],
    [
      'its budget',
      {
        kind: 'cooldown',
        reason: 'upstream_unpaid',
        where: 'account',
        forMs: 3.6e6,
        lastResort: false,
      },
    ],
    ['its connections', unreachable],
  ])('for %s is used again at once with another secret, and only with that', (_what, signal) => {
    const setup = healthSetup();
    times(5, () => call(setup, alice, signal));
    const renewed = { ...alice, secret: 'sk-new-of-alice' };

    expect(stateOf(setup, alice)).not.toBe('available');
    expect(stateOf(setup, renewed)).toBe('available');
    expect(stateOf(setup, alice)).not.toBe('available');

    call(setup, renewed, served);
    expect([stateOf(setup, renewed), stateOf(setup, bob)]).toEqual(['available', 'available']);
  });

  it('gets a minute, as one of a function does', () => {
    const setup = healthSetup();
    call(setup, alice, refused);

    setup.clock.advance(59_999);
    expect(stateOf(setup, alice)).toBe('upstream_auth_error');
    setup.clock.advance(1);
    expect(stateOf(setup, alice)).toBe('available');
  });

  it('keeps the cooldown of a model, which another secret does not change', () => {
    const setup = healthSetup();
    call(setup, alice, refused);
    setup.clock.advance(60_000);
    call(setup, alice, limited(500_000));

    expect(stateOf(setup, { ...alice, secret: 'sk-new' })).toBe('upstream_rate_limited');
  });
});

describe('a channel with named accounts', () => {
  it('lists those with problems, and counts the calls of all', () => {
    const setup = healthSetup();
    const { health, clock } = setup;
    health.begin(channel, 'm', wholeCall, alice);
    health.begin(channel, 'm', wholeCall);
    call(setup, bob, refused);
    call(setup, bob, limited(5_000));

    expect(health.inFlight(channel)).toBe(2);
    expect(health.statuses()).toEqual([
      {
        channelId: 'a',
        state: 'ready',
        reason: undefined,
        untilMs: undefined,
        inFlight: 2,
        models: [],
        accounts: [
          {
            account: 'bob',
            state: 'cooling_down',
            reason: 'upstream_auth_error',
            untilMs: clock.now() + 60_000,
            inFlight: 0,
            models: [
              {
                upstreamModel: 'm',
                state: 'cooling_down',
                reason: 'upstream_rate_limited',
                untilMs: clock.now() + 5_000,
              },
            ],
          },
        ],
      },
    ]);
    expect(JSON.stringify(health.statuses())).not.toContain('sk-of');
  });

  it('limits the concurrent calls of each account by itself', () => {
    const { health } = healthSetup();
    const bounded = { ...channel, maxConcurrentCalls: 1 };
    const stateIn = (account: NamedAccount | undefined): string =>
      health.availability(bounded, 'm', text, account).kind;
    const lease = health.begin(bounded, 'm', wholeCall, alice);

    expect(accounts.map(stateIn)).toEqual(['available', 'unavailable', 'available']);
    lease.end(served);
    lease.end(served);

    expect(accounts.map(stateIn)).toEqual(['available', 'available', 'available']);
    expect(health.inFlight(bounded)).toBe(0);
  });

  it('is off for all of them when the host disables it, and all start clean when enabled', () => {
    const setup = healthSetup();
    for (const account of accounts) times(5, () => call(setup, account, unreachable));

    setup.health.disable('a');
    expect(accounts.map((account) => stateOf(setup, account))).toEqual([
      'switched_off',
      'switched_off',
      'switched_off',
    ]);

    setup.health.enable('a');
    expect(accounts.map((account) => stateOf(setup, account))).toEqual([
      'available',
      'available',
      'available',
    ]);
  });

  it('remembers 10,000 of them, and forgets the least recently used one first', () => {
    const setup = healthSetup();
    const named = (index: number): NamedAccount => ({ name: `user-${index}`, secret: 'sk' });
    times(5, () => call(setup, named(0), fails));
    times(5, () => call(setup, named(1), fails));
    for (let index = 2; index < 9_999; index += 1) call(setup, named(index), served);

    call(setup, named(0), neutral);
    call(setup, named(9_999), served);
    call(setup, named(10_000), served);

    expect([stateOf(setup, named(0)), stateOf(setup, named(1))]).toEqual([
      'upstream_error',
      'available',
    ]);
  });
});
