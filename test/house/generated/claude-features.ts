/** The table of what a host of Claude refuses, from the one that requests are changed by. */
import {
  type ClaudeFeature,
  type ClaudeHost,
  claudeFeatures,
} from '../../../src/platforms/anthropic-betas.ts';
import { table } from './table.ts';

export function claudeTable(host: ClaudeHost): string {
  const flags = new Map<string, string[]>();
  for (const feature of claudeFeatures) {
    const support = feature[host];
    if (support === undefined) continue;
    const what = whatHappens(feature, support);
    flags.set(what, [...(flags.get(what) ?? []), flagOf(feature)]);
  }
  return table(
    ['flag', 'what happens'],
    [...flags].map(([what, names]) => [names.join(', '), what]),
  );
}

type Support = NonNullable<ClaudeFeature[ClaudeHost]>;

function flagOf({ flag }: ClaudeFeature): string {
  return flag === undefined ? 'none' : `\`${flag}\``;
}

function whatHappens({ flag, members = [], tools = [] }: ClaudeFeature, support: Support): string {
  if (typeof support === 'object') return `is sent as \`${support.as}\``;
  const also = [
    ...[...new Set(members.map(shortPath))].map((path) => `\`${path}\``),
    ...tools.map((type) => `tools of the type \`${type}\``),
  ];
  const things = [...(flag === undefined ? [] : ['the flag']), ...also].join(', ');
  return `${things}: left out${support === 'uncounted' ? ' of counts' : ''}`;
}

/** A member that may stand in many places is named by its last steps. */
function shortPath(path: string): string {
  return path.replace(/^.*(?=cache_control\.)/, '');
}
