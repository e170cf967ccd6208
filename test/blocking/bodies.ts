/** Bodies made to keep the event loop busy, and a search for worse ones. */
import { type DialectName, dialectNames } from '../../src/ports/models/capabilities.ts';

/** A body, and whether its call is relayed or translated. */
export interface WorstBody {
  readonly name: string;
  readonly dialect: DialectName;
  readonly protocol: 'chat' | 'native';
  readonly body: string;
}

const mebibyte = 1_048_576;
/** The default of `maxBodyBytes`. */
const largest = 32 * mebibyte;

const times = (count: number, piece: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => piece(index)).join(',');
const question = '{"role":"user","content":"hi"}';
const chatWith = (members: string): string =>
  `{"model":"m","messages":[${question}],${members},"stream":false}`;
const talk = (messages: string): string => `{"model":"m","messages":[${messages}]}`;
const call = (args: string, id = 'c'): string =>
  `{"role":"assistant","tool_calls":[{"id":"${id}","type":"function",
  "function":{"name":"f","arguments":${JSON.stringify(args)}}}]}`;
const result = (content: string, id = 'c'): string =>
  `{"role":"tool","tool_call_id":"${id}","content":${JSON.stringify(content)}}`;
const tool = (parameters: string): string =>
  `{"type":"function","function":{"name":"f","parameters":${parameters}}}`;
const towers = (levels: number, inner: string): string =>
  `${'{"anyOf":['.repeat(levels)}${inner}${']}'.repeat(levels)}`;
const references = (count: number): string =>
  times(
    count,
    (index) =>
      `"s${index}":{"allOf":[{"$ref":"#/$defs/s${index + 1}"},{"$ref":"#/$defs/s${index + 1}"}]}`,
  );

const longNames = (beginning: string, count = 8_000): string =>
  times(count, (index) => `"${beginning.padEnd(4_000, beginning)}${index}":0`);
const nested = (levels: number, open: string, inner: string, close: string): string =>
  `${open.repeat(levels)}${inner}${close.repeat(levels)}`;
const part = (value: string): string =>
  talk(`{"role":"user","content":[{"type":"thing","x":[${value}]}]}`);

/** Bodies that the gateway refuses or bounds, at the bound and far above it. */
const translated: readonly (readonly [string, string])[] = [
  [
    '25 MB of members in arguments',
    talk(`${question},${call(`{${times(1_900_000, (i) => `"${i}":0`)}}`)}`),
  ],
  ['50,000 values in arguments', talk(`${question},${call(`[${times(49_998, () => '0')}]`)}`)],
  [
    '1 MiB of exact numbers in arguments',
    talk(`${question},${call(`[${times(49_000, () => '9007199254740993')}]`)}`),
  ],
  [
    '500,000 levels in arguments',
    talk(`${question},${call(`${'['.repeat(500_000)}${']'.repeat(500_000)}`)}`),
  ],
  ['160,000 messages', talk(times(160_000, () => question))],
  ['10,000 messages', talk(times(10_000, () => question))],
  [
    '20,000 calls and results',
    talk(`${question},${times(20_000, (i) => `${call('{}', `c${i}`)},${result('ok', `c${i}`)}`)}`),
  ],
  [
    '4,999 calls and results',
    talk(`${question},${times(4_999, (i) => `${call('{}', `c${i}`)},${result('ok', `c${i}`)}`)}`),
  ],
  [
    '30,000 parts of allOf',
    chatWith(
      `"tools":[${tool(`{"allOf":[${times(30_000, (i) => `{"properties":{"p${i}":{}}}`)}]}`)}]`,
    ),
  ],
  [
    '24,000 alternatives',
    chatWith(`"tools":[${tool(`{"anyOf":[${times(24_000, (i) => `{"required":["p${i}"]}`)}]}`)}]`),
  ],
  [
    '95,000 values of an enum',
    chatWith(`"tools":[${tool(`{"properties":{"a":{"enum":[${times(95_000, String)}]}}}`)}]`),
  ],
  ['a tower of anyOf', chatWith(`"tools":[${tool(towers(28, '{"type":"object"}'))}]`)],
  [
    'references that double',
    chatWith(`"tools":[${tool(`{"$ref":"#/$defs/s0","$defs":{${references(60)},"s60":{}}}`)}]`),
  ],
  [
    '99,000 exact numbers in a schema',
    chatWith(
      `"tools":[${tool(`{"properties":{"a":{"enum":[${times(95_000, () => '1e400')}]}}}`)}]`,
    ),
  ],
  ['32 MiB of text', talk(`{"role":"user","content":"${'x '.repeat(largest / 2 - 50)}"}`)],
  ['32 MiB of escapes', talk(`{"role":"user","content":"${'\\n'.repeat(largest / 2 - 50)}"}`)],
  [
    'an image of 32 MiB',
    talk(
      `{"role":"user","content":[{"type":"image_url",
      "image_url":{"url":"data:image/png;base64,${'A'.repeat(largest - 300)}"}}]}`,
    ),
  ],
];

const relayed: readonly (readonly [string, string])[] = [
  ['499,000 numbers', chatWith(`"x":[${times(499_000, () => '0')}]`)],
  ['490,000 long numbers', chatWith(`"x":[${times(490_000, () => `1${'0'.repeat(60)}`)}]`)],
  ['240,000 objects', chatWith(`"x":[${times(240_000, () => '{"a":0}')}]`)],
  [
    '48 objects of 10,000 names',
    chatWith(`"x":[${times(48, () => `{${times(10_000, (i) => `"n${i}":0`)}}`)}]`),
  ],
  [
    '32 MiB of long names',
    chatWith(`"x":{${times(8_000, (i) => `"${String(i).padStart(4_000, 'n')}":0`)}}`),
  ],
  ['32 MiB of white space', chatWith(`"x":[0${' '.repeat(largest - 100)}]`)],
  ['32 MiB of escapes', talk(`{"role":"user","content":"${'\\n'.repeat(largest / 2 - 50)}"}`)],
  ['32 MiB of one number', chatWith(`"x":1${'0'.repeat(largest - 100)}`)],
  [
    '32 MiB of text of two bytes',
    talk(`{"role":"user","content":"${'é'.repeat(largest / 2 - 50)}"}`),
  ],
  ['490,000 parts of 60 bytes', chatWith(`"x":[${times(490_000, () => `"${'x'.repeat(60)}"`)}]`)],
  ['160,000 messages', talk(times(160_000, () => question))],
  [
    '8,000 names of maxlen… in extra_body',
    chatWith(`"max_tokens":1,"extra_body":{${longNames('maxlen')}}`),
  ],
  ['8,000 names of maxlen… beside the messages', chatWith(`"max_tokens":1,${longNames('maxlen')}`)],
  [
    '490,000 values below 60 levels of extra_body',
    chatWith(
      nested(60, '{"extra_body":', `{"x":[${times(490_000, () => '0')}]}`, '}').slice(1, -1),
    ),
  ],
  [
    '32 MiB of white space below 60 levels of extra_body',
    chatWith(
      nested(60, '{"extra_body":', `{"x":[${' '.repeat(largest - 2_000)}]}`, '}').slice(1, -1),
    ),
  ],
  [
    '1 MiB of white space below 4 levels of extra_body',
    chatWith(
      nested(4, '{"extra_body":', `{"x":[${' '.repeat(mebibyte - 100)}]}`, '}').slice(1, -1),
    ),
  ],
  [
    '260 names of maxlen… in extra_body',
    chatWith(`"max_tokens":1,"extra_body":{${longNames('maxlen', 260)}}`),
  ],
  [
    '160,000 parts of an unknown type',
    talk(`{"role":"user","content":[${times(160_000, () => '{"type":"thing","id":"a"}')}]}`),
  ],
  [
    '490,000 values in one part of an unknown type',
    talk(`{"role":"user","content":[{"type":"thing","x":[${times(490_000, () => '"a:b"')}]}]}`),
  ],
  ['8,000 lists of 55 levels in a part', part(times(8_000, () => nested(55, '[', '"a:b"', ']')))],
  [
    '4,000 objects of 50 levels in a part',
    part(times(4_000, () => nested(50, '{"image":', '"a:b"', '}'))),
  ],
  [
    'objects of 55 levels, 9,000 addresses at the bottom',
    part(nested(55, '{"type":"image","x":', `[${times(9_000, () => '"a://b"')}]`, '}')),
  ],
];

/** The bodies that were found by hand. */
export const worstBodies: readonly WorstBody[] = [
  ...translated.flatMap(([name, body]) =>
    (['gemini', 'anthropic'] as const).map((dialect) => ({
      name: `${name}, chat to ${dialect}`,
      dialect,
      protocol: 'chat' as const,
      body,
    })),
  ),
  ...relayed.map(([name, body]) => ({
    name: `${name}, relayed`,
    dialect: 'openai' as const,
    protocol: 'chat' as const,
    body,
  })),
];

/** Values that may be repeated in one place, as often as the bounds allow or far more. */
const units = ['0', '""', '{}', '[]', '{"type":"text","text":"a"}', '{"a":{"$ref":"#"}}', '1e400'];
const places: readonly (readonly [string, (list: string) => string])[] = [
  ['messages', talk],
  ['content', (list) => talk(`{"role":"user","content":[${list}]}`)],
  ['tools', (list) => chatWith(`"tools":[${list}]`)],
  ['tool_calls', (list) => talk(`${question},{"role":"assistant","tool_calls":[${list}]}`)],
  [
    'schema lists',
    (list) => chatWith(`"tools":[${tool(`{"allOf":[${list}],"required":[${list}]}`)}]`),
  ],
  [
    'an answer’s schema',
    (list) =>
      chatWith(
        `"response_format":{"type":"json_schema","json_schema":{"name":"n",
        "schema":{"type":"object","properties":{"a":{"oneOf":[${list}]}}}}}`,
      ),
  ],
  ['stop', (list) => chatWith(`"stop":[${list}]`)],
  ['an unknown member', (list) => chatWith(`"x":[${list}]`)],
];

/** Every unit in every place, for every dialect. */
export function searchedBodies(): readonly WorstBody[] {
  return places.flatMap(([place, bodyOf]) =>
    units.flatMap((unit) =>
      dialectNames.map((dialect) => {
        const values = (unit.match(/[:,[{]/g)?.length ?? 0) + 1;
        const count = Math.floor(99_000 / values / (place === 'schema lists' ? 2 : 1));
        const name = `${count} × ${unit} in ${place}, chat to ${dialect}`;
        return { name, dialect, protocol: 'chat' as const, body: bodyOf(times(count, () => unit)) };
      }),
    ),
  );
}
