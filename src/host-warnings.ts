/**
 * Reports a host's own mistakes as process warnings, once each, if the host listens to no events.
 * Otherwise a record with `limitNanos: 100` in place of `100n` would show only as 503s.
 */
import type { EventListener, GatewayEvent } from './events.ts';

/** A warning, and what it is about: each is given once. */
interface HostWarning {
  readonly code: string;
  readonly about: string;
  readonly message: string;
}

/** Bounds the memory; a gateway has far fewer ports and members. */
const maxWarnings = 1_000;

/** Makes the listener of the events that nobody else receives. */
export function warningListener(): EventListener {
  const given = new Set<string>();
  return (event) => {
    const warning = warningOf(event);
    if (warning === undefined) return;
    const id = `${warning.code} ${warning.about}`;
    if (given.has(id) || given.size >= maxWarnings) return;
    given.add(id);
    process.emitWarning(`${warning.message} ${listen}`, {
      type: 'TollgateWarning',
      code: warning.code,
    });
  };
}

const listen = 'This warning is given once; `onEvent` or `gateway.subscribe` report each case.';

function warningOf(event: GatewayEvent): HostWarning | undefined {
  switch (event.type) {
    case 'port_failed':
      return portWarning(event);
    case 'attempt_ended':
      if (event.reason !== 'credential_unavailable') return undefined;
      return {
        code: 'TOLLGATE_CREDENTIAL_FAILED',
        about: event.channelId,
        message:
          `The function \`credential\` of the channel ${quoted(event.channelId)} failed: ` +
          'it threw, took longer than `timeouts.connectMs`, or returned neither a secret nor ' +
          'undefined.',
      };
    case 'catalog_refused':
      return {
        code: 'TOLLGATE_CATALOG_REFUSED',
        about: event.source,
        message: `A changed catalog is invalid, and the previous one stays in use: ${event.reason}`,
      };
    case 'settlement_lost':
      return {
        code: 'TOLLGATE_SETTLEMENT_LOST',
        about: '',
        message:
          'The quota store did not accept the end of a call for 15 minutes, or until the gateway ' +
          `closed, and the charge of the request ${event.requestId} is lost. ` +
          'Check the store, and compare it with the usage log, using `reconcile`.',
      };
    default:
      return undefined;
  }
}

function portWarning(
  event: Extract<GatewayEvent, { readonly type: 'port_failed' }>,
): HostWarning | undefined {
  const { port, operation, reason, member } = event;
  // The failures that opened the circuit were reported.
  if (reason === 'circuit_open') return undefined;
  return {
    code: 'TOLLGATE_PORT_FAILED',
    about: `${port} ${operation} ${member ?? reason}`,
    message: `The port \`${port}\` ${problemOf(event)} (in \`${operation}\`). ${effectOf(port)}`,
  };
}

function problemOf({
  reason,
  member,
}: Extract<GatewayEvent, { readonly type: 'port_failed' }>): string {
  if (member !== undefined) {
    const isAmount = /nanos|rates|price|input|output/i.test(member);
    const fix = isAmount ? 'Amounts are bigints of nanos: write `100n`, not `100`' : fixRecord;
    return `answered with a record whose \`${member}\` its contract does not allow. ${fix}`;
  }
  if (reason === 'StoreCorrupt') return 'answered with a value that its contract does not allow';
  if (reason === 'StoreUnavailable') return 'is down, or did not answer within `storeTimeoutMs`';
  return `failed with ${/^[\w.$]{1,64}$/.test(reason) ? reason : 'an error'}`;
}

const fixRecord = 'Correct the record, or what reads it';

function effectOf(port: string): string {
  if (port === 'usage') return 'The usage log lacks records.';
  if (port === 'refusals') return 'Refusals are not recorded until it works again.';
  return 'Requests that need its answer are refused with 503.';
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
