/** What is different in a dialect on Amazon Bedrock: paths, signatures, errors and bodies. */

import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import type { CapabilityTable } from '../../dialects/capabilities.ts';
import { bearer, type Dialect } from '../../dialects/dialect.ts';
import type {
  CredentialForm,
  HostedEdits,
  HostedRequest,
  Hosting,
} from '../../dialects/hosting.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import type { BedrockPlatform } from '../../ports/models/platform.ts';
import { apiVersion, betaHeader, claudeEdits, messagesEdits } from '../anthropic-betas.ts';
import { serviceOf } from './bedrock.ts';
import { awsFailure } from './errors.ts';
import { countOfTokens, eventsOfMessages } from './reply-body.ts';

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
    // Loaded when needed: an API key signs nothing.
    sign: async (request) => (await import('./sign.ts')).signatureOf(request, scope),
  };
  const { 'x-api-key': _key, authorization: _token, ...others } = dialect.credential('', 'secret');
  const own = { ...others, ...workspaceHeader(platform) };
  const hosted: Dialect = {
    ...dialect,
    credential: (secret, form) => ({ ...own, ...keyOf(secret, form) }),
    readFailure: awsFailure(dialect.readFailure),
    hosting,
  };
  if (dialect.name !== 'anthropic') {
    const { content } = dialect.paths;
    return { ...hosted, paths: content === undefined ? {} : { content } };
  }
  if (platform.kind === 'runtime') return invoked(hosted, hosting, countModel);
  const host = platform.kind === 'mantle' ? 'mantle' : 'aws';
  return { ...hosted, hosting: { ...hosting, edit: (request) => messagesEdits(request, host) } };
}

function workspaceHeader({ workspaceId }: BedrockPlatform): HeaderMap {
  return workspaceId === undefined ? {} : { 'anthropic-workspace-id': workspaceId };
}

/** Requests with keys of AWS are signed. */
function keyOf(secret: string, form: CredentialForm): HeaderMap {
  return form === 'aws' ? {} : bearer(secret);
}

function invoked(hosted: Dialect, hosting: Hosting, countModel: string | undefined): Dialect {
  return {
    ...hosted,
    capabilities: withoutMediaUrls(hosted.capabilities),
    // The version of the API is in the body.
    credential: keyOf,
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

/** The one version whose name in a body differs. */
const versionNames: Readonly<Record<string, string>> = { '2023-06-01': 'bedrock-2023-05-31' };

/** Of a request for `InvokeModel`: what is a header elsewhere is in the body, and vice versa. */
function invokeEdits(request: HostedRequest): HostedEdits {
  const version = apiVersion(request);
  const { [betaHeader]: list } = { ...request.headers, ...request.channelHeaders };
  const { edits, flags, cuts, dropped } = claudeEdits(request, 'bedrock', list);
  return {
    edits: [
      ...edits,
      { name: 'model', value: undefined },
      { name: 'stream', value: undefined },
      { name: 'anthropic_version', value: jsonText(versionNames[version] ?? version) },
      { name: 'anthropic_beta', value: flags.length === 0 ? undefined : jsonText(flags) },
      ...(request.operation === 'count_tokens' ? boundToCount(request.tape) : []),
    ],
    cuts,
    // What AWS would stream has a type of its own.
    headers: { accept: 'application/json' },
    search: '',
    dropped,
  };
}

/** AWS checks the body that it counts like one to run, which needs a bound. */
function boundToCount(tape: Tape): readonly MemberEdit[] {
  const name = 'max_tokens';
  return tape.get(root, name) === none ? [{ name, value: '1' }] : [];
}

/** Wraps a body for `CountTokens`. */
function bodyToCount(body: readonly Uint8Array[]): readonly Uint8Array[] {
  const base64 = Buffer.concat(body).toString('base64');
  return [Buffer.from(`{"input":{"invokeModel":{"body":"${base64}"}}}`)];
}
