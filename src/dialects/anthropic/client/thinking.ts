/** Writes the thinking settings for the model's generation: an effort or a token budget. */
import type { ContentRequest, Reasoning } from '../../../canonical/request.ts';
import type { ReasoningEffort } from '../../../ports/catalog.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { nearestEffort } from '../../nearest-effort.ts';
import { isThought } from './write-messages.ts';
import type { Block, Message } from './written.ts';

/** The members for thinking. */
export interface WrittenThinking {
  readonly thinking: Block | undefined;
  /** The `effort` in `output_config`. */
  readonly effort: string | undefined;
  /** Thinking is enabled, which excludes most sampling parameters. */
  readonly isOn: boolean;
  /** The caller's setting was changed or dropped. */
  readonly isChanged: boolean;
}

/** The parts of the request that restrict thinking. */
export interface ThinkingScene {
  readonly capabilities: ResolvedCapabilities;
  readonly maxTokens: number;
  readonly messages: readonly Message[];
  /** The model must call a tool (`tool_choice` `any` or `tool`). */
  readonly isForced: boolean;
}

const silent: WrittenThinking = {
  thinking: undefined,
  effort: undefined,
  isOn: false,
  isChanged: false,
};
const ignored: WrittenThinking = { ...silent, isChanged: true };
const disabled: WrittenThinking = { ...silent, thinking: { type: 'disabled' } };

/** Leaves thinking off if the API would refuse the request otherwise. */
export function writeThinking(
  { reasoning }: Pick<ContentRequest, 'reasoning'>,
  scene: ThinkingScene,
): WrittenThinking {
  if (reasoning === undefined) return silent;
  const isOff = reasoning.effort === 'none' || reasoning.budgetTokens === 0;
  switch (scene.capabilities.reasoning) {
    case 'adaptive':
      // Claude Fable 5 and Mythos 5 always think, and answer 400 to `disabled`.
      return isOff && scene.capabilities.efforts.includes('none')
        ? disabled
        : adaptive(isOff ? { ...reasoning, effort: 'none' } : reasoning, scene);
    case 'budget':
      return isOff ? disabled : budgeted(reasoning, scene);
    default:
      return isOff ? silent : ignored;
  }
}

/**
 * Adaptive thinking works with a required tool call, and with calls in the history that lack their
 * thinking blocks. Only a prefilled reply excludes it.
 */
function adaptive(reasoning: Reasoning, scene: ThinkingScene): WrittenThinking {
  if (scene.messages.at(-1)?.role === 'assistant') return ignored;
  const asked = reasoning.effort ?? effortOf(reasoning.budgetTokens);
  const effort = asked === undefined ? undefined : nearestEffort(asked, scene.capabilities.efforts);
  const isUnwanted = asked === 'none';
  const wantsThoughts = reasoning.includeThoughts ?? reasoning.effort !== undefined;
  const display = wantsThoughts && !isUnwanted ? 'summarized' : reasoning.includeThoughts;
  return {
    // The newest models don't return their thinking unless `display` asks for it.
    thinking: { type: 'adaptive', display: display === false ? 'omitted' : display },
    effort,
    isOn: true,
    isChanged: effort !== asked,
  };
}

function budgeted(reasoning: Reasoning, scene: ThinkingScene): WrittenThinking {
  const asked = reasoning.budgetTokens ?? budgetOf(reasoning.effort);
  // Older models don't support a dynamic budget.
  if (asked === undefined || asked < 0) return reasoning.includeThoughts ? ignored : silent;
  const { min, max } = scene.capabilities.thinkingBudget ?? anyBudget;
  const budget = Math.min(Math.max(asked, min, leastBudget), max, scene.maxTokens - 1);
  if (budget < leastBudget || excludesThinking(scene)) return ignored;
  return {
    thinking: { type: 'enabled', budget_tokens: budget },
    effort: undefined,
    isOn: true,
    isChanged: budget !== asked,
  };
}

/** The API's minimum. */
const leastBudget = 1_024;
const anyBudget = { min: leastBudget, max: Number.POSITIVE_INFINITY };

function excludesThinking({ isForced, messages }: ThinkingScene): boolean {
  return isForced || messages.at(-1)?.role === 'assistant' || lacksThoughts(messages);
}

/**
 * Whether the messages end with tool results whose assistant turn didn't begin with thinking. That
 * turn includes all calls since the user's last message.
 */
function lacksThoughts(messages: readonly Message[]): boolean {
  const spoken = messages.filter(({ role }) => role !== 'system');
  if (spoken.at(-1)?.content[0]?.type !== 'tool_result') return false;
  const asked = spoken.findLastIndex(
    ({ role, content }, index) =>
      role === 'user' &&
      (content[0]?.type !== 'tool_result' ||
        (index < spoken.length - 1 && content.at(-1)?.type !== 'tool_result')),
  );
  const first = spoken[asked + 1]?.content[0];
  return first === undefined || !isThought(first);
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
      return leastBudget;
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
