/** The names of the ports, by which events, metrics and errors call them. */

const ports = [
  'keys',
  'sessions',
  'failed_key_limit',
  'quota',
  'catalog',
  'guard',
  'rate_limiter',
  'usage',
  'refusals',
  'idempotency',
  'results',
  'response_index',
  'items',
  'cluster',
] as const;

/** The name of a port in events. */
export type PortName = (typeof ports)[number];

/** All of them. */
export const portNames: readonly PortName[] = ports;
