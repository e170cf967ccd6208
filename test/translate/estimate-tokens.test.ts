// suite: quick
/** The estimate that replaces a token count. */
import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../src/canonical/estimate-tokens.ts';
import type {
  ContentRequest,
  MediaPart,
  OutputFormat,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../src/canonical/request.ts';
import type { JsonObject } from '../../src/json.ts';
import { plainRequest } from '../support/plain-request.ts';

describe('the estimated tokens of a request', () => {
  it('are 0.4 per byte, 8 per turn and 1,600 per image', () => {
    const request = requestWith({
      system: [text('12345678')],
      turns: [
        { role: 'user', parts: [text('ü23'), picture] },
        { role: 'assistant', parts: [call] },
      ],
    });

    expect(estimateTokens(request)).toBe(
      Math.ceil((8 + 4 + 'function a{}'.length) * 0.4) + 16 + 1_600,
    );
  });

  it('include the schema of the output, which providers bill as a part of the prompt', () => {
    const schema: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
    const format: OutputFormat = {
      type: 'json_schema',
      name: undefined,
      description: undefined,
      schema,
      strict: true,
    };
    const values = ['yes', 'no'];

    const ofSchema = Math.ceil(JSON.stringify(schema).length * 0.4);
    expect(estimateTokens(requestWith({ format }))).toBe(ofSchema);
    const ofValues = Math.ceil(JSON.stringify(values).length * 0.4);
    expect(estimateTokens(requestWith({ format: { type: 'enum', values } }))).toBe(ofValues);
  });

  it('include the tools as written, and the text and images of their results', () => {
    const plain = requestWith({
      turns: [{ role: 'user', parts: [result([text('x'.repeat(40))])] }],
    });
    const shown = requestWith({ turns: [{ role: 'user', parts: [result([picture])] }] });
    const declared = requestWith({
      tools: [
        {
          kind: 'function',
          name: 'go',
          description: 'd',
          parameters: { type: 'object' },
          strict: true,
          at: 'tools[0]',
        },
      ],
    });

    expect(estimateTokens(plain)).toBe(24);
    expect(estimateTokens(shown)).toBe(1_608);
    const written = '{"name":"go","description":"d","parameters":{"type":"object"}}';
    expect(estimateTokens(declared)).toBe(Math.ceil(written.length * 0.4));
  });

  it('are zero for an empty request', () => {
    expect(estimateTokens(requestWith({}))).toBe(0);
  });
});

const picture: MediaPart = {
  kind: 'media',
  at: 'p',
  mimeType: 'image/png',
  source: { type: 'base64', data: 'iVBORw0KGgo=' },
};

const call: ToolCallPart = {
  kind: 'tool_call',
  id: 'a',
  name: 'function a',
  arguments: '{}',
  at: 'c',
};

function text(words: string): TextPart {
  return { kind: 'text', text: words, at: 't' };
}

function result(content: ToolResultPart['content']): ToolResultPart {
  return { kind: 'tool_result', callId: 'a', name: 'go', content, isError: false, at: 'r' };
}

function requestWith(some: Partial<ContentRequest>): ContentRequest {
  return { ...plainRequest, ...some };
}
