/**
 * Validates one model of a catalog, member by member. Each message completes a sentence that begins
 * with the member's path, and says what to write instead.
 */
import { z } from 'zod';
import {
  type Channel,
  dialectNames,
  type MediaPartTokens,
  type Model,
  protocolNames,
} from '../../ports/catalog.ts';
import { rateLimitsSchema, rateRemedyOf } from '../../ports/rates-schema.ts';
import type { AllowedMembers } from '../../ports/reach-members.ts';
import { flag, nanos, oneOf, type Path, positive, text, wait } from '../../ports/set-up.ts';
import type { Timeouts } from '../../ports/timeouts.ts';
import { costSchema, priceSchema } from '../../prices/schema.ts';
import { capabilitiesSchema } from './capabilities-schema.ts';

/** Requires a schema for every member of a type, so that a new one can't be forgotten. */
type Members<T> = Readonly<Record<keyof T, z.ZodType>>;

const name = text('must be text of at least one character, without control characters');
// Not `optional`: an explicit undefined would override the gateway's default.
const ownWait = wait.exactOptional();

const timeouts = z
  .strictObject(
    {
      connectMs: ownWait,
      firstByteStreamedMs: ownWait,
      firstByteMs: ownWait,
      idleMs: ownWait,
      firstTokenMs: ownWait,
      quietMs: ownWait,
      totalMs: ownWait,
    } satisfies Members<Timeouts>,
    'must be an object',
  )
  .optional();

function baseUrlForm({ input }: { readonly input?: unknown }): string {
  const problem = typeof input === 'string' ? baseUrlProblem(input) : undefined;
  const isAzure = typeof input === 'string' && /[?&]api-version=/.test(input);
  const azure = '. For Azure, use https://<resource>.openai.azure.com/openai/v1';
  return (problem ?? `must be a URL, ${likeThis}`) + (isAzure ? azure : '');
}

// Printable ASCII: anything else would break the header it is sent in, or make the call throw.
const credential = z
  .custom(
    (value) => typeof value === 'function' || typeof value === 'string',
    'must be a secret, or a function that returns one',
  )
  .refine((value) => value !== '', 'must not be empty')
  .refine(
    (value) => typeof value !== 'string' || value === '' || /^[!-~](?:[ -~]*[!-~])?$/.test(value),
    'must be printable ASCII without space around it; trim what was read from a file',
  )
  .refine(
    (value) => typeof value !== 'string' || !/^bearer /i.test(value),
    'must be the secret alone: remove "Bearer ", which the gateway adds',
  )
  .refine(
    (value) => typeof value !== 'string' || !/^\$\{[^}]*\}$/.test(value),
    'is a placeholder in quotation marks, which nothing replaces. Use the value itself, ' +
      'such as process.env.NAME',
  );

/** Headers that the gateway or the HTTP client writes: a second value would contradict theirs. */
const reservedHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be a header name, which takes letters, digits and dashes')
  .refine(
    (header) => !reservedHeaders.has(header.toLowerCase()),
    'is written by the gateway; remove it, and give the secret as credential',
  );

const headerValue = 'must be text of printable ASCII without line breaks';

const headers = z.record(
  headerName,
  z.string(headerValue).regex(/^[ -~]*$/, headerValue),
  'must be an object of header names and values',
);

/** The admin interface has the id in a path, in which HTTP clients resolve `.` and `..`. */
const channelId = name.refine(
  (id) => id !== '.' && id !== '..',
  'must not be one or two dots, which stand for folders in a path',
);

const channel = z.strictObject(
  {
    id: channelId,
    dialect: z.enum(dialectNames, oneOf(dialectNames)),
    baseUrl: z
      .string({ error: baseUrlForm })
      .refine((url) => baseUrlProblem(url) === undefined, { error: baseUrlForm }),
    credential,
    account: name.optional(),
    upstreamModel: name.optional(),
    priority: z.number('must be a number; lower is tried first').optional(),
    weight: z
      .number('must be a number of 0 or above; 0 takes no calls')
      .nonnegative('must be 0 or above; 0 takes no calls')
      .optional(),
    maxPriceNanos: nanos.optional(),
    cost: costSchema.optional(),
    groups: z.array(name, 'must be a list of groups; an empty one is for nobody').optional(),
    maxConcurrentCalls: positive.optional(),
    stickyBy: z
      .enum(
        ['key', 'prompt_cache_key', 'session'],
        "must be 'key', 'prompt_cache_key' or 'session'",
      )
      .optional(),
    rejectsBeforeWork: flag.optional(),
    capabilities: capabilitiesSchema,
    headers: headers.optional(),
    usageTrust: z.enum(['reported', 'held'], "must be 'reported' or 'held'").optional(),
    hideErrors: flag.optional(),
    timeouts,
  } satisfies Members<Channel>,
  'must be a channel: an id, a dialect, a baseUrl and a credential',
);

const mediaPartTokens = z
  .strictObject(
    {
      image: positive.optional(),
      audio: positive.optional(),
      video: positive.optional(),
      document: positive.optional(),
      reference: positive.optional(),
    } satisfies Members<MediaPartTokens>,
    'must be an object of tokens by kind: { image: 1500, document: 50000 }',
  )
  .optional();

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

const allow = z
  .strictObject(
    {
      fallbacks: permission,
      models: permission,
      svg: permission,
      route: permission,
      provider: permission,
      plugins: permission,
      preset: permission,
      advisor: permission,
      file_id: permission,
      container: permission,
      thread: permission,
      mcp: permission,
      file_search: permission,
      code_interpreter: permission,
      shell: permission,
      other_tools: toolPermission,
      endpoint: permission,
      billing_policy: permission,
    } satisfies Members<AllowedMembers>,
    'must be an object of request members: { file_id: true }',
  )
  .optional();

/** Each one may be tried on three channels while the caller waits. */
const maxFallbacks = 5;

const protocol = z.enum(protocolNames, oneOf(protocolNames));
const quotedNames = protocolNames.map((one) => `'${one}'`);
const apis = [quotedNames.slice(0, -1).join(', '), quotedNames.at(-1)];

/** One model, checked without the others. Strict, so that a misspelt member is reported. */
export const modelSchema: z.ZodType = z.strictObject(
  {
    id: name,
    vendor: name.optional(),
    protocols: z
      .array(protocol, `must be a list of ${apis.join(' and ')}`)
      .min(1, `must name ${apis.join(' or ')}, one at least`)
      .optional(),
    groups: z.array(name, 'must be a list of groups; an empty one is for nobody'),
    price: priceSchema,
    channels: z.array(channel, 'must be a list of channels; an empty one serves nobody'),
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
  } satisfies Members<Model>,
  'must be a model: an id, groups, a price and channels',
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
  ['protocols', 'Leave it out: a model with a price per image makes images, others write text'],
  ['rates', 'Leave it out for no rate limits'],
  ['sameVectors', 'Leave it out for false'],
  ['strict', 'Leave it out for false'],
  ['tokensPerByte', 'Leave it out for 0.4'],
  ['vendor', "Leave it out for the name of the first channel's provider"],
]);

/** The same for a channel. */
const channelRemedies: ReadonlyMap<unknown, string> = new Map([
  ['account', 'Leave it out for an account of its own'],
  ['capabilities', "Leave it out for those of the dialect's own provider"],
  ['cost', 'Leave it out if it is not known'],
  ['groups', 'Leave it out for all groups of the model'],
  ['headers', 'Leave it out for none'],
  ['hideErrors', 'Leave it out for false'],
  ['maxConcurrentCalls', 'Leave it out for no bound'],
  ['maxPriceNanos', 'Leave it out for no bound'],
  ['priority', 'Leave it out for 0'],
  ['rejectsBeforeWork', 'Leave it out for false'],
  ['stickyBy', 'Leave it out to share calls by weight'],
  ['upstreamModel', "Leave it out for the model's id"],
  ['usageTrust', 'Leave it out to trust what the account reports'],
  ['weight', 'Leave it out for 1'],
]);

const mediaRemedies: ReadonlyMap<unknown, string> = new Map([
  ['image', 'Leave it out for 4,096'],
  ['audio', 'Leave it out for 4,096'],
  ['video', 'Leave it out for 4,096'],
  ['document', 'Leave it out for contextTokens'],
  ['reference', 'Leave it out for contextTokens'],
]);

/** What to do about the member of a model at a path. */
export function modelRemedyOf(model: unknown, path: Path): string | undefined {
  const [first, index, ...below] = path;
  if (first === 'price') return priceRemedy(path);
  if (first === 'rates') return rateRemedyOf(path);
  if (first === 'timeouts') return ownTimeouts;
  if (first === 'mediaPartTokens' && path.length === 2) return mediaRemedies.get(index);
  if (first !== 'channels' || index === undefined) {
    return path.length === 1 ? modelRemedies.get(first) : undefined;
  }
  if (below[0] === 'timeouts') return ownTimeouts;
  if (below.length !== 1) return undefined;
  return below[0] === 'credential'
    ? credentialRemedy(valueAt(model, path))
    : channelRemedies.get(below[0]);
}

/** The forms in which people write prices: amounts per million tokens. */
function priceRemedy(path: Path): string | undefined {
  const inCode = "tokenPrice({ input: '0.15', output: '0.60' })";
  if (path.includes('rates')) return `${inCode} makes a price of amounts per million tokens`;
  if (path.length > 1) return undefined;
  const inJson = '{ "per": "token", "input": "0.15", "output": "0.60" }';
  return `Per million tokens, in code: ${inCode}; in JSON: ${inJson}`;
}

const ownTimeouts = "Leave it out for the gateway's own";

/** Which variable it is can't be seen. */
function credentialRemedy(credential: unknown): string | undefined {
  return (credential ?? '') === ''
    ? 'If it is read from an environment variable, set that variable'
    : undefined;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (holder, name) =>
      typeof holder === 'object' && holder !== null ? Reflect.get(holder, name) : undefined,
    value,
  );
}

/** What is wrong with a base URL; undefined if nothing is. */
function baseUrlProblem(url: string): string | undefined {
  const { protocol: scheme = '', username, password } = URL.canParse(url) ? new URL(url) : {};
  if (!/^https?:$/.test(scheme)) {
    const hasScheme = /^https?:\/\//i.test(url);
    return `must ${hasScheme ? 'be a valid URL' : 'begin with https:// or http://'}, ${likeThis}`;
  }
  // `URL` drops an empty query or fragment, so a stray ? or # must be found in the text.
  if (/[?#]/.test(url)) return 'must end before its ? or #, because the gateway adds paths to it';
  return username === '' && password === ''
    ? undefined
    : 'must have no user and password; give a secret as credential';
}

const likeThis = 'such as https://api.openai.com/v1';
