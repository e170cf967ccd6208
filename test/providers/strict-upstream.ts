/**
 * The fake upstream of `tollgate/testing` as our own tests use it: it also refuses what the real
 * providers refuse, so that a test notices a request that only a fake would accept.
 */
import type { RecordedCall } from '../../src/testing/providers/exchange.ts';
import type { Script } from '../../src/testing/providers/scripts.ts';
import {
  type FakeUpstream,
  type FakeUpstreamOptions,
  startFakeUpstream,
} from '../../src/testing/providers/server.ts';
import { refusedByAnthropic } from './anthropic-rules.ts';
import { bigImages } from './big-images.ts';
import { refusedByGoogleEmbeddings, refusedEmbeddings, refusedImages } from './field-rules.ts';
import { refusedByGoogle } from './gemini-rules.ts';
import { refusedByChat } from './openai-rules.ts';
import { refusedByResponses } from './responses-rules.ts';

/** Starts a fake upstream with the rules of the real providers, and with images of any size. */
export function startStrictUpstream(options: FakeUpstreamOptions = {}): Promise<FakeUpstream> {
  return startFakeUpstream({ ...options, respond });
}

/** The rules by path, without the query; Google's read the path themselves. */
const rules: Readonly<Record<string, (call: RecordedCall) => Script | undefined>> = {
  '/v1/chat/completions': refusedByChat,
  '/v1/responses': refusedByResponses,
  '/v1/responses/compact': refusedByResponses,
  '/v1/messages': refusedByAnthropic,
  '/v1/messages/count_tokens': refusedByAnthropic,
  '/v1/images/generations': refusedImages,
  '/v1/embeddings': refusedEmbeddings,
};

function respond(call: RecordedCall): Script | undefined {
  if (call.method !== 'POST') return undefined;
  const [sent = ''] = call.path.split('?', 1);
  const path = sent.replace(/^\/(?:anthropic|openai(?:\/deployments\/[^/]+)?)(?:\/v1)?\//, '/v1/');
  const refusal = rules[path]?.(call) ?? refusedByGoogle(call) ?? refusedByGoogleEmbeddings(call);
  return refusal ?? bigImages(call);
}
