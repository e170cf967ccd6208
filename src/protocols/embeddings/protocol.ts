/** `POST /v1/embeddings`: OpenAI's embeddings. */

import { apiCalls } from '../../apis.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import type { Call } from '../../call.ts';
import { type EmbeddingFormat, embeddingRepair } from '../../dialects/openai/embedding-repair.ts';
import { openaiInBandFailure } from '../../dialects/openai/errors.ts';
import { embeddingTap } from '../../dialects/taps/embedding-tap.ts';
import { openaiEmbeddingUsage } from '../../dialects/usage/embedding-usage.ts';
import { GatewayError } from '../../errors.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import type { Channel } from '../../ports/catalog.ts';
import { openaiCaller } from '../callers/openai.ts';
import { fieldOf } from '../fields.ts';
import type { Protocol, RelayRules } from '../protocol.ts';
import { countRemark, modelEdit } from '../rules.ts';
import { readEmbeddings } from './read.ts';

const readUsage = (reply: JsonValue): Usage | undefined =>
  openaiEmbeddingUsage(member(reply, 'usage'));

const embeddingsRelay: RelayRules = {
  edits: (call, upstreamModel, { capabilities }) => {
    checkTokens(call, capabilities);
    return [...modelEdit(call, upstreamModel), ...formatEdits(call, capabilities)];
  },
  repair: (call, { capabilities }) => {
    const isKnown = formatEdits(call, capabilities).length > 0;
    const repair = embeddingRepair(requestedFormat(call), isKnown);
    return isKnown ? { ...repair, hasRepaired: () => false } : repair;
  },
  tap: (call) =>
    embeddingTap({
      usageMembers: ['usage'],
      vectorsMember: 'data',
      readUsage,
      inBandFailure: openaiInBandFailure,
      remarkOn: (vectors) => countRemark(vectors, call),
    }),
  invalidReplyReason: (reply) =>
    Array.isArray(member(reply, 'data')) ? undefined : 'upstream_protocol_error',
  readUsage,
  remarks: (reply, call, usage) => ({
    reason: countRemark(items(member(reply, 'data')).length, call),
    notes: usage === undefined ? { 'x-tollgate-estimated': 'usage' } : {},
  }),
};

/** Without the member, the API answers numbers. */
function requestedFormat({ tape }: Call): EmbeddingFormat {
  return fieldOf(tape, 'encoding_format') === 'base64' ? 'base64' : 'float';
}

/** Asks for the only encoding that the upstream accepts. The reply is repaired. */
function formatEdits(call: Call, capabilities: Channel['capabilities']): readonly MemberEdit[] {
  const { embeddingBase64 = true, embeddingFloat = true } = capabilities ?? {};
  const requested = requestedFormat(call);
  const accepted = { float: embeddingFloat, base64: embeddingBase64 };
  if (accepted[requested]) return [];
  return [{ name: 'encoding_format', value: requested === 'float' ? '"base64"' : '"float"' }];
}

function checkTokens({ demand }: Call, capabilities: Channel['capabilities']): void {
  if (capabilities?.embeddingTokens !== false) return;
  if (demand.prompt.inputs?.some(({ tokens }) => tokens > 0) !== true) return;
  throw new GatewayError(
    'not_portable',
    'This model takes texts only. Send `input` as text, not as token ids.',
    { param: 'input' },
  );
}

export const embeddings: Protocol = {
  name: 'embeddings',
  caller: openaiCaller,
  dialect: 'openai',
  relayCapability: undefined,
  ...apiCalls.embeddings,
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  repeatableAs: 'embeddings',
  // The API has no member for several answers.
  outputLimits: [],
  candidates: { member: 'n', maximum: 1 },
  read: readEmbeddings,
  relay: embeddingsRelay,
  codecs: async () => ({
    embeddings: (await import('../../dialects/openai/embedding-server.ts')).openaiEmbeddingServer,
  }),
  imageCounter: undefined,
  keepAlive: () => undefined,
};
