/** The codec for Gemini as an upstream of callers with other dialects. */
import { withoutCustomTools } from '../../../canonical/custom-tools.ts';
import { type FunctionNames, functionNames } from '../../../canonical/function-names.ts';
import { type JsonNode, jsonText } from '../../../canonical/raw-json.ts';
import { type ContentRequest, namesOfFunctions } from '../../../canonical/request.ts';
import { member } from '../../../json.ts';
import type { ContentClientCodec, TokenCounter, UpstreamTarget } from '../../codec.ts';
import { countIn } from '../../usage/usage-counts.ts';
import { resourceName } from '../resource.ts';
import { readReply } from './read-reply.ts';
import { type ReadContext, readStream } from './read-stream.ts';
import { unreadMembers } from './unread-reply.ts';
import { type Members, unlessEmpty } from './write-context.ts';
import { writeRequest } from './write-request.ts';

export const geminiClient: ContentClientCodec = {
  begin: (request, target) => {
    const { members, dropped, names } = written(request, target);
    const context: ReadContext = { ids: target.ids, callerName: names.caller };
    return {
      body: jsonText(members),
      dropped,
      unread: unreadMembers,
      readReply: (reply) => readReply(reply, context),
      readStream: () => readStream(context),
    };
  },
};

/** The codec for `countTokens`: it gets the members of a request that are part of its prompt. */
export const geminiTokenCounter: TokenCounter = {
  body: (request, target) => {
    const { members, dropped } = written(request, target);
    const { contents, systemInstruction, tools, toolConfig, cachedContent } = members;
    const model = resourceName(target.upstreamModel);
    const generationConfig = outputFormat(members.generationConfig);
    const prompt = { model, contents, systemInstruction, tools, toolConfig, cachedContent };
    const generateContentRequest = { ...prompt, generationConfig };
    return { text: jsonText({ generateContentRequest }), dropped };
  },
  // Every request has tokens, and a client that trusts a 0 lets its context overflow.
  read: (reply) => countIn(reply, 'totalTokens') || undefined,
};

/** The members of `generationConfig` that the model reads: the schema of the reply is prompt. */
function outputFormat(config: JsonNode): Members | undefined {
  return unlessEmpty({
    responseMimeType: member(config, 'responseMimeType'),
    responseSchema: member(config, 'responseSchema'),
    responseJsonSchema: member(config, 'responseJsonSchema'),
  });
}

function written(
  sent: ContentRequest,
  { capabilities }: UpstreamTarget,
): {
  readonly members: Readonly<Record<string, JsonNode>>;
  readonly dropped: readonly string[];
  readonly names: FunctionNames;
} {
  const request = withoutCustomTools(sent);
  const names = namesOf(request);
  const dropped = new Set(request.dropped);
  const drop = (name: string): void => {
    dropped.add(name);
  };
  const members = writeRequest({ request, capabilities, names, drop });
  return { members, dropped: [...dropped], names };
}

const rule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/, maxLength: 128 } as const;

function namesOf(request: ContentRequest): FunctionNames {
  const results = request.turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'tool_result' ? (part.name ?? []) : [])),
  );
  const chosen = request.toolChoice?.names ?? [];
  return functionNames([...namesOfFunctions(request), ...chosen, ...results], rule);
}
