/** Turns whatever was thrown into an answer that a caller may read. */
import { errorName, GatewayError, isGatewayError } from '../errors.ts';
import type { EventListener } from '../events.ts';

/** The error to answer with; what no caller may know goes into an event. */
export function readableError(
  error: unknown,
  requestId: string,
  emit: EventListener,
): GatewayError {
  if (isGatewayError(error)) {
    if (error.reason === 'body_consumed')
      emit({ type: 'body_consumed', requestId, remedy: bodyCure });
    return error;
  }
  reportBug(error, requestId, emit);
  return new GatewayError('internal_error', 'The gateway failed to answer this request.');
}

/** Tells the host where something broke; no request's id for what the gateway does by itself. */
export function reportBug(
  error: unknown,
  requestId: string | undefined,
  emit: EventListener,
): void {
  emit({ type: 'internal_error', requestId, at: placeOf(error) });
}

/** The gateway takes no calls any more. */
export function closing(): GatewayError {
  return new GatewayError('draining', 'The gateway is shutting down. Try again shortly.', {
    retryAfterMs: 1_000,
    shouldRetry: true,
  });
}

/** The gateway runs as many calls as it may, or as many of this key as leave room for others. */
export function overloaded(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway is running too many calls. Try again shortly.',
    { reason: 'concurrent_calls', retryAfterMs: 1_000 },
  );
}

/** As many calls of the key run as its `maxConcurrentCalls` allows. */
export function tooManyInFlight(): GatewayError {
  return new GatewayError(
    'rate_limited',
    'Too many requests of this key are running at once. Wait for one to end.',
    { reason: 'in_flight', retryAfterMs: 1_000 },
  );
}

const bodyCure =
  'A parser read the request body before the gateway and left nothing. ' +
  'Mount the gateway before body parsers, or keep the bytes in req.rawBody.';

/** The first frame of a stack without the message, which could hold anything, even a frame. */
function placeOf(error: unknown): string {
  try {
    return error instanceof Error ? frameOf(error) : 'unknown';
  } catch {
    return errorName(error);
  }
}

function frameOf(error: Error): string {
  // A host's `prepareStackTrace` may make anything of it.
  const stack = String(error.stack);
  const messageAt = stack.indexOf(error.message);
  // A message that was changed since can't be told from the frames.
  const frames = messageAt === -1 ? '' : stack.slice(messageAt + error.message.length);
  const frame = /\n\s+at ([^\n]+)/.exec(frames)?.[1] ?? 'unknown';
  return `${error.name} at ${frame.replace(/^.*[\\/(]/, '').slice(0, 120)}`;
}
