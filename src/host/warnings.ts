/**
 * Reports a host's own mistakes as process warnings, once each, if the host listens to no events.
 * Otherwise a record with `limitNanos: 100` in place of `100n` would show only as 503s.
 */
import type { EventListener, EventOf, GatewayEvent } from '../events/events.ts';
import { summaryOf } from '../events/thrown.ts';

/** A warning, and what it is about: each is given once. */
export interface HostWarning {
  readonly code: string;
  readonly about: string;
  readonly message: string;
}

/** Bounds the memory; a gateway has far fewer ports and members. */
const maxWarnings = 1_000;

/**
 * Makes the listener of the events that nobody else receives.
 *
 * @param ofAttempt what to say of an attempt; catalogs have none, and do not load its texts
 */
export function warningListener(
  ofAttempt?: (event: EventOf<'attempt_ended'>) => HostWarning | undefined,
): EventListener {
  const given = new Set<string>();
  return (event) => {
    const warning = event.type === 'attempt_ended' ? ofAttempt?.(event) : warningOf(event);
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
    case 'catalog_refused':
      return {
        code: 'TOLLGATE_CATALOG_REFUSED',
        about: event.source,
        message: `A changed catalog is invalid, and the previous one stays in use: ${event.reason}`,
      };
    case 'path_misplaced':
      return {
        code: 'TOLLGATE_PATH_MISPLACED',
        about: event.path,
        message:
          `A request for ${event.path} was passed on to your app. If it was meant for the ` +
          `gateway, which has ${event.servedAt}: ${event.remedy}`,
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

function portWarning(event: EventOf<'port_failed'>): HostWarning | undefined {
  const { port, operation, reason, member, code = '' } = event;
  // The failures that opened the circuit were reported.
  if (reason === 'circuit_open') return undefined;
  return {
    code: 'TOLLGATE_PORT_FAILED',
    about: `${port} ${operation} ${member ?? `${reason} ${code}`}`,
    message: `The port \`${port}\` ${problemOf(event)} ${effectOf(event)}`.trimEnd(),
  };
}

function problemOf(event: EventOf<'port_failed'>): string {
  const { port, reason, operation, member, problem = 'is not what its contract allows.' } = event;
  if (member !== undefined) {
    const what = port === 'guard' ? 'decision' : 'record';
    return `answered with a wrong ${what} (in \`${operation}\`): \`${member}\` ${problem}`;
  }
  const place = `(in \`${operation}\`)${quoteOf(event)}.`;
  if (reason === 'StoreUnavailable') {
    return `is down, or did not answer ${limitOf(event)} ${place}`;
  }
  if (reason === 'StoreCorrupt' && event.error === undefined) {
    return `answered with a value that its contract does not allow ${place}`;
  }
  // The self-test of a store says in sentences what is wrong with it.
  if (event.error === undefined && reason.includes(' ')) return `is not set up: ${reason}`;
  return `failed with ${nameIn(reason)} ${place}`;
}

/** Some times are fixed; the message of the error has their number. */
function limitOf({ port, operation }: EventOf<'port_failed'>): string {
  const isFixed =
    port === 'guard' || port === 'results' || /^(?:remember|put|close)$/.test(operation);
  return isFixed ? 'in time' : 'within `storeTimeoutMs`';
}

function nameIn(reason: string): string {
  return reason === 'thrown' ? 'a value that is no error' : reason;
}

/** The first line of what was thrown, to end a sentence with. */
export function quoteOf({ error }: { readonly error?: unknown }): string {
  return error === undefined ? '' : `: ${summaryOf(error).replace(/\.$/, '')}`;
}

/** The operations without whose answer a request is refused. */
const decisive: ReadonlySet<string> = new Set(['find', 'reserve', 'take', 'claim', 'addressOf']);

function effectOf({ port, operation }: EventOf<'port_failed'>): string {
  if (port === 'usage') return 'The usage log lacks records. ';
  if (port === 'refusals') return 'Refusals are not recorded until it works again. ';
  if (port === 'guard') return "Calls are refused with 503, unless its `onFailure` is 'pass'. ";
  if (operation === 'settle' || operation === 'release') return 'This is tried again. ';
  return decisive.has(operation) ? 'Requests that need its answer are refused with 503. ' : '';
}
