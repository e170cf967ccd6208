/**
 * Finds the mistakes that most first set-ups make in the base URL of a channel: no API version, the
 * path of a call, or another API of the same provider.
 */
import type { Channel, DialectName } from '../ports/catalog.ts';
import { protocols } from '../protocols/table.ts';

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
  const google = googleProblem(host, pathname, dialect);
  if (google !== undefined) return google;
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

/** Google serves its own API and an OpenAI-compatible one, below different paths of one host. */
function googleProblem(host: string, path: string, dialect: DialectName): string | undefined {
  const isCompatible = /\/v1(?:alpha|beta)?\/openai\/?$/.test(path);
  if (dialect === 'gemini' && isCompatible) {
    return (
      "its baseUrl ends in /openai, which is Google's OpenAI-compatible API. " +
      "Remove /openai, or use the dialect 'openai'."
    );
  }
  if (dialect !== 'openai' || host !== googleHost || isCompatible) return undefined;
  return `its baseUrl is that of another API. Use https://${googleHost}/v1beta/openai.`;
}

const googleHost = 'generativelanguage.googleapis.com';

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
