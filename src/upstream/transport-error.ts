/** Maps undici's and Node's error codes to the reasons of an `UpstreamError`. */
import { isError, isUpstreamError, UpstreamError, type UpstreamStage } from '../errors.ts';
import { type FailureReason, failureReasonOf, isFailureReason } from '../failure-reasons.ts';

interface NamedFailure {
  readonly reason: FailureReason;
  readonly timedOut?: boolean;
}

const dns: NamedFailure = { reason: 'dns' };
const unreachable: NamedFailure = { reason: 'unreachable' };
/** The fault of this machine, not of the upstream. */
const tooManyFiles: NamedFailure = { reason: 'too_many_files' };
const outOfPorts: NamedFailure = { reason: 'out_of_ports' };
const connectTimeout: NamedFailure = { reason: 'connect_timeout', timedOut: true };
const reset: NamedFailure = { reason: 'reset' };
const badResponse: NamedFailure = { reason: 'bad_response' };
const closed: NamedFailure = { reason: 'closed' };
const failed: NamedFailure = { reason: 'failed' };

/** Observed with undici 7.30 and Node 20 to 26; the tests pin them. */
const byCode: ReadonlyMap<string, NamedFailure> = new Map([
  ['ENOTFOUND', dns],
  ['ENODATA', dns],
  ['ESERVFAIL', dns],
  ['ETIMEOUT', dns],
  ['ECONNREFUSED', { reason: 'connect_refused' }],
  ['EHOSTUNREACH', unreachable],
  ['ENETUNREACH', unreachable],
  ['EHOSTDOWN', unreachable],
  ['ENETDOWN', unreachable],
  ['EMFILE', tooManyFiles],
  ['ENFILE', tooManyFiles],
  ['EADDRNOTAVAIL', outOfPorts],
  ['UND_ERR_CONNECT_TIMEOUT', connectTimeout],
  ['ERR_SOCKET_CONNECTION_TIMEOUT', connectTimeout],
  ['ETIMEDOUT', connectTimeout],
  ['UND_ERR_SOCKET', reset],
  ['ECONNRESET', reset],
  ['ECONNABORTED', reset],
  ['EPIPE', reset],
  ['UND_ERR_HEADERS_OVERFLOW', badResponse],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', badResponse],
  // undici asserts that a status is at least 100.
  ['ERR_ASSERTION', badResponse],
  ['UND_ERR_DESTROYED', closed],
  ['UND_ERR_CLOSED', closed],
]);

/**
 * The failure with its stage and a reason that contains no host name. An `UpstreamError` keeps its
 * reason and gets the stage, because the code that aborts a call does not know how far it has got.
 * Never throws, because a host's client may fail with any value.
 */
export function transportError(error: unknown, stage: UpstreamStage): UpstreamError {
  try {
    return namedFailure(error, stage);
  } catch {
    // A member of the error threw when it was read.
    return new UpstreamError(stage, failed.reason);
  }
}

/** If the client does not say how far the request got, it may have run. */
export function requestFailure(error: unknown): UpstreamError {
  return transportError(error, reportedStage(error));
}

/** The failure of a host's own client that threw, or that did not keep to its contract. */
export function clientFailure(stage: UpstreamStage, cause?: unknown): UpstreamError {
  return new UpstreamError(stage, 'client_failed', { cause });
}

function reportedStage(error: unknown): UpstreamStage {
  try {
    const stage = isUpstreamError(error) ? error.stage : 'sent';
    return stage === 'connect' || stage === 'body' ? stage : 'sent';
  } catch {
    return 'sent';
  }
}

function namedFailure(error: unknown, stage: UpstreamStage): UpstreamError {
  if (isUpstreamError(error)) {
    const { reason, timedOut, cause } = error;
    if (typeof reason !== 'string') return new UpstreamError(stage, failed.reason);
    if (error.stage === stage && isFailureReason(reason)) return error;
    return new UpstreamError(stage, failureReasonOf(reason), { timedOut, cause });
  }
  const named = nameOf(error);
  // An established connection that the network gave up on is lost, not late.
  const { reason, timedOut = false } =
    named === connectTimeout && stage !== 'connect' ? reset : named;
  return new UpstreamError(stage, reason, { timedOut, cause: error });
}

/** A failure to connect: nothing was sent. */
export function dialError(error: unknown): UpstreamError {
  return transportError(error, 'connect');
}

/** A failure to connect over TLS: anything that is not a network failure is a failed handshake. */
export function handshakeError(error: unknown): UpstreamError {
  const failure = dialError(error);
  const isNamed = failure.reason !== 'reset' && failure.reason !== 'failed';
  return isNamed ? failure : new UpstreamError('connect', 'tls', { cause: error });
}

function nameOf(error: unknown): NamedFailure {
  if (!isError(error)) return failed;
  const named = byCode.get(errorCode(error));
  if (named !== undefined) return named;
  // None of several addresses could be reached: the first known error gives the reason.
  if ('errors' in error && Array.isArray(error.errors)) {
    return error.errors.map(nameOf).find((name) => name !== failed) ?? failed;
  }
  if (errorCode(error).startsWith('EAI_')) return dns;
  if (tlsCode.test(errorCode(error))) return { reason: 'tls' };
  return error.name === 'HTTPParserError' ? badResponse : failed;
}

/** Of an established connection. During the handshake every unknown error is one of TLS. */
const tlsCode = /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO$)/;

function errorCode(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
