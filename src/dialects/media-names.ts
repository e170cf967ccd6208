/** What the name of a member says of the strings in it, for `named-media.ts`. */
import { decodeString } from '../bytes/decode.ts';
import type { Span } from '../bytes/json/scan/scan.ts';

/** What the name of a member says of its strings. */
export interface NameSays {
  readonly isText: boolean;
  readonly isImage: boolean;
  readonly isType: boolean;
  readonly isAddress: boolean;
  /** Its strings are ids, of what is called so. */
  readonly thing: string | undefined;
  /** Its strings are ids of nobody knows what. */
  readonly isId: boolean;
  /** One of the last four. */
  readonly mayName: boolean;
}

/** Strings by these names are text for whoever reads them. */
const textNames: ReadonlySet<string> = new Set([
  'text',
  'title',
  'name',
  'filename',
  'file_name',
  'display_name',
  'description',
  'transcript',
  'caption',
  'context',
]);
const things: readonly string[] = [
  'file',
  'media',
  'audio',
  'video',
  'image',
  'document',
  'asset',
  'upload',
  'attachment',
  'blob',
  'resource',
  'cache',
  'clip',
  'recording',
  'reference',
  'content',
];
const thingId: RegExp = new RegExp(`(?:^|_)(${things.join('|')})_ids?$`);
const addressName = /(?:^|_)(?:ur[il]s?|href)$/;
const typeName = /(?:^|_)(?:(?:mime|media|content)_?type|format)$/;

/** Reads a name; that of an element of a list is undefined. */
export function readName(text: Buffer, span: Span | undefined): NameSays {
  if (span === undefined || span.end - span.start > longestName) return saysNothing;
  const name = decodeString(text, span.start + 1, span.end - 1)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
  const isType = typeName.test(name);
  const isAddress = addressName.test(name);
  const thing = thingId.exec(name)?.[1];
  const isId = name === 'id' || name === 'ids' || name === 'uuid';
  return {
    isText: textNames.has(name),
    isImage: name.includes('image'),
    isType,
    isAddress,
    thing,
    isId,
    mayName: isType || isAddress || isId || thing !== undefined,
  };
}

const longestName = 256;
const saysNothing: NameSays = {
  isText: false,
  isImage: false,
  isType: false,
  isAddress: false,
  thing: undefined,
  isId: false,
  mayName: false,
};
