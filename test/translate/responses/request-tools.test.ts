// suite: quick
/** The tools of a Responses request, and the names under which models and callers know them. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { readBody, refusalOf, requestWith, upstreams, writtenFor } from './read.ts';

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const f: JsonObject = { type: 'function', name: 'f', description: 'F', parameters: schema };
const patch: JsonObject = {
  type: 'custom',
  name: 'patch',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
};
const namespace = (name: string, ...tools: readonly JsonObject[]): JsonObject => ({
  type: 'namespace',
  name,
  description: `About ${name}.`,
  tools,
});
const child = (name: string): JsonObject => ({ type: 'function', name, description: 'Child.' });
const webSearch: JsonObject = { type: 'web_search', external_web_access: false };

const toolsOf = (tools: readonly JsonObject[], members: JsonObject = {}) =>
  requestWith({ tools, ...members });
const namesIn = (tools: readonly JsonObject[], members: JsonObject = {}) =>
  toolsOf(tools, members).tools.map(({ name }) => name);

describe('functions', () => {
  it('are offered at once, also if a search would have had to load them', () => {
    expect(toolsOf([{ ...f, defer_loading: true }])).toMatchObject({
      tools: [{ name: 'f' }],
      dropped: ['tools[0].defer_loading'],
    });
  });

  it('may be called by code of the provider only if the model may call them too', () => {
    const callers = (...allowed: readonly string[]) =>
      toolsOf([{ ...f, allowed_callers: allowed, output_schema: schema }]);

    expect(callers('direct').dropped).toEqual([]);
    expect(callers('direct', 'programmatic').dropped).toEqual(['tools[0].allowed_callers']);
    expect(refusalOf(() => callers('programmatic'))).toMatchObject({
      code: 'not_portable',
      param: 'tools[0].allowed_callers',
    });
  });
});

describe('custom tools', () => {
  it('are functions with one argument', () => {
    expect(toolsOf([patch]).tools).toMatchObject([
      {
        kind: 'function',
        name: 'patch',
        parameters: { properties: { input: { type: 'string' } }, required: ['input'] },
        custom: { format: patch.format, formatAt: 'tools[0].format' },
      },
    ]);
  });
});

describe('namespaces', () => {
  it('become functions with both names, the first with the description of the namespace', () => {
    const { tools, dropped } = toolsOf([namespace('clock', child('sleep'), patch), f]);

    expect(tools).toMatchObject([
      {
        name: 'clock__sleep',
        description: 'About clock.\n\nChild.',
        at: 'tools[0].tools[0]',
      },
      { name: 'clock__patch', description: undefined, custom: {}, at: 'tools[0].tools[1]' },
      { name: 'f' },
    ]);
    expect(dropped).toEqual([]);
  });

  it('the caller gets back the pair', () => {
    const { context } = readBody({
      tools: [namespace('clock', child('sleep'), patch), f],
      input: 'Hi',
    });

    expect(context.tools.find('clock__sleep')).toEqual({
      namespace: 'clock',
      name: 'sleep',
      kind: 'function',
    });
    expect(context.tools.find('clock__patch')).toMatchObject({ name: 'patch', kind: 'custom' });
    expect(context.tools.find('f')).toEqual({ namespace: undefined, name: 'f', kind: 'function' });
    expect(context.tools.find('unknown')).toBeUndefined();
  });

  it('a name without its namespace is understood if only one tool has it', () => {
    const { context } = readBody({
      tools: [namespace('a', child('x'), child('y')), namespace('b', child('y'))],
      input: 'Hi',
    });

    expect(context.tools.find('x')).toMatchObject({ namespace: 'a', name: 'x' });
    expect(context.tools.find('y')).toBeUndefined();
  });

  it.each<[string, readonly JsonObject[]]>([
    [
      'halves that split differently',
      [namespace('a__b', child('c')), namespace('a', child('b__c'))],
    ],
    ['a function of that name', [namespace('a', child('b')), child('a__b')]],
    [
      'three of them',
      [namespace('a__b', child('c')), namespace('a', child('b__c')), child('a__b__c')],
    ],
    ['empty halves', [namespace('_', child('a')), namespace('__', child('a')), child('___a')]],
  ])('names never collide: %s', (_, tools) => {
    const { request, context } = readBody({ tools, input: 'Hi' });
    const names = request.tools.map(({ name }) => name);
    const pairs = names.map((name) => context.tools.find(name));

    expect(new Set(names).size).toBe(tools.length);
    expect(new Set(pairs.map((pair) => `${pair?.namespace} ${pair?.name}`)).size).toBe(
      tools.length,
    );
    expect(pairs).not.toContain(undefined);
    for (const { name } of tools.filter(({ type }) => type === 'function')) {
      expect(names).toContain(name);
    }
  });

  it('every name comes back from every upstream, however long or odd', () => {
    const odd = ['a.b', 'x'.repeat(80), 'ä', '1', 'plain'];
    const tools = odd.map((name) => namespace(name, ...odd.map(child)));
    const { request, context } = readBody({ tools, input: 'Hi' });

    expect(new Set(request.tools.map(({ name }) => name)).size).toBe(odd.length ** 2);
    const found = request.tools.map(({ name }) => context.tools.find(name));
    expect(found.map((one) => [one?.namespace, one?.name])).toEqual(
      odd.flatMap((outer) => odd.map((inner) => [outer, inner])),
    );
    for (const upstream of upstreams) expect(writtenFor(upstream, request).dropped).toEqual([]);
  });
});

describe('names in the history and in the tool choice', () => {
  const call = (members: JsonObject): JsonObject => ({
    type: 'function_call',
    call_id: 'c',
    arguments: '{}',
    ...members,
  });
  const output: JsonObject = { type: 'function_call_output', call_id: 'c', output: '' };
  const calledName = (members: JsonObject, tools: readonly JsonObject[]): string | undefined => {
    const { turns } = requestWith({ tools, input: [call(members), output] });
    const part = turns[0]?.parts[0];
    return part?.kind === 'tool_call' ? part.name : undefined;
  };

  it('are those of the declarations', () => {
    const tools = [namespace('a__b', child('c')), namespace('a', child('b__c')), f];
    const [first = '', second = ''] = namesIn(tools);

    expect(calledName({ namespace: 'a__b', name: 'c' }, tools)).toBe(first);
    expect(calledName({ namespace: 'a', name: 'b__c' }, tools)).toBe(second);
    expect(calledName({ name: 'c' }, tools)).toBe(first);
    expect(calledName({ name: 'f' }, tools)).toBe('f');
    // OpenAI's tool search gives a function the namespace of its own name.
    expect(calledName({ namespace: 'f', name: 'f' }, tools)).toBe('f');
  });

  it('a tool that is no longer declared keeps its pair', () => {
    const { request, context } = readBody({
      input: [
        call({ namespace: 'gone', name: 'x' }),
        output,
        { type: 'custom_tool_call', call_id: 'd', name: 'old', input: '' },
        { type: 'custom_tool_call_output', call_id: 'd', output: '' },
      ],
    });

    expect(request.turns[0]?.parts).toMatchObject([{ name: 'gone__x' }]);
    expect(context.tools.find('gone__x')).toMatchObject({ namespace: 'gone', name: 'x' });
    expect(context.tools.find('old')).toMatchObject({ kind: 'custom' });
  });

  it.each<[JsonObject | string, object]>([
    ['none', { mode: 'none', names: [] }],
    ['required', { mode: 'required', names: [] }],
    [
      { type: 'function', name: 'f' },
      { mode: 'required', names: ['f'] },
    ],
    [
      { type: 'custom', name: 'patch' },
      { mode: 'required', names: ['patch'] },
    ],
    [
      { type: 'function', name: 'sleep' },
      { mode: 'required', names: ['clock__sleep'] },
    ],
    [
      { type: 'function', name: 'sleep', namespace: 'clock' },
      { mode: 'required', names: ['clock__sleep'] },
    ],
    [
      {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [
          { type: 'function', name: 'f' },
          { type: 'custom', name: 'patch' },
        ],
      },
      { mode: 'auto', names: ['f', 'patch'] },
    ],
  ])('the choice %j', (choice, expected) => {
    const tools = [f, patch, namespace('clock', child('sleep'))];

    expect(toolsOf(tools, { tool_choice: choice })).toMatchObject({
      toolChoice: expected,
      dropped: [],
    });
  });

  it('allowed tools that only the provider runs are left out, unless all of them are', () => {
    const allowed = (...tools: readonly JsonObject[]) =>
      toolsOf([f], { tool_choice: { type: 'allowed_tools', mode: 'required', tools } });

    expect(
      allowed({ type: 'mcp', server_label: 's' }, { type: 'function', name: 'f' }),
    ).toMatchObject({
      toolChoice: { mode: 'required', names: ['f'] },
      dropped: ['tool_choice.tools[0]'],
    });
    expect(refusalOf(() => allowed({ type: 'mcp', server_label: 's' }))).toMatchObject({
      code: 'not_portable',
      param: 'tool_choice.tools',
    });
  });

  it.each<JsonObject>([
    { type: 'web_search' },
    { type: 'file_search' },
    { type: 'mcp', server_label: 's', name: 'x' },
  ])('the choice %j is refused', (choice) => {
    expect(refusalOf(() => toolsOf([f, webSearch], { tool_choice: choice }))).toMatchObject({
      code: 'not_portable',
      param: 'tool_choice',
    });
  });
});

describe('tools among the items', () => {
  const user: JsonObject = { role: 'user', content: 'Hi' };
  const added = (...tools: readonly JsonObject[]): JsonObject => ({
    type: 'additional_tools',
    role: 'developer',
    tools,
  });
  const found = (...tools: readonly JsonObject[]): JsonObject => ({
    type: 'tool_search_output',
    call_id: 's',
    execution: 'client',
    tools,
  });

  it('are offered after those of the body', () => {
    const { tools, turns, dropped } = requestWith({
      tools: [f],
      input: [added(namespace('clock', child('sleep'))), user, added(patch)],
    });

    expect(tools).toMatchObject([
      { name: 'f', at: 'tools[0]' },
      { name: 'clock__sleep', at: 'input[0].tools[0].tools[0]' },
      { name: 'patch', at: 'input[2].tools[0]' },
    ]);
    expect(turns).toHaveLength(1);
    expect(dropped).toEqual([]);
  });

  it('include what a tool search found, which is no longer deferred', () => {
    const { tools, dropped } = requestWith({
      tools: [{ type: 'tool_search', execution: 'client' }],
      input: [user, { type: 'tool_search_call' }, found({ ...f, defer_loading: true })],
    });

    expect(tools).toMatchObject([{ name: 'f', at: 'input[2].tools[0]' }]);
    expect(dropped.toSorted()).toEqual(['input[1]', 'input[2]', 'tools[0]']);
  });

  it('replace earlier ones of the same name, and another definition is listed', () => {
    const repeated = requestWith({ tools: [f], input: [user, added(f)] });
    expect(repeated).toMatchObject({ tools: [{ at: 'input[1].tools[0]' }], dropped: [] });

    const changed = requestWith({ tools: [f], input: [user, added({ ...f, description: 'G' })] });
    expect(changed).toMatchObject({ tools: [{ description: 'G' }], dropped: ['tools[0]'] });
  });
});

describe('tools that the provider runs', () => {
  it.each<[readonly JsonObject[], string]>([
    [[webSearch], 'tools[0].type'],
    [[f, { type: 'file_search', vector_store_ids: ['v'] }], 'tools[1].type'],
    [[f, { type: 'code_interpreter', container: { type: 'auto' } }], 'tools[1].type'],
    [[f, { type: 'mcp', server_label: 's' }], 'tools[1].type'],
    [[f, { type: 'image_generation' }], 'tools[1].type'],
    [[f, { type: 'computer' }], 'tools[1].type'],
    [[f, { type: 'local_shell' }], 'tools[1].type'],
    [[f, { type: 'shell' }], 'tools[1].type'],
    [[f, { type: 'apply_patch' }], 'tools[1].type'],
    [[f, { type: 'programmatic_tool_calling' }], 'tools[1].type'],
    [[f, { type: 'tool_of_next_year' }], 'tools[1].type'],
    [[namespace('n', { type: 'file_search' })], 'tools[0].tools[0].type'],
    [[{ type: 'tool_search' }, { ...f, defer_loading: true }], 'tools[0].type'],
  ])('%j is refused for every upstream, or left out if its channel says so', (tools, param) => {
    for (const upstream of upstreams) {
      const request = toolsOf(tools);

      expect(refusalOf(() => writtenFor(upstream, request))).toMatchObject({
        code: 'not_portable',
        param,
      });
      const lenient = { ...upstream, own: { dropBuiltInTools: true } };
      expect(writtenFor(lenient, request).dropped).toContain(param.replace('.type', ''));
    }
  });

  it('a search for tools is left out if nothing is deferred, or the client runs it', () => {
    expect(toolsOf([f, { type: 'tool_search' }])).toMatchObject({
      tools: [{ name: 'f' }],
      dropped: ['tools[1]'],
    });
    expect(
      toolsOf([
        { ...f, defer_loading: true },
        { type: 'tool_search', execution: 'client' },
      ]).dropped,
    ).toEqual(['tools[0].defer_loading', 'tools[1]']);
  });
});
