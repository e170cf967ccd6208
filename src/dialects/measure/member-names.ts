/**
 * Classifies the names of JSON members, so that `referenced-media.ts` knows what their strings may
 * be.
 */ import { commonWords } from '../../bytes/json/words.ts';

export interface NameHints {
  readonly isText: boolean;
  readonly isImage: boolean;
  readonly isType: boolean;
  readonly isUrl: boolean;
  /** Its strings are ids of this kind of resource. */
  readonly resource: string | undefined;
  /** Its strings are ids of an unknown kind. */
  readonly isId: boolean;
  /** One of the four members above is set. */
  readonly mayRefer: boolean;
}

/** A server may accept more than its API says. The first letter rules out most names. */
export function isMediaName(name: string): boolean {
  return mediaInitials.includes(name.charAt(0)) && mediaName.test(name);
}

const mediaInitials = 'adfimvADFIMV';
const mediaName = /^(?:input_?)?(?:image|audio|video|document|file|attachment|media)/i;

/** Strings in members of these names are text to every provider. */
const textNames: ReadonlySet<string> = new Set([
  ...['text', 'title', 'name', 'filename', 'file_name', 'display_name', 'description'],
  ...['transcript', 'caption', 'context'],
]);
const resourceNames: readonly string[] = [
  ...['file', 'media', 'audio', 'video', 'image', 'document', 'asset', 'upload', 'attachment'],
  ...['blob', 'resource', 'cache', 'clip', 'recording', 'reference', 'content'],
];
const resourceIdName: RegExp = new RegExp(`(?:^|_)(${resourceNames.join('|')})_ids?$`);
const urlName = /(?:^|_)(?:ur[il]s?|href)$/;
const typeName = /(?:^|_)(?:(?:mime|media|content)_?type|format)$/;

/** Classifies a name; undefined for an element of a list. */
export function readMemberName(name: string | undefined): NameHints {
  if (name === undefined || name.length > longestName) return noHints;
  return known.get(name) ?? classified(name);
}

function classified(decoded: string): NameHints {
  const name = decoded.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
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

const known: ReadonlyMap<string, NameHints> = new Map(
  [...commonWords].map((name) => [name, classified(name)]),
);
