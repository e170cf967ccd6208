/** Writes the thinking settings for the model's generation: an effort or a token budget. */
import type { ContentRequest, Reasoning } from '../../../canonical/request.ts';
import type { ReasoningEffort } from '../../../ports/catalog.ts';
import { nearestEffort, type ResolvedCapabilities } from '../../capabilities.ts';
import { isThinkingBlock } from './write-messages.ts';
import type { Block, Message } from './written.ts';

export interface WrittenThinking {
  readonly thinking: Block | undefined;
  readonly effort: string | undefined;
  /** Thinking is enabled, which excludes most sampling parameters. */
  readonly isOn: boolean;
  readonly isChanged: boolean;
}

export interface ThinkingLimits {
  readonly capabilities: ResolvedCapabilities;
  readonly maxTokens: number;
  readonly messages: readonly Message[];
  readonly requiresToolCall: boolean;
}

const unset: WrittenThinking = {
  thinking: undefined,
  effort: undefined,
  isOn: false,
  isChanged: false,
};
const droppedSetting: WrittenThinking = { ...unset, isChanged: true };
const disabled: WrittenThinking = { ...unset, thinking: { type: 'disabled' } };

/** Leaves thinking off if the API would refuse the request otherwise. */
export function writeThinking(
  { reasoning }: Pick<ContentRequest, 'reasoning'>,
  limits: ThinkingLimits,
): WrittenThinking {
  if (reasoning === undefined) return unset;
  const isOff = reasoning.effort === 'none' || reasoning.budgetTokens === 0;
  switch (limits.capabilities.reasoning) {
    case 'adaptive':
      // Claude Fable 5 and Mythos 5 always think, and answer 400 to `disabled`.
      return isOff && limits.capabilities.efforts.includes('none')
        ? disabled
        : adaptive(isOff ? { ...reasoning, effort: 'none' } : reasoning, limits);
    case 'budget':
      return isOff ? disabled : budgeted(reasoning, limits);
    default:
      return isOff || isOnlyShown(reasoning) ? unset : droppedSetting;
  }
}

/** The model isn't asked to reason, so that a reply without reasoning is complete. */
function isOnlyShown({ effort, budgetTokens }: Reasoning): boolean {
  return effort === undefined && budgetTokens === undefined;
}

/**
 * Adaptive thinking works with a required tool call, and with calls in the history that lack their
 * thinking blocks. Only a prefilled reply excludes it.
 */
function adaptive(reasoning: Reasoning, limits: ThinkingLimits): WrittenThinking {
  if (limits.messages.at(-1)?.role === 'assistant') return droppedSetting;
  const requested = reasoning.effort ?? effortOf(reasoning.budgetTokens);
  const effort =
    requested === undefined ? undefined : nearestEffort(requested, limits.capabilities.efforts);
  const isOff = requested === 'none';
  const showsThinking = reasoning.includeThoughts ?? reasoning.effort !== undefined;
  const display = showsThinking && !isOff ? 'summarized' : reasoning.includeThoughts;
  return {
    // The newest models don't return their thinking unless `display` asks for it.
    thinking: { type: 'adaptive', display: display === false ? 'omitted' : display },
    effort,
    isOn: true,
    isChanged: effort !== requested,
  };
}

function budgeted(reasoning: Reasoning, limits: ThinkingLimits): WrittenThinking {
  const requested = reasoning.budgetTokens ?? budgetOf(reasoning.effort);
  if (isOnlyShown(reasoning)) return unset;
  // Older models don't support a dynamic budget.
  if (requested === undefined || requested < 0)
    return reasoning.includeThoughts ? droppedSetting : unset;
  const { min, max } = limits.capabilities.thinkingBudget ?? anyBudget;
  const budget = Math.min(Math.max(requested, min, minBudget), max, limits.maxTokens - 1);
  if (budget < minBudget || excludesThinking(limits)) return droppedSetting;
  return {
    thinking: { type: 'enabled', budget_tokens: budget },
    effort: undefined,
    isOn: true,
    isChanged: budget !== requested,
  };
}

/** The API's minimum. */
const minBudget = 1_024;
const anyBudget = { min: minBudget, max: Number.POSITIVE_INFINITY };

function excludesThinking({ requiresToolCall: isForced, messages }: ThinkingLimits): boolean {
  return isForced || messages.at(-1)?.role === 'assistant' || lacksThinking(messages);
}

/**
 * Whether the messages end with tool results whose assistant turn didn't begin with thinking. That
 * turn includes all calls since the user's last message.
 */
function lacksThinking(messages: readonly Message[]): boolean {
  const conversation = messages.filter(({ role }) => role !== 'system');
  if (conversation.at(-1)?.content[0]?.type !== 'tool_result') return false;
  const lastUserIndex = conversation.findLastIndex(
    ({ role, content }, index) =>
      role === 'user' &&
      (content[0]?.type !== 'tool_result' ||
        (index < conversation.length - 1 && content.at(-1)?.type !== 'tool_result')),
  );
  const first = conversation[lastUserIndex + 1]?.content[0];
  return first === undefined || !isThinkingBlock(first);
}

function effortOf(budgetTokens: number | undefined): ReasoningEffort | undefined {
  if (budgetTokens === undefined || budgetTokens < 0) return undefined;
  if (budgetTokens < 2_000) return 'low';
  if (budgetTokens < 8_000) return 'medium';
  return budgetTokens < 24_000 ? 'high' : 'xhigh';
}

function budgetOf(effort: ReasoningEffort | undefined): number | undefined {
  switch (effort) {
    case undefined:
    case 'none':
      return undefined;
    case 'minimal':
      return minBudget;
    case 'low':
      return 2_048;
    case 'medium':
      return 8_192;
    case 'high':
      return 16_384;
    case 'xhigh':
    case 'max':
      return 32_768;
  }
}
