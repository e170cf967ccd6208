/** Reads image and document blocks. */

import type { MediaPart, TextPart } from '../../../canonical/request.ts';
import { type JsonObject, member } from '../../../json.ts';
import { storedElsewhere } from '../../not-portable.ts';
import {
  isList,
  mediaAtUrl,
  mediaInBase64,
  type ObjectAtPath,
  objectIn,
  objectsIn,
  presentMember,
  refuse,
  requiredObject,
  requiredText,
  textIn,
} from '../../read-members.ts';

export type ContentParts = readonly (TextPart | MediaPart)[];

export function readImage({ value: block, at }: ObjectAtPath): MediaPart {
  const source = requiredObject(block, 'source', at);
  const path = `${at}.source`;
  const head = { kind: 'media', at } as const;
  switch (textIn(source, 'type', path)) {
    case 'base64': {
      const { data, mimeType } = readBase64(source, path);
      return { ...head, ...mediaInBase64(data, mimeType) };
    }
    case 'url':
      return {
        ...head,
        ...mediaAtUrl(requiredText(source, 'url', path), `${path}.url`, undefined),
      };
    case 'file':
      throw storedElsewhere(`${path}.file_id`);
    default:
      return refuse(`${path}.type`, 'must be "base64" or "url".');
  }
}

/**
 * Reads a document: a file, or text and images in its place. What the caller says about the
 * document becomes text before it.
 */
export function readDocument(located: ObjectAtPath, drop: (at: string) => void): ContentParts {
  const { value: block, at } = located;
  const source = requiredObject(block, 'source', at);
  const path = `${at}.source`;
  dropCitations(located, drop);
  switch (textIn(source, 'type', path)) {
    case 'base64':
    case 'url':
      return [...introduction(located, ['context'], drop), readFile(located, source)];
    case 'text':
      return [readPlainText(located, source, drop)];
    case 'content':
      return [...introduction(located, ['title', 'context'], drop), ...readPieces(source, path)];
    case 'file':
      throw storedElsewhere(`${path}.file_id`);
    default:
      return refuse(`${path}.type`, 'must be "base64", "text", "content" or "url".');
  }
}

export function readSearchResult(located: ObjectAtPath, drop: (at: string) => void): TextPart {
  const { value: block, at } = located;
  drop(at);
  const texts = objectsIn(block, 'content', at).map((piece) => textOf(piece));
  const lines = [requiredText(block, 'title', at), requiredText(block, 'source', at), '', ...texts];
  return { kind: 'text', at, text: `${lines.join('\n')}\n` };
}

export function textOf({ value: block, at }: ObjectAtPath): string {
  if (textIn(block, 'type', at) !== 'text') refuse(`${at}.type`, 'must be "text" here.');
  return textIn(block, 'text', at) ?? refuse(`${at}.text`, 'must be a string.');
}

function readBase64(
  source: JsonObject,
  path: string,
): { readonly data: string; readonly mimeType: string } {
  return {
    data: requiredText(source, 'data', path),
    mimeType: requiredText(source, 'media_type', path).toLowerCase(),
  };
}

function readFile({ value: block, at }: ObjectAtPath, source: JsonObject): MediaPart {
  const path = `${at}.source`;
  const media =
    member(source, 'type') === 'url'
      ? mediaAtUrl(requiredText(source, 'url', path), `${path}.url`, 'application/pdf')
      : inBase64(source, path);
  const fileName = textIn(block, 'title', at);
  return {
    kind: 'media',
    at,
    ...media,
    ...(fileName === undefined ? {} : { fileName, fileNameAt: `${at}.title` }),
  };
}

function inBase64(source: JsonObject, path: string): Pick<MediaPart, 'mimeType' | 'source'> {
  const { data, mimeType } = readBase64(source, path);
  return mediaInBase64(data, mimeType);
}

/** A document without a file: the text that introduces it is a part of it. */
function readPlainText(
  located: ObjectAtPath,
  source: JsonObject,
  drop: (at: string) => void,
): MediaPart {
  const { at } = located;
  const content = requiredText(source, 'data', `${at}.source`);
  const [head] = introduction(located, ['title', 'context'], drop);
  const text = `${head?.text ?? ''}${content}`;
  return {
    kind: 'media',
    at,
    mimeType: 'text/plain',
    source: { type: 'base64', data: Buffer.from(text).toString('base64') },
    text,
  };
}

/** At most one part: no provider has members for a document's title and context. */
function introduction(
  { value: block, at }: ObjectAtPath,
  names: readonly ('title' | 'context')[],
  drop: (at: string) => void,
): readonly TextPart[] {
  const lines = names.flatMap((name) => {
    const line = textIn(block, name, at) ?? '';
    if (line !== '') drop(`${at}.${name}`);
    return line === '' ? [] : [`${line}\n`];
  });
  return lines.length === 0 ? [] : [{ kind: 'text', at, text: `${lines.join('')}\n` }];
}

function readPieces(source: JsonObject, path: string): ContentParts {
  const content = presentMember(source, 'content');
  if (typeof content === 'string') {
    return [{ kind: 'text', at: `${path}.content`, text: content }];
  }
  if (!isList(content)) refuse(`${path}.content`, 'must be a string or an array of blocks.');
  return objectsIn(source, 'content', path).map((piece) => readPiece(piece));
}

function readPiece(piece: ObjectAtPath): TextPart | MediaPart {
  const { value: block, at } = piece;
  if (member(block, 'type') === 'image') return readImage(piece);
  return { kind: 'text', at, text: textOf(piece) };
}

/** Only Anthropic cites the documents of a request. */
function dropCitations({ value: block, at }: ObjectAtPath, drop: (at: string) => void): void {
  const citations = objectIn(block, 'citations', at);
  if (citations !== undefined && member(citations, 'enabled') === true) drop(`${at}.citations`);
}
