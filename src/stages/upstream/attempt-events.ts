/** Emits the events of an attempt on a channel, each once and in order. */
import type { GatewayEvent } from '../../events.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import { withThrown } from '../../thrown.ts';
import type { Held } from '../call-record.ts';
import type { ChannelPlan } from '../models/model-plan.ts';

export interface AttemptEnd {
  /** The HTTP status that the upstream sent; undefined if none arrived. */
  readonly status: number | undefined;
  /** Undefined if it gave the reply. */
  readonly reason: FailureReason | undefined;
  readonly mayHaveRun: boolean;
}

/** Reports the progress of an attempt. Created only while somebody listens. */
export interface AttemptReport {
  /** The first part of the reply with content has arrived. Only the first call has an effect. */
  firstByte(): void;
  /** The attempt is over, perhaps because `thrown`. Only the first call has an effect. */
  ended(end: AttemptEnd, thrown?: unknown): void;
  /** One of several requests failed, and is sent again. */
  partFailed(status: number | undefined, reason: FailureReason): void;
}

export interface StartingAttempt {
  readonly held: Held;
  readonly channelPlan: ChannelPlan;
  readonly account: string | undefined;
  /** When the channel was chosen, on the monotonic clock. */
  readonly startedMs: number;
}

/** Emits `attempt_started`, and returns the report that emits the later events. */
export function reportAttempt(attempt: StartingAttempt): AttemptReport {
  const { held, channelPlan, startedMs } = attempt;
  const { admitted, settlement } = held;
  const { emit, settings } = admitted.received;
  const { clock } = settings;
  const common = membersOf(attempt);
  const afterMs = (): number => clock.monotonicMs() - settlement.startedMs;
  let hasFirstByte = false;
  let isOver = false;
  const whileRunning = (event: () => GatewayEvent): void => {
    if (!isOver) emit(event());
  };
  const dialect = channelPlan.channel.dialect;
  const chosenAfterMs = startedMs - settlement.startedMs;
  emit({ type: 'attempt_started', ...common, dialect, afterMs: chosenAfterMs });
  return {
    firstByte: () => {
      if (hasFirstByte) return;
      hasFirstByte = true;
      whileRunning(() => ({ type: 'first_byte', ...common, afterMs: afterMs() }));
    },
    ended: (end, thrown) => {
      const durationMs = clock.monotonicMs() - startedMs;
      whileRunning(() =>
        withThrown({ type: 'attempt_ended', ...common, ...end, durationMs }, thrown),
      );
      isOver = true;
    },
    partFailed: (status, reason) =>
      whileRunning(() => ({
        type: 'part_failed',
        ...common,
        afterMs: afterMs(),
        status,
        reason,
      })),
  };
}

function membersOf({ held, channelPlan, account }: StartingAttempt) {
  const { admitted, settlement } = held;
  return {
    requestId: admitted.received.responseContext.requestId,
    reservationId: settlement.reservation.id,
    attempt: settlement.attemptCount() + 1,
    modelId: admitted.model.id,
    channelId: channelPlan.channel.id,
    upstreamModel: channelPlan.upstreamModel,
    account,
  };
}
