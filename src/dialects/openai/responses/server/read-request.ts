/**
 * Reads a Responses request into the common form, and finds out what its reply repeats. Members
 * that the form cannot express are listed as dropped, by the caller's names.
 */

import {
  type ContentRequest,
  chatNames,
  type OutputFormat,
  type Reasoning,
  type RequestField,
} from '../../../../canonical/request.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../../json.ts';
import type { RequestedReply } from '../../../codec.ts';
import { notPortable } from '../../../not-portable.ts';
import {
  effortIn,
  flagIn,
  integerIn,
  numberIn,
  type ObjectAtPath,
  objectIn,
  presentMember,
  readSchemaFormat,
  refuse,
  refuseModeration,
  textIn,
} from '../../../read-members.ts';
import type { ReadRequest } from './exchange.ts';
import { calledTools, inputItems, readConversation } from './read-messages.ts';
import { type DeclaredTools, namedTools, readToolChoice, readTools } from './read-tools.ts';
import { type ToolNames, toolNames } from './tool-names.ts';
import { unreadMembers } from './unread-members.ts';

/** Reads the request. */
export function readRequest(body: JsonObject, { streamed }: RequestedReply): ReadRequest {
  refuseUnsupported(body);
  const dropped = new Set<string>(unreadMembers(body));
  const drop = (at: string): void => void dropped.add(at);
  const input = inputItems(body);
  const declared = readTools(body, input, drop);
  const callers = declared.functions.map(({ caller }) => caller);
  const names = toolNames(callers, calledTools(input));
  const { reasoning, wantsSummary, name: reasoningName } = readReasoning(body, input, drop);
  const { format, name: formatName } = readFormat(body, input);
  const logprobs = readLogprobs(body);
  dropIncluded(body, declared.types, drop);
  const { system, turns } = readConversation(body, input, { names, drop });
  const { tools, toolChoice, parallelToolCalls } = toolMembers(body, { declared, names, drop });
  const request: ContentRequest = {
    system,
    turns,
    tools,
    toolChoice,
    parallelToolCalls,
    format,
    maxOutputTokens: integerIn(body, 'max_output_tokens', ''),
    temperature: numberIn(body, 'temperature', ''),
    topP: numberIn(body, 'top_p', ''),
    // This API has no such settings.
    topK: undefined,
    presencePenalty: undefined,
    frequencyPenalty: undefined,
    seed: undefined,
    stop: [],
    candidates: 1,
    logprobs: logprobs?.value,
    reasoning,
    modalities: undefined,
    endUserId: textIn(body, safetyId, '') ?? textIn(body, 'user', ''),
    serviceTier: readServiceTier(body),
    verbosity: readVerbosity(body),
    promptCacheKey: textIn(body, 'prompt_cache_key', ''),
    streamed,
    providerMembers: [],
    names: {
      ...fixedNames,
      format: formatName,
      reasoning: reasoningName,
      logprobs: logprobs?.name ?? 'top_logprobs',
      endUserId: presentMember(body, safetyId) === undefined ? 'user' : safetyId,
    },
    dropped: [...dropped],
  };
  const context = {
    body,
    tools: names,
    wantsSummary,
    wantsLogprobs: logprobs !== undefined,
    stores: flagIn(body, 'store', '') !== false,
  };
  return { request, unasked: unaskedMembers(request, declared), context };
}

/**
 * Codex and the Agents SDK set the verbosity, the context and an effort of `none` for the models
 * whose names they know. Codex also offers to search for tools, and declares a grammar for its
 * patches.
 */
function unaskedMembers(
  { reasoning, names }: ContentRequest,
  { clientSearches, functions }: DeclaredTools,
): ReadonlySet<string> {
  const effort = reasoning?.effort === 'none' ? [names.reasoning] : [];
  const grammars = functions.flatMap(({ tool }) => tool.custom?.formatAt ?? []);
  return new Set([
    ...[names.verbosity, 'reasoning.context'],
    ...effort,
    ...clientSearches,
    ...grammars,
  ]);
}

function toolMembers(
  body: JsonObject,
  {
    declared,
    names,
    drop,
  }: {
    readonly declared: DeclaredTools;
    readonly names: ToolNames;
    readonly drop: (at: string) => void;
  },
): Pick<ContentRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const tools = namedTools(declared, names.flat);
  const toolChoice = readToolChoice(body, names, drop);
  const parallelToolCalls = flagIn(body, 'parallel_tool_calls', '');
  if (tools.length > 0) return { tools, toolChoice, parallelToolCalls };
  // Clients send both members without tools too, where they have no effect.
  const isRequired = toolChoice?.mode === 'required';
  return {
    tools,
    toolChoice: isRequired ? toolChoice : undefined,
    parallelToolCalls: undefined,
  };
}

const safetyId = 'safety_identifier';

const fixedNames: Readonly<Record<RequestField, string>> = {
  ...chatNames,
  format: 'text.format',
  maxOutputTokens: 'max_output_tokens',
  logprobs: 'top_logprobs',
  reasoning: 'reasoning.effort',
  endUserId: safetyId,
  verbosity: 'text.verbosity',
  system: 'input',
};

function readVerbosity(body: JsonObject): string | undefined {
  const text = objectIn(body, 'text', '');
  return text === undefined ? undefined : textIn(text, 'verbosity', 'text');
}

/** Both values request no particular tier. */
function readServiceTier(body: JsonObject): string | undefined {
  const tier = textIn(body, 'service_tier', '');
  return tier === 'auto' || tier === 'default' ? undefined : tier;
}

const logprobsInclude = 'message.output_text.logprobs';

/** Either of two members requests them. */
function readLogprobs(
  body: JsonObject,
): { readonly value: { readonly top: number | undefined }; readonly name: string } | undefined {
  const top = integerIn(body, 'top_logprobs', '');
  if (top !== undefined && top > 0) return { value: { top }, name: 'top_logprobs' };
  const index = items(member(body, 'include')).indexOf(logprobsInclude);
  return index === -1 ? undefined : { value: { top }, name: `include[${index}]` };
}

/**
 * Lists what `include` requests of tools that only OpenAI runs. What it requests of other tools
 * than those declared would have no effect anyway, and clients send some of it by themselves.
 */
function dropIncluded(
  body: JsonObject,
  types: ReadonlySet<string>,
  drop: (at: string) => void,
): void {
  const included = items(member(body, 'include'));
  if (included.length === 0) return;
  const unoffered = new Set(includedOf.keys());
  for (const [kind, tool] of includedOf) {
    if ([...types].some((type) => type.startsWith(tool))) unoffered.delete(kind);
  }
  for (const [index, value] of included.entries()) {
    const [kind = ''] = typeof value === 'string' ? value.split('.', 1) : [];
    if (!unoffered.has(kind) && !isLocal(value)) drop(`include[${index}]`);
  }
}

/** The tools whose results `include` names, by the beginning of the value. */
const includedOf: ReadonlyMap<string, string> = new Map([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['computer_call_output', 'computer'],
]);

/** Reasoning is always given in a form that can be sent back, and input images are the caller's. */
function isLocal(value: unknown): boolean {
  return (
    value === 'reasoning.encrypted_content' ||
    value === 'message.input_image.image_url' ||
    value === logprobsInclude
  );
}

function refuseUnsupported(body: JsonObject): void {
  refuseModeration(body);
  for (const [name, message] of refusals) {
    if (presentMember(body, name) !== undefined) throw notPortable(name, message);
  }
  if (presentMember(body, 'background') === true) {
    throw notPortable('background', 'This model cannot reply in the background. Leave it out.');
  }
  const cache = objectIn(body, 'prompt_cache_options', '');
  if (cache !== undefined && presentMember(cache, 'prewarm') === true) {
    throw notPortable(
      'prompt_cache_options.prewarm',
      'This model cannot fill its cache without a reply. Leave it out.',
    );
  }
}

const refusals: readonly (readonly [name: string, message: string])[] = [
  ['previous_response_id', 'This model keeps no conversations. Send the whole history as `input`.'],
  ['conversation', 'This model keeps no conversations. Send the whole history as `input`.'],
  ['prompt', 'This model has no stored prompts. Send the text as `instructions` and `input`.'],
];

/** The format; undefined for plain text. */
interface RequestedFormat {
  readonly format: OutputFormat | undefined;
  /** The caller's name for it. */
  readonly name: string;
}

/** Reads the last format that is set. */
function readFormat(body: JsonObject, input: readonly ObjectAtPath[]): RequestedFormat {
  for (const { value, at } of settingsIn(body, input)) {
    const path = at === '' ? 'text' : `${at}.text`;
    const text = objectIn(value, 'text', at);
    const format = text === undefined ? undefined : objectIn(text, 'format', path);
    if (format === undefined) continue;
    const name = `${path}.format`;
    return { format: formatOf(format, name), name };
  }
  return { format: undefined, name: 'text.format' };
}

function formatOf(format: JsonObject, at: string): OutputFormat | undefined {
  switch (member(format, 'type')) {
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json' };
    case 'json_schema':
      return readSchemaFormat(format, at);
    default:
      return refuse(`${at}.type`, 'must be "text", "json_object" or "json_schema".');
  }
}

/** Reads `reasoning`. The effort may be replaced by an item of the input. */
function readReasoning(
  body: JsonObject,
  input: readonly ObjectAtPath[],
  drop: (at: string) => void,
): {
  readonly reasoning: Reasoning | undefined;
  readonly wantsSummary: boolean;
  readonly name: string;
} {
  const sent = objectIn(body, 'reasoning', '') ?? {};
  // How the model reasons without these members; other values are lost.
  dropUnless(sent, 'context', ['auto', 'current_turn'], drop);
  dropUnless(sent, 'mode', ['standard'], drop);
  const wantsSummary =
    presentMember(sent, 'summary') !== undefined ||
    presentMember(sent, 'generate_summary') !== undefined;
  const last = lastEffort(body, input);
  const name = last?.at ?? (wantsSummary ? 'reasoning.summary' : 'reasoning.effort');
  if (last === undefined && !wantsSummary) return { reasoning: undefined, wantsSummary, name };
  const effort = last === undefined ? undefined : effortIn(last.value, last.at);
  const reasoning = { effort, budgetTokens: undefined, includeThoughts: wantsSummary };
  return { reasoning, wantsSummary, name };
}

function dropUnless(
  sent: JsonObject,
  name: string,
  neutral: readonly string[],
  drop: (at: string) => void,
): void {
  const value = presentMember(sent, name);
  if (value === undefined || neutral.some((known) => known === value)) return;
  drop(`reasoning.${name}`);
}

function lastEffort(
  body: JsonObject,
  input: readonly ObjectAtPath[],
): { readonly value: JsonValue; readonly at: string } | undefined {
  for (const { value, at } of settingsIn(body, input)) {
    const path = at === '' ? 'reasoning' : `${at}.reasoning`;
    const effort = presentMember(objectIn(value, 'reasoning', at), 'effort');
    if (effort !== undefined) return { value: effort, at: `${path}.effort` };
  }
  return undefined;
}

/** The body and the items that change its settings, the last one first. */
function settingsIn(body: JsonObject, input: readonly ObjectAtPath[]): readonly ObjectAtPath[] {
  const updates = input.filter(({ value }) => member(value, 'type') === 'configuration_update');
  return [{ value: body, at: '' }, ...updates].toReversed();
}
