/**
 * A quota store as a host might write it first: promises, plain maps, and a scan of all holds in
 * each call. It shares no code with the published stores, so that they also check each other.
 */
import type { Clock } from '../../src/clock.ts';
import { checkedQuotaStore } from '../../src/ports/limits/checked-quota-store.ts';
import {
  checkExtra,
  limitStatedByRecords,
  limitWithExtra,
  refuse,
} from '../../src/ports/limits/quota-input.ts';
import type { QuotaLine, QuotaState, QuotaStore } from '../../src/ports/limits/quota-store.ts';

interface Row {
  limit: bigint | undefined;
  isCarried: boolean;
  extra: bigint;
  used: bigint;
  held: bigint;
  inFlight: number;
  enabled: boolean;
  version: number;
}

interface Hold {
  state: 'held' | 'settled' | 'released' | 'expired';
  readonly lines: readonly QuotaLine[];
  readonly partition: string;
  amounts: readonly bigint[];
  readonly onExpire: readonly bigint[];
  charged: readonly bigint[];
  endsAtMs: number;
  isIdle: boolean;
}

export function simpleQuotaStore(clock: Clock): QuotaStore {
  const rows = new Map<string, Row>();
  const holds = new Map<string, Hold>();
  const held = new Set<Hold>();
  const adjusted = new Set<string>();
  const key = (...parts: readonly string[]): string => parts.join('|');

  const rowOf = (
    partition: string,
    { subject, period }: Pick<QuotaLine, 'subject' | 'period'>,
  ): Row => {
    const name = key(partition, subject, period);
    const row = rows.get(name) ?? {
      ...{ limit: undefined, isCarried: false, extra: 0n, used: 0n, held: 0n },
      ...{ inFlight: 0, enabled: true, version: 0 },
    };
    rows.set(name, row);
    return row;
  };
  const move = (hold: Hold, part: 'held' | 'used', amounts: readonly bigint[], sign: bigint) => {
    for (const [index, line] of hold.lines.entries()) {
      const row = rowOf(hold.partition, line);
      row[part] += sign * (amounts[index] ?? 0n);
      row.version += 1;
    }
  };
  const count = (hold: Hold, by: number): void => {
    for (const line of hold.lines) rowOf(hold.partition, line).inFlight += by;
  };
  const end = (hold: Hold, state: Hold['state']): void => {
    held.delete(hold);
    hold.state = state;
    move(hold, 'held', hold.amounts, -1n);
    if (!hold.isIdle) count(hold, -1);
  };
  /** Charges the lines of the settle, even if other rows were held. */
  const charge = (partition: string, lines: readonly QuotaLine[]): void => {
    for (const line of lines) {
      const row = rowOf(partition, line);
      row.used += line.amount;
      row.version += 1;
    }
  };
  const balances = (partition: string, lines: readonly QuotaLine[]) =>
    lines.map((line) => {
      const { limit = 0n, extra, used } = rowOf(partition, line);
      return { used, limit: limitWithExtra(limit, extra) };
    });
  const expire = (max: number, concerns: (hold: Hold) => boolean): number => {
    let expired = 0;
    for (const hold of held) {
      if (expired === max) break;
      if (hold.endsAtMs > clock.now() || !concerns(hold)) continue;
      end(hold, 'expired');
      move(hold, 'used', hold.onExpire, 1n);
      expired += 1;
    }
    return expired;
  };
  const touch = (partition: string, lines: readonly Pick<QuotaLine, 'subject'>[]): void => {
    const subjects = new Set(lines.map((line) => line.subject));
    expire(
      64,
      (hold) =>
        hold.partition === partition && hold.lines.some((line) => subjects.has(line.subject)),
    );
  };
  const remaining = (row: Row | undefined, limit = row?.limit ?? 0n): bigint =>
    limitWithExtra(limit, row?.extra ?? 0n) - (row?.used ?? 0n) - (row?.held ?? 0n);
  const busy = (partition: string, subject: string): number =>
    [...held].filter(
      (hold) =>
        !hold.isIdle &&
        hold.partition === partition &&
        hold.lines.some((line) => line.subject === subject),
    ).length;
  const carry = (row: Row, limit: bigint | undefined): void => {
    if (limit !== undefined && limit !== row.limit) row.version += 1;
    row.isCarried = limit !== undefined;
    row.limit = limit ?? row.limit;
  };
  const show = ({ isCarried: _, ...row }: Row): QuotaState => ({ ...row, limit: row.limit ?? 0n });

  return checkedQuotaStore({
    durability: 'process',
    reserve: async (input) => {
      const { partition, lines } = input;
      touch(partition, lines);
      const known = holds.get(key(partition, input.id));
      const answer = (hold: Hold, replay: boolean) =>
        ({
          status: 'held',
          replay,
          expiresAtMs: hold.endsAtMs,
          available: hold.lines.map((line) => remaining(rowOf(partition, line))),
        }) as const;
      if (known !== undefined && known.state !== 'held') {
        return { status: 'resolved', as: known.state };
      }
      if (known !== undefined) {
        const names = (of: readonly QuotaLine[]): string =>
          of.map((line) => key(line.subject, line.period, String(line.amount))).join();
        return names(known.lines) === names(lines)
          ? answer(known, true)
          : { status: 'id_conflict' };
      }
      for (const { subject, period, limit } of lines) {
        const row = rows.get(key(partition, subject, period));
        if (row !== undefined) carry(row, limit);
      }
      for (const [index, { subject, period, amount, limit }] of lines.entries()) {
        const row = rows.get(key(partition, subject, period));
        if (row?.enabled === false) return { status: 'disabled_subject', subject };
        const bound = row?.limit ?? limit;
        if (bound === undefined) return { status: 'unknown_subject', subject };
        const available = remaining(row, bound);
        if (amount > 0n && available < amount) {
          return { status: 'insufficient', subject, available };
        }
        const cap = input.maxConcurrentCalls?.[index];
        if (cap !== undefined && busy(partition, subject) >= cap) {
          return { status: 'too_many_in_flight', subject };
        }
      }
      const hold: Hold = {
        state: 'held',
        lines,
        partition,
        amounts: lines.map((line) => line.amount),
        onExpire: input.onExpire === 'release' ? [] : input.onExpire.charge,
        charged: [],
        endsAtMs: clock.now() + input.ttlMs,
        isIdle: false,
      };
      for (const line of lines) carry(rowOf(partition, line), line.limit);
      move(hold, 'held', hold.amounts, 1n);
      count(hold, 1);
      holds.set(key(partition, input.id), hold);
      held.add(hold);
      return answer(hold, false);
    },
    extend: async (inputs) => {
      const all = inputs.map((input) => ({
        ...input,
        hold: holds.get(key(input.partition, input.id)),
      }));
      for (const { hold, add } of all) {
        if (hold?.state === 'held' && add !== undefined) {
          if (add.length !== hold.lines.length) throw new RangeError('one amount a line');
        }
      }
      return all.map(({ hold, add, idle, ttlMs }) => {
        if (hold === undefined) return { status: 'gone', as: 'unknown' };
        touch(hold.partition, hold.lines);
        if (hold.state !== 'held') return { status: 'gone', as: hold.state };
        hold.endsAtMs = Math.max(hold.endsAtMs, clock.now() + ttlMs);
        if (idle === true && !hold.isIdle) {
          hold.isIdle = true;
          count(hold, -1);
          move(hold, 'held', [], 1n);
        }
        const extended = add ?? [];
        for (const [index, line] of hold.lines.entries()) {
          const available = remaining(rowOf(hold.partition, line));
          const amount = extended[index] ?? 0n;
          if (amount > 0n && available < amount) {
            return { status: 'insufficient', subject: line.subject, available };
          }
        }
        move(hold, 'held', extended, 1n);
        hold.amounts = hold.amounts.map((amount, index) => amount + (extended[index] ?? 0n));
        return { status: 'held', expiresAtMs: hold.endsAtMs };
      });
    },
    settle: async (input) => {
      const { partition, lines } = input;
      touch(partition, lines);
      const known = holds.get(key(partition, input.id));
      if (known?.state === 'settled') return { status: 'already', charged: known.charged };
      if (known?.state === 'released') return { status: 'conflict', as: 'released' };
      const charged = lines.map((line) => line.amount);
      const hold = known ?? unknownHold(partition, lines);
      holds.set(key(partition, input.id), hold);
      hold.charged = charged;
      if (known?.state === 'held') {
        end(known, 'settled');
        charge(partition, lines);
        return { status: 'settled', balances: balances(partition, lines) };
      }
      hold.state = 'settled';
      move(hold, 'used', hold.onExpire, -1n);
      charge(partition, lines);
      const from = known === undefined ? 'unknown' : 'expired';
      return { status: 'settled_late', from, balances: balances(partition, lines) };
    },
    release: async (input) => {
      touch(input.partition, input.lines);
      const known = holds.get(key(input.partition, input.id));
      if (known !== undefined && known.state !== 'held') {
        return { status: 'already', as: known.state };
      }
      if (known === undefined) {
        holds.set(key(input.partition, input.id), unknownHold(input.partition, []));
      } else {
        end(known, 'released');
      }
      return { status: 'released' };
    },
    sweep: async (options) => {
      const concerns = (hold: Hold): boolean =>
        options.partition === undefined || hold.partition === options.partition;
      const expired = expire(options.max, concerns);
      const more = [...held].some((hold) => hold.endsAtMs <= clock.now() && concerns(hold));
      return { expired, more };
    },
    read: async (subject, period, partition) => {
      touch(partition, [{ subject }]);
      const row = rows.get(key(partition, subject, period));
      return row === undefined ? undefined : show(row);
    },
    adjust: async (input) => {
      touch(input.partition, [input]);
      const row = rowOf(input.partition, input);
      const replay = adjusted.has(key(input.partition, input.id));
      if (replay) return { ...show(row), replay };
      if (input.limit !== undefined && row.isCarried) refuse(limitStatedByRecords);
      const extra = row.extra + (input.addLimit ?? 0n);
      checkExtra(extra);
      adjusted.add(key(input.partition, input.id));
      row.limit = input.limit ?? row.limit;
      if (input.addLimit !== undefined) row.limit ??= 0n;
      row.extra = extra;
      row.enabled = input.enabled ?? row.enabled;
      row.version += 1;
      return { ...show(row), replay };
    },
    check: async () => ({ ok: true }),
    close: async () => {},
  });
}

function unknownHold(partition: string, lines: readonly QuotaLine[]): Hold {
  return {
    ...{ state: 'released', lines, partition, endsAtMs: 0, isIdle: false },
    ...{ amounts: [], onExpire: [], charged: [] },
  };
}
