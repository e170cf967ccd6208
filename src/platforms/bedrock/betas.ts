/**
 * What Bedrock refuses of Anthropic's API, as of November 2026: flags of `anthropic-beta`, and the
 * members and tools that mean nothing without them.
 *
 * Sources: docs.aws.amazon.com/bedrock (Anthropic Claude Messages API), the table of
 * BerriAI/litellm (anthropic_beta_headers_config.json) and what is named at a row.
 */
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { cutElements } from '../../bytes/json/edit-elements.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import type { Span } from '../../bytes/json/text.ts';

export interface HostedClaude {
  readonly host: 'bedrock' | 'mantle';
  readonly countsTokens: boolean;
}

type Support = 'refused' | { readonly as: string };

interface Feature extends Readonly<Partial<Record<HostedClaude['host'], Support>>> {
  /** Without its date. */
  readonly flag: string;
  readonly members?: readonly string[];
  /** The types of its tools, without their date. */
  readonly tools?: readonly string[];
}

const nowhere = { bedrock: 'refused', mantle: 'refused' } as const;
const toolSearch = { as: 'tool-search-tool-2025-10-19' } as const;

const features: readonly Feature[] = [
  { flag: 'advanced-tool-use', bedrock: toolSearch, mantle: toolSearch },
  { flag: 'advisor-tool', tools: ['advisor'], ...nowhere },
  // Names the client and switches nothing on; some models refuse it (anthropics/claude-code#49648).
  { flag: 'claude-code', bedrock: 'refused' },
  { flag: 'code-execution', tools: ['code_execution'], ...nowhere },
  { flag: 'fast-mode', members: ['speed'], ...nowhere },
  { flag: 'files-api', ...nowhere },
  { flag: 'mcp-client', members: ['mcp_servers'], tools: ['mcp_toolset'], ...nowhere },
  { flag: 'mcp-servers', ...nowhere },
  { flag: 'oauth', ...nowhere },
  { flag: 'prompt-caching-scope', ...nowhere },
  { flag: 'redact-thinking', ...nowhere },
  { flag: 'skills', members: ['container'], ...nowhere },
  { flag: 'structured-outputs', members: ['output_format'], bedrock: 'refused' },
  { flag: 'web-fetch', tools: ['web_fetch'], ...nowhere },
];

/** The flags that are sent, and the entries of `x-tollgate-dropped` for the others. */
export function hostedBetas(
  list: string | undefined,
  { host }: HostedClaude,
): { readonly sent: readonly string[]; readonly dropped: readonly string[] } {
  const sent = new Set<string>();
  const dropped: string[] = [];
  for (const flag of list?.split(',') ?? []) {
    const name = flag.replace(/-\d{4}-?\d{2}-?\d{2}$/, '');
    const support = features.find((feature) => feature.flag === name)?.[host];
    if (support === 'refused') dropped.push(`anthropic-beta:${flag}`);
    else sent.add(support?.as ?? flag);
  }
  return { sent: [...sent], dropped };
}

/** The members and tools of a request that Bedrock refuses, and how to take them out. */
export function refusedMembers(
  tape: Tape,
  { host }: HostedClaude,
): {
  readonly edits: readonly MemberEdit[];
  readonly cuts: readonly Span[];
  readonly dropped: readonly string[];
} {
  const refused = features.filter((feature) => feature[host] === 'refused');
  const members = refused.flatMap((feature) => feature.members ?? []);
  const dropped = members.filter((name) => tape.get(root, name) !== none);
  const edits = dropped.map((name) => ({ name, value: undefined }));
  const types = new Set(refused.flatMap(({ tools = [] }) => tools));
  const cuts = cutElements(tape, tape.get(root, 'tools'), (tool, index) => {
    const type = tape.shortText(tape.get(tool, 'type')) ?? '';
    const isCut = types.has(type.replace(/_\d{8}$/, ''));
    if (isCut) dropped.push(`tools[${index}]`);
    return isCut;
  });
  return { edits, cuts, dropped };
}
