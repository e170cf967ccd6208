/** OpenAI's and Anthropic's dialects as Azure speaks them: paths, keys and errors. */
import { parseBounded } from '../bounded-json.ts';
import { bearer, type Dialect } from '../dialects/dialect.ts';
import { isFilterCode } from '../dialects/failure-meaning.ts';
import type { Hosting } from '../dialects/hosting.ts';
import { statedWaitMs } from '../dialects/retry-after.ts';
import type { FailureReport } from '../dialects/taps/tap.ts';
import { vendorCapabilities } from '../dialects/vendors.ts';
import type { HeaderMap } from '../http.ts';
import { isJsonObject, type JsonValue, member, nonEmpty } from '../json.ts';
import type { AzureApi, AzurePlatform } from '../ports/models/platform.ts';
import { messagesEdits } from './anthropic-betas.ts';
import { isOnlyV1 } from './places.ts';

export function onAzure(dialect: Dialect, platform: AzurePlatform): Dialect {
  const readFailure: Dialect['readFailure'] = (status, body, headers) =>
    azureFailure(dialect.readFailure(status, body, headers), body, headers);
  // Claude's requests are those of Anthropic's API, with its key header or with a bearer token.
  if (platform.kind === 'anthropic') return { ...dialect, hosting: claudeHosting, readFailure };
  const { newest } = dialect.capabilities;
  return {
    ...dialect,
    // Deployments have names that the host chose, so that the capabilities of no row apply.
    capabilities: { ...dialect.capabilities, newest: { ...newest, ...vendorCapabilities.azure } },
    credential: (secret, form) => (form === 'token' ? bearer(secret) : { 'api-key': secret }),
    hosting: isOnlyV1(platform) ? undefined : { path: pathsOf(platform) },
    readFailure,
  };
}

const claudeHosting: Hosting = {
  path: (path) => path,
  edit: (request) => messagesEdits(request, 'foundry'),
};

interface AzurePath {
  readonly api: AzureApi;
  /** Its older path has the deployment's name; the others have it only in the body. */
  readonly namesDeployment: boolean;
}

/**
 * By the path of OpenAI's own API, which is that below `/openai/v1` too.
 *
 * Source: azure-rest-api-specs, AzureOpenAI/inference/stable/2024-10-21; openai-node, azure.ts.
 */
const azurePaths: Readonly<Record<string, AzurePath>> = {
  '/chat/completions': { api: 'chat', namesDeployment: true },
  '/embeddings': { api: 'embeddings', namesDeployment: true },
  '/images/generations': { api: 'images', namesDeployment: true },
  '/responses': { api: 'responses', namesDeployment: false },
};

function pathsOf({ kind, kinds = {}, apiVersion = '' }: AzurePlatform): Hosting['path'] {
  return (path, { upstreamModel }) => {
    const [, folder = ''] = /^(\/responses|[^?]*)/.exec(path) ?? [];
    const known = azurePaths[folder];
    if (known === undefined || (kinds[known.api] ?? kind) === 'v1') return `/v1${path}`;
    const place = known.namesDeployment ? `/deployments/${encodeURIComponent(upstreamModel)}` : '';
    const query = path.includes('?') ? '&' : '?';
    return `${place}${path}${query}api-version=${encodeURIComponent(apiVersion)}`;
  };
}

/** The deployment is missing, or it is of a model that does not have the operation. */
const modelCodes: ReadonlySet<string> = new Set([
  ...['DeploymentNotFound', 'OperationNotSupported', 'api_not_supported', 'unknown_model'],
]);
// Only the beginning of a message is matched: the rest may quote a caller.
const versionPattern = new RegExp(
  [
    '^API version not supported',
    String.raw`^(?:Azure OpenAI [A-Z]\w* API|Model [\w.-]{1,64}) is enabled only for api.version`,
  ].join('|'),
);
const accountPattern = new RegExp(
  [
    '^Access denied due to Virtual Network',
    '^A Virtual Network is configured for this resource',
    '^Public access is disabled',
    '^(?:Your |The )?resource has been temporarily blocked',
  ].join('|'),
  'i',
);
const quotaPattern = /^(?:Out of (?:call volume|bandwidth) quota|Token quota is exceeded)\b/i;

/** What Azure and API Management say otherwise than the provider. */
function azureFailure(report: FailureReport, body: Uint8Array, headers: HeaderMap): FailureReport {
  const { status } = report;
  const document = parseBounded(Buffer.from(body).toString('utf8'));
  const error = member(document, 'error');
  const source = isJsonObject(error) ? error : document;
  const code = nonEmpty(member(source, 'code')) ?? '';
  const message = nonEmpty(member(source, 'message')) ?? '';
  if (status === 400 && isFiltered(source, code)) {
    const known = isFilterCode(report.clientCode) ? report.clientCode : 'content_filter';
    return { ...report, code, fault: 'request', clientCode: known };
  }
  if (modelCodes.has(code) || (status < 500 && versionPattern.test(message))) {
    return { ...report, code, fault: 'model' };
  }
  if (status === 429) {
    return { ...report, retryAfterMs: report.retryAfterMs ?? statedWaitMs(source, message) };
  }
  if (status !== 403) return report;
  // API Management answers with 403 where a quota is used up, until it is replenished.
  if (headers['retry-after'] !== undefined || quotaPattern.test(message)) {
    return { ...report, status: 429, fault: undefined, retryAfterMs: untilReplenished(message) };
  }
  const isOfAccount = code === 'AuthenticationTypeDisabled' || accountPattern.test(message);
  return isOfAccount ? { ...report, code, fault: 'account' } : report;
}

/** Images have `inner_error`, and the oldest of them a code of their own. */
function isFiltered(error: JsonValue | undefined, code: string): boolean {
  const inner = member(error, 'innererror') ?? member(error, 'inner_error');
  return code === 'contentFilter' || member(inner, 'code') === 'ResponsibleAIPolicyViolation';
}

/** `Quota will be replenished in 20.09:58:55`, in days, hours, minutes and seconds. */
function untilReplenished(message: string): number | undefined {
  const found = /\breplenished in (?:(\d{1,4})\.)?(\d\d):(\d\d):(\d\d)\b/.exec(message);
  if (found === null) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = found
    .slice(1)
    .map((text) => Number(text ?? 0));
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000;
}
