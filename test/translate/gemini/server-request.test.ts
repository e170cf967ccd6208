// suite: quick
/** How native conversations are read into the common form, in every spelling and part by part. */
import { describe, expect, it } from 'vitest';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../../src/json.ts';
import { serverCodecs } from '../../support/codecs.ts';
import { fixture, fixtures } from '../../support/recorded/fixtures.ts';

const contents = [{ role: 'user', parts: [{ text: 'Hello!' }] }];

describe('a recorded request', () => {
  const recorded = fixtures('gemini').filter(({ request }) => request !== undefined);

  it.each(recorded.map(({ name }) => name))('%s is read', (name) => {
    const request = readRecorded(name);

    expect(request.turns.length).toBeGreaterThan(0);
    expect(request.turns.every(({ parts }) => parts.length > 0)).toBe(true);
  });

  it('keeps ids, signatures and the order of its parts', () => {
    const { turns } = readRecorded('json-schema-plus-tools.2');

    const [, call, result] = turns;
    expect(call?.parts).toMatchObject([
      {
        kind: 'tool_call',
        id: 'w71i0cbt',
        providerData: { provider: 'gemini', kind: 'signature' },
      },
    ]);
    expect(result).toMatchObject({
      role: 'user',
      parts: [{ kind: 'tool_result', callId: 'w71i0cbt', name: 'get_user_country' }],
    });
  });

  it('makes functions strict in mode VALIDATED', () => {
    const { tools, toolChoice } = readRecorded('mode-validated.1');

    expect(tools).toMatchObject([{ kind: 'function', name: 'register', strict: true }]);
    expect(toolChoice).toEqual({ mode: 'auto', names: [] });
  });

  it('has images inside a result, in snake_case', () => {
    const { turns } = readRecorded('tool-return-image-gemini3.4');

    const media = turns
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part.kind === 'tool_result' ? part.content : []))
      .filter(({ kind }) => kind === 'media');
    expect(media).toMatchObject([{ mimeType: 'image/jpeg', source: { type: 'base64' } }]);
  });

  it('reports members that only Vertex supports', () => {
    const { providerMembers: own } = readRecorded('model-armor-prompt-block.1');

    expect(own).toMatchObject([{ name: 'modelArmorConfig', vital: false }]);
  });
});

describe('spelling', () => {
  it('may be mixed', () => {
    const request = read({
      contents,
      generation_config: { topK: 3, max_output_tokens: 5 },
      generationConfig: null,
    });

    expect(request).toMatchObject({ topK: 3, maxOutputTokens: 5 });
  });

  it('of countTokens may wrap the whole request', () => {
    const request = read({ generateContentRequest: { model: 'models/m', contents } });

    expect(request.turns).toEqual(read({ contents }).turns);
  });
});

describe('the conversation', () => {
  it('splits a content whose parts belong to both sides, in order', () => {
    const call = { functionCall: { name: 'f', args: null } };
    const result = { functionResponse: { name: 'f', response: { result: 'ok' } } };

    const { turns } = read({
      contents: [
        { role: 'model', parts: [{ text: 'a' }, call, result, { text: 'b' }] },
        { role: 'user', parts: [{ text: 'c' }, { text: 'hm', thought: true }, call] },
      ],
    });

    expect(turns.map(({ role, parts }) => [role, parts.map(({ kind }) => kind)])).toEqual([
      ['assistant', ['text', 'tool_call']],
      ['user', ['tool_result']],
      ['assistant', ['text']],
      ['user', ['text']],
      ['assistant', ['reasoning', 'tool_call']],
    ]);
  });

  it('has code and its result as fenced text', () => {
    const { turns } = read({
      contents: [
        {
          role: 'model',
          parts: [
            { executableCode: { language: 'PYTHON', code: 'print("```")' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '```\n' } },
            { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'no' } },
          ],
        },
      ],
    });

    expect(turns[0]?.parts.map((part) => part.kind === 'text' && part.text)).toEqual([
      '\n````python\nprint("```")\n````\n',
      '\n````\n```\n````\n',
      '\n```failed\nno\n```\n',
    ]);
  });

  it('drops and reports parts that only Google understands', () => {
    const { turns, dropped } = read({
      contents: [
        {
          role: 'model',
          parts: [
            { toolCall: { id: '1' }, thoughtSignature: 'c2ln' },
            { toolResponse: { id: '1' } },
            { fromTheFuture: 1 },
            {},
            { text: 'a', videoMetadata: { fps: 1 } },
          ],
        },
      ],
      unknown_field: 1,
      generationConfig: { novelty: 2, logprobs: 3 },
    });

    expect(turns).toMatchObject([{ parts: [{ text: 'a' }] }]);
    expect(dropped).toEqual([
      'contents[0].parts[0].toolCall',
      'contents[0].parts[1].toolResponse',
      'contents[0].parts[2].fromTheFuture',
      'contents[0].parts[3]',
      'contents[0].parts[4].videoMetadata',
      'generationConfig.novelty',
      'generationConfig.logprobs',
      'unknown_field',
    ]);
  });
});

it('a count of tokens is Google’s', () => {
  expect(JSON.parse(serverCodecs.native.countTokens?.write(7) ?? '')).toEqual({ totalTokens: 7 });
});

function read(body: JsonObject): ContentRequest {
  return geminiServer.begin(body, { streamed: false }).request;
}

function readRecorded(name: string): ContentRequest {
  const { request } = fixture(name.startsWith('gemini/') ? name : `gemini/${name}`);
  const body = parseJson(Buffer.from(request ?? []).toString('utf8'));
  if (!isJsonObject(body)) throw new Error(`The fixture "${name}" has no request.`);
  return read(body);
}
