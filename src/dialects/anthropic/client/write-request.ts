/** Writes the body of `POST /v1/messages`. */
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import type { UpstreamTarget } from '../../codec.ts';
import { writeThinking } from './thinking.ts';
import { writeFormat } from './write-format.ts';
import { writeConversation } from './write-messages.ts';
import { writeSettings } from './write-settings.ts';
import { anthropicNames, writeTools } from './write-tools.ts';
import { type Block, textBlock } from './written.ts';

/** A request in Anthropic's format. */
export interface WrittenRequest {
  readonly members: Block;
  readonly dropped: readonly string[];
  readonly names: FunctionNames;
  /** The tool whose input is the reply. */
  readonly answerTool: string | undefined;
}

/** Used if neither the caller nor the catalog limits the output. */
const defaultMaxTokens = 8_192;

/** @throws GatewayError `not_portable` for members that Anthropic doesn't support */
export function writeRequest(request: ContentRequest, target: UpstreamTarget): WrittenRequest {
  refuseTheUnsayable(request);
  const { capabilities } = target;
  const names = anthropicNames(request);
  const partTarget = { capabilities, names };
  const maxTokens = request.maxOutputTokens ?? target.maxOutputTokens ?? defaultMaxTokens;
  const format = writeFormat(request.format, { capabilities, hasTools: request.tools.length > 0 });
  const tools = writeTools(request, partTarget, format.tool);
  const { system, messages, dropped } = writeConversation(request, partTarget);
  const scene = { capabilities, maxTokens, messages, isForced: tools.isForced };
  const thought = writeThinking(request, scene);
  const settings = writeSettings(request, { capabilities, isThinking: thought.isOn });
  const hint = format.hint === undefined ? undefined : textBlock(format.hint);
  const head = hint === undefined ? system : [...system, hint];
  const config = { effort: thought.effort, format: format.output };
  const own = ownMembers(request);
  const members = {
    model: target.upstreamModel,
    max_tokens: maxTokens,
    stream: request.streamed,
    system: head.length === 0 ? undefined : head,
    messages,
    tools: tools.tools.length === 0 ? undefined : tools.tools,
    tool_choice: tools.choice,
    thinking: thought.thinking,
    output_config: (thought.effort ?? format.output) ? config : undefined,
    ...settings.members,
  };
  return {
    members: { ...own.members, ...defined(members) },
    dropped: distinct([
      ...request.dropped,
      ...dropped,
      ...tools.dropped,
      ...(format.isLoose ? [request.names.format] : []),
      ...(thought.isChanged ? [request.names.reasoning] : []),
      ...settings.changed.map((field) => request.names[field]),
      ...own.dropped,
    ]),
    names,
    answerTool: typeof format.tool?.name === 'string' ? format.tool.name : undefined,
  };
}

function refuseTheUnsayable({
  candidates,
  modalities,
  providerMembers: own,
  names,
}: ContentRequest): void {
  if (candidates > 1) {
    throw notPortable('This model gives one answer to a request; ask for one.', names.candidates);
  }
  if (modalities?.some((modality) => modality !== 'text')) {
    throw notPortable('This model answers in text only; ask for text.', names.modalities);
  }
  const vital = own.find((one) => one.provider !== 'anthropic' && one.vital);
  if (vital !== undefined) {
    throw notPortable('This model has no counterpart of this member; leave it out.', vital.at);
  }
}

function notPortable(sentence: string, param: string): GatewayError {
  return new GatewayError('not_portable', sentence, { param });
}

/** The caller's members for Anthropic. Those that the gateway writes itself are dropped. */
function ownMembers({ providerMembers: own }: ContentRequest): {
  readonly members: Block;
  readonly dropped: readonly string[];
} {
  const isKept = ({ provider, name }: ContentRequest['providerMembers'][number]): boolean =>
    provider === 'anthropic' && !written.has(name);
  return {
    members: Object.fromEntries(own.filter(isKept).map(({ name, value }) => [name, value])),
    dropped: own.filter((one) => !isKept(one)).map(({ at }) => at),
  };
}

const written: ReadonlySet<string> = new Set([
  'model',
  'max_tokens',
  'stream',
  'system',
  'messages',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'service_tier',
]);

function defined(members: Block): Block {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, JsonNode] => entry[1] !== undefined),
  );
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
