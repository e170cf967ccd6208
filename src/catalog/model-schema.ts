/**
 * Validates one model of a catalog, member by member. Each message completes a sentence that begins
 * with the member's path, and says what to write instead.
 */
import { z } from 'zod';
import { protocolNames } from '../apis.ts';
import { rateLimitsSchema, rateRemedyOf } from '../ports/limits/rates-schema.ts';
import type { MediaPartTokens, Model } from '../ports/models/catalog.ts';
import { reachMembers } from '../ports/models/reach-members.ts';
import type { Path } from '../ports/problems.ts';
import { flag, type Members, oneOf, positive, strict } from '../ports/set-up.ts';
import { priceSchema } from '../prices/schema.ts';
import { channelRemedyOf, channelSchema, name, ownTimeouts, timeouts } from './channel-schema.ts';

const mediaPartTokens = strict(
  'must be an object of tokens by kind: { image: 1500, document: 50000 }',
  {
    image: positive.optional(),
    audio: positive.optional(),
    video: positive.optional(),
    document: positive.optional(),
    reference: positive.optional(),
  } satisfies Members<MediaPartTokens>,
).optional();

const permission = z
  .union(
    [z.literal(true), z.strictObject({ models: z.array(name, 'must be a list of model ids') })],
    'must be true, or { models: [...] } for these models only',
  )
  .optional();

const toolPermission = z
  .union(
    [z.literal(true), z.strictObject({ types: z.array(name, 'must be a list of tool types') })],
    'must be true, or { types: [...] } for tools of these types only',
  )
  .optional();

const allow = strict('must be an object of request members: { file_id: true }', {
  ...Object.fromEntries(reachMembers.map((row) => [row, permission])),
  other_tools: toolPermission,
  fine_tuned: permission,
}).optional();

/** Each one may be tried on three channels while the caller waits. */
const maxFallbacks = 5;

const protocol = z.enum(protocolNames, oneOf(protocolNames));
const quotedNames = protocolNames.map((one) => `'${one}'`);
const apis = [quotedNames.slice(0, -1).join(', '), quotedNames.at(-1)];

/** One model, checked without the others. Strict, so that a misspelt member is reported. */
export const modelSchema: z.ZodType = strict(
  'must be a model: an id, groups, a price and channels',
  {
    id: name,
    vendor: name.optional(),
    protocols: z
      .array(protocol, `must be a list of ${apis.join(' and ')}`)
      .min(1, `must name ${apis.join(' or ')}, one at least`)
      .optional(),
    groups: z.array(name, 'must be a list of groups; an empty one is for nobody'),
    price: priceSchema,
    prefer: z.enum(['cost', 'latency'], "must be 'cost' or 'latency'").optional(),
    channels: z.array(channelSchema, 'must be a list of channels; an empty one serves nobody'),
    aliases: z.array(name, 'must be a list of ids').optional(),
    fallbacks: z
      .array(name, 'must be a list of model ids')
      .max(maxFallbacks, `must be a list of ${maxFallbacks} model ids at most`)
      .optional(),
    maxOutputTokens: positive.optional(),
    contextTokens: positive.optional(),
    tokensPerByte: z
      .number('must be a number above 0')
      .positive('must be a number above 0')
      .optional(),
    mediaPartTokens,
    allow,
    rates: rateLimitsSchema.optional(),
    maxCandidates: positive.optional(),
    sameVectors: flag.optional(),
    strict: flag.optional(),
    createdAtSeconds: positive.optional(),
    displayName: name.optional(),
    description: z.string('must be text').optional(),
    timeouts,
  } satisfies Members<Omit<Model, 'exactId'>>,
);

/** By name of an optional member of a model: what leaving it out means. */
const modelRemedies: ReadonlyMap<unknown, string> = new Map([
  ['aliases', 'Leave it out for none'],
  ['allow', 'Leave it out to allow none'],
  ['contextTokens', 'Leave it out if it is not known'],
  ['createdAtSeconds', 'Leave it out if it is not known'],
  ['description', 'Leave it out for none'],
  ['displayName', 'Leave it out for the id'],
  ['fallbacks', 'Leave it out for none'],
  ['maxCandidates', 'Leave it out for 10 images, and no bound of texts'],
  ['maxOutputTokens', 'Leave it out if it is not known'],
  ['mediaPartTokens', 'Leave it out for 4,096 an image, recording or video'],
  ['prefer', 'Leave it out to share calls by weight'],
  ['protocols', 'Leave it out: a model with a price per image makes images, others write text'],
  ['rates', 'Leave it out for no rate limits'],
  ['sameVectors', 'Leave it out for false'],
  ['strict', 'Leave it out for false'],
  ['tokensPerByte', 'Leave it out for 0.4'],
  ['vendor', "Leave it out for the name of the first channel's provider"],
]);

const mediaRemedies: ReadonlyMap<unknown, string> = new Map([
  ['image', 'Leave it out for 4,096'],
  ['audio', 'Leave it out for 4,096'],
  ['video', 'Leave it out for 4,096'],
  ['document', 'Leave it out for contextTokens'],
  ['reference', 'Leave it out for contextTokens'],
]);

export function modelRemedyOf(model: unknown, path: Path): string | undefined {
  const [first, index, ...below] = path;
  if (first === 'price') return priceRemedy(path);
  if (first === 'rates') return rateRemedyOf(path);
  if (first === 'timeouts') return ownTimeouts;
  if (first === 'mediaPartTokens' && path.length === 2) return mediaRemedies.get(index);
  if (first !== 'channels' || index === undefined) {
    return path.length === 1 ? modelRemedies.get(first) : undefined;
  }
  return channelRemedyOf(below, valueAt(model, path));
}

/** The forms in which people write prices: amounts per million tokens. */
function priceRemedy(path: Path): string | undefined {
  const inCode = "tokenPrice({ input: '0.15', output: '0.60' })";
  if (path.includes('rates')) return `${inCode} makes a price of amounts per million tokens`;
  if (path.length > 1) return undefined;
  const inJson = '{ "per": "token", "input": "0.15", "output": "0.60" }';
  return `Per million tokens, in code: ${inCode}; in JSON: ${inJson}`;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (holder, name) =>
      typeof holder === 'object' && holder !== null ? Reflect.get(holder, name) : undefined,
    value,
  );
}
