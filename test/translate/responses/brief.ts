/** Short forms of events, and of the output that is written for them. */
import { openEnvelope } from '../../../src/canonical/envelope.ts';
import type { ContentEvent, FinishReason, ToolCallBegin } from '../../../src/canonical/reply.ts';
import { type JsonValue, member } from '../../../src/json.ts';
import { outputOf } from './writer.ts';

/** A text of the only choice. */
export const text = (content: string): ContentEvent => ({ type: 'text', choice: 0, text: content });
/** Reasoning. */
export const thought = (content: string): ContentEvent => ({
  type: 'reasoning',
  choice: 0,
  text: content,
});
/** The finish. */
export const finish = (reason: FinishReason, message?: string): ContentEvent => ({
  type: 'finish',
  choice: 0,
  reason,
  native: undefined,
  message,
});
/** A call in one piece, and its end. */
export function call(
  name: string,
  argumentText: string,
  number = 0,
): readonly [begin: ToolCallBegin, end: ContentEvent] {
  const id = `call_${number}`;
  return [
    { type: 'tool_begin', choice: 0, call: number, id, name, arguments: argumentText },
    { type: 'tool_end', choice: 0, call: number },
  ];
}

/** Each event in a frame of its own. */
export const each = (events: readonly ContentEvent[]): readonly (readonly ContentEvent[])[] =>
  events.map((event) => [event]);

/** The items of a response object as kind and content. */
export function described(response: JsonValue): readonly string[] {
  return outputOf(response).map((item) => {
    const [part] = outputOf({ output: member(item, 'content') ?? member(item, 'summary') ?? [] });
    const sealed = member(item, 'encrypted_content');
    const content =
      member(part, 'text') ??
      member(part, 'refusal') ??
      member(item, 'arguments') ??
      member(item, 'input') ??
      member(item, 'result') ??
      '';
    const envelope = typeof sealed === 'string' ? openEnvelope(sealed) : undefined;
    const seal = envelope === undefined ? '' : ` +${envelope.kind}:${envelope.data}`;
    return `${String(member(item, 'type'))}: ${String(content)}${seal}`;
  });
}
