/** Finds the media in the `source` of a block, in Anthropic's shape and in others. */
import { none, type Value } from '../../bytes/json/tape.ts';
import {
  addFileId,
  addMediaString,
  asTextToo,
  type PromptTally,
  textsOf,
} from '../measure/prompt-size.ts';
import { addReferences } from '../measure/referenced-media.ts';

export interface SourceContext {
  /** The path of the block, which its media are named by. */
  readonly at: string;
  readonly path: string;
  /** The media types that the type of the block implies. */
  readonly types: readonly string[];
  /** Counts the blocks of which a document consists. `isRead`: the provider reads blocks here. */
  readonly addBlocks: (blocks: Value, at: string, isRead: boolean) => void;
}

/** Counts a source. Some servers may accept a list of sources. */
export function addSource(tally: PromptTally, source: Value, context: SourceContext): void {
  const { tape } = tally;
  const { at, path } = context;
  if (tape.isObject(source)) return addObject(tally, source, context);
  asTextToo(tally, () => {
    if (!tape.isArray(source)) {
      return addReferences(tally, source, { at: () => at, hasIdOnly: true });
    }
    const end = tape.after(source);
    let index = 0;
    for (let one = tape.first(source); one < end; one = tape.after(one)) {
      addSource(tally, one, { ...context, path: `${path}[${index}]` });
      index += 1;
    }
  });
}

function addObject(tally: PromptTally, source: Value, context: SourceContext): void {
  const { at, path, types, addBlocks } = context;
  const { tape } = tally;
  const type = tape.shortText(tape.present(source, 'type'));
  const fileId = tape.present(source, 'file_id');
  const counted: Value[] = fileId === none ? [] : [fileId];
  if (fileId !== none) addFileId(tally, fileId, path);
  else if (type === 'file') {
    tally.media.push({ kind: 'reference', bytes: 0, isFileId: true, at: `${path}.file_id` });
  }
  const content = tape.present(source, 'content');
  if (content !== none) addBlocks(content, `${path}.content`, type === 'content');
  const payload = tape.present(source, type === 'url' ? 'url' : 'data');
  if (payload !== none && tape.isString(payload)) {
    counted.push(payload);
    const stated = [...types, ...textsOf(tape, source, 'media_type')];
    if (type !== 'text') {
      const { payloadBytes } = tally;
      addMediaString(tally, { value: payload, at, types: stated });
      // Of a source of another type, a server may read the payload as text.
      if (type !== 'base64' && type !== 'url') tally.payloadBytes = payloadBytes;
    }
  } else if (type === 'url') {
    // A server that reads another form of URL fetches what it names.
    tally.media.push({ kind: 'reference', bytes: 0, at: `${path}.url` });
  }
  addOtherMembers(tally, { object: source, at: () => at, counted, walked: [content] });
}

interface Counted {
  readonly object: Value;
  readonly at: () => string;
  readonly counted: readonly Value[];
  /** Values that were counted with everything in them, if they are objects or lists. */
  readonly walked: readonly Value[];
}

export function addOtherMembers(
  tally: PromptTally,
  { object, at, counted, walked }: Counted,
): void {
  const { tape } = tally;
  const done = walked.filter((one) => one !== none && (tape.isObject(one) || tape.isArray(one)));
  if (done.length === 0) {
    const hasIdOnly = counted.length === 0;
    addReferences(tally, object, { at, counted, hasIdOnly });
    return;
  }
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    if (done.includes(value)) continue;
    addReferences(tally, value, { name: tape.name(value), at, counted });
  }
}
