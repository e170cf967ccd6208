// suite: quick
/**
 * What a Responses request adds to its hold: media where a model reads media, references to what a
 * provider has stored, and everything else as text.
 */
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../../src/bytes/body/body.ts';
import { scanBody } from '../../../src/bytes/json/scan/body.ts';
import type { PromptSize } from '../../../src/call.ts';
import { withKnownContent } from '../../../src/dialects/measure/prompt-size.ts';
import { measureResponses } from '../../../src/dialects/openai/responses/prompt-size.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';

const base64 = 'iVBORw0KGgo'.padEnd(4_000, 'A');
const png = `data:image/png;base64,${base64}`;
const pdf = `data:application/pdf;base64,${base64}`;

function measured(body: JsonObject): PromptSize {
  return measureResponses(scanBody(wholeBody(Buffer.from(JSON.stringify(body)))));
}

function mediaOf(...input: readonly JsonValue[]): readonly object[] {
  return measured({ input }).media;
}

const user = (...content: readonly JsonValue[]): JsonObject => ({ role: 'user', content });
const output = (value: JsonValue): JsonObject => ({
  type: 'function_call_output',
  call_id: 'call_1',
  output: value,
});

describe.each<[what: string, part: JsonObject, kind: string, bytes: number]>([
  ['an image', { type: 'input_image', image_url: png }, 'image', base64.length],
  ['an image URL', { type: 'input_image', image_url: 'https://x.example/a.png' }, 'image', 0],
  ['a PDF', { type: 'input_file', file_data: pdf }, 'document', base64.length],
  ['a file URL', { type: 'input_file', file_url: 'https://x.example/a.pdf' }, 'reference', 0],
  [
    'audio',
    { type: 'input_audio', input_audio: { data: base64, format: 'mp3' } },
    'audio',
    base64.length,
  ],
])('%s', (_what, part, kind, bytes) => {
  const use = { kind, bytes };

  it('in a message counts as such', () => {
    expect(mediaOf(user({ type: 'input_text', text: 'See' }, part))).toEqual([
      { ...use, at: 'input[0].content[1]' },
    ]);
  });

  it('in the output of a tool counts as such', () => {
    expect(mediaOf(user('hi'), output([part]))).toEqual([{ ...use, at: 'input[1].output[0]' }]);
    const custom = { ...output([part]), type: 'custom_tool_call_output' };
    expect(mediaOf(custom)).toEqual([{ ...use, at: 'input[0].output[0]' }]);
  });

  it('in a part of another type, and anywhere else, counts as text too', () => {
    const length = JSON.stringify(part).length;
    for (const item of [
      user({ ...part, type: 'input_text' }),
      user([part]),
      { role: 'user', content: part },
      { role: 'user', content: 'hi', quotes: [part] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', planted: part },
      { type: 'new_item', planted: [part] },
    ]) {
      expect(measured({ input: [item] }).textBytes).toBeGreaterThan(length);
    }
  });
});

it('takes the payload out of the text', () => {
  const body = { input: [user({ type: 'input_image', image_url: png })] };

  expect(measured(body).textBytes).toBe(JSON.stringify(body).length - base64.length);
});

it('takes the type of a file from its name, and reads text in Base64 as text', () => {
  const file = { type: 'input_file', file_data: base64 };

  expect(mediaOf(user({ ...file, filename: 'a.pdf' }))).toEqual([
    { kind: 'document', bytes: base64.length, at: 'input[0].content[0]' },
  ]);
  const csv = { input: [user({ ...file, filename: 'a.csv' })] };
  expect(measured(csv).textBytes).toBe(JSON.stringify(csv).length);
});

it('counts a screenshot, an earlier generated image, and an image of a higher detail', () => {
  const screenshot = { type: 'computer_screenshot', image_url: png };
  expect(mediaOf({ type: 'computer_call_output', call_id: 'c', output: screenshot })).toEqual([
    { kind: 'image', bytes: base64.length, at: 'input[0].output' },
  ]);
  const generated = { type: 'image_generation_call', id: 'ig_1', status: 'completed' };
  expect(mediaOf({ ...generated, result: base64 })).toEqual([
    { kind: 'image', bytes: base64.length, at: 'input[0].result' },
  ]);
  expect(mediaOf(generated)).toEqual([{ kind: 'image', bytes: 0, at: 'input[0].id' }]);
  expect(mediaOf(user({ type: 'input_image', image_url: png, detail: 'original' }))).toEqual([
    { kind: 'image', bytes: base64.length, at: 'input[0].content[0]', raisedBy: 4 },
  ]);
});

it.each<[part: JsonObject]>([
  [{ type: 'input_image', file_id: 'file-1' }],
  [{ type: 'input_file', file_id: 'file-1' }],
  [{ type: 'input_file', file: { file_id: 'file-1' } }],
  [{ type: 'input_text', text: 'hi', file_id: 'file-1' }],
])('finds the file of the account in %j', (part) => {
  const reference = { kind: 'reference', bytes: 0, isFileId: true };

  expect(mediaOf(user(part))).toEqual([expect.objectContaining(reference)]);
  expect(mediaOf(output([part]))).toEqual([expect.objectContaining(reference)]);
});

describe('what a provider has stored', () => {
  const reference = (at: string): object => ({ kind: 'reference', bytes: 0, at });

  it.each<[item: JsonObject, at: string]>([
    [{ type: 'item_reference', id: 'msg_1' }, 'input[0].id'],
    [{ id: 'msg_1' }, 'input[0].id'],
    [{ type: null, id: 'msg_1' }, 'input[0].id'],
    [{ type: 'reasoning', id: 'rs_1', summary: [] }, 'input[0].id'],
    [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null }, 'input[0].id'],
    [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: '' }, 'input[0].id'],
    [{ type: 'compaction', id: 'cmp_1' }, 'input[0].id'],
    [{ type: 'file_search_call', id: 'fs_1', queries: ['a'], results: null }, 'input[0].id'],
    [{ type: 'message', id: 'msg_1', role: 'assistant', content: [] }, 'input[0].id'],
    [{ type: 'new_item', id: 'x_1' }, 'input[0]'],
  ])('counts as a reference: %j', (item, at) => {
    expect(mediaOf(item)).toEqual([reference(at)]);
  });

  it('includes an earlier response', () => {
    const body = { input: 'hi', previous_response_id: 'resp_1' };

    expect(measured(body).media).toEqual([reference('previous_response_id')]);
    expect(measured({ ...body, previous_response_id: null }).media).toEqual([]);
  });

  it('excludes items that were sent whole, and reasoning that the gateway made', () => {
    const whole = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
      { type: 'reasoning', id: 'rs_tg_1', summary: [] },
      { type: 'message', id: 'msg_1', role: 'assistant', content: 'Hi' },
      { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', id: 'fco_1', call_id: 'c', output: 'sunny' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
    ];

    expect(mediaOf(...whole)).toEqual([]);
  });

  it('costs what is known of it', () => {
    const sealed = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: base64 };
    const prompt = measured({
      input: [sealed, { type: 'item_reference', id: 'msg_1' }],
      previous_response_id: 'resp_1',
    });

    const known = withKnownContent(prompt, {
      sealedBytes: base64.length,
      tokens: new Map([['input[1].id', 70]]),
    });

    expect(known.sealedBytes).toBe(base64.length);
    expect(known.textBytes).toBe(prompt.textBytes - base64.length);
    expect(known.media).toEqual([
      { ...reference('input[1].id'), tokens: 70 },
      reference('previous_response_id'),
    ]);
  });
});

it('counts the items of the input', () => {
  expect(measured({ input: 'hi' }).messages).toBe(1);
  expect(measured({ input: [user('a'), user('b')] }).messages).toBe(2);
  expect(measured({ instructions: 'Say hi.' }).messages).toBe(0);
});

it.each<[items: readonly JsonValue[]]>([
  [[user({ type: 'input_text', text: 'https://x.example/a.pdf' })]],
  [[{ role: 'assistant', content: [{ type: 'refusal', refusal: 'https://x.example/a.pdf' }] }]],
  [[{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{"file_id":"a"}' }]],
  [[output('https://x.example/a.pdf')]],
  [
    [
      {
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: 'See',
            annotations: [
              { type: 'url_citation', url: 'https://x.example/a.pdf', title: 'T' },
              { type: 'container_file_citation', container_id: 'c', file_id: 'cfile_1' },
            ],
          },
        ],
      },
    ],
  ],
  [[{ type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'f' }] }]],
])('text stays text: %j', (items) => {
  expect(mediaOf(...items)).toEqual([]);
});
