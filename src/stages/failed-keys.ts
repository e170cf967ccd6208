/** Counts the invalid keys that each address sent, and refuses addresses that sent too many. */
import type { Clock } from '../clock.ts';
import { GatewayError, isGatewayError } from '../errors.ts';
import type { FailedKeyLimit } from '../ports/failed-key-limit.ts';
import type { ApiKey } from '../ports/key-store.ts';
import type { Caller } from '../protocols/protocol.ts';
import { authenticate, keyRequestOf } from './authenticate.ts';
import type { Received } from './call-record.ts';
import { isTextOrMissing } from './port-answers.ts';
import type { RecordChecks } from './record-checks.ts';

/** The addresses that sent invalid keys. */
export interface FailedKeys {
  /** How long the address has to wait, in ms; 0 if it may send another key. */
  waitMs(address: string, perMinute: number): number;
  /** Counts an invalid key. */
  add(address: string, perMinute: number): void;
}

/** Above this, the address whose last failure is longest ago is forgotten. */
const maxAddresses = 10_000;
const minuteMs = 60_000;
const defaultPerMinute = 30;

/** What an address has left to send at a time. */
interface Allowance {
  readonly keys: number;
  readonly atMs: number;
}

/** Starts without addresses. */
export function failedKeys({ monotonicMs }: Pick<Clock, 'monotonicMs'>): FailedKeys {
  const allowances = new Map<string, Allowance>();

  const keysLeft = (address: string, perMinute: number): number => {
    const known = allowances.get(address);
    if (known === undefined) return perMinute;
    const refilled = ((monotonicMs() - known.atMs) / minuteMs) * perMinute;
    return Math.min(perMinute, known.keys + refilled);
  };

  return {
    waitMs: (address, perMinute) => {
      const missing = 1 - keysLeft(address, perMinute);
      return missing <= 0 ? 0 : Math.ceil((missing / perMinute) * minuteMs);
    },
    add: (address, perMinute) => {
      const keys = Math.max(0, keysLeft(address, perMinute) - 1);
      allowances.delete(address);
      allowances.set(address, { keys, atMs: monotonicMs() });
      if (allowances.size <= maxAddresses) return;
      for (const oldest of allowances.keys()) {
        allowances.delete(oldest);
        return;
      }
    },
  };
}

/**
 * As `authenticate`, for a gateway that limits invalid keys.
 *
 * @throws GatewayError as `authenticate`, and `rate_limited` for an address above the limit
 */
export async function authenticateLimited(
  received: Received,
  caller: Caller,
  records: RecordChecks,
  failed: FailedKeys,
): Promise<ApiKey> {
  const { request, settings, ports } = received;
  const { failedKeyLimit } = settings;
  if (failedKeyLimit === undefined) return authenticate(received, caller, records);
  const { perMinute = defaultPerMinute }: FailedKeyLimit = failedKeyLimit;
  const address = await ports.ask('failed_key_limit', 'addressOf', isTextOrMissing, () =>
    failedKeyLimit.addressOf(keyRequestOf(request)),
  );
  if (address === undefined || address === null) return authenticate(received, caller, records);
  const waitMs = failed.waitMs(address, perMinute);
  if (waitMs > 0) throw tooManyFailedKeys(waitMs);
  try {
    return await authenticate(received, caller, records);
  } catch (error) {
    if (isGatewayError(error) && error.code === 'invalid_key') failed.add(address, perMinute);
    throw error;
  }
}

function tooManyFailedKeys(retryAfterMs: number): GatewayError {
  return new GatewayError(
    'rate_limited',
    'Too many requests without a valid API key came from this address. Check the key, and retry ' +
      'after the time in Retry-After.',
    { reason: 'failed_keys', retryAfterMs },
  );
}
