/**
 * The headers that Anthropic requires: a version that exists, and a beta for each member that is
 * not generally available.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';

const versions: readonly string[] = ['2023-01-01', '2023-06-01', '2026-10-21'];

/** The beta without which a member of the body is unknown. */
const betaMembers: Readonly<Record<string, RegExp>> = {
  context_management: /^(?:context-management|compact)-/,
  mcp_servers: /^mcp-client-/,
  output_format: /^structured-outputs-/,
  speed: /^fast-mode-/,
};

/** The message with which Anthropic refuses the headers, or undefined. */
export function refusedHeaders(
  headers: IncomingHttpHeaders,
  body: JsonValue | undefined,
): string | undefined {
  const version = headers['anthropic-version'];
  if (version === undefined) return 'anthropic-version: header is required';
  if (typeof version !== 'string' || !versions.includes(version)) {
    return `anthropic-version: "${String(version)}" is not a valid version`;
  }
  const betas = betasOf(headers);
  const unknown = betas.find((beta) => !/^[a-z][a-z0-9-]*-\d{4}-?\d{2}-?\d{2}$/.test(beta));
  if (unknown !== undefined) {
    return `Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header.`;
  }
  const names = isJsonObject(body) ? Object.keys(body) : [];
  const early = names.find((name) => {
    const needed = betaMembers[name];
    return needed !== undefined && !betas.some((beta) => needed.test(beta));
  });
  if (early !== undefined) return `${early}: Extra inputs are not permitted`;
  return version === '2026-10-21' ? removedIn2026(body) : undefined;
}

function betasOf(headers: IncomingHttpHeaders): readonly string[] {
  return [headers['anthropic-beta'] ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '');
}

/** Version 2026-10-21 has no sampling members, and no documents in assistant messages. */
function removedIn2026(body: JsonValue | undefined): string | undefined {
  const sampling = ['temperature', 'top_p', 'top_k'].find(
    (name) => member(body, name) !== undefined,
  );
  if (sampling !== undefined) return `${sampling}: Extra inputs are not permitted`;
  const messages = items(member(body, 'messages'));
  const index = messages.findIndex(
    (message) =>
      member(message, 'role') === 'assistant' &&
      items(member(message, 'content')).some((block) => member(block, 'type') === 'document'),
  );
  return index === -1
    ? undefined
    : `messages.${index}.content: \`document\` blocks are not permitted in assistant messages`;
}
