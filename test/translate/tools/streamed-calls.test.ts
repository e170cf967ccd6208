// suite: quick
/** The arguments of a chat upstream's call reach callers piece by piece, before the reply ends. */
import { expect, it } from 'vitest';
import type { ContentServerCodec } from '../../../src/dialects/codec.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import { openaiResponsesServer } from '../../../src/dialects/openai/responses/server/codec.ts';
import { dialects } from '../../../src/dialects/table.ts';
import { translateTap } from '../../../src/dialects/taps/translate-tap.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { chunk, exchange } from '../openai/client.ts';
import { countedHead } from '../responses/writer.ts';

const pieces = ['{"city"', ':"Os', 'lo"}'];

/** What the caller gets for each chunk of a call in these pieces, and for the end. */
function texts(codec: ContentServerCodec, request: JsonObject): readonly string[] {
  const caller = codec.begin(request, { streamed: true });
  const upstream = exchange();
  const tap = translateTap({
    upstream: dialects.openai,
    reader: upstream.readStream({ holdsCalls: caller.takesCallsTogether === true }),
    writer: caller.writeStream(countedHead()),
    readReply: upstream.readReply,
  });
  const head = { index: 0, id: 'call_1', function: { name: 'weather', arguments: '' } };
  const calls: readonly JsonValue[] = [
    head,
    ...pieces.map((text) => ({ index: 0, function: { arguments: text } })),
  ];
  const written = calls.map((call) => tap.write(framed(chunk({ tool_calls: [call] }))));
  const last = [tap.write(framed(chunk({}, 'tool_calls'))), tap.end()];
  return [...written, Buffer.concat(last)].map((bytes) => Buffer.from(bytes).toString());
}

function framed(document: JsonValue): Uint8Array {
  return Buffer.from(`data: ${JSON.stringify(document)}\n\n`);
}

it('a Responses caller gets each piece as it comes', () => {
  const [opening, ...later] = texts(openaiResponsesServer, { model: 'm', input: 'hi' });
  const last = later.pop();

  expect(opening).not.toContain('weather');
  for (const [at, piece] of pieces.entries()) {
    expect(later[at]).toContain(`"delta":${JSON.stringify(piece)}`);
  }
  expect(later[0]).toContain('response.output_item.added');
  expect(last).toContain('response.function_call_arguments.done');
  expect(last).not.toContain('.delta');
});

it('a native caller gets the whole call at the end', () => {
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const written = texts(geminiServer, { contents });

  expect(written.slice(0, -1).join('')).toBe('');
  expect(written.at(-1)).toContain('"args":{"city":"Oslo"}');
});
