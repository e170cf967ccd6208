/** Emits that a provider was asked for a stored reply, and what came of it. */
import { isGatewayError } from '../../errors.ts';
import type { Channel, Model } from '../../ports/catalog.ts';
import type { StoredReplyRoute } from '../../protocols/protocol.ts';
import type { Authenticated } from '../call-record.ts';

/** A request for a stored reply. */
export interface ReplyRequest extends Authenticated {
  readonly route: StoredReplyRoute;
}

/** The channel that is asked, and its model. */
export interface AskedChannel {
  readonly model: Model;
  readonly channel: Channel;
}

/** Reads, and emits one event at the end. Rejects as `read` does. */
export async function reportRead<T>(
  { received, key, route }: ReplyRequest,
  { model, channel }: AskedChannel,
  read: () => Promise<T>,
): Promise<T> {
  const { emit, settings, responseContext } = received;
  if (!emit.isObserved) return await read();
  const { clock } = settings;
  const [startedAtMs, startedMs] = [clock.now(), clock.monotonicMs()];
  const report = (error: unknown): void =>
    emit({
      type: 'stored_reply_read',
      requestId: responseContext.requestId,
      keyId: key.id,
      group: key.group,
      protocol: route.protocol.name,
      modelId: model.id,
      channelId: channel.id,
      dialect: channel.dialect,
      responseId: route.id,
      startedAtMs,
      durationMs: clock.monotonicMs() - startedMs,
      ...failureOf(error),
    });
  try {
    const reply = await read();
    report(undefined);
    return reply;
  } catch (error) {
    report(error);
    throw error;
  }
}

function failureOf(error: unknown) {
  if (error === undefined) return { code: undefined, reason: undefined };
  if (!isGatewayError(error)) return { code: 'internal_error', reason: undefined } as const;
  return { code: error.code, reason: error.reason };
}
