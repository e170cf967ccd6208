/**
 * The secrets that the gateway issues: `tg_<id>_<random>_<checksum>`. Forged secrets and those of
 * the host are recognised by their text, so that invalid ones never reach a store.
 */
import { createHmac, hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * `ours`: the gateway may have issued it. `forged`: has our prefix but not the right form or
 * checksum, and is refused without asking a store. `foreign`: a secret of the host's own kind,
 * passed to its `KeyStore` unchanged.
 */
export type SecretKind = 'ours' | 'forged' | 'foreign';

const prefix = 'tg_';

// Fixed lengths, because `_` is also a digit of base64url and so not a safe separator.
const format = /^tg_[\w-]{8}_[\w-]{43}_[\w-]{6}$/;
const checksumLength = 6;
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Creates a secret: 8 public characters, 256 random bits and a checksum; 62 characters, all of
 * base64url.
 */
export function mintSecret(): string {
  const id = randomBytes(6).toString('base64url');
  const random = randomBytes(32).toString('base64url');
  const body = `${prefix}${id}_${random}_`;
  return body + checksumOf(body);
}

/** The kind of a secret, from its text. `ours` means well-formed, not that it was issued. */
export function secretKind(secret: string): SecretKind {
  if (!secret.startsWith(prefix)) return 'foreign';
  return format.test(secret) && endsWithChecksum(secret) ? 'ours' : 'forged';
}

/** The public part of an issued secret: 8 characters that may be shown and logged. */
export function publicPart(secret: string): string {
  return secret.slice(prefix.length, prefix.length + 8);
}

/** Whether a text contains a secret of ours, or the beginning of one. */
export function isLikeOwnSecret(text: string): boolean {
  return /tg_[\w-]{8}_[\w-]{8}/.test(text);
}

/**
 * The digest that a store keeps instead of a secret: HMAC-SHA-256 with a pepper, SHA-256 without,
 * in base64url. A slow hash is not needed, because 256 random bits can't be guessed, and every call
 * would pay for it.
 */
export function digestSecret(secret: string, pepper?: string): string {
  return pepper === undefined
    ? hash('sha256', secret, 'base64url')
    : createHmac('sha256', pepper).update(secret).digest('base64url');
}

/**
 * Whether a secret has less than 96 bits of entropy, estimated from its length and the kinds of its
 * characters. A fast digest protects only secrets that can't be guessed.
 */
export function isWeakSecret(secret: string): boolean {
  const kinds: readonly (readonly [RegExp, number])[] = [
    [/[a-z]/, 26],
    [/[A-Z]/, 26],
    [/[0-9]/, 10],
    [/[^a-zA-Z0-9]/, 33],
  ];
  const alphabet = kinds.reduce((sum, [kind, size]) => (kind.test(secret) ? sum + size : sum), 1);
  return secret.length * Math.log2(alphabet) < 96;
}

/** CRC-32 in base64url: four bytes become six characters. */
function checksumOf(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString('base64url');
}

/** Compares the checksum without creating a buffer and a string, because it runs for every call. */
function endsWithChecksum(secret: string): boolean {
  const end = secret.length - checksumLength;
  const checksum = crc32(secret.slice(0, end));
  // Six bits per character, from the highest; the last two of 32 are the high bits of the sixth
  // character.
  for (let place = 0; place < checksumLength; place += 1) {
    const bits = place < 5 ? checksum >>> (26 - 6 * place) : checksum << 4;
    if (secret[end + place] !== base64url[bits & 63]) return false;
  }
  return true;
}
