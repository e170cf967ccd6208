/** Emits the events of a request: that it was refused or repeated, or that its call has started. */
import type { GatewayError } from '../errors.ts';
import type { GatewayEvent } from '../events/events.ts';
import type { GatewayRequest } from '../http.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import type { Route } from '../protocols/protocol.ts';
import { isLikeOwnSecret } from '../secret.ts';
import type { Admitted, Received } from './call-record.ts';
import type { RefusalRecorder } from './record-refusals.ts';
import type { CallEnd, Reservation } from './settle/settlement.ts';
import { containsSecret } from './upstream/upstream-text.ts';

type RefusalEvent = Extract<GatewayEvent, { readonly type: 'call_refused' }>;

type AnsweredRequest = Pick<Received, 'emit' | 'progress' | 'responseContext'>;

/** A request that was refused; of one that the host's middleware refused, less is known. */
type RefusedRequest = AnsweredRequest &
  Pick<Received, 'secrets'> & { readonly request: Pick<GatewayRequest, 'path'> };

interface Refusal {
  readonly route: Route | undefined;
  readonly status: number;
  readonly refusals: Pick<RefusalRecorder, 'count'>;
}

/** A call that has started ends with `call_ended` instead. */
export function reportRefusal(
  received: RefusedRequest,
  { code, reason, limit, param, remedy }: GatewayError,
  { route, status, refusals }: Refusal,
): void {
  const { emit, progress } = received;
  if (progress.hasStarted) return;
  const refused = { ...factsOf(received, route), code, reason };
  const modelInPath = route !== undefined && 'modelId' in route ? route.modelId : undefined;
  const names = namedIn(received, {
    limit,
    param,
    path: code === 'route_not_found' ? received.request.path : undefined,
    requestedModel: progress.requestedModel ?? modelInPath,
  });
  const knownPath = route?.kind === 'refused' ? route.path : undefined;
  const detail = names.limit ?? knownPath ?? names.param?.replace(indexes, '[]');
  refusals.count({ ...refused, detail });
  const type = 'call_refused';
  if (!emit.wants({ type, reason })) return;
  const answered = reason === 'caller_left' ? 499 : status;
  const helps = remedy === undefined ? {} : { remedy };
  emit({ type, ...refused, status: answered, ...names, ...helps });
}

/** Members that differ only in these are counted together: `input[2]`, `contents.0.parts`. */
const indexes = /\[\d+\]|\.\d+(?=\.|$)/g;

/** Names that the caller may have chosen: short and plain, so that none fills or forges a log. */
const plainName = /^[A-Za-z0-9._:/-]{1,64}$/;
const plainParam = /^[A-Za-z0-9._:/[\]-]{1,64}$/;
type Names = Pick<RefusalEvent, 'limit' | 'param' | 'path' | 'requestedModel'>;

/** The names that may be logged. Callers paste their key into the wrong field, or into the URL. */
function namedIn(
  { secrets }: RefusedRequest,
  names: { readonly [Name in keyof Names]: string | undefined },
): Names {
  const shown = Object.entries(names).filter(
    ([name, text]) =>
      text !== undefined && isShown(text, name === 'param' ? plainParam : plainName, secrets),
  );
  return Object.fromEntries(shown);
}

function isShown(text: string, form: RegExp, secrets: Received['secrets']): boolean {
  return form.test(text) && !isLikeOwnSecret(text) && !containsSecret(text, secrets());
}

export function reportEnd(
  record: UsageRecord,
  { code, param }: Pick<CallEnd, 'code' | 'param'>,
  { emit, secrets }: Pick<Received, 'emit' | 'secrets'>,
): void {
  const type = 'call_ended';
  if (!emit.wants({ type })) return;
  const shown = param !== undefined && isShown(param, plainParam, secrets) ? { param } : {};
  emit({ type, record, code, ...shown });
}

export function reportRepeat(
  { received, route }: Admitted,
  originalRequestId: string | undefined,
): void {
  const type = 'call_repeated';
  if (!received.emit.wants({ type })) return;
  received.emit({ type, ...factsOf(received, route), originalRequestId });
}

export function reportStart(admitted: Admitted, reservation: Reservation): void {
  const { received, key, call, model, metadata, startedAtMs } = admitted;
  const { emit, progress, responseContext } = received;
  progress.hasStarted = true;
  const type = 'call_started';
  if (!emit.wants({ type })) return;
  emit({
    type,
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
