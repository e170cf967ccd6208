// suite: slow
/** Replies as Google's SDK recorded them from Vertex AI, in front of other clients. */
import { describe, expect, it } from 'vitest';
import { vertex } from '../../../src/platforms/places.ts';
import {
  anyModelGateway,
  chat,
  native,
  responses,
  wholeChat,
  wholeResponse,
} from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { text } from './ask.ts';
import { sentBy, token } from './sent-requests.ts';

const google = vertex({ kind: 'google', project: 'p', location: 'us-central1' });

/** googleapis/js-genai (Apache-2.0), test/system/recordings: chats function calling, Vertex AI. */
const functionCall =
  '{"candidates":[{"avgLogprobs":-0.0008811576602359613,"content":{"parts":[{"functionCall":' +
  '{"args":{"denominator":2,"numerator":100},"name":"customDivide"}}],"role":"model"},' +
  '"finishReason":"STOP","score":-0.005286945961415768}],' +
  '"createTime":"2025-08-16T00:45:56.984555Z","modelVersion":"gemini-2.0-flash",' +
  '"responseId":"xNSfaOuLPMeSmecP8YP84Ao","usageMetadata":{"billablePromptUsage":' +
  '{"textCount":74},"candidatesTokenCount":6,"candidatesTokensDetails":[{"modality":"TEXT",' +
  '"tokenCount":6}],"promptTokenCount":21,"promptTokensDetails":[{"modality":"TEXT",' +
  '"tokenCount":21}],"totalTokenCount":27,"trafficType":"ON_DEMAND"}}';

/** The same, generateContentStream; its texts are shortened. */
const stream = [
  part('The sky is blue', { billablePromptUsage: { textCount: 16 }, trafficType: 'ON_DEMAND' }),
  part(' White Light:', { trafficType: 'ON_DEMAND' }),
  part(
    "'s Atmosphere",
    {
      candidatesTokenCount: 156,
      promptTokenCount: 6,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 6 }],
      thoughtsTokenCount: 41,
      totalTokenCount: 203,
      trafficType: 'ON_DEMAND',
    },
    { finishReason: 'MAX_TOKENS' },
  ),
]
  .map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`)
  .join('');

function part(text: string, usageMetadata: object, finish: object = {}): object {
  return {
    candidates: [{ content: { parts: [{ text }], role: 'model' }, ...finish }],
    createTime: '2025-10-24T07:45:43.133318Z',
    modelVersion: 'gemini-2.5-flash',
    responseId: 'py77aMaRCNWD2PgPnuuEyAE',
    usageMetadata,
  };
}

function gatewayOver(text: string, contentType: string) {
  const headers = { 'content-type': contentType };
  const upstream = scriptedUpstream({ headers, chunks: [text] });
  return anyModelGateway({ upstream, channel: { credential: token, ...google } });
}

describe('a recorded call of a function', () => {
  it('reaches a chat client, with nothing reported as left out', async () => {
    const gateway = gatewayOver(functionCall, 'application/json; charset=UTF-8');
    const reply = await gateway.call(chat(wholeChat));

    expect(JSON.parse(reply.text).choices[0].message.tool_calls[0].function).toEqual({
      name: 'customDivide',
      arguments: '{"denominator":2,"numerator":100}',
    });
    expect(reply.headers).not.toHaveProperty('x-tollgate-dropped');
    expect(gateway.records[0]?.usage).toMatchObject({ inputTokens: 21, outputTokens: 6 });
  });
});

describe('a recorded stream', () => {
  it('is passed on to Google’s clients byte for byte', async () => {
    const gateway = gatewayOver(stream, 'text/event-stream');
    const reply = await gateway.call(native('sse'));

    expect(reply.text).toBe(stream);
    expect(gateway.records[0]?.usage).toMatchObject({ inputTokens: 6, outputTokens: 197 });
  });

  it('reaches a chat client, although its first events have no counts', async () => {
    const gateway = gatewayOver(stream, 'text/event-stream');
    const reply = await gateway.call(chat());
    const deltas = [...reply.text.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text);

    expect(deltas.join('')).toBe("The sky is blue White Light:'s Atmosphere");
    expect(gateway.records[0]?.usage).toMatchObject({ inputTokens: 6, outputTokens: 197 });
  });
});

describe('the OpenAI-compatible endpoint', () => {
  const reply = JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  });

  it('gets Responses as chats, with the members that it knows', async () => {
    const json = { 'content-type': 'application/json' };
    const upstream = scriptedUpstream({ headers: json, chunks: [reply] });
    const place = vertex({ kind: 'openapi', project: 'p', location: 'us-central1' });
    const gateway = anyModelGateway({ upstream, channel: { credential: token, ...place } });
    const body = wholeResponse.replace('"input"', '"max_output_tokens":99,"input"');
    const answer = await gateway.call(responses(body));
    const [sent] = sentBy(upstream);

    expect(answer.status, answer.text).toBe(200);
    expect(sent?.url).toMatch(/\/endpoints\/openapi\/chat\/completions$/);
    expect(sent?.body).toMatchObject({ max_tokens: 99 });
  });
});

it.each([
  ['google', '{"functionCall":{"name":"f","args":{"a":12345678901234567890}}}'],
  ['anthropic', '"input":{"a":12345678901234567890}'],
] as const)('arguments with a name twice in a history reach %s', async (kind, expected) => {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'f', arguments: '{"a":1,"a":12345678901234567890}' },
  };
  const history = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
  ];
  const upstream = scriptedUpstream({
    headers: { 'content-type': 'application/json' },
    chunks: [kind === 'google' ? functionCall : message],
  });
  const place = vertex({ kind, project: 'p', location: 'us-central1' });
  const gateway = anyModelGateway({ upstream, channel: { credential: token, ...place } });
  const reply = await gateway.call(chat(text({ model: 'm', messages: history })));
  const sent = Buffer.concat(upstream.requests[0]?.body ?? []).toString();

  expect(reply.status, reply.text).toBe(200);
  expect(sent.replace(/,"thoughtSignature":"[^"]*"/, '')).toContain(expected);
});

const message =
  '{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",' +
  '"usage":{"input_tokens":3,"output_tokens":1}}';
