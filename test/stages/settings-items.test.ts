/**
 * Input items that change the settings of a Responses call: what raises the cost or reaches beyond
 * the call is refused there as in the body itself. And `n`, which the API does not have.
 */
import { describe, expect, it } from 'vitest';
import { type GuardedRow, guardedRows } from '../../src/protocols/guarded-members.ts';
import { untouched } from '../support/gateway-in-process.ts';
import { errorIn, responsesGateway } from './responses-gateway.ts';

/** A value with an effect. */
function effectiveValue({ isList, isTokens }: GuardedRow): unknown {
  if (isTokens) return 1_000_000;
  return isList ? ['audio'] : 'x1';
}

/** The members that hold a value at a path such as `tools[].google_search`. */
function membersAt(path: string, value: unknown): object {
  const [first = '', ...rest] = path.split('.');
  const inside = rest.length === 0 ? value : membersAt(rest.join('.'), value);
  return first.endsWith('[]') ? { [first.slice(0, -2)]: [inside] } : { [first]: inside };
}

const places = guardedRows.flatMap((row) => (row.places ?? []).map((place) => ({ row, place })));
const spellings = [
  (path: string) => path,
  (path: string) => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
];
const user = { role: 'user', content: 'hi' };

describe('an item that changes the settings', () => {
  it.each(places)('may not hold $place', async ({ row, place }) => {
    for (const spelled of new Set(spellings.map((spell) => spell(place)))) {
      const gateway = responsesGateway();
      const settings = membersAt(spelled, effectiveValue(row));
      const item = { type: 'configuration_update', ...settings };

      const reply = await gateway.ask({ input: [user, item] });

      const at = `input[1].${spelled.replace('[]', '[0]')}`;
      expect([reply.status, errorIn(reply).param]).toEqual([400, at]);
      expect([gateway.sent(), await gateway.state('k1')]).toEqual([[], untouched]);
    }
  });

  it('may hold what it is for', async () => {
    const gateway = responsesGateway();
    const reasoning = { effort: 'high', mode: 'standard' };
    const item = { type: 'configuration_update', reasoning, text: { format: { type: 'text' } } };

    expect((await gateway.ask({ input: [item, user] })).status).toBe(200);
  });

  it('is one by its exact type only: other items have members of these names', async () => {
    const gateway = responsesGateway();
    const item = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', speed: 'x' };
    const output = { type: 'function_call_output', call_id: 'c', output: '' };

    expect((await gateway.ask({ input: [user, item, output] })).status).toBe(200);
  });
});

describe('`n` of a Responses call', () => {
  it.each([2, 50, 0, -1, 1.5, '50', true])('may not be %j', async (n) => {
    const gateway = responsesGateway();

    for (const members of [{ n }, { extra_body: { n } }]) {
      const reply = await gateway.ask(members);
      expect(reply.status).toBe(400);
      expect(errorIn(reply).param).toMatch(/^(?:extra_body\.)?n$/);
    }
    expect(gateway.sent()).toEqual([]);
  });

  it.each([1, null])('may be %j', async (n) => {
    expect((await responsesGateway().ask({ n })).status).toBe(200);
  });

  it('is held as often as the model allows it', async () => {
    const gateway = responsesGateway({ model: { maxCandidates: 4 } });
    const held = async (members: object): Promise<bigint> => {
      await gateway.ask(members);
      return gateway.records.at(-1)?.heldNanos ?? 0n;
    };

    const [one, four] = [await held({}), await held({ n: 4 })];

    // Each reply may have 100 tokens, at 2 nanos.
    expect(four - one).toBeGreaterThanOrEqual(600n);
  });
});
