/** Validates the platform of a channel. A message completes a sentence that begins with a path. */
import { z } from 'zod';
import { bedrockProblem } from '../platforms/bedrock/bedrock.ts';
import type {
  AzurePlatform,
  BedrockPlatform,
  Platform,
  VertexPlatform,
} from '../ports/models/platform.ts';
import { type Members, oneOf, strict } from '../ports/set-up.ts';

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
