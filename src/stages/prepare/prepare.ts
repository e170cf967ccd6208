/**
 * Prepares a call for a channel: relays it if the upstream speaks the caller's dialect, else
 * translates it.
 */
import { inOrder } from '../../bytes/json/edit-elements.ts';
import type { GuardedUse } from '../../call.ts';
import type { ImageCounter } from '../../dialects/dialect.ts';
import { brokenReply, type StreamTap } from '../../dialects/taps/tap.ts';
import { noUsage, type Usage } from '../../money.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { ReplyRepair } from '../../protocols/protocol.ts';
import type { Admitted } from '../call-record.ts';
import { leftOutTools } from '../models/check-members.ts';
import type { ChannelPlan } from '../models/model-plan.ts';
import { withoutTools } from '../models/optional-tools.ts';
import { whenKnown } from '../ports/port-calls.ts';
import { type ResolvedReferences, relayEdits } from '../references/reference-edits.ts';
import type { Chosen, Upstreams } from '../upstream/attempt.ts';
import { type Credential, servingAccount } from '../upstream/credential.ts';
import type { CallTranslator } from './call-translator.ts';
import {
  type HostedTarget,
  hostedBody,
  hostedEdits,
  hostedTarget,
  hostedTranslation,
  wrapped,
} from './hosted.ts';
import {
  droppedNote,
  type Judgement,
  type Prepared,
  type PreparedRequest,
} from './prepared-call.ts';
import { type MoreEdits, prepareRelayed, type RelayInput } from './relayed.ts';
import type { LoadedTranslation } from './translations.ts';

/** A body whose text is longer than this is parsed, read and written in separate turns. */
const maxBytesInOneTurn = 256 * 1024;

/** Prepares one call for any number of channels. */
export class Preparer {
  readonly #admitted: Admitted;
  readonly #upstreams: Pick<Upstreams, 'translations' | 'reportRepair'>;
  readonly #leftOut: readonly GuardedUse[] | undefined;
  /** The caller's bytes need no more edits than those of the protocol. */
  readonly #isPlain: boolean;
  /** Made when needed: most calls are relayed. The body is parsed at most once. */
  #translator: CallTranslator | undefined;

  constructor(admitted: Admitted, upstreams: Pick<Upstreams, 'translations' | 'reportRepair'>) {
    const { call, model, references, route } = admitted;
    const { protocol } = route;
    const { forward, cuts, repair } = protocol.relay;
    this.#admitted = admitted;
    this.#upstreams = upstreams;
    this.#leftOut =
      protocol.optionalTools === undefined ? undefined : leftOutTools(call, model, protocol);
    this.#isPlain = (references ?? this.#leftOut ?? forward ?? cuts ?? repair) === undefined;
  }

  /** Prepares the call for a channel. Undefined if a host's catalog names an unknown dialect. */
  prepare({ channelPlan, credential }: Chosen): Prepared | undefined {
    const { channel, dialect, upstreamModel, capabilities } = channelPlan;
    if (dialect === undefined || capabilities === undefined) return undefined;
    const { call, model, route, received } = this.#admitted;
    const { protocol } = route;
    let prepared: Prepared;
    const { hosting } = dialect;
    const hosted = hosting === undefined ? undefined : hostedTarget(call, hosting, channelPlan);
    const path = channelPlan.relayPath(protocol, call);
    if (path !== undefined) {
      const { requestId } = received.responseContext;
      const rules = protocol.relay;
      const input = { call, rules, dialect, channel, upstreamModel, requestId, path };
      const isPlain = this.#isPlain && hosted === undefined;
      prepared = isPlain ? prepareRelayed(input) : this.#prepareEdited(input, credential, hosted);
    } else {
      const loaded = this.#upstreams.translations.loaded(protocol, dialect);
      const target = { dialect, upstreamModel, capabilities };
      prepared = this.#translatorOf(loaded).prepare(target, loaded.client);
      if (hosted !== undefined) {
        prepared = hostedTranslation(prepared, hosted, model.strict === true);
      }
    }
    if (hosted !== undefined) prepared = wrapped(prepared, hosted);
    const { imageCounter } = protocol;
    const isCounted = imageCounter !== undefined && model.price.per === 'image';
    if (!isCounted || call.operation.isFree) return prepared;
    if ('kind' in prepared || prepared.series !== undefined) return prepared;
    return withPass(prepared, () => countingPass(imageCounter(call.framing)));
  }

  /**
   * What has to happen before the call is translated for this channel; undefined if nothing has to.
   * It loads what translations need, and parses and reads a large body in separate turns of the
   * event loop, because each takes a tenth of a second at 10 MB. Faults of the body are left to
   * `prepare`. May be called again until it returns undefined.
   */
  readAhead({ dialect, isRelayed }: ChannelPlan): Promise<void> | undefined {
    const { call, references, route } = this.#admitted;
    const { protocol } = route;
    if (dialect === undefined || isRelayed(protocol, call.operation)) return undefined;
    const { translations } = this.#upstreams;
    const loading = translations.load(protocol, dialect);
    if (loading !== undefined) return loading;
    const textBytes = call.body.text.length + (references?.keptBytes ?? 0);
    if (this.#translator !== undefined || textBytes <= maxBytesInOneTurn) return undefined;
    return this.#translatorOf(translations.loaded(protocol, dialect)).readInTurns();
  }

  #translatorOf({ translatorOf, server }: LoadedTranslation): CallTranslator {
    this.#translator ??= translatorOf(this.#admitted, server);
    return this.#translator;
  }

  /** Prepares a call that is relayed with edits, or with more than its body. */
  #prepareEdited(
    input: RelayInput,
    credential: Credential | undefined,
    hosted: HostedTarget | undefined,
  ): PreparedRequest {
    const { call, channel, rules } = input;
    const { references } = this.#admitted;
    const relayed = this.#relayedOnce(input, credential, hosted);
    const { repair, refusesSealed } = rules;
    const report = (): void => this.#upstreams.reportRepair(channel.id);
    const prepared =
      repair === undefined
        ? relayed
        : {
            ...withPass(relayed, () => repairPass(repair(call, channel), report)),
            isComputed: true as const,
          };
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

  /** Cuts of a platform may lie in a member that the protocol replaces: they are made after it. */
  #relayedOnce(
    input: RelayInput,
    credential: Credential | undefined,
    hosted: HostedTarget | undefined,
  ): PreparedRequest {
    const { call, channel, rules, upstreamModel } = input;
    const isReplaced =
      hosted !== undefined &&
      rules.edits(call, upstreamModel, channel).some(({ value = '' }) => /^[[{]/.test(value));
    if (!isReplaced) return prepareRelayed(input, this.#moreEdits(channel, credential, hosted));
    const relayed = prepareRelayed(input, this.#moreEdits(channel, credential, undefined));
    return hostedBody(relayed, hosted, this.#admitted.model.strict === true);
  }

  /**
   * What is sent besides the body, and the edits that the references of a call, the tools that it
   * can do without, and reasoning of other providers make necessary.
   */
  #moreEdits(
    channel: Channel,
    credential: Credential | undefined,
    hosted: HostedTarget | undefined,
  ): MoreEdits {
    const { call, model, references, route, received } = this.#admitted;
    const { relay } = route.protocol;
    const forwarded = relay.forward?.(received.request, channel, model);
    const cut = relay.cuts?.(call);
    const changes = [
      ...(references === undefined
        ? []
        : [relayEdits(call, references, servingAccount(channel, credential))]),
      ...(this.#leftOut === undefined ? [] : [withoutTools(call, this.#leftOut)]),
    ];
    const there = hosted === undefined ? undefined : hostedEdits(hosted, call.tape, forwarded);
    const changed = [...changes.flatMap((one) => one.changed), ...(there?.dropped ?? [])];
    // Clients send these on their own, so a strict model drops them too: the upstream can't read
    // them, or the operator does not allow them.
    const unasked = [...(cut?.changed ?? []), ...(forwarded?.dropped ?? [])];
    return {
      extra: [...changes.flatMap(({ edits }) => edits), ...(there?.edits ?? [])],
      cuts: inOrder([...(cut?.spans ?? []), ...(there?.cuts ?? [])]),
      forwarded: there ?? forwarded,
      countedBytes: references?.keptBytes ?? 0,
      notes: droppedNote([...changed, ...unasked], model.strict === true, new Set(unasked)),
    };
  }
}

/** The upstream may be unable to read encrypted content of unknown origin: it can be left out. */
function hasRemovableUnknown(
  references: ResolvedReferences | undefined,
): references is ResolvedReferences {
  if (references === undefined || references.leavesOutUnknown) return false;
  const unknown = references.sealed.filter(({ account }) => account === undefined);
  return unknown.length > 0 && unknown.every(({ reference }) => reference.isRemovable);
}

/** Reads or changes a reply on its way to the caller. */
interface ReplyPass {
  write(bytes: Uint8Array): Uint8Array;
  /** The upstream's reply has ended; a tap may still have bytes for the caller. */
  ended(): void;
  isUnusable(): boolean;
  usage(usage: Usage | undefined, isComplete: boolean): Usage | undefined;
}

/** Adds the images in the reply to its usage, counted as the caller gets them. */
function countingPass(counter: ImageCounter): ReplyPass {
  return {
    write: (bytes) => {
      counter.write(bytes);
      return bytes;
    },
    ended: () => {},
    isUnusable: () => false,
    usage: (usage, isComplete) => {
      const images = counter.images();
      // A complete reply without images is known to have none. An unfinished one may get some.
      const isKnown = usage !== undefined || images > 0 || isComplete;
      return isKnown ? { ...(usage ?? noUsage), images } : undefined;
    },
  };
}

/** Converts parts of a reply in another format than requested, and reports that there are any. */
function repairPass(repair: ReplyRepair, report: () => void): ReplyPass {
  return {
    write: repair.write,
    ended: () => {
      if (repair.hasRepaired()) report();
    },
    isUnusable: repair.isUnusable,
    usage: (usage) => usage,
  };
}

const unusable = 'upstream_unusable';

function withPass(prepared: PreparedRequest, makePass: () => ReplyPass): PreparedRequest {
  const { tap, judge } = prepared;
  return {
    ...prepared,
    tap: tap === undefined ? undefined : () => passingTap(tap(), makePass()),
    judge: (bytes) => whenKnown(judge(bytes), (judgement) => passed(judgement, makePass())),
  };
}

function passed(judgement: Judgement, pass: ReplyPass): Judgement {
  if (judgement.kind !== 'whole') return judgement;
  const bytes = pass.write(judgement.bytes);
  if (pass.isUnusable()) return { kind: 'bad', reason: unusable, countedTokens: 0 };
  pass.ended();
  return { ...judgement, bytes, usage: pass.usage(judgement.usage, true) };
}

function passingTap(tap: StreamTap, pass: ReplyPass): StreamTap {
  return {
    ...tap,
    write: (chunk) => pass.write(tap.write(chunk)),
    end: () => {
      pass.ended();
      return pass.write(tap.end());
    },
    complete: () => tap.complete() && !pass.isUnusable(),
    failure: () => tap.failure() ?? (pass.isUnusable() ? brokenReply(unusable) : undefined),
    usage: () => pass.usage(tap.usage(), tap.complete()),
  };
}
