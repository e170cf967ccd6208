/**
 * What platforms that host Claude refuse of Anthropic's API, as of November 2026: flags of
 * `anthropic-beta` and members that its own servers accept. A platform refuses a whole call for one
 * of them, and coding agents send them unasked.
 *
 * Sources: the availability of features at platform.claude.com (Build with Claude, Overview),
 * docs.aws.amazon.com/bedrock (Anthropic Claude Messages API), the tables of
 * BerriAI/litellm (anthropic_beta_headers_config.json) and maximhq/bifrost, and what is named at a
 * row.
 */
import type { MemberEdit } from '../bytes/body/splice.ts';
import { cutElements, cutPath, inOrder } from '../bytes/json/edit-elements.ts';
import { none, root, type Tape, type Value } from '../bytes/json/tape.ts';
import type { Span } from '../bytes/json/text.ts';

/** The places that host Claude in a form of their own: Bedrock has two. */
export type ClaudeHost = 'vertex' | 'bedrock' | 'mantle';

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
  { flag: 'advisor-tool', tools: ['advisor'], ...nowhere },
  { flag: 'cache-diagnosis', members: ['diagnostics'], ...nowhere },
  // Names the client and switches nothing on; some models refuse it (anthropics/claude-code#49648).
  { flag: 'claude-code', bedrock: 'refused' },
  { flag: 'code-execution', tools: ['code_execution'], ...nowhere },
  { flag: 'fast-mode', members: ['speed'], ...nowhere },
  // Contents that name a file stay: a message without its document would mean something else.
  { flag: 'files-api', ...nowhere },
  // Tools stream their arguments without it.
  { flag: 'fine-grained-tool-streaming', vertex: 'refused' },
  { flag: 'mcp-client', members: ['mcp_servers'], tools: ['mcp_toolset'], ...nowhere },
  { flag: 'mcp-servers', ...nowhere },
  { flag: 'oauth', ...nowhere },
  { flag: 'output-128k', vertex: 'refused', bedrock: 'refused' },
  {
    // anthropics/claude-code#21625
    flag: 'prompt-caching-scope',
    members: [
      'cache_control.scope',
      'system[].cache_control.scope',
      'tools[].cache_control.scope',
      'messages[].content[].cache_control.scope',
      'messages[].content[].content[].cache_control.scope',
    ],
    ...nowhere,
  },
  { flag: 'redact-thinking', ...nowhere },
  { flag: 'server-side-fallback', members: ['fallbacks'], ...nowhere },
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
  { members: ['inference_geo'], ...nowhere },
  // Google sells throughput by headers of its own.
  { members: ['service_tier'], vertex: 'refused' },
];

function toolSearch(): Support {
  return { as: 'tool-search-tool-2025-10-19' };
}

export interface HostedClaude {
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
export const headerMembers = ['anthropic_version', 'anthropic_beta'] as const;

/** Those that a caller has put into a body. */
export function headerMembersIn(tape: Tape): readonly string[] {
  return headerMembers.filter((name) => tape.get(root, name) !== none);
}

export interface RefusedMembers {
  readonly edits: readonly MemberEdit[];
  readonly cuts: readonly Span[];
  readonly dropped: readonly string[];
}

/** The members of a request that the platform refuses, and how to take them out. */
export function refusedMembers(tape: Tape, there: HostedClaude): RefusedMembers {
  const refused = claudeFeatures.filter((feature) => isRefused(feature, there));
  const edits: MemberEdit[] = [];
  const cuts: Span[] = [];
  const dropped: string[] = [];
  for (const path of refused.flatMap(({ members = [] }) => members)) {
    const spans = cutPath(tape, path);
    if (spans.length === 0) continue;
    dropped.push(path);
    if (path.includes('.')) cuts.push(...spans);
    else edits.push({ name: path, value: undefined });
  }
  const types = new Set(refused.flatMap(({ tools = [] }) => tools));
  const tools = cutElements(tape, tape.get(root, 'tools'), (tool, index) => {
    const isCut = types.has(toolType(tape, tool));
    if (isCut) dropped.push(`tools[${index}]`);
    return isCut;
  });
  return { edits, cuts: inOrder([...cuts, ...tools]), dropped };
}

function toolType(tape: Tape, tool: Value): string {
  return (tape.shortText(tape.get(tool, 'type')) ?? '').replace(/_\d{8}$/, '');
}
