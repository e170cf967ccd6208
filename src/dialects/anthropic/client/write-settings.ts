/** Writes sampling parameters, stop sequences, user id and service tier. */
import {
  asksForTier,
  type ContentRequest,
  changesVerbosity,
  type RequestField,
} from '../../../canonical/request.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import type { Block } from './written.ts';

export interface SettingsLimits {
  readonly capabilities: ResolvedCapabilities;
  /** Thinking excludes most of the sampling parameters. */
  readonly isThinking: boolean;
}

export function writeSettings(
  request: ContentRequest,
  limits: SettingsLimits,
): { readonly members: Block; readonly changed: readonly RequestField[] } {
  const temperature = temperatureOf(request, limits);
  const topP = topPOf(request, limits, temperature !== undefined);
  const topK = limits.capabilities.topK && !limits.isThinking ? request.topK : undefined;
  const nonBlank = request.stop.filter((text) => text.trim() !== '');
  const stop = nonBlank.slice(0, limits.capabilities.stopLimit);
  const tier = tiers.get(request.serviceTier ?? '');
  const changes: readonly (readonly [RequestField, boolean])[] = [
    ['temperature', temperature !== request.temperature],
    ['topP', topP !== request.topP],
    ['topK', topK !== request.topK],
    ['stop', stop.length !== request.stop.length],
    ['serviceTier', asksForTier(request) && tier === undefined],
    ['seed', request.seed !== undefined],
    ['logprobs', request.logprobs !== undefined],
    ['presencePenalty', (request.presencePenalty ?? 0) !== 0],
    ['frequencyPenalty', (request.frequencyPenalty ?? 0) !== 0],
    ['verbosity', changesVerbosity(request)],
  ];
  return {
    members: {
      temperature,
      top_p: topP,
      top_k: topK,
      stop_sequences: stop.length === 0 ? undefined : stop,
      metadata: request.endUserId === undefined ? undefined : { user_id: request.endUserId },
      service_tier: tier,
    },
    changed: changes.flatMap(([field, isChanged]) => (isChanged ? [field] : [])),
  };
}

const tiers: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
  ['standard_only', 'standard_only'],
]);

/** Anthropic's maximum is 1, which is also the only value allowed with thinking. */
function temperatureOf(
  { temperature }: ContentRequest,
  { capabilities, isThinking }: SettingsLimits,
): number | undefined {
  if (temperature === undefined || capabilities.sampling === 'none') return undefined;
  const bounded = Math.min(1, Math.max(0, temperature));
  return isThinking && bounded !== 1 ? undefined : bounded;
}

function topPOf(
  { topP }: ContentRequest,
  { capabilities, isThinking }: SettingsLimits,
  hasTemperature: boolean,
): number | undefined {
  if (topP === undefined || capabilities.sampling === 'none') return undefined;
  if (capabilities.sampling === 'one' && hasTemperature) return undefined;
  return isThinking && topP < 0.95 ? undefined : topP;
}
