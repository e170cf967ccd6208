/**
 * The paths of provider APIs that the gateway does not serve. A client that calls one of them has
 * the right base URL, so the answer is in its provider's error format and names what is served.
 */

/** Paths that only Anthropic has. A path comes before those above it. */
const anthropicPaths: readonly string[] = ['/v1/complete', '/v1/messages/batches', '/v1/messages'];
const batches = 'Batches are not offered: send each request by itself.';
const files = 'Files are not stored: send their content inside the request that needs it.';
const alternatives: ReadonlyMap<string, string> = new Map([
  ['/v1/batches', batches],
  ['/v1/messages/batches', batches],
  ['/v1/files', files],
  ['/v1/uploads', files],
]);

/**
 * Paths below `/v1` of OpenAI and Anthropic, each with everything below it. Administrative paths,
 * such as `/v1/organizations`, are not listed: they are not called with a model's API key, and a
 * host may well have its own. `/v1/engines` is left to the host too.
 */
export const unservedPaths: readonly string[] = [
  ...anthropicPaths,
  ...['/v1/assistants', '/v1/audio', '/v1/batches', '/v1/chat/completions', '/v1/chatkit'],
  ...['/v1/completions', '/v1/containers', '/v1/conversations', '/v1/dashboard/billing'],
  ...['/v1/edits', '/v1/evals', '/v1/files', '/v1/fine-tunes', '/v1/fine_tuning'],
  ...['/v1/images/edits', '/v1/images/variations', '/v1/moderations', '/v1/realtime'],
  ...['/v1/responses', '/v1/skills', '/v1/threads', '/v1/uploads', '/v1/vector_stores'],
  ...['/v1/videos'],
];

/**
 * The listed path that a raw path is, or is below; undefined if it is none of a provider. Google's
 * are all paths below `/v1beta`.
 */
export function unservedPath(path: string): string | undefined {
  if (path.startsWith('/v1beta/')) return '/v1beta';
  return unservedPaths.find(
    (listed) => path.startsWith(listed) && isSegmentEnd(path, listed.length),
  );
}

export function insteadOf(listed: string): string {
  return alternatives.get(listed) ?? '';
}

export function isAnthropicPath(listed: string): boolean {
  return anthropicPaths.includes(listed);
}

function isSegmentEnd(path: string, at: number): boolean {
  return path.length === at || path[at] === '/';
}
