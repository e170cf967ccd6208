/**
 * Finds the mistakes that most first set-ups make in a channel: a base URL without its API version
 * or with the path of a call, and a credential from an environment variable that is not set.
 */
import type { Channel, DialectName } from '../../ports/catalog.ts';
import { protocols } from '../../protocols/table.ts';

/** Base URLs of well-known providers, by host: everything that they serve is below a version. */
const knownBaseUrls: ReadonlyMap<string, string> = new Map(
  [
    'https://api.openai.com/v1',
    'https://generativelanguage.googleapis.com/v1beta',
    'https://api.anthropic.com/v1',
    'https://api.mistral.ai/v1',
    'https://api.x.ai/v1',
    'https://api.groq.com/openai/v1',
    'https://api.cerebras.ai/v1',
    'https://openrouter.ai/api/v1',
  ].map((url) => [new URL(url).host, url]),
);

/**
 * What is wrong with a valid base URL, as sentences; undefined if nothing is. The URL itself is not
 * repeated.
 */
export function baseUrlProblem({ baseUrl, dialect }: Channel): string | undefined {
  const { host, pathname } = new URL(baseUrl);
  const callPath = callPathAt(pathname.replace(/(?<!\/)\/+$/, ''), dialect);
  if (callPath !== undefined) {
    return `its baseUrl ends in ${callPath}, the path of a call. Remove it: the gateway adds it.`;
  }
  if (/\/v\d/.test(pathname)) return undefined;
  const known = knownBaseUrls.get(host);
  if (known !== undefined) return `its baseUrl has no API version. Use ${known}.`;
  // `pathname` is a slash if there is no path, whether the URL ends in a slash or not.
  if (pathname !== '/' || baseUrl.endsWith('/')) return undefined;
  const version = dialect === 'gemini' ? 'v1beta' : 'v1';
  return (
    `its baseUrl has no API version. Most servers need one: add /${version}. ` +
    'If the paths of this server have none, end the URL with a slash.'
  );
}

/** The paths of calls below a base URL: `/chat/completions`, `/models/*:generateContent`. */
const callPaths: readonly string[] = Object.values(protocols).flatMap(({ paths, methods }) => [
  ...Object.keys(paths).map((path) => path.replace('/v1', '')),
  ...Object.keys(methods).map((method) => `/models/*:${method}`),
]);

/** The path of a call in which a path ends, with `*` for the model; undefined for a base path. */
function callPathAt(path: string, dialect: DialectName): string | undefined {
  const withoutModel = path.replace(/\/models\/[^/]+(?=:\w+$)/, '/models/*');
  const found = callPaths.find((one) => withoutModel.endsWith(one));
  if (found !== undefined || dialect !== 'gemini') return found;
  return path.endsWith('/models') ? '/models' : undefined;
}

const variables: Readonly<Record<DialectName, string>> = {
  openai: 'OPENAI_API_KEY',
  gemini: 'GEMINI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
};

/**
 * What to do about a credential that is missing or empty, as a sentence without its full stop. It
 * names the provider's usual environment variable if that is not set.
 */
export function emptyCredentialRemedy(dialect: unknown): string {
  const [, usual] = Object.entries(variables).find(([name]) => name === dialect) ?? [];
  const isUnset = usual !== undefined && (process.env[usual] ?? '') === '';
  const named = isUnset ? `: ${usual} is not set` : '';
  return `Set the environment variable that it is read from${named}`;
}
