/**
 * The failures of an attempt that last until the host changes something. Without a listener they
 * become process warnings, so the gateway loads these rows, and not the table of all reasons.
 */
import type { FailureReason } from '../failure-reasons.ts';

/** A reason in words. Names of options, members and events are in backticks. */
export interface FailureMeaning {
  /** What happened: a clause without a full stop, to be read after the reason's name. */
  readonly meaning: string;
  /** What the operator may do; left out where there is nothing to do. */
  readonly remedy?: string;
}

export type HostFailure = Extract<
  FailureReason,
  | 'credential_unavailable'
  | 'dns'
  | 'connect_refused'
  | 'tls'
  | 'client_failed'
  | 'failed'
  | 'upstream_model_not_found'
  | 'upstream_auth_error'
>;

export const hostFailures: Readonly<Record<HostFailure, Required<FailureMeaning>>> = {
  credential_unavailable: {
    meaning: "a channel's `credential` function failed or was too slow",
    remedy: 'look at that function',
  },
  dns: {
    meaning: 'the name of the upstream could not be resolved',
    remedy: 'check `baseUrl` and your resolver',
  },
  connect_refused: {
    meaning: 'the upstream refused the connection',
    remedy: 'check `baseUrl`, and whether the upstream runs',
  },
  tls: {
    meaning: "the upstream's certificate is not accepted, or TLS failed",
    remedy: 'check `baseUrl` and the certificate',
  },
  client_failed: {
    meaning: 'your own `UpstreamClient` failed in a way that its contract does not allow',
    remedy: 'correct that client',
  },
  failed: {
    meaning: 'the connection or your own `UpstreamClient` failed for a reason without a name',
    remedy: 'look at the `error` of `attempt_ended` in the log',
  },
  upstream_model_not_found: {
    meaning: 'the account does not have the model, or there is no API at `baseUrl`',
    remedy: 'check `upstreamModel` and `baseUrl`',
  },
  upstream_auth_error: {
    meaning: 'the upstream did not accept the credential',
    remedy:
      'replace the credential, then enable the channel: in the console, by `npx tollgate ' +
      'channels enable`, in code by `gateway.enableChannel(id)`, or by a restart; until then ' +
      'nothing is sent with it',
  },
};

/** Whether a failure lasts until the host changes something. */
export function isHostFailure(reason: string | undefined): reason is HostFailure {
  return reason !== undefined && Object.hasOwn(hostFailures, reason);
}
