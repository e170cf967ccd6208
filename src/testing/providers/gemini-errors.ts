/** Google's refusals: google.rpc.Status and error texts. */
import type { JsonObject } from '../../json.ts';
import { json, type Script, type ScriptHeaders } from './scripts.ts';

export function geminiError(
  code: number,
  status: string,
  message: string,
  details: readonly JsonObject[] = [],
  headers: ScriptHeaders = {},
): Script {
  const error = { code, message, status, ...(details.length > 0 ? { details } : {}) };
  return json(code, { error }, headers);
}

/** A 429 has the retry delay in its details, not in a header. */
export function geminiFailure(code: 429 | 500 | 503): Script {
  if (code === 429) {
    return geminiError(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details.\n' +
        'Please retry in 2s.',
      [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }],
    );
  }
  if (code === 500) return geminiError(500, 'INTERNAL', 'An internal error has occurred.');
  return geminiError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.');
}

/** The error in a stream that fails half-way, which Google writes without `data:`. */
export const geminiStreamError: string = `${JSON.stringify(
  { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
  null,
  2,
)}\n`;
