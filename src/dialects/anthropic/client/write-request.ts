/** Writes the body of `POST /v1/messages`. */

import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import type { UpstreamTarget } from '../../codec.ts';
import { notPortable } from '../../not-portable.ts';
import { writeConversation } from './write-messages.ts';
import { writeFormat, writeSettings, writeThinking } from './write-settings.ts';
import { anthropicNames, writeTools } from './write-tools.ts';
import { type Block, textBlock } from './written.ts';

export interface WrittenRequest {
  readonly members: Block;
  readonly dropped: readonly string[];
  readonly names: FunctionNames;
  readonly replyTool: string | undefined;
}

/** Used if neither the caller nor the catalog limits the output. */
const defaultMaxTokens = 8_192;

export function writeRequest(request: ContentRequest, target: UpstreamTarget): WrittenRequest {
  refuseUnsupported(request);
  const { capabilities } = target;
  const names = anthropicNames(request);
  const partTarget = { capabilities, names };
  const maxTokens = request.maxOutputTokens ?? target.maxOutputTokens ?? defaultMaxTokens;
  const format = writeFormat(request.format, { capabilities, hasTools: request.tools.length > 0 });
  const tools = writeTools(request, partTarget, format.tool);
  const { system, messages, dropped } = writeConversation(request, partTarget);
  const limits = { capabilities, maxTokens, messages, requiresToolCall: tools.requiresToolCall };
  const thinking = writeThinking(request, limits);
  const settings = writeSettings(request, { capabilities, isThinking: thinking.isOn });
  const providerMembers = anthropicMembers(request);
  const hasOutput = (thinking.effort ?? format.output) !== undefined;
  const members: Block = {
    model: target.upstreamModel,
    max_tokens: maxTokens,
    stream: request.streamed,
    system: systemWith(system, format.hint),
    messages,
    tools: tools.tools.length === 0 ? undefined : tools.tools,
    tool_choice: tools.choice,
    thinking: thinking.thinking,
    output_config: hasOutput ? { effort: thinking.effort, format: format.output } : undefined,
    ...settings.members,
    ...providerMembers.members,
  };
  return {
    members,
    dropped: [
      ...new Set([
        ...request.dropped,
        ...dropped,
        ...tools.dropped,
        ...(format.isBestEffort ? [request.names.format] : []),
        ...(thinking.isChanged ? [request.names.reasoning] : []),
        ...settings.changed.map((field) => request.names[field]),
        ...providerMembers.dropped,
      ]),
    ],
    names,
    replyTool: typeof format.tool?.name === 'string' ? format.tool.name : undefined,
  };
}

function systemWith(
  system: readonly Block[],
  hintText: string | undefined,
): readonly Block[] | undefined {
  const hint = hintText === undefined ? undefined : textBlock(hintText);
  if (hint !== undefined) return [...system, hint];
  return system.length === 0 ? undefined : system;
}

function refuseUnsupported({
  candidates,
  modalities,
  providerMembers,
  names,
}: ContentRequest): void {
  if (candidates > 1) {
    throw notPortable(
      names.candidates,
      'This model returns one candidate per request. Request fewer.',
    );
  }
  if (modalities?.some((modality) => modality !== 'text')) {
    throw notPortable(names.modalities, 'This model returns text only; request text.');
  }
  const vital = providerMembers.find((one) => one.provider !== 'anthropic' && one.vital);
  if (vital !== undefined) {
    throw notPortable(vital.at, 'This model has no equivalent of this member; leave it out.');
  }
}

/** The caller's members for Anthropic. Those that the gateway writes itself are dropped. */
function anthropicMembers({ providerMembers }: ContentRequest): {
  readonly members: Block;
  readonly dropped: readonly string[];
} {
  const isKept = ({ provider, name }: ContentRequest['providerMembers'][number]): boolean =>
    provider === 'anthropic' && !writtenByGateway.has(name);
  return {
    members: Object.fromEntries(
      providerMembers.filter(isKept).map(({ name, value }) => [name, value]),
    ),
    dropped: providerMembers.filter((one) => !isKept(one)).map(({ at }) => at),
  };
}

const writtenByGateway: ReadonlySet<string> = new Set([
  ...['model', 'max_tokens', 'stream', 'system', 'messages', 'tools', 'tool_choice', 'thinking'],
  ...['output_config', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'metadata'],
  ...['service_tier'],
]);
