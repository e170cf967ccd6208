/** A call through a gateway with one channel on Vertex AI, and what it sent there. */
import type { JsonValue } from '../../../src/json.ts';
import { vertex } from '../../../src/platforms/places.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { anyModelGateway } from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { type Sent, sentBy, token } from './sent-requests.ts';

export type Members = Readonly<Record<string, JsonValue>>;

type Call = Parameters<ReturnType<typeof anyModelGateway>['call']>[0];

export interface Setup {
  readonly kind?: 'google' | 'anthropic';
  readonly upstreamModel?: string;
  readonly model?: Partial<Model>;
  readonly reply?: string;
}

const replies = {
  google: '{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}',
  anthropic:
    '{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",' +
    '"usage":{"input_tokens":3,"output_tokens":1}}',
} as const;

export async function ask(
  call: Call,
  { kind = 'google', upstreamModel, model = {}, reply = replies[kind] }: Setup = {},
): Promise<{ readonly reply: CallerReply; readonly sent: readonly Sent[] }> {
  const upstream = scriptedUpstream({
    headers: { 'content-type': 'application/json' },
    chunks: [reply],
  });
  const place = vertex({ kind, project: 'p', location: 'us-central1' });
  const channel = { credential: token, ...place, ...(upstreamModel && { upstreamModel }) };
  const answer = await anyModelGateway({ upstream, channel, model }).call(call);
  return { reply: answer, sent: sentBy(upstream) };
}

export const text = (value: JsonValue | undefined): string => JSON.stringify(value ?? null);
