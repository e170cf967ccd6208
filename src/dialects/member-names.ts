/** What the name of a member says of the strings in it, for `named-media.ts`. */
import { decodeString } from '../bytes/decode.ts';
import type { Span } from '../bytes/json/scan/scan.ts';

/** What the name of a member says of its strings. */
export interface NameHints {
  readonly isText: boolean;
  readonly isImage: boolean;
  readonly isType: boolean;
  readonly isUrl: boolean;
  /** Its strings are ids, of what is called so. */
  readonly resource: string | undefined;
  /** Its strings are ids of nobody knows what. */
  readonly isId: boolean;
  /** One of the last four. */
  readonly mayRefer: boolean;
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
const resourceNames: readonly string[] = [
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
const resourceIdName: RegExp = new RegExp(`(?:^|_)(${resourceNames.join('|')})_ids?$`);
const urlName = /(?:^|_)(?:ur[il]s?|href)$/;
const typeName = /(?:^|_)(?:(?:mime|media|content)_?type|format)$/;

/** Reads a name; that of an element of a list is undefined. */
export function readMemberName(text: Buffer, span: Span | undefined): NameHints {
  if (span === undefined || span.end - span.start > longestName) return noHints;
  const name = decodeString(text, span.start + 1, span.end - 1)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
  const isType = typeName.test(name);
  const isUrl = urlName.test(name);
  const resource = resourceIdName.exec(name)?.[1];
  const isId = name === 'id' || name === 'ids' || name === 'uuid';
  return {
    isText: textNames.has(name),
    isImage: name.includes('image'),
    isType,
    isUrl,
    resource,
    isId,
    mayRefer: isType || isUrl || isId || resource !== undefined,
  };
}

const longestName = 256;
const noHints: NameHints = {
  isText: false,
  isImage: false,
  isType: false,
  isUrl: false,
  resource: undefined,
  isId: false,
  mayRefer: false,
};
