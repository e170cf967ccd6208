/** Where a channel's models are hosted, if not at the provider whose dialect they speak. */
import type { DialectName } from './capabilities.ts';

/**
 * Models of OpenAI and Anthropic on Microsoft's Azure (Foundry). Made by `azure()`.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
export interface AzurePlatform {
  readonly name: 'azure';
  /**
   * `v1`: `/openai/v1/…`, with the deployment's name as the model. `deployments`: the older
   * `/openai/deployments/{deployment}/…?api-version=…`, and `/openai/responses?api-version=…`.
   * `anthropic`: Claude on Foundry.
   */
  readonly kind: 'v1' | 'deployments' | 'anthropic';
  /** The paths of single APIs, where they are not those of `kind`. */
  readonly kinds?: Readonly<Partial<Record<AzureApi, 'v1' | 'deployments'>>>;
  /**
   * The name of the resource: `contoso` of `https://contoso.openai.azure.com` or
   * `https://contoso.services.ai.azure.com`.
   */
  readonly resource?: string;
  /**
   * In place of `resource`, what comes before `/openai` or `/anthropic`: another host, such as
   * `https://contoso.cognitiveservices.azure.com` and `https://contoso.openai.azure.us`, or that of
   * API Management with the path of the API.
   */
  readonly baseUrl?: string;
  /** `2024-10-21`. Required for `deployments`, whose paths are versioned by it. */
  readonly apiVersion?: string;
}

/** The APIs of OpenAI that have more than one path on Azure. */
export type AzureApi = 'chat' | 'responses' | 'embeddings' | 'images';

/** What `azure()` takes. */
export interface AzureOptions extends Omit<AzurePlatform, 'name'> {
  /** The name of the deployment, as the channel's `upstreamModel`. */
  readonly deployment?: string;
}

/**
 * Models of Google, Anthropic and others on Google Cloud's Vertex AI. Made by `vertex()`.
 *
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations
 */
export interface VertexPlatform {
  readonly name: 'vertex';
  /** `google`: Gemini. `anthropic`: Claude. `openapi`: the OpenAI-compatible endpoint. */
  readonly kind: 'google' | 'anthropic' | 'openapi';
  /** The id of the project. Left out in express mode, which serves Gemini with an API key. */
  readonly project?: string;
  /** A region, `us`, `eu` or `global`. Default: `global`. */
  readonly location?: string;
  /**
   * In place of that of the location, up to and including the version:
   * `https://us-central1-aiplatform.googleapis.com/v1beta1`.
   */
  readonly baseUrl?: string;
}

/**
 * Models on Amazon Bedrock. Made by `bedrock()`.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/endpoints.html
 */
export interface BedrockPlatform {
  readonly name: 'bedrock';
  /**
   * `mantle`: the paths of Anthropic and OpenAI on Bedrock. `runtime`: `InvokeModel` for Claude,
   * with inference profiles and ARNs, and OpenAI's paths. `anthropic`: Claude Platform on AWS.
   */
  readonly kind: 'mantle' | 'runtime' | 'anthropic';
  /** `us-east-1` */
  readonly region: string;
  /** The dialect of the models. Default: `anthropic`. */
  readonly dialect?: 'anthropic' | 'openai';
  /** In place of the region's URL, with its path: of a VPC endpoint, or of another path. */
  readonly baseUrl?: string;
  /** The workspace on Claude Platform on AWS, which requires it. */
  readonly workspaceId?: string;
}

/** A host of models, as plain data. */
export type Platform = AzurePlatform | VertexPlatform | BedrockPlatform;

/** The members of a channel that its platform decides, to be spread into it. */
export interface HostedChannel {
  /** The wire format that the platform speaks for this model. */
  readonly dialect: DialectName;
  /** The URL of the host, up to and including the version. */
  readonly baseUrl: string;
  /** Where the models are hosted: decides paths, headers and signatures. */
  readonly platform: Platform;
  /** The deployment, where the options name one. Default: the model's `id`. */
  readonly upstreamModel?: string;
}

/** The platform and its place, for people: `bedrock us-east-1`, `azure contoso`. */
export function platformText(platform: Platform | undefined): string | undefined {
  switch (platform?.name) {
    case undefined:
      return undefined;
    case 'azure':
      return textOf('azure', platform.resource ?? platform.baseUrl);
    case 'vertex':
      return textOf('vertex', platform.location ?? platform.baseUrl ?? 'global');
    case 'bedrock':
      return textOf('bedrock', platform.region);
  }
}

function textOf(name: string, place: string | undefined): string {
  return place === undefined ? name : `${name} ${place.replace(/^https?:\/\//, '')}`;
}
