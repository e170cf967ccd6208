/**
 * Sends HTTP requests to upstreams through the global `fetch`, for runtimes that lack undici's
 * dispatcher.
 */
import { isError, isUpstreamError, UpstreamError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import type {
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import { bodyInbox, type SocketGate } from './body/inbox.ts';
import { transportError } from './transport-error.ts';

/**
 * An upstream client for Bun, whose own version of undici lacks what `undiciClient` needs. On Node
 * and Deno use `undiciClient`: it knows more about a call than `fetch` shows, and Node's `fetch` is
 * a copy of undici that may have bugs which the installed version does not have.
 *
 * - A refused connection, a failed look-up and a failed TLS handshake count as not sent. All other
 *   failures before the response count as sent, as calls that may have run.
 * - `connectTimeoutMs` is not used. The gateway's timeout of the first byte ends a call that can't
 *   connect.
 * - Only Bun opens a new connection for each image request, which must not be sent twice.
 *
 * ```ts
 * const gateway = createGateway({ keys, quota, catalog, upstream: fetchUpstreamClient() });
 * ```
 */
export function fetchUpstreamClient(): UpstreamClient {
  const running = new Set<() => void>();
  let isClosed = false;

  return {
    send: async (request) => {
      const call = startedCall(request);
      if (isClosed) throw new UpstreamError('connect', 'closed');
      running.add(call.cancel);
      const end = (): void => {
        running.delete(call.cancel);
      };
      try {
        const url = request.origin + request.path;
        const response = await fetch(url, initOf(request, call.signal));
        return receive(response, call, end);
      } catch (error) {
        end();
        const aborted = call.abortReason();
        throw aborted === undefined ? sendFailure(error) : transportError(aborted, 'sent');
      }
    },
    close: async () => {
      isClosed = true;
      for (const cancel of running) cancel();
    },
  };
}

interface StartedCall {
  readonly signal: AbortSignal;
  cancel(): void;
  abortReason(): Error | undefined;
  onAbort(listener: (reason: Error) => void): void;
}

function startedCall(request: UpstreamRequest): StartedCall {
  const controller = new AbortController();
  let abortReason: Error | undefined;
  let notify: (reason: Error) => void = () => {};
  request.onAbort((reason) => {
    abortReason ??= reason;
    controller.abort();
    notify(abortReason);
  });
  return {
    signal: controller.signal,
    cancel: () => controller.abort(),
    abortReason: () => abortReason,
    onAbort: (listener) => {
      notify = listener;
    },
  };
}

function initOf(
  { method, headers, body, freshConnection }: UpstreamRequest,
  signal: AbortSignal,
): RequestInit {
  const [first, ...others] = body;
  // In one piece, because `fetch` sends a stream without its length, which some upstreams refuse.
  const whole = others.length === 0 ? first : Buffer.concat(body);
  const init: RequestInit = {
    method,
    headers: freshConnection ? { ...headers, connection: 'close' } : headers,
    body: whole ?? null,
    redirect: 'manual',
    signal,
    // With `false`, Bun neither takes a connection that was used before nor keeps the new one.
    keepalive: !freshConnection,
  };
  // Bun's option. An environment variable can turn verification off otherwise.
  return Object.assign(init, { tls: { rejectUnauthorized: true } });
}

/** The content encodings that every `fetch` removes by itself. */
const removedEncodings: readonly string[] = ['', 'identity', 'gzip', 'x-gzip', 'deflate', 'br'];

function receive(response: Response, call: StartedCall, end: () => void): UpstreamResponse {
  const { 'content-encoding': encoding = '', ...headers }: HeaderMap = Object.fromEntries(
    response.headers,
  );
  if (!removedEncodings.includes(encoding.trim().toLowerCase())) {
    call.cancel();
    throw new UpstreamError('body', 'encoded');
  }
  return { status: response.status, headers, body: pumpedBody(response, call, end) };
}

function pumpedBody({ body }: Response, call: StartedCall, end: () => void): UpstreamBody {
  const gate = pumpGate();
  const inbox = bodyInbox(gate, call.cancel);
  const fail = (error: unknown): void => {
    end();
    inbox.fail(transportError(causeOf(error), 'body'));
  };
  call.onAbort(fail);

  const pump = async (): Promise<void> => {
    const reader = body?.getReader();
    while (reader !== undefined) {
      await gate.opened();
      const { done, value } = await reader.read();
      // The body may have been paused while the chunk was on its way.
      await gate.opened();
      if (call.signal.aborted) throw new UpstreamError('body', 'aborted');
      if (done) break;
      inbox.write(value);
    }
    end();
    inbox.end();
  };
  pump().catch(fail);
  return inbox.body;
}

interface PumpGate extends SocketGate {
  opened(): Promise<void>;
}

function pumpGate(): PumpGate {
  let isOpen = true;
  let pass = (): void => {};
  const open = (): void => {
    isOpen = true;
    pass();
  };
  return {
    close: () => {
      isOpen = false;
    },
    open,
    release: open,
    opened: async () => {
      while (!isOpen) {
        await new Promise<void>((resolve) => {
          pass = resolve;
        });
      }
    },
  };
}

/** Reasons that occur only before a request has been sent. */
const connectReasons: ReadonlySet<string> = new Set([
  'dns',
  'unreachable',
  'connect_refused',
  'connect_timeout',
  'tls',
  'too_many_files',
  'out_of_ports',
]);

function sendFailure(error: unknown): UpstreamError {
  if (isUpstreamError(error)) return error;
  const cause = causeOf(error);
  if (isError(cause) && 'code' in cause && certificateCode.test(String(cause.code))) {
    return new UpstreamError('connect', 'tls', { cause });
  }
  const failure = transportError(cause, 'connect');
  return connectReasons.has(failure.reason) ? failure : transportError(cause, 'sent');
}

/** OpenSSL's codes for certificates that can't be verified, which end the handshake. */
const certificateCode = /CERT|_SIGNATURE$|^INVALID_(?:CA|PURPOSE)$|^HOSTNAME_MISMATCH$/;

/** The error of the socket, which Node reports as the cause of `fetch`'s own. */
function causeOf(error: unknown): unknown {
  if (isUpstreamError(error) || !isError(error)) return error;
  return isError(error.cause) ? error.cause : error;
}
