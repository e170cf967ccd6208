/**
 * Makes an upstream's words fit for a caller: no credential, no host, no address, no control
 * character.
 */

const maxChars = 512;
/** Longer texts are cut before the patterns run, so that their cost has a bound. */
const maxRead = 2_048;

const patterns: readonly RegExp[] = [
  // Keys by their looks: OpenAI's sk-…, Google's AIza… and ya29…, anything behind Bearer.
  /\b(?:sk|pk|rk|gsk|xai|key|tg)[-_][A-Za-z0-9_*.-]{4,}/g,
  /\bAIza[A-Za-z0-9_*.-]{4,}/g,
  /\bya29\.[A-Za-z0-9_.-]{4,}/g,
  /\bBearer\s+\S+/gi,
  /\b(?:org|proj|projects?)[-_/][A-Za-z0-9_-]{4,}/g,
  /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>]+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f:]{2,45}\](?::\d{1,5})?/gi,
  /\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,6}\.(?:com|net|org|io|ai|dev|app|cloud|local|internal|svc)\b(?::\d{1,5})?/gi,
  /\blocalhost(?::\d{1,5})?\b/gi,
];

// What could end a line of a log or turn a terminal's text around.
const unprintable = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu;

/**
 * The text without what must not reach a caller, 512 characters at most; undefined where nothing is
 * left. `secrets` are removed by exact match.
 */
export function redact(text: string, secrets: readonly string[]): string | undefined {
  const bounded = secrets
    .filter((secret) => secret.length > 0)
    .reduce((kept, secret) => kept.replaceAll(secret, '[redacted]'), text.slice(0, maxRead));
  const plain = patterns
    .reduce((kept, pattern) => kept.replace(pattern, '[redacted]'), bounded)
    .replace(unprintable, ' ')
    .trim();
  return plain === '' ? undefined : plain.slice(0, maxChars).toWellFormed();
}
