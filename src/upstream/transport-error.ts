/** Names what went wrong on the wire, from undici's and Node's error codes. */
import { isUpstreamError, UpstreamError, type UpstreamStage } from '../errors.ts';

interface Named {
  readonly reason: string;
  readonly timedOut?: boolean;
}

const dns: Named = { reason: 'dns' };
const unreachable: Named = { reason: 'unreachable' };
/** Ours, not the upstream's. */
const tooManyFiles: Named = { reason: 'too_many_files' };
const outOfPorts: Named = { reason: 'out_of_ports' };
const connectTimeout: Named = { reason: 'connect_timeout', timedOut: true };
const reset: Named = { reason: 'reset' };
const badResponse: Named = { reason: 'bad_response' };
const closed: Named = { reason: 'closed' };
const failed: Named = { reason: 'failed' };

/** Observed with undici 7.30 and Node 20 to 26; the tests pin them. */
const byCode: ReadonlyMap<string, Named> = new Map([
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
 * The failure with the stage it came at and a reason that names no host. Who aborts a call does not
 * know how far it has come: what is an `UpstreamError` already keeps its reason and gets the stage.
 */
export function transportError(error: unknown, stage: UpstreamStage): UpstreamError {
  if (isUpstreamError(error)) {
    const { reason, timedOut, cause } = error;
    return error.stage === stage ? error : new UpstreamError(stage, reason, { timedOut, cause });
  }
  const named = nameOf(error);
  // A connection that stood and fell silent until the network gave it up is lost, not late.
  const { reason, timedOut = false } =
    named === connectTimeout && stage !== 'connect' ? reset : named;
  return new UpstreamError(stage, reason, { timedOut, cause: error });
}

/** Why there is no connection: surely nothing was sent. */
export function dialError(error: unknown): UpstreamError {
  return transportError(error, 'connect');
}

/** The same over TLS, where everything that the network did not do is the handshake's failure. */
export function handshakeError(error: unknown): UpstreamError {
  const failure = dialError(error);
  const isNamed = failure.reason !== 'reset' && failure.reason !== 'failed';
  return isNamed ? failure : new UpstreamError('connect', 'tls', { cause: error });
}

function nameOf(error: unknown): Named {
  if (!(error instanceof Error)) return failed;
  const named = byCode.get(codeOf(error));
  if (named !== undefined) return named;
  // Of several addresses none could be reached: the first that says something tells why.
  if (error instanceof AggregateError) {
    return error.errors.map(nameOf).find((name) => name !== failed) ?? failed;
  }
  if (codeOf(error).startsWith('EAI_')) return dns;
  if (tlsCode.test(codeOf(error))) return { reason: 'tls' };
  return error.name === 'HTTPParserError' ? badResponse : failed;
}

/** What TLS says of a connection that stands; at the handshake every word is one of its. */
const tlsCode = /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO$)/;

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
