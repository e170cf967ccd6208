/**
 * Reads the contents of a message or a delta other than tool calls: reasoning, text, refusal,
 * media.
 */
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { audioEvents, audioTypeOf, imageEvents } from './read-extras.ts';
import { reasoningReader } from './read-reasoning.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** Reads the messages of one choice. */
export interface MessageReader {
  read(message: JsonValue): readonly ContentEvent[];
  /** The whole refusal so far; empty if the model did not refuse. */
  refusal(): string;
}

/** Creates the reader of one choice. */
export function messageReader(choice: number): MessageReader {
  const reasoning = reasoningReader(choice);
  let refusal = '';
  /** Detected from the first piece of audio, because later pieces have no header. */
  let audioType: string | undefined;
  return {
    read: (message) => {
      const events: ContentEvent[] = [...reasoning.read(message)];
      addContent(events, member(message, 'content'), choice);
      const refused = stringOrEmpty(member(message, 'refusal'));
      if (refused !== '') events.push({ type: 'refusal', choice, text: refused });
      refusal += refused;
      for (const image of items(member(message, 'images'))) {
        events.push(...imageEvents(image, choice));
      }
      const audio = member(message, 'audio');
      if (audio) {
        audioType ??= audioTypeOf(audio);
        events.push(...audioEvents(audio, { choice, mimeType: audioType ?? '' }));
      }
      return events;
    },
    refusal: () => refusal,
  };
}

/**
 * Reads content as text, or as an array of parts, as Mistral sends it: reasoning, text and images
 * in their order.
 */
function addContent(events: ContentEvent[], content: JsonValue | undefined, choice: number): void {
  if (typeof content === 'string') {
    if (content !== '') events.push({ type: 'text', choice, text: content });
    return;
  }
  const others: JsonObject[] = [];
  for (const part of items(content)) {
    const reasoningText = thinkingText(member(part, 'thinking'));
    if (reasoningText !== '') events.push({ type: 'reasoning', choice, text: reasoningText });
    const text = stringOrEmpty(part) || stringOrEmpty(member(part, 'text'));
    if (text !== '') events.push({ type: 'text', choice, text });
    const images = imageEvents(part, choice);
    events.push(...images);
    if (isJsonObject(part) && reasoningText === '' && text === '' && images.length === 0) {
      others.push(part);
    }
  }
  if (others.length > 0) {
    events.push({
      type: 'provider_specific',
      choice,
      provider: 'openai',
      name: 'content',
      value: others,
    });
  }
}

function thinkingText(thinking: JsonValue | undefined): string {
  if (typeof thinking === 'string') return thinking;
  return items(thinking)
    .map((part) => stringOrEmpty(member(part, 'text')))
    .join('');
}
