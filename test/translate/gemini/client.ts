/** The client codec for Gemini, and short forms for its tests. */
import type {
  ContentRequest,
  FunctionTool,
  TextPart,
  ToolCallPart,
} from '../../../src/canonical/request.ts';
import type { UpstreamTarget } from '../../../src/dialects/codec.ts';
import { geminiClient } from '../../../src/dialects/gemini/client/codec.ts';
import { geminiCapabilities } from '../../../src/dialects/gemini/dialect.ts';
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

/** A function that is called `look`. */
export function look(members: Partial<FunctionTool> = {}): FunctionTool {
  return functionTool('look', { at: 'tools[0]', ...members });
}
