/** Emits the events of an attempt on a channel, each once and in order. */
import type { GatewayEvent } from '../../events.ts';
import type { Channel } from '../../ports/catalog.ts';
import { withThrown } from '../../thrown.ts';
import type { AttemptReport, Leased } from './attempt.ts';
import { type Credential, namedAccount } from './credential.ts';

/** Emits `attempt_started`, and returns the report that emits the later events. */
export function reportAttempt(leased: Leased): AttemptReport {
  const { held, channelPlan, lease } = leased;
  const { startedMs } = lease;
  const { admitted, settlement } = held;
  const { emit, settings } = admitted.received;
  const { clock } = settings;
  const common = membersOf(leased);
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

/** The members that all events of the attempt have. */
function membersOf({ held, channelPlan, credential }: Leased) {
  const { admitted, settlement } = held;
  return {
    requestId: admitted.received.responseContext.requestId,
    reservationId: settlement.reservation.id,
    attempt: settlement.attemptCount() + 1,
    modelId: admitted.model.id,
    channelId: channelPlan.channel.id,
    upstreamModel: channelPlan.upstreamModel,
    account: shownAccount(channelPlan.channel, credential),
  };
}

/** Undefined if the channel's function failed, because it may have meant any account. */
function shownAccount({ account }: Channel, credential: Credential | undefined) {
  if (credential === undefined) return account;
  return credential.kind === 'secret' ? (namedAccount(credential) ?? account) : undefined;
}
