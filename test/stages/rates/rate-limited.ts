/** Shared by the tests of rate limits. */
import type { KeyRateLimits } from '../../../src/ports/limits/rates.ts';
import {
  type CallerReply,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { completeReply } from '../../support/models.ts';

/** A chat reserves 11 tokens of input and 100 of output, and its reply uses 15. */
export const reserved = 111;

/** A gateway whose upstream answers every chat. */
export function limitedGateway(
  rates: readonly KeyRateLimits[],
  setup: GatewaySetup = {},
): InProcessGateway {
  const handlers = Array.from({ length: 50 }, () => completeReply('chat'));
  return gatewayInProcess({ handlers, ...setup, key: { rates, ...setup.key } });
}

/** The headers of rate limits, without `x-ratelimit-`. */
export function rateHeadersOf({ headers }: CallerReply): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).filter(([name]) => name.includes('ratelimit'));
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace('x-ratelimit-', ''), value]),
  );
}

/** The message of an error. */
export function messageOf({ text }: CallerReply): string {
  return JSON.parse(text).error.message;
}
