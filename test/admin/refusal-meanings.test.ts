// suite: slow
/** Every refusal says what it means, also if it has only a code. */
import { describe, expect, it } from 'vitest';
import { refusalSummary } from '../../src/admin/call-summary.ts';
import { errorCodes } from '../../src/errors.ts';
import { failureMeanings } from '../../src/failure-meanings.ts';

const seen = {
  kind: 'refusal',
  requestId: 'r',
  atMs: 1,
  keyId: undefined,
  group: undefined,
  protocol: undefined,
  modelId: undefined,
  status: 404,
  limit: undefined,
  param: undefined,
  path: undefined,
  requestedModel: undefined,
} as const;

describe('a refusal', () => {
  it.each(errorCodes)('with the code %s and no reason has a meaning', (code) => {
    const { meaning } = refusalSummary({ ...seen, code, reason: undefined });

    expect(meaning).toMatch(/^[^A-Z].*[^.]$/);
  });

  it('with a reason has the meaning of the reason', () => {
    const { meaning } = refusalSummary({ ...seen, code: 'invalid_request', reason: 'bom' });

    expect(meaning).toBe(failureMeanings.bom.meaning);
  });
});
