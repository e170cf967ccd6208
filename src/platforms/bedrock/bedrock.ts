/** Models on Amazon Bedrock, and Claude Platform on AWS: hosts, paths, signatures and errors. */
import type { CapabilityTable } from '../../dialects/capabilities.ts';
import { bearer, type Dialect } from '../../dialects/dialect.ts';
import type { Hosting } from '../../dialects/hosting.ts';
import { ConfigurationError, GatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { BedrockPlatform, HostedChannel } from '../../ports/platform.ts';
import { awsFailure } from './errors.ts';
import { betaHeader, bodyToCount, invokeEdits, messagesEdits } from './invoke.ts';
import { countOfTokens, eventsOfMessages } from './reply-body.ts';
import { signatureOf } from './sign.ts';

type Kind = BedrockPlatform['kind'];
type BedrockDialect = NonNullable<BedrockPlatform['dialect']>;

interface Endpoint {
  /** The name of the service for which requests are signed. */
  readonly service: string;
  host(region: string): string;
  /** The path above those of the dialect; a dialect that is missing is not served. */
  readonly paths: Readonly<Partial<Record<BedrockDialect, string>>>;
}

/** As the clients of Anthropic and OpenAI have them in November 2026. */
const endpoints: Readonly<Record<Kind, Endpoint>> = {
  mantle: {
    service: 'bedrock-mantle',
    host: (region) => `bedrock-mantle.${region}.api.aws`,
    paths: { anthropic: '/anthropic/v1', openai: '/openai/v1' },
  },
  runtime: {
    service: 'bedrock',
    host: (region) => `bedrock-runtime.${region}.${domainOf(region)}`,
    paths: { anthropic: '', openai: '/openai/v1' },
  },
  anthropic: {
    service: 'aws-external-anthropic',
    host: (region) => `aws-external-anthropic.${region}.api.aws`,
    paths: { anthropic: '/v1' },
  },
};

function domainOf(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn';
  return region.startsWith('eusc-') ? 'amazonaws.eu' : 'amazonaws.com';
}

/**
 * The members of a channel whose models are hosted on Bedrock, to be spread into it.
 *
 * @throws ConfigurationError that names the wrong option
 */
export function bedrock(options: Omit<BedrockPlatform, 'name'>): HostedChannel {
  const platform: BedrockPlatform = { name: 'bedrock', ...options };
  const problem = bedrockProblem(platform);
  if (problem === undefined) return { ...placeOnBedrock(platform), platform };
  throw new ConfigurationError(`bedrock(): ${problem.member} ${problem.message}.`);
}

const regionForm = /^[a-z]{2,8}(?:-[a-z0-9]+)+-\d+$/;
const workspaceForm = /^[!-~]{1,256}$/;

export interface BedrockProblem {
  readonly member: keyof BedrockPlatform;
  /** Completes a sentence that begins with the member. */
  readonly message: string;
}

export function bedrockProblem({
  kind,
  region,
  dialect = 'anthropic',
  workspaceId,
}: BedrockPlatform): BedrockProblem | undefined {
  if (!Object.hasOwn(endpoints, kind)) {
    return { member: 'kind', message: "must be 'mantle', 'runtime' or 'anthropic'" };
  }
  if (!regionForm.test(region)) {
    return { member: 'region', message: 'must be the name of a region of AWS, such as us-east-1' };
  }
  if (endpoints[kind].paths[dialect] === undefined) {
    const known = Object.keys(endpoints[kind].paths).join(' or ');
    return { member: 'dialect', message: `must be ${known} with this kind` };
  }
  if (kind === 'anthropic' && !workspaceForm.test(workspaceId ?? '')) {
    return { member: 'workspaceId', message: 'must be the id of the workspace: wrkspc_…' };
  }
  return kind === 'anthropic' || workspaceId === undefined
    ? undefined
    : { member: 'workspaceId', message: 'is for the kind anthropic alone; leave it out' };
}

export function placeOnBedrock(platform: BedrockPlatform): Pick<Channel, 'dialect' | 'baseUrl'> {
  const { kind, region, dialect = 'anthropic', baseUrl } = platform;
  const { host, paths } = endpoints[kind];
  return { dialect, baseUrl: baseUrl ?? `https://${host(region)}${paths[dialect] ?? ''}` };
}

/**
 * @param countModel the model whose tokens are counted in place of one that `CountTokens` refuses,
 *   such as an inference profile. Without it counts are estimated on `runtime`.
 */
export function onBedrock(
  dialect: Dialect,
  platform: BedrockPlatform,
  countModel: string | undefined,
): Dialect {
  const scope = { region: platform.region, service: serviceOf(platform) };
  const hosting: Hosting = {
    path: (path) => path,
    sign: (request) => signatureOf(request, scope),
  };
  const { 'x-api-key': _key, authorization: _token, ...others } = dialect.credential('', 'secret');
  const own = { ...others, ...workspaceHeader(platform) };
  const hosted: Dialect = {
    ...dialect,
    // The signature replaces it where there are keys to sign with.
    credential: (secret) => ({ ...own, ...bearer(secret) }),
    readFailure: awsFailure(dialect.readFailure),
    hosting,
  };
  // Claude Platform has all that Anthropic has.
  if (platform.kind === 'anthropic') return hosted;
  if (dialect.name !== 'anthropic') {
    const { content } = dialect.paths;
    return { ...hosted, paths: content === undefined ? {} : { content } };
  }
  return platform.kind === 'mantle'
    ? { ...hosted, hosting: { ...hosting, edit: messagesEdits } }
    : invoked(hosted, hosting, countModel);
}

function workspaceHeader({ workspaceId }: BedrockPlatform): HeaderMap {
  return workspaceId === undefined ? {} : { 'anthropic-workspace-id': workspaceId };
}

/** AWS has Anthropic's paths on the host of the runtime, too. */
function serviceOf({ kind, baseUrl = '' }: BedrockPlatform): string {
  return /^https?:\/\/(?:[^/]+\.)?bedrock-runtime(?:-fips)?\./.test(baseUrl)
    ? 'bedrock'
    : endpoints[kind].service;
}

function invoked(hosted: Dialect, hosting: Hosting, countModel: string | undefined): Dialect {
  return {
    ...hosted,
    capabilities: withoutMediaUrls(hosted.capabilities),
    // The version of the API is in the body.
    credential: bearer,
    codecs: async () => {
      const codecs = await hosted.codecs();
      return countModel === undefined ? { ...codecs, tokenCounter: undefined } : codecs;
    },
    hosting: {
      ...hosting,
      path: (_path, { operation, framing, upstreamModel }) => {
        if (operation === 'count_tokens') {
          return `/model/${segmentOf(countModel ?? upstreamModel)}/count-tokens`;
        }
        const method = framing === 'sse' ? 'invoke-with-response-stream' : 'invoke';
        return `/model/${segmentOf(upstreamModel)}/${method}`;
      },
      relays: (operation) => operation !== 'count_tokens' || countModel !== undefined,
      edit: invokeEdits,
      withheld: [betaHeader],
      wrap: (body, { operation }) => (operation === 'count_tokens' ? bodyToCount(body) : body),
      open: opened,
    },
  };
}

/** `InvokeModel` takes the bytes of media alone. */
function withoutMediaUrls(capabilities: CapabilityTable): CapabilityTable {
  return { ...capabilities, newest: { ...capabilities.newest, mediaUrls: false } };
}

/** An id or an ARN as one segment of a path, as AWS's services read it: `:` stays as it is. */
function segmentOf(model: string): string {
  if (model === '.' || model === '..') {
    throw new GatewayError('model_not_found', 'No model of Bedrock has this name.', {
      param: 'model',
    });
  }
  return encodeURIComponent(model).replaceAll('%3A', ':');
}

const opened: NonNullable<Hosting['open']> = (response, { operation, framing }) => {
  const { status, headers, body } = response;
  if (status < 200 || status >= 300) return response;
  if (operation === 'count_tokens') return { ...response, body: countOfTokens(body) };
  // Another server in between may have read the messages already.
  const isMessages = /^application\/vnd\.amazon\.eventstream\b/i.test(
    headers['content-type'] ?? '',
  );
  if (framing !== 'sse' || !isMessages) return response;
  const asEvents = { ...headers, 'content-type': 'text/event-stream' };
  return { status, headers: asEvents, body: eventsOfMessages(body) };
};
