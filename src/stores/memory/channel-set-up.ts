/**
 * Finds the two mistakes that most first set-ups make in a channel: a base URL without its API
 * version, and a credential from an environment variable that is not set.
 */
import type { Channel, DialectName } from '../../ports/catalog.ts';

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
