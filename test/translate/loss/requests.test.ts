// suite: search
/** Nothing of a request is lost silently: it is sent upstream, reported as dropped, or refused. */
import { describe, expect, it } from 'vitest';
import { drawn } from '../../support/seeds.ts';
import { chatRequest } from './chat-requests.ts';
import { messagesRequest } from './messages-requests.ts';
import { nativeRequest } from './native-requests.ts';
import { responsesRequest } from './responses-requests.ts';
import { type Loss, searched } from './search.ts';
import { type Route, routes, sentFor } from './translate.ts';
import { type Drawing, drawing, type Tree } from './tree.ts';

/** A longer search by hand: `LOSS_RUNS=5000 npx vitest run test/translate/loss`. */
const runs = Number(process.env.LOSS_RUNS ?? 30);
const firstSeed = Number(process.env.LOSS_SEED ?? 1);
/** One in this many objects has an unknown member. */
const planted = 30;

interface Unneeded {
  readonly place: string;
  /** Dialects or models. */
  readonly over: string;
  readonly why: string;
  /** Only in such a request, and with all that is in the place. */
  readonly when?: RegExp;
}

/** Leaves that an upstream doesn't need, and why. */
const unneeded: readonly Unneeded[] = [
  {
    place: 'tools',
    over: 'deepseek',
    why: 'a model without tool choices is offered only what it may call',
    when: /"(?:toolConfig|tool_choice)":/,
  },
  {
    place: 'response_format.json_schema.strict',
    over: 'gemini anthropic',
    why: 'both hold every answer to its schema; where one does not, the format is listed',
  },
  ...['tools.function', 'tools', 'tools.tools', 'input.tools'].map((tool) => ({
    place: `${tool}.strict`,
    over: 'gemini',
    why: 'one strict function holds all of them to their schemas, as a required call does',
  })),
  {
    place: 'text.format.strict',
    over: 'gemini anthropic',
    why: 'both hold every answer to its schema; where one does not, the format is listed',
  },
];

const makers: Readonly<Record<Route['protocol'], (drawn: Drawing) => Tree>> = {
  chat: chatRequest,
  native: nativeRequest,
  responses: responsesRequest,
  messages: messagesRequest,
};

const rows = routes.map((route) => [route.protocol, route.dialect, route.model, route] as const);

describe('no leaf of a request is lost silently', () => {
  it.each(rows)(
    '%s over %s (%s)',
    (protocol, _dialect, _model, route) => {
      const lost = new Map<string, Loss>();
      let leaves = 0;
      for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
        const document = makers[protocol](drawing(drawn(seed), planted));
        const found = searched(document, (body) => sentFor(route, body));
        leaves += found.leaves;
        for (const loss of found.lost.filter((one) => !isUnneeded(one, route))) {
          lost.set(loss.place, lost.get(loss.place) ?? loss);
        }
      }
      const [first] = lost.values();
      expect([...lost.keys()].toSorted(), first?.example).toEqual([]);
      expect(leaves).toBeGreaterThan(runs * 5);
    },
    600_000,
  );
});

function isUnneeded({ place, example }: Loss, { dialect, model }: Route): boolean {
  return unneeded.some(({ place: known, over, when }) => {
    if (!over.split(' ').some((name) => name === dialect || name === model)) return false;
    return when === undefined
      ? known === place
      : place.startsWith(`${known}.`) && when.test(example);
  });
}
