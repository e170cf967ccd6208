/** Reads what a message, or one delta of it, holds beside calls: thoughts, text, refusal, media. */
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { audioEvents, audioTypeOf, imageEvents } from './read-extras.ts';
import { reasoningReader } from './read-reasoning.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** Reads the messages of one choice. */
export interface MessageReader {
  read(message: JsonValue): readonly ContentEvent[];
  /** All that the model has said of its refusal; empty where it did not refuse. */
  refusal(): string;
}

/** For one choice. */
export function messageReader(choice: number): MessageReader {
  const reasoning = reasoningReader(choice);
  let refusal = '';
  /** By the first piece of a sound: the others begin anyhow. */
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

/** Text, or a list of parts as Mistral gives it: thoughts, text and images in their order. */
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
