/** Turns anything that was thrown into an error that a caller may read. */
import { errorClass, GatewayError, isError, isGatewayError } from '../errors.ts';
import type { EventListener } from '../events/events.ts';

/** Returns the error for the caller. What callers must not see goes into an event. */
export function readableError(
  error: unknown,
  requestId: string,
  emit: EventListener,
): GatewayError {
  if (isGatewayError(error)) {
    if (error.reason === 'body_consumed')
      emit({ type: 'body_consumed', requestId, remedy: bodyRemedy });
    return error;
  }
  reportBug(error, requestId, emit);
  return new GatewayError('internal_error', 'The gateway failed to answer this request.');
}

/** `requestId` is undefined for background work. */
export function reportBug(
  error: unknown,
  requestId: string | undefined,
  emit: EventListener,
): void {
  emit({ type: 'internal_error', requestId, at: locationOf(error) });
}

export function shuttingDown(): GatewayError {
  return new GatewayError('draining', 'The gateway is shutting down. Try again shortly.', {
    retryAfterMs: 1_000,
    shouldRetry: true,
  });
}

export function overloaded(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway is running too many calls. Try again shortly.',
    { reason: 'concurrent_calls', retryAfterMs: 1_000, limit: 'gateway:concurrent_calls' },
  );
}

export function tooManyConcurrentCalls(of: 'key' | 'quota' = 'key'): GatewayError {
  return new GatewayError(
    'rate_limited',
    `Too many requests of this ${of} are running at once. Wait for one to end.`,
    { reason: 'in_flight', retryAfterMs: 1_000, limit: `${of}:concurrent_calls` },
  );
}

const bodyRemedy =
  'A parser read the request body before the gateway and left nothing. ' +
  'Mount the gateway before body parsers, or keep the bytes in req.rawBody.';

/** The message is removed first: it may contain anything, even text that looks like a frame. */
function locationOf(error: unknown): string {
  try {
    return isError(error) ? firstFrameOf(error) : 'unknown';
  } catch {
    return errorClass(error);
  }
}

function firstFrameOf(error: Error): string {
  // A host's `prepareStackTrace` may return any value.
  const stack = String(error.stack);
  const messageAt = stack.indexOf(error.message);
  // A message that was changed after the stack was made can't be told from the frames.
  const frames = messageAt === -1 ? '' : stack.slice(messageAt + error.message.length);
  const frame = /\n[^\S\n]+at ([^\n]+)/.exec(frames)?.[1] ?? 'unknown';
  return `${errorClass(error)} at ${frame.replace(/^.*[\\/(]/, '').slice(0, 120)}`;
}
