/** Counts refused requests by what they have in common, in bounded memory. */
import { isErrorCode } from '../errors.ts';
import type { GatewayEvent } from '../events/events.ts';
import { isFailureReason } from '../failure-reasons.ts';
import { otherRefusals, type RecordedRefusals } from '../ports/refusal-log.ts';

type RefusalEvent = Extract<GatewayEvent, { readonly type: 'call_refused' }>;

type CountedMembers = 'keyId' | 'group' | 'protocol' | 'modelId' | 'code' | 'reason';

export interface RefusalKind
  extends Pick<RefusalEvent, CountedMembers>,
    Pick<RecordedRefusals, 'detail'> {}

export interface RefusalCounts {
  add(kind: RefusalKind): void;
  read(): readonly Omit<RecordedRefusals, 'id' | 'atMs'>[];
}

/** How many counts have a key, group and model of their own. A thousand take about 300 KB. */
const maxDetailed = 1_000;
/** How many models and details one key may name, so that it leaves room for the others. */
const maxOfKey = 100;

export function refusalCounts(): RefusalCounts {
  const detailed = new Map<string, Count>();
  const ofKeys = new Map<string | undefined, number>();
  // At most one for each protocol, code and reason, of which the gateway has a fixed number, and as
  // many for each of the ten keys that can reach their share.
  const others = new Map<string, Count>();
  return {
    add: (kind) => {
      const named = storable(kind);
      const name = nameOf(named);
      if (detailed.has(name)) return increment(detailed, name, named);
      const { keyId, group } = named;
      const used = ofKeys.get(keyId) ?? 0;
      const isAtShare = used >= maxOfKey;
      if (!isAtShare && detailed.size < maxDetailed) {
        ofKeys.set(keyId, used + 1);
        return increment(detailed, name, named);
      }
      const other = { ...withoutNames(named), ...(isAtShare ? { keyId, group } : {}) };
      increment(others, nameOf(other), other);
    },
    read: () =>
      [...detailed.values(), ...others.values()].map(({ kind, refusals }) => ({
        ...kind,
        refusals,
      })),
  };
}

interface Count {
  readonly kind: RefusalKind;
  refusals: number;
}

function increment(counts: Map<string, Count>, name: string, kind: RefusalKind): void {
  const known = counts.get(name);
  if (known === undefined) counts.set(name, { kind, refusals: 1 });
  else known.refusals += 1;
}

function nameOf(kind: RefusalKind): string {
  const { keyId, group, protocol, modelId, code, reason, detail } = kind;
  return JSON.stringify([keyId, group, protocol, modelId, code, reason, detail]);
}

function withoutNames({ keyId, group, protocol, modelId, code, reason }: RefusalKind): RefusalKind {
  const other = (name: string | undefined) => (name === undefined ? undefined : otherRefusals);
  return {
    keyId: other(keyId),
    group: other(group),
    protocol,
    modelId: other(modelId),
    code,
    reason,
    detail: undefined,
  };
}

/** Keys, groups and models are named by the host's records, and databases refuse some texts. */
const storableName = /^[^\p{Cc}\p{Cs}]{0,256}$/u;

function storable(kind: RefusalKind): RefusalKind {
  const { keyId, group, protocol, modelId, code, reason, detail } = kind;
  return {
    keyId: storableText(keyId),
    group: storableText(group),
    protocol,
    modelId: storableText(modelId),
    // An error of a host that looks like ours may have any code and reason.
    code: isErrorCode(code) ? code : 'internal_error',
    reason: isFailureReason(reason) ? reason : undefined,
    detail,
  };
}

function storableText(name: string | undefined): string | undefined {
  return name === undefined || storableName.test(name) ? name : otherRefusals;
}

/** How many members one key may bring into the log in a day for one code. */
const maxDetails = 16;
/** For how many keys and codes members are remembered. The names take up to 2 MB. */
const maxDetailedKinds = 1_000;
const dayMs = 86_400_000;

const hasOwnDetails: ReadonlySet<string> = new Set([
  ...['route_not_found', 'rate_limited', 'overloaded'],
]);

/**
 * Leaves out members beyond a number for each key, code and UTC day, because callers may choose
 * their names: a database would otherwise get a row for each. Paths and limits have names of ours.
 */
export function boundedDetails(): (kind: RefusalKind, nowMs: number) => RefusalKind {
  let day = 0;
  let known = new Map<string, Set<string>>();
  return (kind, nowMs) => {
    const { keyId, code, detail } = kind;
    if (detail === undefined || hasOwnDetails.has(code)) return kind;
    const today = Math.floor(nowMs / dayMs);
    if (today !== day) [day, known] = [today, new Map()];
    const name = JSON.stringify([keyId, code]);
    const details = known.get(name) ?? new Set();
    const isFull =
      details.size >= maxDetails || (details.size === 0 && known.size >= maxDetailedKinds);
    if (isFull && !details.has(detail)) return { ...kind, detail: undefined };
    known.set(name, details.add(detail));
    return kind;
  };
}
