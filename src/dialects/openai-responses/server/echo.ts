/** Collects the members of a request that its reply repeats, with OpenAI's defaults. */
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { presentMember } from '../../read-members.ts';
import type { ReplyEcho } from './exchange.ts';

/** Returns the members that the reply to this request repeats. */
export function echoOf(body: JsonObject): ReplyEcho {
  return {
    settings: {
      background: false,
      max_output_tokens: sent(body, 'max_output_tokens', null),
      max_tool_calls: sent(body, 'max_tool_calls', null),
      metadata: sent(body, 'metadata', {}),
      parallel_tool_calls: sent(body, 'parallel_tool_calls', true),
      previous_response_id: null,
      prompt_cache_key: sent(body, 'prompt_cache_key', null),
      reasoning: { effort: null, summary: null, ...objectOf(body, 'reasoning') },
      safety_identifier: sent(body, 'safety_identifier', null),
      temperature: sent(body, 'temperature', null),
      text: { format: { type: 'text' }, ...objectOf(body, 'text') },
      tool_choice: sent(body, 'tool_choice', 'auto'),
      top_logprobs: sent(body, 'top_logprobs', 0),
      top_p: sent(body, 'top_p', null),
      truncation: sent(body, 'truncation', 'disabled'),
      user: sent(body, 'user', null),
    },
    prompt: {
      instructions: sent(body, 'instructions', null),
      tools: sent(body, 'tools', []),
    },
  };
}

function sent(body: JsonObject, name: string, otherwise: JsonValue): JsonValue {
  return presentMember(body, name) ?? otherwise;
}

/** The members of an object without those that are null. */
function objectOf(body: JsonObject, name: string): JsonObject {
  const value = member(body, name);
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}
