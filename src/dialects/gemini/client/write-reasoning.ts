/** Writes `thinkingConfig`: a level from Gemini 3 on, a token budget for older models. */
import type { Reasoning } from '../../../canonical/request.ts';
import { isJsonObject, type JsonValue, member } from '../../../json.ts';
import type { ReasoningEffort, ThinkingBudget } from '../../../ports/catalog.ts';
import { nearestEffort } from '../../capabilities.ts';
import type { Members, WriteContext } from './write-context.ts';

/** @param ownConfig the caller's `thinkingConfig`, which overrides the common settings */
export function thinkingConfig(
  context: WriteContext,
  ownConfig: JsonValue | undefined,
): Members | undefined {
  const own = isJsonObject(ownConfig) ? ownConfig : {};
  const config: Members = { ...requestedConfig(context), ...own };
  if (Object.keys(config).length === 0) return undefined;
  const { thinkingLevel, thinkingBudget, ...rest } = config;
  // Google refuses a level together with a budget.
  const isByBudget = thinkingLevel === undefined || member(own, 'thinkingBudget') !== undefined;
  return isByBudget ? { ...rest, thinkingBudget } : { ...rest, thinkingLevel };
}

function requestedConfig({ request, capabilities, drop }: WriteContext): Members {
  const { reasoning } = request;
  if (reasoning === undefined) return {};
  const isOff = reasoning.effort === 'none' || reasoning.budgetTokens === 0;
  if (capabilities.reasoning === 'none') {
    // A caller who only wants to see the reasoning loses nothing if there is none.
    if (!isOff && isSet(reasoning)) drop(request.names.reasoning);
    if (reasoning.budgetAt !== undefined) drop(reasoning.budgetAt);
    return {};
  }
  const takesBudget = capabilities.reasoning === 'budget';
  const setting = takesBudget
    ? budgetFor(reasoning, capabilities.thinkingBudget)
    : levelFor(reasoning, capabilities.efforts);
  if (setting.isReplaced) drop(request.names.reasoning);
  const { budgetAt } = reasoning;
  if (budgetAt !== undefined) drop(takesBudget ? request.names.reasoning : budgetAt);
  const includeThoughts = isOff
    ? false
    : (reasoning.includeThoughts ?? (isSet(reasoning) || undefined));
  return {
    ...setting.members,
    ...(includeThoughts === undefined ? {} : { includeThoughts }),
  };
}

function isSet({ effort, budgetTokens }: Reasoning): boolean {
  return effort !== undefined || budgetTokens !== undefined;
}

interface ThinkingSetting {
  readonly members: Members;
  readonly isReplaced: boolean;
}

const unset: ThinkingSetting = { members: {}, isReplaced: false };

function levelFor(reasoning: Reasoning, efforts: readonly ReasoningEffort[]): ThinkingSetting {
  const wanted = reasoning.effort ?? effortOf(reasoning.budgetTokens);
  const levels = efforts.filter((effort) => ['minimal', 'low', 'medium', 'high'].includes(effort));
  const level = wanted === undefined ? undefined : nearestEffort(wanted, levels);
  if (level === undefined) return unset;
  return {
    members: { thinkingLevel: level.toUpperCase() },
    isReplaced: reasoning.effort !== level,
  };
}

function effortOf(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return 'none';
  if (budget <= 1_024) return 'low';
  return budget <= 8_192 ? 'medium' : 'high';
}

/** Like Google's OpenAI-compatible endpoint. The default range is that of Gemini 2.5 Flash. */
function budgetFor(
  { effort, budgetTokens }: Reasoning,
  range: ThinkingBudget = { min: 0, max: 24_576 },
): ThinkingSetting {
  const canBeOff = range.min === 0 || range.off === true;
  const wanted = budgetTokens ?? budgetOf(effort, { ...range, off: canBeOff });
  if (wanted === undefined) return unset;
  if (wanted === -1 || (wanted === 0 && canBeOff)) {
    return { members: { thinkingBudget: wanted }, isReplaced: false };
  }
  const thinkingBudget = Math.min(Math.max(wanted, range.min), range.max);
  return { members: { thinkingBudget }, isReplaced: thinkingBudget !== wanted };
}

function budgetOf(
  effort: ReasoningEffort | undefined,
  { min, max, off }: ThinkingBudget,
): number | undefined {
  switch (effort) {
    case undefined:
      return undefined;
    case 'none':
      return 0;
    case 'minimal':
      return off === true ? 512 : min;
    case 'low':
      return 1_024;
    case 'medium':
      return 8_192;
    case 'high':
      return Math.min(24_576, max);
    case 'xhigh':
    case 'max':
      return max;
  }
}
