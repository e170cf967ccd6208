/** Reads how much the model should reason: `thinking`, and `output_config.effort`. */
import type { Reasoning } from '../../../canonical/request.ts';
import type { JsonObject } from '../../../json.ts';
import { type ReasoningEffort, reasoningEfforts } from '../../../ports/catalog.ts';
import { integerIn, objectIn, presentMember, refuse, textIn } from '../../read-members.ts';

/** The settings, and the caller's name for the one that counts most. */
export interface RequestedReasoning {
  readonly reasoning: Reasoning | undefined;
  readonly name: string;
}

/**
 * Reads both members. A caller who doesn't ask for thinking is not shown any, even if an effort is
 * stated.
 */
export function readReasoning(body: JsonObject, drop: (at: string) => void): RequestedReasoning {
  const effort = readEffort(body);
  const thinking = objectIn(body, 'thinking', '');
  if (thinking === undefined) return effortAlone(effort);
  switch (textIn(thinking, 'type', 'thinking')) {
    case 'disabled':
      if (effort !== undefined) drop(effortName);
      return { ...effortAlone('none'), name: 'thinking' };
    case 'between_tools':
      drop('thinking');
      return effortAlone(effort);
    case 'adaptive': {
      const includeThoughts = displayIn(thinking, drop) === 'summarized';
      const reasoning = { effort, budgetTokens: undefined, includeThoughts };
      return { reasoning, name: effort === undefined ? 'thinking' : effortName };
    }
    case 'enabled': {
      const includeThoughts = displayIn(thinking, drop) !== 'omitted';
      const budgetTokens = readBudget(thinking);
      if (effort === undefined) {
        return { reasoning: { effort, budgetTokens, includeThoughts }, name: 'thinking' };
      }
      const reasoning = { effort, budgetTokens, includeThoughts, budgetAt };
      return { reasoning, name: effortName };
    }
    default:
      return refuse('thinking.type', 'must be "enabled", "adaptive" or "disabled".');
  }
}

const effortName = 'output_config.effort';
const budgetAt = 'thinking.budget_tokens';

function effortAlone(effort: ReasoningEffort | undefined): RequestedReasoning {
  if (effort === undefined) return { reasoning: undefined, name: 'thinking' };
  const reasoning = { effort, budgetTokens: undefined, includeThoughts: false };
  return { reasoning, name: effortName };
}

/** Anthropic's efforts; `none` and `minimal` are those of other providers. */
const efforts = reasoningEfforts.filter((effort) => effort !== 'none' && effort !== 'minimal');

function readEffort(body: JsonObject): ReasoningEffort | undefined {
  const value = presentMember(objectIn(body, 'output_config', ''), 'effort');
  if (value === undefined) return undefined;
  return (
    efforts.find((known) => known === value) ??
    refuse(effortName, `must be one of ${efforts.join(', ')}.`)
  );
}

/** Agents send less than Anthropic's minimum of 1,024, so that any positive number counts. */
function readBudget(thinking: JsonObject): number {
  const budget = integerIn(thinking, 'budget_tokens', 'thinking') ?? 0;
  return budget >= 1 ? budget : refuse(budgetAt, 'must be a whole number of at least 1.');
}

function displayIn(thinking: JsonObject, drop: (at: string) => void): string | undefined {
  const display = textIn(thinking, 'display', 'thinking');
  if (display === undefined || display === 'summarized' || display === 'omitted') return display;
  drop('thinking.display');
  return undefined;
}
