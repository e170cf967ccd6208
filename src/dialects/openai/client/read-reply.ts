/** Reads an OpenAI-shaped reply, streamed or whole, as events. */

import { type ContentEvent, serviceTiers } from '../../../canonical/reply.ts';
import { items, type JsonValue, member, nonEmpty } from '../../../json.ts';
import type { ContentStreamReader, StreamReading } from '../../codec.ts';
import { openaiUsageReader, usageMerger } from '../../usage/stream-usage.ts';
import { openaiUsageObject } from '../usage.ts';
import { ChoiceReader, type ReadContext } from './read-choice.ts';

export function readReply(reply: JsonValue, context: ReadContext): readonly ContentEvent[] {
  const reader = documentReader(context, (choice, node) => choice.whole(node));
  return [...reader.read(reply), ...reader.end()];
}

export function readStream(
  context: ReadContext,
  { holdsCalls }: StreamReading,
): ContentStreamReader {
  return documentReader(context, (choice, node) =>
    holdsCalls ? choice.heldPiece(node) : choice.piece(node),
  );
}

function documentReader(
  context: ReadContext,
  readNode: (choice: ChoiceReader, node: JsonValue) => readonly ContentEvent[],
): ContentStreamReader {
  const choices = new Map<number, ChoiceReader>();
  let hasBegun = false;
  let isDone = false;
  /** Several events of a stream may report usage, each a part of it. */
  const merge = usageMerger(openaiUsageReader(context.reasoningOutside));
  const choiceAt = (index: number): ChoiceReader => {
    const reader = choices.get(index) ?? new ChoiceReader(index, context);
    choices.set(index, reader);
    return reader;
  };

  return {
    read: (document) => {
      isDone ||= document === '[DONE]';
      const events: ContentEvent[] = hasBegun ? [] : startEvents(document);
      items(member(document, 'choices')).forEach((node, position) => {
        const index = indexOf(node, position);
        if (index >= maxChoices) return;
        for (const event of readNode(choiceAt(index), node)) events.push(event);
      });
      const usage = merge(openaiUsageObject(document));
      if (usage !== undefined) events.push({ type: 'usage', usage });
      hasBegun ||= events.length > 0;
      return events;
    },
    heldChars: () => [...choices.values()].reduce((sum, choice) => sum + choice.heldChars(), 0),
    end: () => endEvents([...choices].toSorted(([one], [other]) => one - other)),
    complete: () => {
      const all = [...choices.values()];
      // Some vendors end text and whole calls without a finish reason.
      if (isDone) return !all.some((choice) => choice.hasOpenCall());
      return all.length > 0 && all.every((choice) => choice.finished());
    },
  };
}

/** Azure's first chunk has an empty id and model, before the stream states them. */
function startEvents(document: JsonValue): ContentEvent[] {
  const id = nonEmpty(member(document, 'id'));
  const model = nonEmpty(member(document, 'model'));
  if (id === undefined && model === undefined) return [];
  const stated = member(document, 'service_tier');
  const serviceTier = serviceTiers.find((tier) => tier === stated);
  return [{ type: 'start', id, model, ...(serviceTier === undefined ? {} : { serviceTier }) }];
}

/** Far above what any model returns; each choice beyond would slow down every later event. */
const maxChoices = 1024;

function indexOf(node: JsonValue, position: number): number {
  const index = member(node, 'index');
  const isUsable = typeof index === 'number' && Number.isSafeInteger(index) && index >= 0;
  return isUsable && index < maxChoices ? index : position;
}

/** Ends all choices. The reply is unusable if every choice is, or if a call of any was cut. */
function endEvents(choices: readonly (readonly [number, ChoiceReader])[]): readonly ContentEvent[] {
  const ends = choices.map(([choice, reader]) => ({ choice, ...reader.end() }));
  if (ends.some(({ finish }) => 'unusable' in finish && finish.endsReply)) {
    // The content is counted, because it was billed.
    const content = ends.flatMap(({ events }) => events);
    return [...content, { type: 'unusable', reason: 'upstream_unusable_output' }];
  }
  if (ends.every(({ finish }) => 'unusable' in finish)) {
    const [reason = 'upstream_empty_response'] = ends.flatMap(({ finish }) =>
      'unusable' in finish ? [finish.unusable] : [],
    );
    return [{ type: 'unusable', reason }];
  }
  return ends.flatMap(({ choice, events, finish, stopSequence }): ContentEvent[] => [
    ...events,
    'unusable' in finish
      ? { type: 'finish', choice, reason: 'other' }
      : { type: 'finish', choice, ...finish, stopSequence },
  ]);
}
