/**
 * Where the models of each platform are, by its options: hosts and locations. Apart from the
 * dialects there, which stores that read catalogs have no use for.
 */

import { ConfigurationError } from '../errors.ts';
import type { Channel } from '../ports/models/catalog.ts';
import type {
  AzureOptions,
  AzurePlatform,
  HostedChannel,
  Platform,
  VertexPlatform,
} from '../ports/models/platform.ts';
import { placeOnBedrock } from './bedrock/bedrock.ts';

/** The members of a channel that its platform decides. */
export type Place = Pick<Channel, 'dialect' | 'baseUrl'>;

/** Undefined if the name is that of no platform. */
export function placeOf(platform: Platform): Place | undefined {
  switch (platform.name) {
    case 'azure':
      return placeOnAzure(platform);
    case 'vertex':
      return placeOnVertex(platform);
    case 'bedrock':
      return placeOnBedrock(platform);
    default:
      return undefined;
  }
}

/**
 * The members of a channel whose models are hosted on Azure, to be spread into it:
 * `{ id: 'eu', credential, ...azure({ kind: 'v1', resource: 'contoso', deployment: 'gpt-eu' }) }`.
 */
export function azure(options: AzureOptions): HostedChannel {
  checkPlatform('azure', options, "{ kind: 'v1', resource: 'contoso' }");
  const { deployment, ...place } = options;
  const platform: AzurePlatform = { name: 'azure', ...place };
  const named = deployment === undefined ? {} : { upstreamModel: deployment };
  return { ...placeOnAzure(platform), platform, ...named };
}

function placeOnAzure(platform: AzurePlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { kind, resource, baseUrl } = platform;
  if (kind === 'anthropic') {
    const host = baseUrl ?? `https://${resource}.services.ai.azure.com`;
    return { dialect: 'anthropic', baseUrl: `${host}/anthropic/v1` };
  }
  const host = baseUrl ?? `https://${resource}.openai.azure.com`;
  const version = isOnlyV1(platform) ? '/v1' : '';
  return { dialect: 'openai', baseUrl: `${host}/openai${version}` };
}

/** None of its paths names a version of the API, so that all are below one base URL. */
export function isOnlyV1({ kind, kinds = {} }: AzurePlatform): boolean {
  return [kind, ...Object.values(kinds)].every((one) => one === 'v1');
}

/** @throws ConfigurationError with an example */
function checkPlatform(maker: string, options: unknown, example: string): void {
  if (typeof options === 'object' && options !== null && 'kind' in options) return;
  throw new ConfigurationError(`${maker}(): options must be an object such as ${example}.`);
}

/** The members of a channel whose models are hosted on Vertex AI, to be spread into it. */
export function vertex(options: Omit<VertexPlatform, 'name'>): HostedChannel {
  checkPlatform('vertex', options, "{ kind: 'google', project: 'my-project' }");
  const platform: VertexPlatform = { name: 'vertex', ...options };
  return { ...placeOnVertex(platform), platform };
}

const dialectOf = { google: 'gemini', anthropic: 'anthropic', openapi: 'openai' } as const;

function placeOnVertex(platform: VertexPlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { kind, project, location = 'global', baseUrl = `${hostOf(location)}/v1` } = platform;
  const place = project === undefined ? '' : `/projects/${project}/locations/${location}`;
  const endpoint = kind === 'openapi' ? '/endpoints/openapi' : '';
  return { dialect: dialectOf[kind], baseUrl: `${baseUrl}${place}${endpoint}` };
}

function hostOf(location: string): string {
  switch (location) {
    case 'global':
      return 'https://aiplatform.googleapis.com';
    case 'us':
    case 'eu':
      return `https://aiplatform.${location}.rep.googleapis.com`;
    default:
      return `https://${location}-aiplatform.googleapis.com`;
  }
}
