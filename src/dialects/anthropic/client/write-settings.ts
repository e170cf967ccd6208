/** Writes sampling parameters, the output format, and how the model's generation thinks. */

import { jsonText } from '../../../canonical/raw-json.ts';
import {
  asksForTier,
  type ContentRequest,
  changesVerbosity,
  type OutputFormat,
  type Reasoning,
  type RequestField,
} from '../../../canonical/request.ts';
import { withDescription } from '../../../canonical/schema/members.ts';
import {
  closedSchema,
  holdsMap,
  isLoosened,
  objectSchema,
} from '../../../canonical/schema/strictness.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import type { ReasoningEffort } from '../../../ports/models/capabilities.ts';
import { nearestEffort, type ResolvedCapabilities } from '../../capabilities.ts';
import { isThinkingBlock } from './write-messages.ts';
import type { Block, Message } from './written.ts';

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
  const changed: RequestField[] = [];
  if (temperature !== request.temperature) changed.push('temperature');
  if (topP !== request.topP) changed.push('topP');
  if (topK !== request.topK) changed.push('topK');
  if (stop.length !== request.stop.length) changed.push('stop');
  if (asksForTier(request) && tier === undefined) changed.push('serviceTier');
  if (request.seed !== undefined) changed.push('seed');
  if (request.logprobs !== undefined) changed.push('logprobs');
  if (request.presencePenalty) changed.push('presencePenalty');
  if (request.frequencyPenalty) changed.push('frequencyPenalty');
  if (changesVerbosity(request)) changed.push('verbosity');
  return {
    members: {
      temperature,
      top_p: topP,
      top_k: topK,
      stop_sequences: stop.length === 0 ? undefined : stop,
      metadata: request.endUserId === undefined ? undefined : { user_id: request.endUserId },
      service_tier: tier,
    },
    changed,
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

interface WrittenFormat {
  /** `output_config.format`. */
  readonly output: Block | undefined;
  /** A tool that the model must call; its input is the reply. */
  readonly tool: Block | undefined;
  /** An instruction after those of the caller. */
  readonly hint: string | undefined;
  readonly isBestEffort: boolean;
}

const replyTool = 'json';

const jsonHint = 'Answer with one JSON object and nothing else.';
const enumHint =
  'Answer with exactly one of these values, as it stands here, without quotes and nothing else:';
const schemaHint =
  'Give your answer to the user as JSON that fits this JSON Schema, and nothing else:';

const unset: WrittenFormat = {
  output: undefined,
  tool: undefined,
  hint: undefined,
  isBestEffort: false,
};

/** `hasTools`: the caller has declared tools, so that no other tool can be required. */
export function writeFormat(
  format: OutputFormat | undefined,
  {
    capabilities,
    hasTools,
  }: { readonly capabilities: ResolvedCapabilities; readonly hasTools: boolean },
): WrittenFormat {
  switch (format?.type) {
    case undefined:
      return unset;
    case 'json':
      return byHint(jsonHint);
    case 'enum':
      return byHint(`${enumHint}\n${format.values.join('\n')}`);
    case 'json_schema': {
      const schema = withDescription(format.schema, format.description);
      // Closing the schema of a map would only allow an empty object.
      if (holdsMap(schema)) return bySchemaHint(schema);
      const isSupported =
        capabilities.structuredOutput === 'schema' && (!hasTools || capabilities.jsonWithTools);
      if (isSupported) return byOutputConfig(schema);
      if (hasTools || !isObject(schema)) return bySchemaHint(schema);
      return {
        ...byRequiredTool(schema),
        isBestEffort: format.strict === true || isLoosened(schema),
      };
    }
  }
}

function byOutputConfig(schema: JsonObject): WrittenFormat {
  const closed = closedSchema(schema);
  const output = { type: 'json_schema', schema: closed.schema };
  return { ...unset, output, isBestEffort: closed.changed };
}

function byRequiredTool(schema: JsonObject): WrittenFormat {
  const tool = {
    name: replyTool,
    description: 'Gives the answer.',
    input_schema: objectSchema(schema),
  };
  return { ...unset, tool };
}

function bySchemaHint(schema: JsonObject): WrittenFormat {
  return byHint(`${schemaHint}\n${jsonText(schema)}`);
}

function byHint(hint: string): WrittenFormat {
  return { ...unset, hint, isBestEffort: true };
}

/** Only an object can be the input of a tool. */
function isObject(schema: JsonObject): boolean {
  const type = member(schema, 'type');
  return type === 'object' || (type === undefined && isJsonObject(member(schema, 'properties')));
}

interface WrittenThinking {
  readonly thinking: Block | undefined;
  readonly effort: string | undefined;
  /** Thinking is enabled, which excludes most sampling parameters. */
  readonly isOn: boolean;
  readonly isChanged: boolean;
}

interface ThinkingLimits {
  readonly capabilities: ResolvedCapabilities;
  readonly maxTokens: number;
  readonly messages: readonly Message[];
  readonly requiresToolCall: boolean;
}

const unsetThinking: WrittenThinking = {
  thinking: undefined,
  effort: undefined,
  isOn: false,
  isChanged: false,
};
const droppedSetting: WrittenThinking = { ...unsetThinking, isChanged: true };
const disabled: WrittenThinking = { ...unsetThinking, thinking: { type: 'disabled' } };

/** Leaves thinking off if the API would refuse the request otherwise. */
export function writeThinking(
  { reasoning }: Pick<ContentRequest, 'reasoning'>,
  limits: ThinkingLimits,
): WrittenThinking {
  if (reasoning === undefined) return unsetThinking;
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
      return isOff || isOnlyShown(reasoning) ? unsetThinking : droppedSetting;
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
  if (isOnlyShown(reasoning)) return unsetThinking;
  // Older models don't support a dynamic budget.
  if (requested === undefined || requested < 0)
    return reasoning.includeThoughts ? droppedSetting : unsetThinking;
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
