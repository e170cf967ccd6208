/** Helpers that write requests in the common form for Gemini. */
import type {
  ContentRequest,
  FunctionTool,
  ProviderMember,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../src/canonical/request.ts';
import { capabilitiesOf } from '../../src/dialects/capabilities.ts';
import type { ContentExchange, UpstreamTarget } from '../../src/dialects/codec.ts';
import { geminiCapabilities } from '../../src/dialects/gemini/capabilities.ts';
import { geminiClient } from '../../src/dialects/gemini/client/codec.ts';
import { type JsonValue, parseJson } from '../../src/json.ts';
import type { Capabilities } from '../../src/ports/catalog.ts';
import { plainRequest, user } from './plain-request.ts';

/** A chat with the text `Hello.` and the given members. */
function contentRequest(given: Partial<ContentRequest> = {}): ContentRequest {
  return { ...plainRequest, turns: [user(text('Hello.'))], ...given };
}

export function text(said: string): TextPart {
  return { kind: 'text', at: `at.${said}`, text: said };
}

export function call(given: Partial<ToolCallPart> = {}): ToolCallPart {
  return {
    kind: 'tool_call',
    at: 'at.call',
    id: 'call_1',
    name: 'look',
    arguments: '{}',
    ...given,
  };
}

export function result(said: string, given: Partial<ToolResultPart> = {}): ToolResultPart {
  const content = [text(said)];
  const callId = 'call_1';
  return {
    kind: 'tool_result',
    at: 'at.result',
    callId,
    name: 'look',
    content,
    isError: false,
    ...given,
  };
}

export function look(given: Partial<FunctionTool> = {}): FunctionTool {
  return {
    kind: 'function',
    name: 'look',
    description: undefined,
    parameters: undefined,
    strict: undefined,
    at: 'tools[0]',
    ...given,
  };
}

export function ownOf(provider: string, name: string, value: JsonValue): ProviderMember {
  return { provider, name, value, at: `extra.${name}`, vital: false };
}

/** A model, by default of the newest generation, with optional capabilities of its channel. */
export function target(model = 'gemini-3-flash', own: Capabilities = {}): UpstreamTarget {
  let count = 0;
  return {
    upstreamModel: model,
    capabilities: capabilitiesOf(geminiCapabilities, model, own),
    maxOutputTokens: undefined,
    ids: () => {
      count += 1;
      return `${count}`.padStart(32, 'abcdefgh');
    },
  };
}

export function begin(
  request: Partial<ContentRequest> = {},
  upstream: UpstreamTarget = target(),
): ContentExchange {
  return geminiClient.begin(contentRequest(request), upstream);
}

/** The parsed body of the request. */
export function sent(request: Partial<ContentRequest>, upstream?: UpstreamTarget): JsonValue {
  return parseJson(begin(request, upstream).body) ?? null;
}
