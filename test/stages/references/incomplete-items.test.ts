// suite: slow
/**
 * Items of which a caller sends little more than the id. The provider that made them would complete
 * them from what it has stored, so that a relayed call needs to know whose they are; any other
 * provider reads them as they are.
 */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { model, replies } from '../../support/models.ts';
import {
  answer,
  errorIn,
  type ResponsesGateway,
  regional,
  replyFromUs,
  responsesGateway,
} from './responses-gateway.ts';

type Expected = 'left out' | 'refused' | 'a reference';

/** What becomes of each item where its provider is not asked. */
const itemTypes: Readonly<Record<string, Expected>> = {
  item_reference: 'a reference',
  reasoning: 'left out',
  web_search_call: 'left out',
  file_search_call: 'left out',
  code_interpreter_call: 'left out',
  image_generation_call: 'left out',
  mcp_list_tools: 'left out',
  mcp_call: 'left out',
  tool_search_call: 'left out',
  tool_search_output: 'left out',
  message: 'refused',
  function_call: 'refused',
  function_call_output: 'refused',
  custom_tool_call: 'refused',
  custom_tool_call_output: 'refused',
  compaction: 'refused',
  computer_call: 'refused',
  computer_call_output: 'refused',
  local_shell_call: 'refused',
  shell_call: 'refused',
  apply_patch_call: 'refused',
  mcp_approval_request: 'refused',
  program: 'refused',
  program_output: 'refused',
  some_new_type: 'refused',
};

const translated = { capabilities: { responses: false } };
const user = { role: 'user', content: 'hi' };

/** Items of a type with nothing but an id, and what providers send with it. */
function bareItems(type: string, id: string): readonly object[] {
  return [
    { type, id },
    { type, id, status: 'completed' },
    ...(type === 'message' ? [{ type, id, role: 'assistant' }] : []),
    ...(type === 'reasoning' ? [{ type, id, summary: [] }] : []),
    ...(type === 'file_search_call' ? [{ type, id, queries: ['a'], results: null }] : []),
    ...(type === 'image_generation_call' ? [{ type, id, result: null }] : []),
    ...(type === 'item_reference' ? [{ id }, { type: null, id }, { id, role: 'user' }] : []),
  ];
}

const cases = Object.entries(itemTypes).flatMap(([type, expected]) =>
  bareItems(type, 'x_1').map((item) => ({ item, type, expected })),
);

/** A gateway over chat completions, which has none of the items. */
function overChat(channels: readonly Partial<Channel>[]): ResponsesGateway {
  return responsesGateway({ channels, upstream: (call) => call.answer(200, replies.chat) });
}

describe('over another provider', () => {
  it.each(cases)('$item: $expected', async ({ item, expected }) => {
    const gateway = overChat([regional('eu', translated)]);

    const reply = await gateway.ask({ input: [user, item] });

    if (expected === 'left out') {
      expect(reply.status).toBe(200);
      expect(reply.headers['x-tollgate-dropped']).toMatch(/^input\[1\](?:\.\w+)?$/);
      expect(gateway.sent()[0]).not.toContain('x_1');
      return;
    }
    expect(gateway.sent()).toEqual([]);
    const isReference = expected === 'a reference';
    expect(reply.status).toBe(isReference ? 404 : 400);
    expect(errorIn(reply)).toMatchObject({
      param: isReference ? 'input' : expect.stringMatching(/^input\[1\]\.\w+$/),
    });
  });
});

describe('over a provider that may have stored it', () => {
  it.each(cases)('$item of nobody is not found', async ({ item }) => {
    const channels = [regional('eu'), regional('us', { ...translated, priority: 1 })];
    const gateway = responsesGateway({ channels });

    const reply = await gateway.ask({ input: [user, item] });

    expect([reply.status, gateway.sent()]).toEqual([404, []]);
  });
});

describe('after its model has moved to another provider', () => {
  it('reasoning of which only the id was sent is left out', async () => {
    const gateway = responsesGateway();
    await replyFromUs(gateway);
    gateway.replaceChannels([regional('us', { ...translated, dialect: 'anthropic' })]);

    const reply = gateway.ask({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }, user] });
    const upstream = await gateway.upstream.next().then(() => gateway.upstream.next());

    expect(Buffer.concat(upstream.request.body).toString()).not.toContain('rs_1');
    upstream.answer(400, {});
    await reply;
  });
});

describe('a fallback to a provider that may have stored it', () => {
  it.each(cases)('gets no $item that nobody has verified', async ({ item }) => {
    const gateway = responsesGateway({
      channels: [regional('eu', translated)],
      upstream: (call) =>
        call.request.path.endsWith('/chat/completions')
          ? call.answer(503, { error: { message: 'No.' } })
          : answer(call, '1'),
    });
    const first = model({
      id: 'm',
      protocols: ['responses'],
      contextTokens: 100_000,
      fallbacks: ['other'],
      channels: [regional('eu', { ...translated, rejectsBeforeWork: true })],
    });
    const other = { ...first, id: 'other', channels: [regional('us')], fallbacks: [] };
    gateway.gateway.update({ catalog: staticCatalog([first, other]) });

    const { status } = await gateway.ask({ input: [user, item] });

    expect(status).toBeGreaterThanOrEqual(400);
    expect(gateway.hosts()).not.toContain('us');
  });
});
