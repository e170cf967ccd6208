/**
 * Decides whether an upstream's text may reach a caller. A text that contains a secret of the
 * account is dropped whole. An upstream that wants to reveal a secret can encode it in endless
 * ways, so that only the forms in which servers and proxies repeat one by accident are searched
 * for.
 */

export interface AccountSecrets {
  /** The credential, and the values of the channel's headers, which may be tokens. */
  readonly secrets: readonly string[];
  /** Found as a whole only: most of a provider's host name is public. */
  readonly host: string;
}

const maxChars = 1_024;
/** So many characters of a secret in a row are searched for; of a shorter secret, the whole. */
const partChars = 12;
const blockChars = partChars / 2;
/** The Base64 of a shorter secret is too short to be found in nothing else. */
const minEncodedChars = 6;

const scheme = /^(?:Bearer|Basic|Token|Api-?Key) +/i;
/** The beginning that all secrets of a vendor have, and the public part of our own. */
const publicPrefix = new RegExp(
  String.raw`^(?:sk-(?:ant-[a-z]{3,5}\d\d-|or-v1-|proj-|svcacct-|admin-)?|gsk_|xai-|pplx-` +
    String.raw`|nvapi-|hf_|AIza(?:Sy)?|ya29\.|tg_[\w-]{8}_)`,
);
// Characters that could end a log line or reverse the direction of text in a terminal.
const unprintable = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu;

/** The text as a caller may see it; undefined if it contains a secret, or nothing. */
export function shownText(text: string, account: AccountSecrets): string | undefined {
  const { secrets, host } = account;
  if (text.toLowerCase().includes(host) || containsSecret(text, secrets)) return undefined;
  const plain = text.replace(unprintable, ' ').trim();
  return plain === '' ? undefined : plain.slice(0, maxChars).toWellFormed();
}

/** Whether the text repeats a secret, or twelve of its characters in a row. */
export function containsSecret(text: string, secrets: readonly string[]): boolean {
  const decoded = text.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const forms = secrets.flatMap(formsOf);
  return [...new Set([text, decoded])].some((reading) => {
    const blocks = new Set<string>();
    for (let at = 0; at < reading.length; at += 1) blocks.add(reading.slice(at, at + blockChars));
    return forms.some((form) =>
      form.length < partChars ? reading.includes(form) : sharesPart(form, reading, blocks),
    );
  });
}

/**
 * Twelve characters in a row contain one of the blocks of six into which a secret is cut, so that
 * six times fewer places of it are looked up: cookies may have 16 KB.
 */
function sharesPart(form: string, text: string, blocks: ReadonlySet<string>): boolean {
  for (let at = 0; at + blockChars <= form.length; at += blockChars) {
    if (!blocks.has(form.slice(at, at + blockChars))) continue;
    const last = Math.min(at, form.length - partChars);
    for (let start = Math.max(0, at - blockChars); start <= last; start += 1) {
      if (text.includes(form.slice(start, start + partChars))) return true;
    }
  }
  return false;
}

/** The secret as it is, and as the middle of any Base64 text, in both alphabets. */
function formsOf(secret: string): readonly string[] {
  const value = secret.replace(scheme, '');
  const own = value.replace(publicPrefix, '');
  const form = own.length < partChars ? value : own;
  if (form.length < minEncodedChars) return form === '' ? [] : [form];
  const encoded = [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.from(`${'x'.repeat(before)}${form}`);
    // The characters at both ends depend on what is around the secret.
    const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((bytes.byteLength * 8) / 6)];
    return [bytes.toString('base64').slice(from, to), bytes.toString('base64url').slice(from, to)];
  });
  return [form, ...encoded];
}
