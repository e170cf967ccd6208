/**
 * Reports what happens beside the gateway (a usage log that writes in the background, the catalog,
 * the configuration file) as further events of it, and counts what the process has lost, for its
 * exit code.
 */
import { errorClass } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import { type Subscription, subscriptionOf } from '../../events/filter.ts';
import { failedPort, swallowErrors, withThrown } from '../../events/thrown.ts';
import type { Gateway } from '../../gateway.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import type { Log } from '../log.ts';
import { withCommand } from '../output.ts';

export interface UsageLogListener {
  /** A write failed; its records are kept and written later. */
  onError(error: unknown): void;
  /** A record is given up. */
  onLost(record: UsageRecord, error: unknown): void;
}

export type Losses = ReturnType<typeof countLosses>;

/** Counters at zero. All events are written to the log. */
export function countLosses(log: Log) {
  const subscriptions = new Set<Subscription>();
  let charges = 0;
  let usageRecords = 0;

  /** Receives the events of the gateway, which has subscribers of its own. */
  const onEvent: EventListener = (event) => {
    if (event.type === 'settlement_lost') charges += 1;
    if (event.type !== 'port_failed') return log.event(event);
    // The error is not enumerable, so that a copy lacks it.
    log.event(withThrown({ ...event, reason: withCommand(event.reason) }, event.error));
  };
  /** Receives the events beside the gateway, for the log and the gateway's subscribers. */
  const emit: EventListener = (event) => {
    swallowErrors(() => onEvent(event));
    for (const one of subscriptions) {
      if (one.wants(event)) swallowErrors(() => one.listener(event));
    }
  };
  const failed = (error: unknown, requestId?: string): void =>
    emit(failedPort({ requestId, port: 'usage', operation: 'write' }, errorClass(error), error));
  const usageLog: UsageLogListener = {
    onError: (error) => failed(error),
    onLost: (record, error) => {
      usageRecords += 1;
      failed(error, record.requestId);
      log.write('error', 'usage_record_lost', lostCall(record));
    },
  };
  return {
    onEvent,
    emit,
    usageLog,
    /** The same gateway, whose subscribers also receive the events beside it. */
    around: (gateway: Gateway): Gateway => ({
      ...gateway,
      subscribe: (listener, filter) => {
        const added = subscriptionOf(listener, filter);
        subscriptions.add(added);
        const stop = gateway.subscribe(listener, filter);
        return () => {
          subscriptions.delete(added);
          stop();
        };
      },
    }),
    /** Charges that the quota store did not accept, and records that the log did not write. */
    count: () => ({ charges, usageRecords }),
  };
}

/** What an operator needs to bill the call by hand. */
function lostCall(record: UsageRecord): object {
  const { requestId, reservationId, keyId, modelId, startedAtMs, outcome, chargeNanos } = record;
  const call = { requestId, reservationId, keyId, modelId, startedAtMs, outcome };
  return { ...call, chargeNanos: String(chargeNanos) };
}
