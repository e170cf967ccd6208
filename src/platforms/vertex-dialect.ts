/** The dialects as Vertex AI speaks them: paths, credentials, requests and errors. */
import type { Framing } from '../apis.ts';
import { parseBounded } from '../bounded-json.ts';
import { cutPaths, textWithout } from '../bytes/json/edit-elements.ts';
import { none, root, type Tape } from '../bytes/json/tape.ts';
import type { CapabilityTable } from '../dialects/capabilities.ts';
import { bearer, type Dialect } from '../dialects/dialect.ts';
import { geminiFailure } from '../dialects/gemini/errors.ts';
import type { HostedEdits, HostedRequest, Hosting } from '../dialects/hosting.ts';
import type { UpstreamPaths } from '../dialects/paths.ts';
import type { FailureReport } from '../dialects/taps/tap.ts';
import { vendorCapabilities } from '../dialects/vendors.ts';
import { GatewayError } from '../errors.ts';
import { items, member } from '../json.ts';
import type { VertexPlatform } from '../ports/models/platform.ts';
import { apiVersion, betaHeader, claudeEdits } from './anthropic-betas.ts';

/** The dialect as Vertex AI speaks it. */
export function onVertex(dialect: Dialect, { kind, project }: VertexPlatform): Dialect {
  const shared = { ...dialect, credential: bearer, readFailure: failureReader(dialect) };
  switch (kind) {
    case 'google':
      return {
        ...shared,
        ...(project === undefined ? { credential: dialect.credential } : {}),
        capabilities: ofGoogle(dialect.capabilities),
        paths: googlePaths,
        hosting: googleHosting,
        codecs: async () => ({
          ...(await dialect.codecs()),
          embeddings: (await import('./vertex-embeddings.ts')).vertexEmbeddings(hasEmbedContent),
        }),
      };
    case 'anthropic':
      return { ...shared, paths: claudePaths, hosting: claudeHosting };
    case 'openapi': {
      const { content, embed } = dialect.paths;
      return {
        ...shared,
        capabilities: ofCompatible(dialect.capabilities),
        paths: { ...(content && { content }), ...(embed && { embed }) },
      };
    }
  }
}

/** Without `:batchEmbedContents`, most models take one text at a time. */
function ofGoogle({ newest, older, ...table }: CapabilityTable): CapabilityTable {
  return {
    ...table,
    newest: { ...newest, embeddingBatch: 1 },
    older: [
      // Up to 250 texts and 20,000 tokens at once; each text is cut to 2,048 tokens.
      { models: /text-?(?:multilingual-)?embedding/, flags: { embeddingBatch: 9 } },
      ...older,
    ],
  };
}

/** The endpoint is documented to accept what Google's own compatible one refuses. */
function ofCompatible({ newest }: CapabilityTable): CapabilityTable {
  const flags = { ...vendorCapabilities.google, seed: true, penalties: true };
  return { newest: { ...newest, ...flags }, older: [] };
}

const googlePaths: UpstreamPaths = {
  content: (upstreamModel, framing) => `/${resourceOf(upstreamModel)}:${generateMethods[framing]}`,
  images: (upstreamModel) => `/${resourceOf(withImages(upstreamModel))}:generateContent`,
  embed: (upstreamModel) =>
    `/${resourceOf(upstreamModel)}:${hasEmbedContent(upstreamModel) ? 'embedContent' : 'predict'}`,
  count_tokens: (upstreamModel) => `/${resourceOf(upstreamModel)}:countTokens`,
};

const generateMethods: Readonly<Record<Framing, string>> = {
  json: 'generateContent',
  sse: 'streamGenerateContent?alt=sse',
  json_array: 'streamGenerateContent',
};

/** As Google's SDK decides; older models and `gemini-embedding-001` are served by `:predict`. */
function hasEmbedContent(upstreamModel: string): boolean {
  const isGemini = upstreamModel.includes('gemini') && !/gemini-embedding-001$/.test(upstreamModel);
  return isGemini || upstreamModel.includes('maas');
}

function withImages(upstreamModel: string): string {
  if (!/\bimagen\b/.test(upstreamModel)) return upstreamModel;
  throw new GatewayError(
    'not_implemented',
    'The gateway does not offer Imagen, which has an API of its own (`:predict`). ' +
      'Use a model of Gemini that makes images.',
  );
}

/** `gemini-x`, `publisher/model`, `publishers/…/models/…`, or `endpoints/…` of a tuned model. */
function resourceOf(upstreamModel: string): string {
  const [first = '', ...rest] = upstreamModel.split('/').map(segmentOf);
  if (rest.length === 0) return `publishers/google/models/${first}`;
  const name = [first, ...rest].join('/');
  return first === 'publishers' || first === 'endpoints'
    ? name
    : `publishers/${first}/models/${rest.join('/')}`;
}

/** Encoded, so that a configured name can't change the rest of the path. */
function segmentOf(name: string): string {
  return encodeURIComponent(name).replaceAll('%40', '@');
}

const googleHosting: Hosting = {
  path: (path) => path,
  // Requests and replies of embeddings have another form.
  relays: (operation) => operation !== 'embed',
  edit: (request) =>
    request.operation === 'count_tokens' ? editsOfCount(request) : editsOfContent(request),
};

/** Vertex refuses ids (vercel/ai#15664). It matches results by the names and order of calls. */
const callIds = inBothSpellings([
  'contents[].parts[].functionCall.id',
  'contents[].parts[].functionResponse.id',
]);

/** Members of Google's other API, which its SDK refuses to send to Vertex. */
const onlyOfGeminiApi = inBothSpellings([
  'contents[].parts[].partMetadata',
  'contents[].parts[].functionResponse.willContinue',
  'contents[].parts[].functionResponse.parts[].mediaProcessing',
  'generationConfig.enableEnhancedCivicAnswers',
  'toolConfig.includeServerSideToolInvocations',
]);

function inBothSpellings(paths: readonly string[]): readonly string[] {
  const snakeCase = (path: string) =>
    path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return [...new Set(paths.flatMap((path) => [path, snakeCase(path)]))];
}

function editsOfContent({ tape, headers }: HostedRequest): HostedEdits {
  const { spans: cuts, found } = cutPaths(tape, [...callIds, ...onlyOfGeminiApi]);
  const dropped = found.filter((path) => !callIds.includes(path));
  const edits = ['model', 'store'].map((name) => ({ name, value: undefined }));
  if (tape.get(root, 'store') !== none) dropped.push('store');
  return { edits, cuts, headers, search: '', dropped };
}

const countMembers = inBothSpellings([
  'contents',
  'systemInstruction',
  'tools',
  'generationConfig',
]);

/** Google's other API wraps the request, and counts more of its members. */
function editsOfCount({ tape, headers }: HostedRequest): HostedEdits {
  const wrapper = tape.present(root, 'generateContentRequest');
  const holder = wrapper === none ? root : wrapper;
  const { spans: cuts } = cutPaths(tape, callIds, holder);
  const others = tape
    .members(root)
    .filter((value) => !countMembers.includes(tape.name(value)))
    .map((value) => ({ name: tape.name(value), value: undefined }));
  const unwrapped = wrapper === none ? [] : membersWithout(tape, wrapper, cuts);
  return { edits: [...others, ...unwrapped], cuts, headers, search: '', dropped: [] };
}

function membersWithout(tape: Tape, holder: number, cuts: HostedEdits['cuts']) {
  return tape
    .members(holder)
    .filter((value) => countMembers.includes(tape.name(value)))
    .map((value) => ({ name: tape.name(value), value: textWithout(tape, value, cuts) }));
}

const claudePaths: UpstreamPaths = {
  content: (upstreamModel, framing) =>
    `/publishers/anthropic/models/${segmentOf(upstreamModel)}:` +
    (framing === 'json' ? 'rawPredict' : 'streamRawPredict'),
  count_tokens: () => '/publishers/anthropic/models/count-tokens:rawPredict',
};

/** The one version whose name in a body differs. */
const versionNames: Readonly<Record<string, string>> = { '2023-06-01': 'vertex-2023-10-16' };

const claudeHosting: Hosting = {
  path: (path) => path,
  edit: (request) => {
    const version = apiVersion(request);
    const { edits, flags, cuts, dropped } = claudeEdits(
      request,
      'vertex',
      request.headers[betaHeader],
    );
    return {
      edits: [
        ...edits,
        { name: 'anthropic_version', value: `"${versionNames[version] ?? version}"` },
        // The path names the model, but for counts.
        ...(request.operation === 'count_tokens' ? [] : [{ name: 'model', value: undefined }]),
      ],
      cuts,
      headers: flags.length === 0 ? {} : { [betaHeader]: flags.join(',') },
      search: '',
      dropped,
    };
  },
};

/** Google's own errors, in front of every model, and those of the servers behind it. */
function failureReader({ readFailure }: Dialect): Dialect['readFailure'] {
  return (status, body, headers) => {
    const parsed = parseBounded(Buffer.from(body).toString('utf8'));
    const error = member(Array.isArray(parsed) ? items(parsed)[0] : parsed, 'error');
    return typeof member(error, 'status') === 'string'
      ? googleFailure(status, body)
      : readFailure(status, body, headers);
  };
}

const featurePolicy = /\bconstraints\/vertexai\.allowedPartnerModelFeatures\b/;
const modelRefused = /\bPublisher Model\b|\bconstraints\/vertexai\.allowedModels\b/;

/** What Google says of its account in general, it also says of one model or of one feature. */
function googleFailure(status: number, body: Uint8Array): FailureReport {
  const report = geminiFailure(status, body);
  const { message = '', code } = report;
  if (status === 429) return report;
  if (featurePolicy.test(message)) return { ...report, fault: 'request' };
  // The permission is that of the whole project.
  if (code === 'IAM_PERMISSION_DENIED') return { ...report, fault: 'account' };
  return modelRefused.test(message) ? { ...report, fault: 'model' } : report;
}
