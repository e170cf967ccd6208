/** Names what went wrong on the wire, from undici's and Node's error codes. */
import { isUpstreamError, UpstreamError, type UpstreamStage } from '../errors.ts';

interface Named {
  readonly reason: string;
  readonly timedOut?: boolean;
}

/** Observed with undici 7.30; the tests pin them. */
const byCode: Readonly<Record<string, Named>> = {
  ENOTFOUND: { reason: 'dns' },
  EAI_AGAIN: { reason: 'dns' },
  ECONNREFUSED: { reason: 'connect_refused' },
  EHOSTUNREACH: { reason: 'unreachable' },
  ENETUNREACH: { reason: 'unreachable' },
  EMFILE: { reason: 'too_many_files' },
  UND_ERR_CONNECT_TIMEOUT: { reason: 'connect_timeout', timedOut: true },
  ETIMEDOUT: { reason: 'connect_timeout', timedOut: true },
  UND_ERR_HEADERS_TIMEOUT: { reason: 'headers_timeout', timedOut: true },
  UND_ERR_BODY_TIMEOUT: { reason: 'idle_timeout', timedOut: true },
  UND_ERR_SOCKET: { reason: 'reset' },
  ECONNRESET: { reason: 'reset' },
  EPIPE: { reason: 'reset' },
  UND_ERR_HEADERS_OVERFLOW: { reason: 'bad_response' },
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: { reason: 'bad_response' },
  UND_ERR_DESTROYED: { reason: 'closed' },
  UND_ERR_CLOSED: { reason: 'closed' },
};

/**
 * The failure with the stage it came at and a reason that names no host. Who aborts a call does not
 * know how far it has come: what is an `UpstreamError` already keeps its reason and gets the stage.
 */
export function transportError(error: unknown, stage: UpstreamStage): UpstreamError {
  if (isUpstreamError(error)) {
    const { reason, timedOut, cause } = error;
    return error.stage === stage ? error : new UpstreamError(stage, reason, { timedOut, cause });
  }
  const { reason, timedOut } = nameOf(error);
  return new UpstreamError(stage, reason, { timedOut: timedOut ?? false, cause: error });
}

function nameOf(error: unknown): Named {
  if (!(error instanceof Error)) return { reason: 'failed' };
  const code = 'code' in error ? String(error.code) : '';
  if (Object.hasOwn(byCode, code)) return byCode[code] ?? { reason: 'failed' };
  if (/^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) {
    return { reason: 'tls' };
  }
  return { reason: error.name === 'HTTPParserError' ? 'bad_response' : 'failed' };
}
