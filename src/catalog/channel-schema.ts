/**
 * Validates a channel of a model, member by member. Each message completes a sentence that begins
 * with the member's path, and says what to write instead.
 */
import { z } from 'zod';
import { bedrockProblem } from '../platforms/bedrock/bedrock.ts';
import { type Capabilities, dialectNames, reasoningEfforts } from '../ports/models/capabilities.ts';
import type { Channel } from '../ports/models/catalog.ts';
import type {
  AzurePlatform,
  BedrockPlatform,
  Platform,
  VertexPlatform,
} from '../ports/models/platform.ts';
import type { Path } from '../ports/problems.ts';
import { flag, type Members, nanos, oneOf, positive, strict, text, wait } from '../ports/set-up.ts';
import type { Timeouts } from '../ports/timeouts.ts';
import { costSchema } from '../prices/schema.ts';

/** A part of a host or a path. */
const labelForm = 'must be a name of letters, digits, dots, dashes and underscores';
const label = z.string(labelForm).regex(/^[A-Za-z0-9][\w.-]*$/, labelForm);

function kind<const T extends string>(values: readonly T[]) {
  return z.enum(values, oneOf(values));
}

const origin = z
  .string('must be the URL of a host, such as https://llm.example')
  .regex(
    /^https?:\/\/[^?#]*[^?#/]$/,
    'must be a URL without a slash at its end, and without a query',
  );

const resourceForm = 'must be the name alone: contoso of https://contoso.openai.azure.com';
const azurePath = kind(['v1', 'deployments']).exactOptional();

const azure = strict('must be an object', {
  name: z.literal('azure'),
  kind: kind(['v1', 'deployments', 'anthropic']),
  kinds: strict('must be an object: { images: "deployments" }', {
    chat: azurePath,
    responses: azurePath,
    embeddings: azurePath,
    images: azurePath,
  } satisfies Members<AzurePlatform['kinds'] & {}>).exactOptional(),
  resource: z
    .string(resourceForm)
    .regex(/^[A-Za-z0-9][A-Za-z0-9-]*$/, resourceForm)
    .exactOptional(),
  baseUrl: origin
    .refine(
      (url) => !/\/(?:openai|anthropic)(?:\/|$)/.test(url),
      'must end before /openai and /anthropic, which the gateway adds',
    )
    .exactOptional(),
  apiVersion: label.exactOptional(),
} satisfies Members<AzurePlatform>)
  .refine(
    ({ resource, baseUrl }) => (resource === undefined) !== (baseUrl === undefined),
    'must have a resource or a baseUrl, and not both',
  )
  .refine(({ kind, kinds }) => kind !== 'anthropic' || kinds === undefined, {
    path: ['kinds'],
    error: 'is for the APIs of OpenAI; remove it',
  })
  .refine(
    ({ kind, kinds = {}, apiVersion }) =>
      [kind, ...Object.values(kinds)].includes('deployments') === (apiVersion !== undefined),
    {
      path: ['apiVersion'],
      error: 'must be the version of paths by deployment, such as 2024-10-21; others have none',
    },
  );

const vertex = strict('must be an object', {
  name: z.literal('vertex'),
  kind: kind(['google', 'anthropic', 'openapi']),
  project: label.exactOptional(),
  location: label.exactOptional(),
  baseUrl: origin.exactOptional(),
} satisfies Members<VertexPlatform>)
  .refine(
    ({ project, kind }) => project !== undefined || kind === 'google',
    'must have a project: only Gemini is served without one',
  )
  .refine(
    ({ project, location }) => project !== undefined || location === undefined,
    'must have a project if it has a location: without one the host is the global one',
  );

const bedrock = strict('must be an object', {
  name: z.literal('bedrock'),
  kind: kind(['mantle', 'runtime', 'anthropic']),
  region: label,
  dialect: kind(['anthropic', 'openai']).exactOptional(),
  baseUrl: origin.exactOptional(),
  workspaceId: label.exactOptional(),
} satisfies Members<BedrockPlatform>).superRefine((platform, context) => {
  const problem = bedrockProblem(platform);
  if (problem === undefined) return;
  context.addIssue({ code: 'custom', path: [problem.member], message: problem.message });
});

export const platformSchema: z.ZodType<Platform> = z.discriminatedUnion(
  'name',
  [azure, vertex, bedrock],
  {
    error: "must be what azure(), vertex() or bedrock() returns: { name: 'azure', … }",
  },
);

export const name = text('must be text of at least one character, without control characters');
// Not `optional`: an explicit undefined would override the gateway's default.
const ownWait = wait.exactOptional();

/** Of a model or a channel, in place of the gateway's. */
export const timeouts = strict('must be an object', {
  connectMs: ownWait,
  firstByteStreamedMs: ownWait,
  firstByteMs: ownWait,
  idleMs: ownWait,
  firstTokenMs: ownWait,
  quietMs: ownWait,
  totalMs: ownWait,
} satisfies Members<Timeouts>).optional();

function baseUrlForm({ input }: { readonly input?: unknown }): string {
  const problem = typeof input === 'string' ? baseUrlProblem(input) : undefined;
  const isAzure = typeof input === 'string' && /[?&]api-version=/.test(input);
  const azure = '. For Azure, its platform makes the URL: see docs/platforms/azure.md';
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
    (value) => typeof value !== 'string' || !/^\$(?:\{[^}]*\}|[A-Z_][A-Z0-9_]*)$/.test(value),
    'is a placeholder in quotation marks, which nothing replaces. Use the value itself, ' +
      'such as process.env.NAME',
  );

/** Headers that the gateway or the HTTP client writes: a second value would contradict theirs. */
const reservedHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'connection', 'content-length', 'expect', 'host', 'keep-alive'],
  ...['transfer-encoding', 'upgrade'],
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

const media = ['image', 'audio', 'video', 'document'] as const;

const count = z
  .int('must be a whole number of 0 or above')
  .nonnegative('must be a whole number of 0 or above');

const aboveZero = 'must be a whole number above 0';

const thinkingBudget = strict('must be a range: { min, max }, in tokens', {
  min: count,
  max: count,
  off: flag.optional(),
});

/** Flags that are on or off. */
const switches = [
  ...['includeUsage', 'reasoningOutsideCompletion', 'reasoningHistory', 'jsonWithTools'],
  ...['strictTools', 'allowedTools', 'parallelToolCalls', 'toolEffortNone', 'callIds'],
  ...['signatures', 'topK', 'penalties', 'seed', 'logprobs', 'streamedCandidates'],
  ...['systemInstruction', 'prefill', 'mediaUrls', 'resultMedia', 'mediaOutput', 'assistantParts'],
  ...['builtInWithFunctions', 'dropBuiltInTools', 'customTools', 'verbosity', 'promptCacheKey'],
  ...['endUserId', 'serviceTier', 'responses'],
  ...['embeddingBase64', 'embeddingFloat', 'embeddingTokens'],
] as const satisfies readonly (keyof Capabilities)[];

/** The type requires a schema for every other flag, so that a new one can't be forgotten. */
const settings = {
  imageBase64: choice(['unasked', 'response_format']),
  maxTokensField: choice(['max_completion_tokens', 'max_tokens']),
  reasoning: choice(['effort', 'level', 'budget', 'adaptive', 'none']),
  efforts: listOf(reasoningEfforts),
  thinkingBudget: thinkingBudget.optional(),
  structuredOutput: choice(['schema', 'subset', 'json', 'none']),
  toolChoice: choice(['any', 'required', 'auto']),
  sampling: choice(['any', 'one', 'none']),
  maxCandidates: count.optional(),
  stopLimit: count.optional(),
  midSystem: choice(['inline', 'lift']),
  mediaInput: listOf(media),
  dropBetas: z
    .array(
      z.string('must be a flag of anthropic-beta'),
      'must be a list of flags of anthropic-beta',
    )
    .optional(),
  embeddingBatch: z.int(aboveZero).positive(aboveZero).optional(),
  unitLength: choice(['always', 'full']),
} satisfies Readonly<Record<Exclude<keyof Capabilities, (typeof switches)[number]>, z.ZodType>>;

/** Strict, so that a misspelt flag is reported. */
const capabilitiesSchema = strict('must be an object', {
  ...Object.fromEntries(switches.map((name) => [name, flag.optional()])),
  ...settings,
}).optional();

export const channelSchema: z.ZodType = strict(
  'must be a channel: an id, a dialect, a baseUrl and a credential',
  {
    id: channelId,
    dialect: z.enum(dialectNames, oneOf(dialectNames)),
    baseUrl: z
      .string({ error: baseUrlForm })
      .refine((url) => baseUrlProblem(url) === undefined, { error: baseUrlForm }),
    platform: platformSchema.optional(),
    credential,
    account: name.optional(),
    upstreamModel: name.optional(),
    countModel: name.optional(),
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
);

/** By name of an optional member of a channel: what leaving it out means. */
const channelRemedies: ReadonlyMap<unknown, string> = new Map([
  ['account', 'Leave it out for an account of its own'],
  ['capabilities', "Leave it out for those of the dialect's own provider"],
  ['cost', 'Leave it out if it is not known'],
  ['countModel', 'Leave it out for an estimate'],
  ['groups', 'Leave it out for all groups of the model'],
  ['headers', 'Leave it out for none'],
  ['hideErrors', 'Leave it out for false'],
  ['maxConcurrentCalls', 'Leave it out for no bound'],
  ['maxPriceNanos', 'Leave it out for no bound'],
  ['platform', "Leave it out for the provider's own servers"],
  ['priority', 'Leave it out for 0'],
  ['rejectsBeforeWork', 'Leave it out for false'],
  ['stickyBy', 'Leave it out to share calls by weight'],
  ['upstreamModel', "Leave it out for the model's id"],
  ['usageTrust', 'Leave it out to trust what the account reports'],
  ['weight', 'Leave it out for 1'],
]);

export function channelRemedyOf(path: Path, value: unknown): string | undefined {
  const [first] = path;
  if (first === 'timeouts') return ownTimeouts;
  if (path.length !== 1) return undefined;
  return first === 'credential' ? credentialRemedy(value) : channelRemedies.get(first);
}

export const ownTimeouts = "Leave it out for the gateway's own";

/** Which variable it is can't be seen. */
function credentialRemedy(credential: unknown): string | undefined {
  return (credential ?? '') === ''
    ? 'If it is read from an environment variable, set that variable'
    : undefined;
}

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

function choice(values: readonly string[]): z.ZodType {
  return z.enum(values, oneOf(values)).optional();
}

function listOf(values: readonly string[]): z.ZodType {
  return z.array(z.enum(values, oneOf(values)), `must be a list; each ${oneOf(values)}`).optional();
}
