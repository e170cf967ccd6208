/** Counts the invalid keys that each address sent, and refuses addresses that sent too many. */
import type { Clock } from '../../clock.ts';
import { GatewayError, isGatewayError } from '../../errors.ts';
import type { FailedKeyLimit } from '../../ports/keys/failed-key-limit.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { Caller } from '../../protocols/protocol.ts';
import type { Received } from '../call-record.ts';
import { isTextOrMissing } from '../ports/port-answers.ts';
import type { RecordChecks } from '../ports/record-checks.ts';
import { authenticate, keyRequestOf } from './authenticate.ts';

export interface FailedKeys {
  /**
   * Begins the lookup of a key. If the address has as many running lookups as it may still send
   * invalid keys, it waits until one has ended, because each may turn out to be invalid.
   *
   * @throws GatewayError `rate_limited` if the address has to wait
   */
  begin(address: string, perMinute: number): Promise<KeyLookup>;
}

/** A running lookup. It is ended once. */
export interface KeyLookup {
  end(wasInvalid: boolean): void;
}

/** Above this, the address whose last lookup is longest ago is forgotten. */
const maxAddresses = 10_000;
const minuteMs = 60_000;
const defaultPerMinute = 30;

interface Sender {
  /** When it may send the full number of invalid keys again, on the monotonic clock. */
  fullAtMs: number;
  running: number;
  readonly waiting: (() => void)[];
}

export function failedKeys({ monotonicMs }: Pick<Clock, 'monotonicMs'>): FailedKeys {
  const senders = new Map<string, Sender>();
  const senderOf = (address: string): Sender =>
    senders.get(address) ?? { fullAtMs: 0, running: 0, waiting: [] };
  return {
    begin: async (address, perMinute) => {
      const intervalMs = minuteMs / perMinute;
      let sender = senderOf(address);
      while (sender.running > 0 && sender.running >= keysLeft(sender, monotonicMs(), intervalMs)) {
        const { waiting } = sender;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
        sender = senderOf(address);
      }
      const begun = sender;
      if (keysLeft(begun, monotonicMs(), intervalMs) < 1) {
        throw tooManyFailedKeys(begun.fullAtMs - monotonicMs() - minuteMs + intervalMs);
      }
      begun.running += 1;
      keep(senders, address, begun, monotonicMs());
      return {
        end: (wasInvalid) => {
          const nowMs = monotonicMs();
          const woken = endLookup(begun, wasInvalid, intervalMs, nowMs);
          keep(senders, address, begun, nowMs);
          for (const wake of woken) wake();
        },
      };
    },
  };
}

/** Counts the end of a lookup. Returns which of the waiting requests may go on. */
function endLookup(
  sender: Sender,
  wasInvalid: boolean,
  intervalMs: number,
  nowMs: number,
): readonly (() => void)[] {
  sender.running -= 1;
  if (wasInvalid) sender.fullAtMs = Math.max(sender.fullAtMs, nowMs) + intervalMs;
  const { running, waiting } = sender;
  const free = keysLeft(sender, nowMs, intervalMs) - running;
  // As many as may begin now, or all if they are refused. Waking all each time would take quadratic
  // time.
  const areRefused = free < 1 && running === 0;
  return waiting.splice(0, areRefused ? waiting.length : Math.max(0, free));
}

/** Keeps the addresses in the order of their last lookup, without those at their full number. */
function keep(senders: Map<string, Sender>, address: string, sender: Sender, nowMs: number): void {
  senders.delete(address);
  const { fullAtMs, running, waiting } = sender;
  if (running === 0 && waiting.length === 0 && fullAtMs <= nowMs) return;
  senders.set(address, sender);
  if (senders.size > maxAddresses) forgetOldest(senders);
}

/** The tolerance for rounding errors, as a fraction of one key. */
const roundingError = 1e-6;

function keysLeft({ fullAtMs }: Sender, nowMs: number, intervalMs: number): number {
  const leftMs = minuteMs - Math.max(0, fullAtMs - nowMs);
  return Math.floor(leftMs / intervalMs + roundingError);
}

/** Forgets the first address of which no lookup is running. */
function forgetOldest(senders: Map<string, Sender>): void {
  for (const [address, { running }] of senders) {
    if (running > 0) continue;
    senders.delete(address);
    return;
  }
}

/**
 * Like `authenticate`, for a gateway that limits invalid keys.
 *
 * @throws GatewayError as `authenticate` does, and `rate_limited` for an address above the limit
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
  const lookup = await failed.begin(address, perMinute);
  let wasInvalid = false;
  try {
    return await authenticate(received, caller, records);
  } catch (error) {
    wasInvalid = isGatewayError(error) && error.code === 'invalid_key';
    throw error;
  } finally {
    lookup.end(wasInvalid);
  }
}

function tooManyFailedKeys(waitMs: number): GatewayError {
  return new GatewayError(
    'rate_limited',
    'Too many requests without a valid API key came from this address. Check the key, and retry ' +
      'after the time in Retry-After.',
    { reason: 'failed_keys', retryAfterMs: Math.ceil(waitMs) },
  );
}
