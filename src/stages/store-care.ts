/**
 * What the gateway does for the quota store beside calls: asks it once whether it is fit to serve,
 * and expires leases that no call touches any more (QUOTA §2.3).
 */
import type { EventListener } from '../events.ts';
import type { Settings } from '../options.ts';
import { isCheckResult, isSweepResult } from './port-answers.ts';
import type { PortGuard } from './port-guard.ts';

/** The care of one gateway for its store. */
export interface StoreCare {
  /** At start-up. What the store finds wrong with itself becomes an event. Never rejects. */
  check(): Promise<void>;
  /** Called by the gateway's one timer; sweeps when it is time. Never rejects. */
  tick(): Promise<void>;
}

const sweepEveryMs = 30_000;
const mostLeases = 1_000;

/** Asks with the settings of the moment: a host may swap its store. */
export function storeCare(
  settings: () => Settings,
  guard: PortGuard,
  emit: EventListener,
): StoreCare {
  let dueMs = settings().clock.monotonicMs() + sweepEveryMs;

  return {
    check: async () => {
      const { quota } = settings();
      try {
        const found = await guard.ask('quota', 'check', isCheckResult, (options) =>
          quota.check(options),
        );
        if (found.ok) return;
        const reason = found.problems.join('; ');
        emit({
          type: 'port_failed',
          requestId: undefined,
          port: 'quota',
          operation: 'check',
          reason,
        });
      } catch {
        // Reported by the guard.
      }
    },
    tick: async () => {
      const { clock, quota, random } = settings();
      const nowMs = clock.monotonicMs();
      if (nowMs < dueMs) return;
      // Many processes share a store: half of the wait is drawn, so that they spread.
      dueMs = nowMs + sweepEveryMs * (0.5 + random());
      try {
        await guard.ask('quota', 'sweep', isSweepResult, (options) =>
          quota.sweep({ ...options, max: mostLeases }),
        );
      } catch {
        // Reported by the guard; calls expire what they touch.
      }
    },
  };
}
