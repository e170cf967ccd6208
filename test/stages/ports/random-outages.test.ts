// suite: search
/**
 * Many callers and three equal channels that fail in every way, at random times from a seed, with
 * the default timeouts: whatever fails, healthy channels keep serving, and recovered ones are used
 * again.
 */
import { describe, expect, it } from 'vitest';
import { sampleRequests } from '../../support/models.ts';
import { numbers } from '../../support/seeds.ts';
import {
  type Conduct,
  type Outcome,
  type Simulation,
  simulation,
} from '../upstream/simulated-channels.ts';

const answers: Conduct = { kind: 'answers', afterMs: 1_000 };
const faults: readonly Conduct[] = [
  { kind: 'hangs' },
  { kind: 'refuses' },
  { kind: 'black_hole' },
  { kind: 'resets' },
  { kind: 'says', status: 500 },
  { kind: 'says', status: 503 },
  { kind: 'says', status: 429, retryAfter: 20 },
  { kind: 'says', status: 504 },
];
const ids = ['a', 'b', 'c'];
const faultyMs = 20 * 60_000;
/** The longest pause, including its jitter, and the time of a trial. */
const recoveryMs = 7 * 60_000;

interface Phase {
  readonly untilMs: number;
  readonly conduct: Conduct;
}

/** Alternates between working and failing, each for 10 s to 3 min. */
function phasesBy(random: () => number): readonly Phase[] {
  const phases: Phase[] = [];
  let untilMs = 0;
  while (untilMs < faultyMs) {
    untilMs += 10_000 + Math.round(random() * 170_000);
    const fault = faults[Math.floor(random() * faults.length)] ?? answers;
    phases.push({ untilMs, conduct: phases.length % 2 === 0 ? answers : fault });
  }
  return phases;
}

interface Crowd {
  readonly set: Simulation;
  /**
   * Calls that were sent although the circuit was open, or that ran next to its half-open trial.
   */
  readonly violations: readonly string[];
  /** The number of calls sent to a channel since a time. */
  readonly visitsOf: (id: string, sinceMs: number) => number;
}

/** Channel `c` always works; two calls a second. */
async function parallelCalls(seed: number): Promise<Crowd> {
  const random = numbers(seed);
  const phases = new Map(['a', 'b'].map((id) => [id, phasesBy(random)]));
  const visits: { readonly id: string; readonly atMs: number }[] = [];
  const violations: string[] = [];
  const trialsSeen = new Map<string, number>();

  const conducts = (id: string, nowMs: number): Conduct => {
    visits.push({ id, atMs: nowMs });
    const states = statesOf(set, id);
    if (states.includes('open')) violations.push(`${id} at ${nowMs}: an open circuit`);
    if (states.includes('half_open')) {
      const trials = set.states().filter((one) => one.startsWith(`${id} half_open`)).length;
      if (trialsSeen.get(id) === trials) violations.push(`${id} at ${nowMs}: a second trial`);
      trialsSeen.set(id, trials);
    }
    if (nowMs >= faultyMs) return answers;
    return phases.get(id)?.find(({ untilMs }) => nowMs < untilMs)?.conduct ?? answers;
  };
  const set: Simulation = simulation(ids, conducts, { isEqual: true, random });
  const calls: Promise<Outcome>[] = [];
  while (set.clock.monotonicMs() < faultyMs + recoveryMs + 180_000) {
    const request = random() < 0.5 ? sampleRequests.chat : sampleRequests.chatStream;
    calls.push(set.call(request, { key: `key-${calls.length % 50}` }));
    await set.pass(500);
  }
  await set.until(Promise.all(calls));
  const visitsOf = (id: string, sinceMs: number): number =>
    visits.filter((visit) => visit.id === id && visit.atMs >= sinceMs).length;
  return { set, violations, visitsOf };
}

/** The states of the account, and of the models on it that have trouble. */
function statesOf({ harness }: Simulation, id: string): readonly string[] {
  const status = harness.gateway.channels().find(({ channelId }) => channelId === id);
  return status === undefined ? [] : [status, ...status.models].map(({ state }) => state);
}

describe.each([2, 3, 4])('three channels, two of which fail at random (seed %i)', (seed) => {
  it('serve all but 12 of 3,600 callers, and recover', async () => {
    const { set, violations, visitsOf } = await parallelCalls(seed);

    // An open circuit gets no calls except its trial.
    expect(violations).toEqual([]);
    // One channel always works, so no caller is told that there is none.
    expect(set.harness.eventTypes()).not.toContain('no_channel');
    // It gets its share of calls, and recovered channels get theirs again.
    expect(visitsOf('c', 0) / set.outcomes.length).toBeGreaterThan(0.3);
    const sinceMs = faultyMs + recoveryMs;
    const late = visitsOf('a', sinceMs) + visitsOf('b', sinceMs) + visitsOf('c', sinceMs);
    for (const id of ids) expect(visitsOf(id, sinceMs) / late).toBeGreaterThan(0.2);
    expect(set.harness.gateway.channels()).toMatchObject(
      ids.map(() => ({ state: 'ready', inFlight: 0, models: [] })),
    );
    // Of 3,600 callers, during some twenty outages of a channel.
    expect(set.outcomes).toHaveLength(3_600);
    expect(set.outcomes.filter(({ status }) => status !== 200).length).toBeLessThanOrEqual(12);
  });
});
