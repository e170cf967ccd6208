/**
 * Reads the document of an event. The events that begin and end a stream repeat the whole request
 * or reply, and one image may have megabytes, so that of a large document only the few members are
 * read by which the gateway judges, bounds and charges a stream.
 */
import { parseBounded } from '../../../bounded-json.ts';
import {
  type ExtractionRule,
  type StringSink,
  stringExtractor,
} from '../../../bytes/json/stream/string-extractor.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json.ts';

/** A larger document is not parsed. */
const maxParsedChars = 32 * 1024;

/** The members that are read of a large document, by the object that holds them. */
const topMembers = [...['type', 'sequence_number', 'code', 'message', 'param', 'error']] as const;
const responseMembers = [
  ...['id', 'created_at', 'model', 'status', 'error', 'usage', 'tool_usage', 'service_tier'],
] as const;
const itemMembers = [
  ...['id', 'type', 'status', 'action', 'container_id', 'environment', 'execution'],
] as const;

export interface EventDocument {
  readonly members: JsonObject;
  /** It is large, and has only the members above. */
  readonly isReduced: boolean;
}

export function eventDocument(data: string, parse: typeof parseBounded): EventDocument | undefined {
  const isReduced = data.length > maxParsedChars && startsAsObject.test(data);
  const members = isReduced ? reducedDocument(data, parse) : parse(data);
  return isJsonObject(members) ? { members, isReduced } : undefined;
}

const startsAsObject = /^\s*\{/;

function reducedDocument(data: string, parse: typeof parseBounded): JsonObject | undefined {
  const top = new Map<string, JsonValue>();
  const response = new Map<string, JsonValue>();
  const item = new Map<string, JsonValue>();
  const output: JsonObject[] = [];
  const extractor = stringExtractor({
    members: {
      ...rulesFor(topMembers, top, parse),
      response: {
        members: {
          ...rulesFor(responseMembers, response, parse),
          output: { elements: { members: { id: { text: addIdTo(output) } } } },
        },
      },
      item: {
        members: { ...rulesFor(itemMembers, item, parse), result: { string: resultIn(item) } },
      },
    },
  });
  extractor.write(Buffer.from(data));
  if (!extractor.isWhole()) return undefined;
  if (output.length > 0) response.set('output', output);
  if (response.size > 0) top.set('response', Object.fromEntries(response));
  if (item.size > 0) top.set('item', Object.fromEntries(item));
  return Object.fromEntries(top);
}

/** Far more items than any real reply has. */
const maxItems = 10_000;

/** Items of a reply are reduced to their ids, by which later calls may refer to them. */
function addIdTo(output: JsonObject[]): (json: string | undefined) => void {
  return (json) => {
    const id = json === undefined ? undefined : parseBounded(json);
    if (id !== undefined && output.length < maxItems) output.push({ id });
  };
}

/** A generated image is reduced to the fact that there is one. */
function resultIn(found: Map<string, JsonValue>): StringSink {
  return {
    begin: () => true,
    write: (bytes) => {
      if (bytes.length > 0) found.set('result', 'an image');
    },
    end: () => {},
  };
}

/** A value above 16 KiB is left out: no client shows such a message, and no usage is as large. */
function rulesFor(
  names: readonly string[],
  found: Map<string, JsonValue>,
  parse: typeof parseBounded,
): Readonly<Record<string, ExtractionRule>> {
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        text: (json: string | undefined) => {
          const value = json === undefined ? undefined : parse(json);
          if (value !== undefined) found.set(name, value);
        },
      },
    ]),
  );
}
