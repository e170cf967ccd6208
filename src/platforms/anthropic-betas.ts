/**
 * What platforms that host Claude refuse of Anthropic's API, as of November 2026: flags of
 * `anthropic-beta` and members that its own servers accept. A platform refuses a whole call for one
 * of them, and coding agents send them unasked. And what they change in all requests.
 *
 * Sources: the availability of features at platform.claude.com (Build with Claude, Overview),
 * docs.aws.amazon.com/bedrock (Anthropic Claude Messages API), the tables of
 * BerriAI/litellm (anthropic_beta_headers_config.json) and maximhq/bifrost, and what is named at a
 * row.
 */
import { cutElements, cutPaths, inOrder } from '../bytes/json/edit-elements.ts';
import { none, root, type Tape, type Value } from '../bytes/json/tape.ts';
import type { HostedEdits, HostedRequest } from '../dialects/hosting.ts';
import { GatewayError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';

/** Bedrock has two; `aws` is Claude Platform on AWS, which Anthropic runs. */
export type ClaudeHost = 'vertex' | 'bedrock' | 'mantle' | 'foundry' | 'aws';

/** `refused`; `uncounted`: only when tokens are counted; or the flag that has its place there. */
type Support = 'refused' | 'uncounted' | { readonly as: string };

/** A column that is missing means that the platform accepts the feature. */
export interface ClaudeFeature extends Readonly<Partial<Record<ClaudeHost, Support>>> {
  /** Without its date, which changes with each version. */
  readonly flag?: string;
  /** Members that belong to it; `[]` stands for each element. */
  readonly members?: readonly string[];
  /** The types of tools that belong to it, without their date. */
  readonly tools?: readonly string[];
}

const nowhere = { vertex: 'refused', bedrock: 'refused', mantle: 'refused' } as const;

export const claudeFeatures: readonly ClaudeFeature[] = [
  { flag: 'advanced-tool-use', vertex: toolSearch(), bedrock: toolSearch(), mantle: toolSearch() },
  { members: ['tools[].allowed_callers'], ...nowhere },
  { flag: 'tool-examples', members: ['tools[].input_examples'], vertex: 'refused' },
  // Thinking and efforts need no flag any more (anthropics/claude-code#34802).
  { flag: 'adaptive-thinking', vertex: 'refused' },
  { flag: 'effort', vertex: 'refused' },
  { flag: 'advisor-tool', tools: ['advisor'], ...nowhere, foundry: 'refused' },
  // Automatic caching; the one of `InvokeModel` alone answers 400.
  { members: ['cache_control'], bedrock: 'refused' },
  { flag: 'cache-diagnosis', members: ['diagnostics'], ...nowhere },
  // Names the client and switches nothing on; some models refuse it (anthropics/claude-code#49648).
  { flag: 'claude-code', bedrock: 'refused' },
  { flag: 'code-execution', tools: ['code_execution'], ...nowhere },
  { flag: 'fast-mode', members: ['speed'], ...nowhere, foundry: 'refused' },
  // Contents that name a file stay: a message without its document would mean something else.
  { flag: 'files-api', ...nowhere },
  // Tools stream their arguments without it.
  { flag: 'fine-grained-tool-streaming', vertex: 'refused' },
  { flag: 'mcp-client', members: ['mcp_servers'], tools: ['mcp_toolset'], ...nowhere },
  { flag: 'mcp-servers', ...nowhere },
  { flag: 'oauth', ...nowhere },
  { flag: 'output-128k', vertex: 'refused', bedrock: 'refused' },
  {
    // anthropics/claude-code#21625, BerriAI/litellm#22867
    flag: 'prompt-caching-scope',
    members: [
      'cache_control.scope',
      'system[].cache_control.scope',
      'tools[].cache_control.scope',
      'messages[].content[].cache_control.scope',
      'messages[].content[].content[].cache_control.scope',
    ],
    ...nowhere,
    foundry: 'refused',
  },
  { flag: 'redact-thinking', ...nowhere },
  {
    flag: 'server-side-fallback',
    members: ['fallbacks'],
    ...nowhere,
    foundry: 'refused',
    aws: 'refused',
  },
  { flag: 'skills', members: ['container'], ...nowhere },
  // The flag is that of `output_format`; `output_config.format` needs none (vercel/ai#10981).
  {
    flag: 'structured-outputs',
    members: ['output_format'],
    vertex: 'refused',
    bedrock: 'refused',
  },
  { flag: 'task-budgets', members: ['output_config.task_budget'], ...nowhere },
  { flag: 'token-efficient-tools', vertex: 'refused', bedrock: 'refused' },
  { flag: 'web-fetch', tools: ['web_fetch'], ...nowhere },
  // Vertex accepts it in messages and refuses it in counts (anthropics/claude-code#12429).
  { flag: 'web-search', vertex: 'uncounted' },
  { flag: 'web-search', tools: ['web_search'], bedrock: 'refused', mantle: 'refused' },
  { members: ['inference_geo'], ...nowhere, foundry: 'refused' },
  // Google sells throughput by headers of its own.
  { members: ['service_tier'], vertex: 'refused' },
];

function toolSearch(): Support {
  return { as: 'tool-search-tool-2025-10-19' };
}

interface HostedClaude {
  readonly host: ClaudeHost;
  readonly countsTokens: boolean;
}

function isRefused(feature: ClaudeFeature, { host, countsTokens }: HostedClaude): boolean {
  const support = feature[host];
  return support === 'refused' || (support === 'uncounted' && countsTokens);
}

/** The flags that are sent, and the entries of `x-tollgate-dropped` for the others. */
export function hostedBetas(
  list: string | undefined,
  there: HostedClaude,
): { readonly sent: readonly string[]; readonly dropped: readonly string[] } {
  const sent = new Set<string>();
  const dropped: string[] = [];
  for (const flag of list === undefined ? [] : list.split(',')) {
    const rows = claudeFeatures.filter((feature) => feature.flag === withoutDate(flag));
    if (rows.some((feature) => isRefused(feature, there))) dropped.push(`anthropic-beta:${flag}`);
    else sent.add(rows.map((feature) => renamed(feature[there.host])).find(Boolean) ?? flag);
  }
  return { sent: [...sent], dropped };
}

function renamed(support: Support | undefined): string | undefined {
  return typeof support === 'object' ? support.as : undefined;
}

function withoutDate(flag: string): string {
  return flag.replace(/-\d{4}-?\d{2}-?\d{2}$/, '');
}

/**
 * Members of a body that are headers at Anthropic itself. The clouds read them, too, and flags may
 * raise limits that the gateway relies on.
 */
const headerMembers = ['anthropic_version', 'anthropic_beta'] as const;
const versionHeader = 'anthropic-version';
export const betaHeader = 'anthropic-beta';

/** The versions of the API that all platforms have; others may differ in anything. */
const apiVersions: readonly string[] = ['2023-06-01', '2026-10-21'];

/** The caller's version of the API; of a translation, that for which the gateway writes. */
export function apiVersion({ headers }: HostedRequest): string {
  const version = headers[versionHeader] ?? '2023-06-01';
  if (apiVersions.includes(version)) return version;
  throw new GatewayError(
    'not_portable',
    'The upstream of this model does not have this version of the API. ' +
      `Send ${apiVersions.join(' or ')} as ${versionHeader}.`,
    { param: versionHeader },
  );
}

/** Of a request with headers and a body as Anthropic's own. */
export function messagesEdits(request: HostedRequest, host: ClaudeHost): HostedEdits {
  apiVersion(request);
  const { [betaHeader]: list, ...headers } = request.headers;
  const { flags, ...edits } = claudeEdits(request, host, list);
  const sent: HeaderMap = flags.length === 0 ? {} : { [betaHeader]: flags.join(',') };
  return { ...edits, headers: { ...headers, ...sent }, search: request.search };
}

interface ClaudeEdits extends Pick<HostedEdits, 'edits' | 'cuts' | 'dropped'> {
  /** Those that are sent. */
  readonly flags: readonly string[];
}

/** @param list the flags of `anthropic-beta` */
export function claudeEdits(
  { tape, operation }: HostedRequest,
  host: ClaudeHost,
  list: string | undefined,
): ClaudeEdits {
  const there = { host, countsTokens: operation === 'count_tokens' };
  const betas = hostedBetas(list, there);
  const refused = refusedMembers(tape, there);
  const inBody = headerMembers.filter((name) => tape.get(root, name) !== none);
  return {
    edits: [...refused.edits, ...headerMembers.map((name) => ({ name, value: undefined }))],
    cuts: refused.cuts,
    flags: betas.sent,
    dropped: [...betas.dropped, ...refused.dropped, ...inBody],
  };
}

/** The members of a request that the platform refuses, and how to take them out. */
function refusedMembers(
  tape: Tape,
  there: HostedClaude,
): Pick<HostedEdits, 'edits' | 'cuts' | 'dropped'> {
  const refused = claudeFeatures.filter((feature) => isRefused(feature, there));
  const paths = refused.flatMap(({ members = [] }) => members);
  const whole = paths.filter((path) => !path.includes('.') && tape.get(root, path) !== none);
  const inside = paths.filter((path) => path.includes('.') && !isInside(path, whole));
  const { spans, found } = cutPaths(tape, inside);
  const dropped = paths.filter((path) => whole.includes(path) || found.includes(path));
  const types = new Set(refused.flatMap(({ tools = [] }) => tools));
  const all = tape.get(root, 'tools');
  const tools = cutElements(tape, all, (tool, index) => {
    const isCut = types.has(toolType(tape, tool));
    if (isCut) dropped.push(`tools[${index}]`);
    return isCut;
  });
  // A choice among no tools is refused.
  if (tools.length > 0 && tape.elements(all).every((tool) => types.has(toolType(tape, tool)))) {
    whole.push('tools', 'tool_choice');
    if (tape.get(root, 'tool_choice') !== none) dropped.push('tool_choice');
  }
  const edits = whole.map((name) => ({ name, value: undefined }));
  return { edits, cuts: inOrder([...spans, ...tools]), dropped };
}

function isInside(path: string, names: readonly string[]): boolean {
  return names.some((name) => path.startsWith(`${name}.`));
}

function toolType(tape: Tape, tool: Value): string {
  return (tape.shortText(tape.get(tool, 'type')) ?? '').replace(/_\d{8}$/, '');
}
