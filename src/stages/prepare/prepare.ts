/**
 * Prepares a call for a channel: relays it if the upstream speaks the caller's dialect, else
 * translates it.
 */
import type { Call, GuardedUse } from '../../call.ts';
import type { Dialect, ImageCounter } from '../../dialects/dialect.ts';
import { brokenReply, type StreamTap } from '../../dialects/taps/tap.ts';
import { noUsage } from '../../money.ts';
import type { Channel } from '../../ports/catalog.ts';
import {
  isRelayed,
  type Protocol,
  type RelayRules,
  type ReplyRepair,
} from '../../protocols/protocol.ts';
import type { Admitted } from '../call-record.ts';
import { leftOutTools } from '../models/check-members.ts';
import { withoutTools } from '../models/optional-tools.ts';
import { relayEdits } from '../references/reference-edits.ts';
import type { ResolvedReferences } from '../references/resolved-references.ts';
import type { CallTranslator } from './call-translator.ts';
import { droppedNote } from './notes.ts';
import type { Judgement, Prepared, PreparedCall, PreparedRequest } from './prepared-call.ts';
import { type MoreEdits, prepareRelayed, type RelayInput } from './relayed.ts';
import type { LoadedTranslation, Translations } from './translations.ts';

/**
 * Prepares the call for a channel. The body is parsed at most once, and only if a channel needs it
 * translated.
 *
 * @throws GatewayError `not_portable`, `too_complex`, or `invalid_request` for a request that this
 *   channel can't serve
 */
export type PrepareForChannel = (
  channel: Channel,
  dialect: Dialect,
  upstreamModel: string,
  /** The account, if the call refers to something that only one account may have. */
  account?: string,
) => Prepared;

/** Prepares one call for any number of channels. */
export interface Preparer {
  readonly prepare: PrepareForChannel;
  /**
   * What has to happen before the call is translated for this channel; undefined if nothing has to.
   * It loads what translations need, and parses and reads a large body in separate turns of the
   * event loop, because each takes a tenth of a second at 10 MB. Faults of the body are left to
   * `prepare`. May be called again until it returns undefined.
   */
  readonly readAhead: (
    channel: Channel,
    dialect: Dialect,
    upstreamModel: string,
  ) => Promise<void> | undefined;
}

/** A body whose text is longer than this is parsed, read and written in separate turns. */
const maxBytesInOneTurn = 256 * 1024;

interface ForAllCalls {
  readonly translations: Pick<Translations, 'load' | 'loaded'>;
  /** Reports, once for each channel, that it answers in another format than requested. */
  readonly reportRepair: (channelId: string) => void;
}

export function preparer(
  admitted: Admitted,
  { translations, reportRepair }: ForAllCalls,
): Preparer {
  const { call, model, route, references } = admitted;
  const { requestId } = admitted.received.responseContext;
  const { protocol } = route;
  const { relay, imageCounter } = protocol;
  const leftOut =
    protocol.optionalTools === undefined ? undefined : leftOutTools(call, model, protocol);
  const own = relay.forward ?? relay.cuts ?? relay.repair;
  const isPlain = (references ?? leftOut ?? own) === undefined;
  // Made when needed: most calls are relayed.
  let translator: CallTranslator | undefined;
  const translatorOf = ({ translatorOf: make, server }: LoadedTranslation): CallTranslator => {
    translator ??= make(admitted, server);
    return translator;
  };
  const prepare: PrepareForChannel = (channel, dialect, upstreamModel, account = channel.id) => {
    if (isRelayed(protocol, dialect, channel, upstreamModel)) {
      const input = { call, rules: relay, dialect, channel, upstreamModel, requestId };
      return isPlain
        ? prepareRelayed(input)
        : prepareEdited(input, admitted, { leftOut, account, reportRepair });
    }
    const loaded = translations.loaded(protocol, dialect);
    return translatorOf(loaded).prepare({ channel, dialect, upstreamModel }, loaded.client);
  };
  const readAhead: Preparer['readAhead'] = (channel, dialect, upstreamModel) => {
    if (isRelayed(protocol, dialect, channel, upstreamModel)) return undefined;
    const loading = translations.load(protocol, dialect);
    if (loading !== undefined) return loading;
    if (translator !== undefined || textBytes <= maxBytesInOneTurn) return undefined;
    return translatorOf(translations.loaded(protocol, dialect)).readInTurns();
  };
  const textBytes = call.body.text.length + (references?.keptBytes ?? 0);
  const isPricedPerImage = !call.operation.isFree && model.price.per === 'image';
  return {
    prepare:
      imageCounter !== undefined && isPricedPerImage
        ? countingImages(prepare, imageCounter, call)
        : prepare,
    readAhead,
  };
}

function countingImages(
  prepare: PrepareForChannel,
  imageCounter: NonNullable<Protocol['imageCounter']>,
  call: Call,
): PrepareForChannel {
  return (channel, dialect, upstreamModel) => {
    const prepared = prepare(channel, dialect, upstreamModel);
    return 'kind' in prepared || prepared.series !== undefined
      ? prepared
      : withCountedImages(prepared, () => imageCounter(call.framing));
  };
}

interface EditInput {
  readonly leftOut: readonly GuardedUse[] | undefined;
  readonly account: string;
  readonly reportRepair: ForAllCalls['reportRepair'];
}

function prepareEdited(
  input: RelayInput,
  admitted: Admitted,
  { leftOut, account, reportRepair }: EditInput,
): PreparedCall {
  const { call, channel, rules } = input;
  const { references } = admitted;
  const relayed = prepareRelayed(input, moreEdits(admitted, leftOut, { channel, account }));
  const prepared =
    rules.repair === undefined
      ? relayed
      : withRepair(relayed, rules.repair, { call, channel, report: reportRepair });
  return references === undefined ? prepared : noticingUnreadable(prepared, references, rules);
}

/** For references, tools that the call can do without, and other providers' reasoning. */
function moreEdits(
  { call, model, references, route, received }: Admitted,
  leftOut: readonly GuardedUse[] | undefined,
  { channel, account }: { readonly channel: Channel; readonly account: string },
): MoreEdits {
  const { relay } = route.protocol;
  const forwarded = relay.forward?.(received.request, channel, model);
  const cut = relay.cuts?.(call);
  const changes = [
    ...(references === undefined ? [] : [relayEdits(call, references, account)]),
    ...(leftOut === undefined ? [] : [withoutTools(call, leftOut)]),
  ];
  const changed = changes.flatMap((one) => one.changed);
  // Clients send these on their own, so a strict model drops them too: the upstream can't read
  // them, or the operator does not allow them.
  const unasked = [...(cut?.changed ?? []), ...(forwarded?.dropped ?? [])];
  return {
    extra: changes.flatMap(({ edits }) => edits),
    cuts: cut?.spans ?? [],
    forwarded,
    countedBytes: references?.keptBytes ?? 0,
    notes: droppedNote([...changed, ...unasked], model.strict === true, new Set(unasked)),
  };
}

/** Detects that the upstream can't read encrypted content of unknown origin. */
function noticingUnreadable(
  prepared: PreparedRequest,
  references: ResolvedReferences,
  { refusesSealed }: RelayRules,
): PreparedRequest {
  if (refusesSealed === undefined || !hasRemovableUnknown(references)) return prepared;
  return {
    ...prepared,
    replyToRefusal: (refusal) => {
      if (refusesSealed(refusal)) {
        references.leavesOutUnknown = true;
        references.mustResend = true;
      }
      return prepared.replyToRefusal(refusal);
    },
  };
}

function hasRemovableUnknown({ sealed, leavesOutUnknown }: ResolvedReferences): boolean {
  const unknown = sealed.filter(({ account }) => account === undefined);
  return (
    !leavesOutUnknown &&
    unknown.length > 0 &&
    unknown.every(({ reference }) => reference.isRemovable)
  );
}

function withCountedImages(
  prepared: PreparedRequest,
  makeCounter: () => ImageCounter,
): PreparedRequest {
  const { tap } = prepared;
  return {
    ...prepared,
    tap: tap === undefined ? undefined : () => countingTap(tap(), makeCounter()),
    judge: (bytes) => {
      const judgement = prepared.judge(bytes);
      if (judgement.kind !== 'whole') return judgement;
      const counter = makeCounter();
      counter.write(judgement.bytes);
      return { ...judgement, usage: { ...(judgement.usage ?? noUsage), images: counter.images() } };
    },
  };
}

function countingTap(tap: StreamTap, counter: ImageCounter): StreamTap {
  const counting = (bytes: Uint8Array): Uint8Array => {
    counter.write(bytes);
    return bytes;
  };
  return {
    ...tap,
    write: (chunk) => counting(tap.write(chunk)),
    end: () => counting(tap.end()),
    usage: () => {
      const usage = tap.usage();
      const images = counter.images();
      // A complete reply without images is known to have none. An unfinished one may get some.
      const isKnown = usage !== undefined || images > 0 || tap.complete();
      return isKnown ? { ...(usage ?? noUsage), images } : undefined;
    },
  };
}

interface RepairInput {
  readonly call: Call;
  readonly channel: Channel;
  readonly report: (channelId: string) => void;
}

function withRepair(
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
