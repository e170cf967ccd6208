/** Adds the name of a wrong parameter to a message, for error formats without a member for it. */
import type { GatewayError } from '../errors.ts';

export function namedMessage({ message, param }: GatewayError): string {
  return param === undefined || message.includes(param) ? message : `\`${param}\`: ${message}`;
}
