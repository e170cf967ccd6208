// suite: slow
/** Nothing of a recorded request is lost silently when it is sent to another provider. */
import { describe, expect, it } from 'vitest';
import { type FixtureCategory, fixtures } from '../../support/recorded/fixtures.ts';
import { type Loss, searched } from './search.ts';
import { type Route, routes, sentFor } from './translate.ts';
import { Leaf, type Tree } from './tree.ts';

const protocols: Readonly<Partial<Record<FixtureCategory, Route['protocol']>>> = {
  'openai-chat': 'chat',
  'openai-compat': 'chat',
  gemini: 'native',
  anthropic: 'messages',
  messages: 'messages',
};

/** Longer ones are mostly images and repetition, and each leaf costs one translation. */
const maxBytes = 6_000;

const recorded = fixtures().flatMap((one) => {
  const { request } = one;
  const protocol = protocols[one.category];
  const isShort = request !== undefined && request.length <= maxBytes;
  // Anthropic leaves out everything before a compaction too.
  if (one.name === 'messages/compaction-roundtrip.1') return [];
  const isOurs = /chat\/completions|openai\/deployments|generateContent|\/v1\/messages/i.test(
    one.url,
  );
  if (protocol === undefined || !isShort || !isOurs || one.status !== 200) return [];
  const speaks = one.url.includes('GenerateContent') || one.url.includes('generateContent');
  return speaks === (protocol === 'native')
    ? [{ ...one, protocol, text: Buffer.from(request).toString() }]
    : [];
});

const models = ['gemini-3-pro-preview', 'claude-sonnet-4-5', 'gpt-4.1'];
const used = routes.filter(
  ({ model, protocol }) => models.includes(model) && protocol !== 'responses',
);

/** Leaves that make no difference at another provider, and why. */
const unneeded: readonly { readonly place: RegExp; readonly why: string }[] = [
  { place: /^(?:model|stream|stream_options\.include_usage)$/, why: 'the gateway acts on it' },
  { place: /\.thinkingConfig\.include_?[tT]houghts$/, why: 'the writer of the reply acts on it' },
  { place: /^response_format\.json_schema\.name$/, why: 'a label that only OpenAI has' },
  { place: /\.strict$/, why: 'other providers hold every answer and call to its schema' },
  { place: /^messages\.tool_calls\.type$/, why: 'the member beside it says the same' },
  { place: /^messages\.reasoning_details\.(?:format|id|index|type)$/, why: 'marks of the text' },
  { place: /^contents\.parts\.thoughtSignature$/, why: 'only its own provider understands it' },
  { place: /^contents\.parts\.fileData\.mime_type$/, why: 'the URL says what it is' },
  { place: /^contents\.parts\.functionResponse\.(?:id|name)$/, why: 'its place says the same' },
  {
    place: /^generationConfig\.logprobs$/,
    why: 'a number beside `responseLogprobs`, which is listed',
  },
  { place: /^systemInstruction\.role$/, why: 'Google ignores it too' },
];

/** Where only some functions may be called, the others are not declared to Anthropic. */
const choosesSome = /allowed_?function_?names/i;

describe('no leaf of a recorded request is lost silently', () => {
  it.each(used.map((route) => [route.protocol, route.dialect, route] as const))(
    '%s over %s',
    (protocol, dialect, route) => {
      const lost = new Map<string, Loss & { readonly name: string }>();
      const found = recorded.filter(
        (one) =>
          one.protocol === protocol && !(dialect === 'anthropic' && choosesSome.test(one.text)),
      );
      for (const one of found) {
        for (const loss of lossesIn(one, route)) {
          lost.set(loss.place, lost.get(loss.place) ?? { ...loss, name: one.name });
        }
      }
      const [first] = lost.values();
      expect([...lost.keys()].toSorted(), `${first?.name}: ${first?.example}`).toEqual([]);
      expect(found.length).toBeGreaterThan(20);
    },
    120_000,
  );
});

function lossesIn({ text }: { readonly text: string }, route: Route): readonly Loss[] {
  const document: unknown = JSON.parse(text);
  const { lost } = searched(treeOf(document), (body) => sentFor(route, body));
  return lost.filter(({ place }) => !unneeded.some((one) => one.place.test(place)));
}

/** Every value must make a difference. */
function treeOf(value: unknown): Tree {
  switch (typeof value) {
    case 'string':
      return new Leaf(value, `${value}~`, 'effect');
    case 'number':
      return new Leaf(value, value + 1, 'effect');
    case 'boolean':
      return new Leaf(value, !value, 'effect');
    default:
      break;
  }
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map(treeOf);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, treeOf(one)]));
}
