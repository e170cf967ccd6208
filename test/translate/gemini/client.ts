/** The client codec for Gemini, and short forms for its tests. */
import type {
  ContentRequest,
  FunctionTool,
  ProviderMember,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../src/canonical/request.ts';
import type { UpstreamTarget } from '../../../src/dialects/codec.ts';
import { geminiCapabilities } from '../../../src/dialects/gemini/capabilities.ts';
import { geminiClient } from '../../../src/dialects/gemini/client/codec.ts';
import type { JsonValue } from '../../../src/json.ts';
import { type CodecHarness, codecHarness, functionTool, textPart } from '../../support/codec.ts';
import { user } from '../../support/plain-request.ts';

const codec = codecHarness({
  codec: geminiClient,
  capabilities: geminiCapabilities,
  upstreamModel: 'gemini-3-flash',
  newId: (count) => `${count}`.padStart(32, 'abcdefgh'),
  request: { turns: [user(text('Hello.'))] },
});

/** A model, by default of the newest generation, with optional capabilities of its channel. */
export const target: CodecHarness['target'] = codec.target;
/** An exchange for which the test supplies the reply. */
export const begin: CodecHarness['begin'] = codec.begin;

/** The parsed body of the request. */
export function bodyOf(members: Partial<ContentRequest>, to?: UpstreamTarget): JsonValue {
  return codec.written(members, to).body;
}

/** A text part whose place is named after it. */
export function text(content: string): TextPart {
  return textPart(content, `at.${content}`);
}

/** A tool call by the model. */
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

/** The result of a tool call. */
export function result(output: string, given: Partial<ToolResultPart> = {}): ToolResultPart {
  const content = [text(output)];
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

/** A function that is called `look`. */
export function look(members: Partial<FunctionTool> = {}): FunctionTool {
  return functionTool('look', { at: 'tools[0]', ...members });
}

/** A member that only one provider understands. */
export function ownOf(provider: string, name: string, value: JsonValue): ProviderMember {
  return { provider, name, value, at: `extra.${name}`, vital: false };
}
