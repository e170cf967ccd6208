/** Emits the events of a request: that it was refused or repeated, or that its call has started. */
import type { GatewayError } from '../errors.ts';
import type { Route } from '../protocols/protocol.ts';
import type { Admitted, Received } from './call-record.ts';
import type { RefusalRecorder } from './record-refusals.ts';
import type { Reservation } from './settlement.ts';

/** A request that was answered without an upstream. */
type AnsweredRequest = Pick<Received, 'emit' | 'progress' | 'responseContext'>;

/** How a request was refused, and the recorder that counts it. */
interface Refusal {
  readonly route: Route | undefined;
  readonly status: number;
  readonly refusals: Pick<RefusalRecorder, 'count'>;
}

/**
 * Emits that a request was refused, and counts it; a call that has started ends with `call_ended`
 * instead.
 */
export function reportRefusal(
  received: AnsweredRequest,
  { code, reason }: GatewayError,
  { route, status, refusals }: Refusal,
): void {
  const { emit, progress } = received;
  if (progress.hasStarted) return;
  const refused = { ...factsOf(received, route), code, reason };
  refusals.count(refused);
  if (!emit.isObserved) return;
  const answered = reason === 'caller_left' ? 499 : status;
  emit({ type: 'call_refused', ...refused, status: answered });
}

/** Emits that a request got the kept reply of an earlier one. */
export function reportRepeat(
  { received, route }: Admitted,
  originalRequestId: string | undefined,
): void {
  if (!received.emit.isObserved) return;
  received.emit({ type: 'call_repeated', ...factsOf(received, route), originalRequestId });
}

/** Emits that a call has reserved quota. */
export function reportStart(admitted: Admitted, reservation: Reservation): void {
  const { received, key, call, model, metadata, startedAtMs } = admitted;
  const { emit, progress, responseContext } = received;
  progress.hasStarted = true;
  if (!emit.isObserved) return;
  emit({
    type: 'call_started',
    requestId: responseContext.requestId,
    reservationId: reservation.id,
    keyId: key.id,
    group: key.group,
    protocol: call.protocol,
    operation: call.operation.name,
    modelId: model.id,
    streamed: call.framing !== 'json',
    metadata,
    startedAtMs,
  });
}

function factsOf({ progress, responseContext }: AnsweredRequest, route: Route | undefined) {
  const { key, modelId } = progress;
  return {
    requestId: responseContext.requestId,
    keyId: key?.id,
    group: key?.group,
    protocol: route !== undefined && 'protocol' in route ? route.protocol.name : undefined,
    modelId,
  };
}
