/** Builds whole replies of each dialect from given content. */
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { drawn } from '../../support/seeds.ts';
import type { OutputPart } from './oracle.ts';
import type { Json } from './tree.ts';

/** A reply of the dialect with these pieces, each as a separate part. */
export function replyOf(dialect: DialectName, output: readonly OutputPart[]): Json {
  return makers[dialect](output);
}

const makers: Readonly<Record<DialectName, (output: readonly OutputPart[]) => Json>> = {
  openai: (output) => {
    const reported = (kind: OutputPart['kind']): string =>
      output.map((piece) => (piece.kind === kind && 'text' in piece ? piece.text : '')).join('');
    const calls = output.flatMap((piece, at) =>
      piece.kind === 'call'
        ? [{ id: `call_${at}`, type: 'function', function: calledOf(piece) }]
        : [],
    );
    const message = {
      role: 'assistant',
      content: reported('text'),
      reasoning_content: reported('thought'),
    };
    return {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4.1',
      choices: [{ index: 0, message: { ...message, tool_calls: calls }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
    };
  },
  gemini: (output) => ({
    responseId: 'r1',
    modelVersion: 'gemini-3-pro',
    candidates: [
      { index: 0, content: { role: 'model', parts: output.map(geminiPart) }, finishReason: 'STOP' },
    ],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
  }),
  anthropic: (output) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: output.map(anthropicBlock),
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 7, output_tokens: 5 },
  }),
};

function calledOf({ name, args }: Extract<OutputPart, { kind: 'call' }>): Json {
  return { name, arguments: JSON.stringify(args) };
}

function geminiPart(piece: OutputPart): Json {
  switch (piece.kind) {
    case 'call':
      return { functionCall: { name: piece.name, args: piece.args } };
    case 'media':
      return { inlineData: { mimeType: 'image/png', data: piece.data } };
    case 'thought':
      return { text: piece.text, thought: true };
    case 'text':
      return { text: piece.text };
  }
}

function anthropicBlock(piece: OutputPart, at: number): Json {
  switch (piece.kind) {
    case 'call':
      return { type: 'tool_use', id: `toolu_${at}`, name: piece.name, input: piece.args };
    case 'thought':
      return { type: 'thinking', thinking: piece.text, signature: '' };
    case 'text':
      return { type: 'text', text: piece.text };
    case 'media':
      return { type: 'image', source: { type: 'base64', data: piece.data } };
  }
}

/** Text that is damaged by code that trims, joins, splits lines or counts units wrongly. */
const awkward: readonly string[] = [
  '\n',
  '  ',
  '\t \r\n',
  'a\u2028b\u2029c',
  '😀',
  '\ud83d',
  '\ude00',
  '\u0000\u001f\u007f',
  '\ufeffbom',
  'data: [DONE]\n\n',
  '\r\n\r\ndata: {"error":{}}',
  '"\\"</script>',
  'é'.normalize('NFD'),
  'trailing ',
  '[',
  '{"choices":[]}',
];

const kinds = ['text', 'text', 'text', 'thought', 'call'] as const;

/** A list of awkward pieces, the same for the same seed. */
export function awkwardPieces(seed: number): readonly OutputPart[] {
  const draw = drawn(seed);
  return Array.from({ length: 2 + draw(9) }, (): OutputPart => {
    const kind = kinds[draw(kinds.length)] ?? 'text';
    const text = awkward[draw(awkward.length)] ?? '';
    if (kind !== 'call') return { kind, text };
    return { kind, name: 'get_weather', args: { text, [`k${text.length}`]: [1, null, { text }] } };
  });
}
