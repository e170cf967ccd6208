/** Signatures of Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks). */
import { createHmac } from 'node:crypto';

const prefix = 'whsec_';
const minBytes = 24;
const maxBytes = 64;

/** The key in a secret, `whsec_` and base64 of 24 to 64 bytes; undefined if it is none. */
export function keyIn(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return undefined;
  const text = secret.slice(prefix.length);
  const key = Buffer.from(text, 'base64');
  // Node skips what is not base64, and a receiver would then compute with another key.
  const whole = key.toString('base64');
  const isWhole = text === whole || text === whole.replaceAll('=', '');
  return isWhole && key.length >= minBytes && key.length <= maxBytes ? key : undefined;
}

/** The headers of a notification; `webhook-signature` has a signature for each key. */
export function signedHeaders(
  { id, body }: { readonly id: string; readonly body: Uint8Array },
  nowMs: number,
  keys: readonly Uint8Array[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = keys.map((key) => {
    const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
