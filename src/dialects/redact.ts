/**
 * Removes from an upstream's text what must not reach a caller: credentials, hosts, addresses,
 * control characters.
 */
import { redacted, withoutSecrets } from './hide-secrets.ts';

const maxChars = 512;
/** Longer texts are cut before the patterns run, so that their cost is bounded. */
const maxMatchedChars = 2_048;
/**
 * Secrets are searched for in this much of a text; an encoded secret takes up to ten times its
 * length.
 */
const maxDecodedChars = 8 * maxChars;
/** At the end of a text that was cut, this much may be the beginning of a secret. */
const maxPartialSecretChars = 256;

const domains =
  'com|net|org|io|ai|dev|app|cloud|eu|cn|lan|corp|local|internal|svc|cluster|example|test';
const hex = '[0-9a-f]{1,4}';
const port = String.raw`(?::\d{1,5})?`;

const patterns: readonly RegExp[] = [
  // Keys by their prefixes: OpenAI's sk-…, Google's AIza… and ya29…, anything after Bearer.
  /\b(?:sk|pk|rk|gsk|xai|key|tg)[-_][A-Za-z0-9_*.-]{4,}/g,
  /\bAIza[A-Za-z0-9_*.-]{4,}/g,
  /\bya29\.[A-Za-z0-9_.-]{4,}/g,
  /\bBearer\s+\S+/gi,
  /\b(?:org|proj|projects?)[-_/][A-Za-z0-9_-]{4,}/g,
  // Base64 of an image or a file in the request.
  /[A-Za-z0-9+/]{40,}={0,2}/g,
  // Azure's keys have no prefix: they are 32 or more letters and digits.
  /\b(?=[A-Za-z]{0,63}\d)[A-Za-z0-9]{32,}\b/g,
  /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>]+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  // IPv6 in brackets, shortened (Node says `::1:8000`), and in full.
  new RegExp(String.raw`\[[0-9a-f:]{2,45}\]${port}`, 'gi'),
  new RegExp(`(?<![\\w:])(?:(?:${hex}:){1,6}|:):(?:${hex}:){0,6}${hex}${port}(?!\\w)`, 'gi'),
  new RegExp(`(?<![\\w:])(?:${hex}:){7}${hex}(?!\\w)`, 'gi'),
  new RegExp(`\\b[a-z0-9-]{1,63}(?:\\.[a-z0-9-]{1,63}){0,6}\\.(?:${domains})\\b${port}`, 'gi'),
  // A host name without a domain is recognised by its port: `gpu-7:8000`, but not `position:12`.
  /\b(?=[a-z0-9]{0,62}[-0-9])[a-z][a-z0-9-]{0,62}:\d{2,5}\b/gi,
  new RegExp(String.raw`\blocalhost\b${port}`, 'gi'),
];

// Invisible characters inside a word would hide it from the patterns. Elsewhere they stay, because
// emoji are joined by one.
const invisible = /(?<=[!-~])[\u00AD\u200B-\u200D\u2060\uFEFF]+(?=[!-~])/g;
// Characters that could end a log line or reverse the direction of text in a terminal.
const unprintable = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu;

/** What may stay of texts that a caller's clients know by their wording. */
export interface TextRules {
  readonly maxChars: number;
  /** Links to a provider's public pages, which stay; a pattern with the flag `g`. */
  readonly links: RegExp | undefined;
}

const plainRules: TextRules = { maxChars, links: undefined };

/**
 * Returns the text without anything that must not reach a caller, at most 512 characters; undefined
 * if nothing is left. `secrets` are removed in any encoding and also in part; of a URL among them,
 * the host is removed as well.
 */
export function redact(
  text: string,
  secrets: readonly string[],
  rules: TextRules = plainRules,
): string | undefined {
  const cleaned = withoutSecrets(text.slice(0, maxDecodedChars), secrets, secrets.flatMap(hostsOf));
  const trusted =
    text.length > maxDecodedChars ? cleaned.slice(0, -maxPartialSecretChars) : cleaned;
  const visible = withoutCutWord(trusted).replace(invisible, '');
  const plain = withoutPatterns(visible, rules.links).replace(unprintable, ' ').trim();
  return plain === '' ? undefined : plain.slice(0, rules.maxChars).toWellFormed();
}

function withoutPatterns(text: string, links: RegExp | undefined): string {
  if (links === undefined) return patterns.reduce(withoutPattern, text);
  const [first = '', ...others] = text.split(links);
  const kept = text.match(links) ?? [];
  return others.reduce(
    (before, part, index) => before + kept[index] + patterns.reduce(withoutPattern, part),
    patterns.reduce(withoutPattern, first),
  );
}

function withoutPattern(text: string, pattern: RegExp): string {
  return text.replace(pattern, redacted);
}

/** Cuts a long text and drops the word at the cut, which could be half an address. */
function withoutCutWord(text: string): string {
  if (text.length <= maxMatchedChars) return text;
  const head = text.slice(0, maxMatchedChars);
  return head.slice(0, Math.max(0, head.search(/\s\S*$/)));
}

function hostsOf(secret: string): readonly string[] {
  const host = /^[a-z]+:\/\/([^/:]+(?::\d+)?)/.exec(secret)?.[1];
  return host === undefined ? [] : [host, host.replace(/:\d+$/, '')];
}
