/** Reads an image generation request of the images protocol for translation to another dialect. */
import { invalidRequest } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { ImageRequest } from '../codec.ts';
import { presentMember, textIn } from '../read-members.ts';

const handledMembers: ReadonlySet<string> = new Set([
  ...['model', 'prompt', 'n', 'size', 'quality', 'output_format', 'background', 'user'],
  // Images are always Base64 and never streamed: the protocol refuses everything else.
  'response_format',
  'stream',
]);

/**
 * Reads the request. Members that no other dialect supports are listed as dropped; null members
 * count as absent.
 */
export function readImageRequest(body: JsonObject): ImageRequest {
  const prompt = textIn(body, 'prompt', '');
  if (prompt === undefined) {
    throw invalidRequest('`prompt` is missing. Describe the image.', 'prompt');
  }
  return {
    prompt,
    candidates: count(body, 'n') ?? 1,
    size: textIn(body, 'size', ''),
    quality: textIn(body, 'quality', ''),
    outputFormat: textIn(body, 'output_format', ''),
    background: textIn(body, 'background', ''),
    endUserId: textIn(body, 'user', ''),
    dropped: Object.keys(body).filter(
      (name) => !handledMembers.has(name) && presentMember(body, name) !== undefined,
    ),
  };
}

function count(body: JsonObject, name: string): number | undefined {
  const value = presentMember(body, name);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw invalidRequest(`\`${name}\` must be a whole number of at least 1.`, name);
}
