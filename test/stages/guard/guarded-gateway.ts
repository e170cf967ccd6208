/** A gateway in process with a guard, and the calls that the guard has seen. */
import type { Guard, GuardedCall } from '../../../src/ports/guard.ts';
import {
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { completeReply, type Kind } from '../../support/models.ts';

/** The gateway. */
export interface Guarded extends InProcessGateway {
  readonly seen: readonly GuardedCall[];
}

/** A gateway whose guard lets every call run, unless the test has another one. */
export function guarded(kind: Kind, guard: Partial<Guard> = {}, setup: GatewaySetup = {}): Guarded {
  const seen: GuardedCall[] = [];
  const recording: Guard = {
    check: (call) => {
      seen.push(call);
      return undefined;
    },
    ...guard,
  };
  const harness = gatewayInProcess({
    handlers: Array.from({ length: 10 }, () => completeReply(kind)),
    ...setup,
    options: { guard: recording, ...setup.options },
  });
  return { ...harness, seen };
}
