/** Generates the default ids of requests and reservations. */
import { randomFillSync } from 'node:crypto';

const idBytes = 16;
/**
 * The number of ids whose random bytes are fetched at once: a system call for each would take more
 * time than everything else.
 */
const idsPerBatch = 512;

/**
 * Creates a source of ids, each of 128 random bits in 22 characters of base64url. `randomUUID`
 * would take more than twice the time, and 600 bytes each, because it joins twenty strings.
 */
export function randomIds(): () => string {
  const batch = Buffer.alloc(idBytes * idsPerBatch);
  let at = batch.length;
  return () => {
    if (at === batch.length) {
      randomFillSync(batch);
      at = 0;
    }
    at += idBytes;
    return batch.toString('base64url', at - idBytes, at);
  };
}
