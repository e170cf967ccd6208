/** Wraps a relayed call so that its reply has the format that the caller requested. */
import type { Call } from '../../call.ts';
import { brokenReply, type StreamTap } from '../../dialects/taps/tap.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { RelayRules, ReplyRepair } from '../../protocols/protocol.ts';
import type { Judgement, PreparedRequest } from './prepared-call.ts';

/** A call, the channel to which it is relayed, and the report of a reply in another format. */
interface RepairInput {
  readonly call: Call;
  readonly channel: Channel;
  readonly report: (channelId: string) => void;
}

/** Wraps the prepared call. */
export function withRepair(
  prepared: PreparedRequest,
  repairOf: NonNullable<RelayRules['repair']>,
  { call, channel, report }: RepairInput,
): PreparedRequest {
  const { tap, judge } = prepared;
  const makeRepair = (): ReplyRepair => repairOf(call, channel);
  const onRepaired = (): void => report(channel.id);
  return {
    ...prepared,
    isComputed: true,
    tap: tap === undefined ? undefined : () => repairingTap(tap(), makeRepair(), onRepaired),
    judge: (bytes) => repaired(judge(bytes), makeRepair(), onRepaired),
  };
}

function repaired(judgement: Judgement, repair: ReplyRepair, onRepaired: () => void): Judgement {
  if (judgement.kind !== 'whole') return judgement;
  const bytes = repair.write(judgement.bytes);
  if (repair.isUnusable()) return { kind: 'bad', reason: unusable, countedTokens: 0 };
  if (repair.hasRepaired()) onRepaired();
  return { ...judgement, bytes };
}

const unusable = 'upstream_unusable';

function repairingTap(tap: StreamTap, repair: ReplyRepair, onRepaired: () => void): StreamTap {
  return {
    ...tap,
    write: (chunk) => repair.write(tap.write(chunk)),
    end: () => {
      if (repair.hasRepaired()) onRepaired();
      return repair.write(tap.end());
    },
    complete: () => tap.complete() && !repair.isUnusable(),
    failure: () => tap.failure() ?? (repair.isUnusable() ? brokenReply(unusable) : undefined),
  };
}
