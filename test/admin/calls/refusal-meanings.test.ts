// suite: slow host
/** Every refusal says what it means, also if it has only a code. */
import { describe, expect, it } from 'vitest';
import { adminErrorOf } from '../../../src/admin/admin-error.ts';
import { codeMeanings, refusalSummary } from '../../../src/admin/calls/summary.ts';
import { cannot } from '../../../src/admin/keys/stored.ts';
import { errorCodes } from '../../../src/errors.ts';
import { failureMeanings } from '../../../src/failure-meanings.ts';
import { adminSetup } from '../admin-host.ts';

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

/** What only code can do: the users of `npx tollgate serve` have the console and the command. */
const ofCode =
  /gateway\.\w+\(|`close`|`drainMs`|resolveUnknown|expiresAtMs|[a-z](?:Store|Sink|Catalog)\b/;

describe('a text that names what only code can do', () => {
  const { admin } = adminSetup({ usage: { record: () => {}, close: async () => {} } });
  const span = { fromMs: 0, toMs: 9 };
  const refused: readonly (() => Promise<unknown>)[] = [
    () => admin.usage.report({ by: 'key', ...span }),
    () => admin.refusals.report({ by: 'code', ...span }),
    () => admin.channels.setWeight('ada', 'openai-a', { weight: 0 }),
    () => admin.catalog.publish('ada', []),
  ];

  it('says so, and the tables have it seldom', () => {
    const texts = [...Object.values(failureMeanings), ...Object.values(codeMeanings)]
      .flatMap(({ meaning, remedy = '' }) => [meaning, remedy])
      .filter((text) => ofCode.test(text));

    expect(texts.length).toBeGreaterThan(4);
    for (const text of texts) expect(text).toMatch(/\bin code\b/);
  });

  it('says what to do without code', async () => {
    const errors = await Promise.all(refused.map((call) => call().catch(adminErrorOf)));
    for (const { code, message } of [...errors, cannot('change keys')].map(adminErrorOf)) {
      expect(code).toBe('not_supported');
      expect(message).toMatch(ofCode);
      expect(message).toMatch(/in the configuration of `npx tollgate serve`/);
      expect(message).toMatch(/\bin code\b/);
    }
  });
});
