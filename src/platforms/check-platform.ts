/** Refuses what is no object of options, before it becomes part of a URL. */
import { ConfigurationError } from '../errors.ts';

/** @throws ConfigurationError with an example */
export function checkPlatform(maker: string, options: unknown, example: string): void {
  if (typeof options === 'object' && options !== null && 'kind' in options) return;
  throw new ConfigurationError(`${maker}(): options must be an object such as ${example}.`);
}
