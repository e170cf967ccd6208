/**
 * The background work for the quota store: asks it once whether it is set up correctly, and expires
 * leases that no call touches any more.
 */
import type { EventListener } from '../../events/events.ts';
import type { Settings } from '../../options.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import { isCheckResult, isSweepResult } from '../ports/port-answers.ts';
import type { PortCalls } from '../ports/port-calls.ts';

export interface StoreMaintenance {
  /** Runs the store's self-test at start-up. Problems become an event. Never rejects. */
  check(): Promise<void>;
  /** Called by the gateway's timer; expires due leases when it is time. Never rejects. */
  tick(): Promise<void>;
}

const sweepEveryMs = 30_000;
const maxLeases = 1_000;

/** Reads the current settings each time, because a host may replace its store. */
export function storeMaintenance(
  settings: () => Settings,
  ports: PortCalls,
  emit: EventListener,
): StoreMaintenance {
  let dueMs = settings().clock.monotonicMs() + sweepEveryMs;

  return {
    check: () => checkStore(settings().quota, ports, emit),
    tick: async () => {
      const { clock, quota, random } = settings();
      const nowMs = clock.monotonicMs();
      if (nowMs < dueMs) return;
      // Half of the wait is random, so that the processes that share a store spread out.
      dueMs = nowMs + sweepEveryMs * (0.5 + random());
      try {
        await ports.ask('quota', 'sweep', isSweepResult, (options) =>
          quota.sweep({ ...options, max: maxLeases }),
        );
      } catch {
        // `ports.ask` has reported it; calls expire the due leases of their own subjects.
      }
    },
  };
}

async function checkStore(quota: QuotaStore, ports: PortCalls, emit: EventListener): Promise<void> {
  const [port, operation] = ['quota', 'check'] as const;
  try {
    const found = await ports.ask(port, operation, isCheckResult, (options) =>
      quota.check(options),
    );
    if (found.ok) return;
    const reason = found.problems.join('; ');
    emit({ type: 'port_failed', requestId: undefined, port, operation, reason });
  } catch {
    // `ports.ask` has reported it.
  }
}
