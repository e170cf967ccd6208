/** OpenAI's wire format as its SDKs speak it to us: relayed to OpenAI-shaped upstreams. */
import { findMember } from '../../bytes/members.ts';
import type { MemberEdit } from '../../bytes/splice.ts';
import type { Call } from '../../call.ts';
import { quoted } from '../../canonical/raw-json.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { CallerDialect } from '../dialect.ts';
import { documentTap } from '../document-tap.ts';
import { editInside } from '../edit-inside.ts';
import { openaiImageCounter } from './count-images.ts';
import { isOpenaiReply, openaiErrorText, openaiInBandFailure } from './errors.ts';
import { readImageRequest } from './image-request.ts';
import { openaiServer } from './server/codec.ts';
import { openaiStreamTap } from './stream-tap.ts';
import { openaiFigures, openaiUsage } from './usage.ts';

/** The row of `table.ts`. */
export const openaiCaller: CallerDialect = {
  name: 'openai',
  errors: { body: (error) => Buffer.from(openaiErrorText(error)) },
  edits: (call, upstreamModel, channel) => [
    ...modelEdit(call, upstreamModel),
    ...(call.operation === 'images'
      ? imageEdits(call, channel)
      : [...boundEdits(call, channel), ...usageEdit(call, channel)]),
  ],
  tap: (call, channel) =>
    call.framing === 'sse'
      ? openaiStreamTap({
          stripUsage: !call.wantsUsage,
          candidates: call.demand.candidates,
          reasoningOutside: reasoningOutside(channel),
        })
      : documentTap({
          usageMember: 'usage',
          readUsage: (usage, images) => openaiFigures(usage, images, reasoningOutside(channel)),
          inBandFailure: openaiInBandFailure,
          isImages: call.operation === 'images',
        }),
  isReply: isOpenaiReply,
  // Every client of OpenAI's reads over comments.
  keepAlive: (framing) => (framing === 'sse' ? ': keep-alive\n\n' : undefined),
  readUsage: (reply, channel) => openaiUsage(reply, reasoningOutside(channel)),
  content: openaiServer,
  readImageRequest,
  imageCounter: openaiImageCounter,
  tokenCountText: undefined,
};

function modelEdit(call: Call, upstreamModel: string): readonly MemberEdit[] {
  return call.modelId === upstreamModel ? [] : [{ name: 'model', value: quoted(upstreamModel) }];
}

/**
 * A server that knows only the other name of the answer's bound would ignore it, and answer at a
 * length that nobody held for (DeepSeek: earendil-works/pi#8018).
 */
function boundEdits(
  { members, demand: { maxOutputTokens } }: Call,
  { capabilities }: Channel,
): readonly MemberEdit[] {
  const name = capabilities?.maxTokensField;
  if (name === undefined || maxOutputTokens === undefined) return [];
  const other = name === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (findMember(members, other) === undefined) return [];
  return [
    { name: other, value: undefined },
    { name, value: String(maxOutputTokens) },
  ];
}

/** No row of the model table says it of a model: it is how a vendor counts. */
function reasoningOutside({ capabilities }: Pick<Channel, 'capabilities'>): boolean {
  return capabilities?.reasoningOutsideCompletion === true;
}

/** Billing never depends on whether the caller asked for figures (ARCHITECTURE P). */
function usageEdit(call: Call, channel: Channel): readonly MemberEdit[] {
  if (call.framing !== 'sse' || call.wantsUsage) return [];
  if (channel.capabilities?.includeUsage === false) return [];
  const inside = editInside(call, 'stream_options', { name: 'include_usage', value: 'true' });
  return [inside ?? { name: 'stream_options', value: '{"include_usage":true}' }];
}

/**
 * Base64 always: asked for where a server must be asked, left out where it refuses the word (WIRE
 * §3).
 */
function imageEdits(call: Call, channel: Channel): readonly MemberEdit[] {
  if (channel.capabilities?.imageBase64 === 'response_format') {
    return [{ name: 'response_format', value: '"b64_json"' }];
  }
  const asked = call.members.some(({ name }) => name === 'response_format');
  return asked ? [{ name: 'response_format', value: undefined }] : [];
}
