/** The members of Anthropic's `usage` besides input and output tokens. */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';

/** The members in a whole reply or the first event of a stream, and those in the last event. */
export interface CacheUsage {
  readonly first: JsonObject;
  readonly last: JsonObject;
}

/** How many tokens are written to the cache, and read from it later, as in a recorded pair. */
const cachedTokens = 7351;

/**
 * With a cache marker, the first call of a conversation writes to the cache and later ones read
 * from it.
 */
export function cacheUsage(body: JsonValue | undefined): CacheUsage {
  const text = JSON.stringify(body ?? null);
  const isMarked = text.includes('"cache_control":{');
  const isLater = items(member(body, 'messages')).some(
    (message) => member(message, 'role') === 'assistant',
  );
  const written = isMarked && !isLater ? cachedTokens : 0;
  const isLong = text.includes('"ttl":"1h"');
  const last = {
    cache_creation_input_tokens: written,
    cache_read_input_tokens: isMarked && isLater ? cachedTokens : 0,
  };
  const first = {
    ...last,
    cache_creation: {
      ephemeral_5m_input_tokens: isLong ? 0 : written,
      ephemeral_1h_input_tokens: isLong ? written : 0,
    },
    service_tier: 'standard',
    inference_geo: 'not_available',
  };
  return { first, last };
}
