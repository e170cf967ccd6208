/** The codec for Gemini as an upstream of callers with other dialects. */
import { type FunctionNames, functionNames } from '../../../canonical/function-names.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import type { ContentClientCodec } from '../../codec.ts';
import { readReply } from './read-reply.ts';
import { type ReadContext, readStream } from './read-stream.ts';
import { unreadMembers } from './unread-reply.ts';
import { writeRequest } from './write-request.ts';

/** Writes `generateContent` requests and reads their replies. */
export const geminiClient: ContentClientCodec = {
  begin: (request, { capabilities, ids }) => {
    const names = namesOf(request);
    const dropped = new Set(request.dropped);
    const drop = (name: string): void => {
      dropped.add(name);
    };
    const body = writeRequest({ request, capabilities, names, drop });
    const context: ReadContext = { ids, callerName: names.caller };
    return {
      body,
      dropped: [...dropped],
      unread: unreadMembers,
      readReply: (reply) => readReply(reply, context),
      readStream: () => readStream(context),
    };
  },
};

const rule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/, maxLength: 128 } as const;

/** Maps the names of all functions in declarations, tool choice and history. */
function namesOf({ tools, toolChoice, turns }: ContentRequest): FunctionNames {
  const declared = tools.flatMap((tool) => (tool.kind === 'function' ? [tool.name] : []));
  const used = turns.flatMap(({ parts }) => parts.flatMap((part) => nameOf(part) ?? []));
  return functionNames([...declared, ...(toolChoice?.names ?? []), ...used], rule);
}

function nameOf(part: ContentRequest['turns'][number]['parts'][number]): string | undefined {
  return part.kind === 'tool_call' || part.kind === 'tool_result' ? part.name : undefined;
}
