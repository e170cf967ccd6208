// suite: quick
/**
 * Whether an item of a Responses request is a reference depends on its values: null, empty and
 * blank values count as absent, because a provider might complete the item from what it has stored,
 * for whichever key. Items with content are no references, and need no look-up.
 */
import { describe, expect, it } from 'vitest';
import { errorIn, responsesGateway } from './responses-gateway.ts';

const absent = { nothing: true };
/** Values without content. */
const blanks: readonly unknown[] = [
  ...[absent, null, '', ' ', '\n\t', ' \u00a0\u2003', [], {}, [[]], [null, ''], { a: ' ' }],
];

/** What holds the content of each type of item, other members of it, and content. */
interface ItemType {
  readonly content: string;
  readonly labels: object;
  readonly real: readonly unknown[];
}

const text = [{ type: 'output_text', text: 'Hi.' }];
const types: Readonly<Record<string, ItemType>> = {
  message: {
    content: 'content',
    labels: { role: 'assistant', status: 'completed', phase: 'final_answer', metadata: { a: 'b' } },
    real: ['Hi.', text, [{ type: 'output_text', text: '' }], ' \u00a0x'],
  },
  reasoning: {
    content: 'content',
    labels: { summary: [], encrypted_content: null },
    real: ['Hm.', [{ type: 'reasoning_text', text: 'Hm.' }]],
  },
  image_generation_call: {
    content: 'result',
    labels: { status: 'completed', revised_prompt: 'A cat.' },
    real: ['iVBORw0KGgo='],
  },
  function_call_output: { content: 'output', labels: { status: 'completed' }, real: ['ok'] },
  local_shell_call: { content: 'action', labels: {}, real: [{ type: 'exec', command: ['ls'] }] },
  web_search_call: { content: 'action', labels: {}, real: [{ type: 'search', query: 'a' }] },
  code_interpreter_call: { content: 'code', labels: { outputs: null }, real: ['print(1)'] },
  custom_tool_call: { content: 'input', labels: {}, real: ['ls'] },
  some_new_type: { content: 'content', labels: {}, real: ['x', 7, false, [{ text: 'x' }]] },
};

function itemOf(type: string, id: string, value: unknown): object {
  const { content = '', labels } = types[type] ?? { labels: {} };
  return { type, id, ...labels, ...(value === absent ? {} : { [content]: value }) };
}

const user = { role: 'user', content: 'hi' };

describe.each(Object.keys(types))('an item of the type %s', (type) => {
  it('is a reference if its content is absent, null, empty or blank', async () => {
    for (const value of blanks) {
      const gateway = responsesGateway();

      const reply = await gateway.ask({ input: [user, itemOf(type, 'x_1', value)] });

      const what = JSON.stringify(itemOf(type, 'x_1', value));
      expect([reply.status, errorIn(reply).param], what).toEqual([404, 'input']);
      expect(gateway.sent()).toEqual([]);
    }
  });

  it('is none if it has content, and is sent as it is', async () => {
    for (const value of types[type]?.real ?? []) {
      const gateway = responsesGateway();
      const item = itemOf(type, 'x_1', value);

      const reply = await gateway.ask({ input: [user, item] });

      expect(reply.status, JSON.stringify(item)).toBe(200);
      expect(gateway.sent()[0]).toContain(JSON.stringify(item));
    }
  });
});

it('encrypted content that is blank is no content', async () => {
  for (const type of ['reasoning', 'compaction']) {
    for (const encrypted_content of [...blanks.filter((one) => one !== absent), 7, true]) {
      const gateway = responsesGateway();
      const item = { type, id: 'x_1', summary: [], encrypted_content };

      const reply = await gateway.ask({ input: [user, item] });

      expect(reply.status, JSON.stringify(item)).toBe(404);
      expect(gateway.sent()).toEqual([]);
    }
  }
});

it('reasoning whose text is blank is a reference', async () => {
  const content = [{ type: 'reasoning_text', text: ' ' }];
  const gateway = responsesGateway();

  const item = { type: 'reasoning', id: 'rs_9', summary: [], content, encrypted_content: null };

  expect((await gateway.ask({ input: [user, item] })).status).toBe(404);
});

it('messages without a type are judged alike', async () => {
  for (const content of blanks.filter((one) => one !== absent)) {
    const gateway = responsesGateway();

    const reply = await gateway.ask({ input: [{ id: 'msg_9', role: 'assistant', content }, user] });

    expect([reply.status, gateway.sent()], JSON.stringify(content)).toEqual([404, []]);
  }
});

it('an item of the key itself is completed by its provider, and held with its bound', async () => {
  const gateway = responsesGateway();
  const { text: reply } = await gateway.ask({});
  const [, id = ''] = /"id":\s*"(msg_\w+)"/.exec(reply) ?? [];
  const heldWith = async (content: unknown): Promise<bigint> => {
    await gateway.ask({ input: [{ type: 'message', id, role: 'assistant', content }, user] });
    return gateway.records.at(-1)?.heldNanos ?? 0n;
  };

  const [whole, blank] = [await heldWith('a'), await heldWith(' ')];

  expect(String(gateway.sent().at(-1))).toContain(`"id":"${id}"`);
  expect(blank).toBeGreaterThan(whole);
});
