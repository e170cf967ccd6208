/**
 * The secrets we mint: `tg_<id>_<random>_<checksum>`, told from a host's own kind and from
 * forgeries by their text alone, so that junk never reaches a store.
 */
import { createHmac, hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * `ours`: we may have minted it. `forged`: has our prefix, but not our shape or checksum; refused
 * before any store is asked. `foreign`: the host's own kind; goes to its `KeyStore` as it is.
 */
export type SecretKind = 'ours' | 'forged' | 'foreign';

const prefix = 'tg_';

// Read by fixed lengths: `_` is also a digit of base64url, so splitting at it would be wrong.
const shape = /^tg_[\w-]{8}_[\w-]{43}_[\w-]{6}$/;
const checksumLength = 6;
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * A new secret: 8 public characters, 256 random bits and a checksum; 62 characters, all of
 * base64url.
 */
export function mintSecret(): string {
  const id = randomBytes(6).toString('base64url');
  const random = randomBytes(32).toString('base64url');
  const body = `${prefix}${id}_${random}_`;
  return body + checksumOf(body);
}

/**
 * What a secret is by its text. `ours` says that it is well-formed, not that it was ever issued.
 */
export function secretKind(secret: string): SecretKind {
  if (!secret.startsWith(prefix)) return 'foreign';
  return shape.test(secret) && endsWithChecksum(secret) ? 'ours' : 'forged';
}

/** The public part of a secret we minted: 8 characters that may be shown and logged. */
export function publicPart(secret: string): string {
  return secret.slice(prefix.length, prefix.length + 8);
}

/**
 * What a store keeps in place of a secret: HMAC-SHA-256 with a pepper, SHA-256 without, in
 * base64url. Not a slow hash: 256 random bits can't be guessed at any speed, and every call would
 * pay for it.
 */
export function digestSecret(secret: string, pepper?: string): string {
  return pepper === undefined
    ? hash('sha256', secret, 'base64url')
    : createHmac('sha256', pepper).update(secret).digest('base64url');
}

/**
 * Whether a secret has surely fewer than 96 bits, judged by its length and the kinds of characters
 * in it. A fast digest protects only what can't be guessed.
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

/** CRC-32 in base64url: four bytes are six characters. */
function checksumOf(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString('base64url');
}

/** The same comparison without a buffer and its text: every call pays for it. */
function endsWithChecksum(secret: string): boolean {
  const end = secret.length - checksumLength;
  const checksum = crc32(secret.slice(0, end));
  // Six bits a character from the top; the last two of 32 stand in the high bits of the sixth.
  for (let place = 0; place < checksumLength; place += 1) {
    const bits = place < 5 ? checksum >>> (26 - 6 * place) : checksum << 4;
    if (secret[end + place] !== base64url[bits & 63]) return false;
  }
  return true;
}
