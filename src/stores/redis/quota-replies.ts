/** Converts the replies of the quota scripts to the results of the port. */
import type { Nanos } from '../../money.ts';
import type {
  ExtendResult,
  QuotaBalance,
  QuotaLine,
  QuotaState,
  ReleaseResult,
  ReserveResult,
  SettleResult,
} from '../../ports/limits/quota-store.ts';
import { corrupt, countOf, listOf, literalOf, nanosOf, signedNanosOf, textsOf } from './reply.ts';

const endings = ['settled', 'released', 'expired'] as const;

/** @throws StoreCorrupt where it is not a valid reply to a reserve of these lines */
export function readReserve(reply: unknown, lines: readonly QuotaLine[]): ReserveResult {
  const [status, ...rest] = textsOf(reply);
  switch (status) {
    case 'held':
      return heldOf(rest, lines.length);
    case 'resolved':
      return { status, as: literalOf(rest[0], endings) };
    case 'id_conflict':
      return { status };
    case 'insufficient':
      return { status, subject: subjectAt(lines, rest[0]), available: availableOf(rest.slice(1)) };
    case 'too_many_in_flight':
    case 'unknown_subject':
    case 'disabled_subject':
      return { status, subject: subjectAt(lines, rest[0]) };
    default:
      return corrupt();
  }
}

/** One result per lease; undefined where `add` did not match the number of a hold's lines. */
export function readExtend(reply: unknown, count: number): readonly ExtendResult[] | undefined {
  const list = listOf(reply);
  if (list[0] === 'misfit') return undefined;
  return list.length === count ? list.map(readExtended) : corrupt();
}

/** @throws StoreCorrupt where it is not a valid reply to a settle of so many lines */
export function readSettle(reply: unknown, count: number): SettleResult {
  const [status, detail, ...figures] = textsOf(reply);
  switch (status) {
    case 'settled':
      return { status, balances: balancesOf(figures, count) };
    case 'settled_late': {
      const from = literalOf(detail, ['expired', 'unknown']);
      return { status, from, balances: balancesOf(figures, count) };
    }
    case 'already':
      return { status, charged: chargedOf(detail) };
    case 'conflict':
      return { status, as: 'released' };
    default:
      return corrupt();
  }
}

/** @throws StoreCorrupt where it is not a valid reply to a release */
export function readRelease(reply: unknown): ReleaseResult {
  const [status, detail] = textsOf(reply);
  if (status === 'released') return { status };
  return status === 'already' ? { status, as: literalOf(detail, endings) } : corrupt();
}

export function readState(reply: unknown): QuotaState | undefined {
  const [found, limit, used, held, inFlight, enabled, version, extra] = textsOf(reply);
  if (found === 'none') return undefined;
  if (found !== 'row') return corrupt();
  return {
    limit: nanosOf(limit),
    extra: signedNanosOf(extra),
    used: nanosOf(used),
    held: nanosOf(held),
    inFlight: countOf(inFlight),
    enabled: literalOf(enabled, ['0', '1']) === '1',
    version: countOf(version),
  };
}

function heldOf([replay, dueAt, ...balances]: readonly string[], count: number): ReserveResult {
  if (balances.length !== 3 * count) return corrupt();
  return {
    status: 'held',
    replay: literalOf(replay, ['0', '1']) === '1',
    expiresAtMs: countOf(dueAt),
    available: Array.from({ length: count }, (_, line) =>
      availableOf(balances.slice(3 * line, 3 * line + 3)),
    ),
  };
}

function readExtended(reply: unknown): ExtendResult {
  const [status, detail, ...balance] = textsOf(reply);
  switch (status) {
    case 'held':
      return { status, expiresAtMs: countOf(detail) };
    case 'insufficient':
      return { status, subject: detail ?? corrupt(), available: availableOf(balance) };
    case 'gone':
      return { status, as: literalOf(detail, [...endings, 'unknown']) };
    default:
      return corrupt();
  }
}

/** Computed here and not in Lua, whose numbers are exact only up to 2^53. */
function availableOf([limit, used, held]: readonly string[]): bigint {
  return nanosOf(limit) - nanosOf(used) - nanosOf(held);
}

function balancesOf(figures: readonly string[], count: number): readonly QuotaBalance[] {
  if (figures.length !== 2 * count) return corrupt();
  return Array.from({ length: count }, (_, line) => ({
    limit: nanosOf(figures[2 * line]),
    used: signedNanosOf(figures[2 * line + 1]),
  }));
}

function chargedOf(text: string | undefined): readonly Nanos[] {
  return (text ?? '').split(' ').map(nanosOf);
}

function subjectAt(lines: readonly QuotaLine[], position: string | undefined): string {
  return lines[countOf(position) - 1]?.subject ?? corrupt();
}
