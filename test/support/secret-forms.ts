/** The forms in which servers and proxies repeat a secret by accident. */

/** Writes a secret in one form. */
export type SecretForm = (secret: string) => string;

const percent = (letter: string): string =>
  `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** The forms by name. */
export const secretForms: Readonly<Record<string, SecretForm>> = {
  plain: (secret) => secret,
  'of the header': (secret) => `Bearer ${secret}`,
  'of a URL': encodeURIComponent,
  'of a URL, each letter': (secret) => [...secret].map(percent).join(''),
  'of a URL, every second letter in upper case': (secret) =>
    [...secret].map((letter, at) => (at % 2 ? letter : percent(letter).toUpperCase())).join(''),
  ...Object.fromEntries(
    (['base64', 'base64url'] as const).flatMap((alphabet) =>
      ['', ':', 'u:', 'user:', '{"key":"'].map((before) => [
        `${alphabet} after \`${before}\``,
        (secret: string) => Buffer.from(`${before}${secret} `).toString(alphabet),
      ]),
    ),
  ),
};

/** Whether a text has twelve characters of the secret in a row, as they are or decoded. */
export function showsSecret(secret: string, text: string): boolean {
  const words = text.split(/[^\w+/=-]+/);
  const decoded = words.flatMap((word) =>
    [0, 1, 2, 3].map((at) => Buffer.from(word.slice(at), 'base64').toString('latin1')),
  );
  const unescaped = text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return [text, unescaped, ...decoded].some((reading) =>
    Array.from(secret).some(
      (_, at) => at + 12 <= secret.length && reading.includes(secret.slice(at, at + 12)),
    ),
  );
}
