/**
 * The machine and its load: the cores that this run may use, the CPU time of a process by the
 * kernel's accounting, and the share of the machine that other processes used meanwhile.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { summary } from './statistics.mjs';

/** The kernel counts in ticks of this many µs (USER_HZ is 100 wherever Linux runs Node). */
const tickMicros = 10_000;

/** The cores this process may use, by number; empty if unknown. */
function allowedCores() {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readOr('/proc/self/status', ''))?.[1] ?? '';
  return list
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

/**
 * Gives the contender its own core; upstream and load generator share the others. Undefined with
 * one core or without `taskset`.
 */
function pinningPlan() {
  const cores = allowedCores();
  const hasTaskset = spawnSync('taskset', ['--version'], { stdio: 'ignore' }).error === undefined;
  if (cores.length < 2 || !hasTaskset) return undefined;
  const [others, contender] = [cores.slice(0, -1), cores.at(-1)];
  return { contender: String(contender), others: others.join(','), any: cores.join(',') };
}

export const pinning = pinningPlan();

/** A description of the machine for the report. */
export function machineFacts() {
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    node: process.version,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    pinned: pinning !== undefined,
  };
}

/**
 * User and system time of a process with all its threads, µs; undefined where there is no /proc.
 */
export function processMicros(pid) {
  const stat = readOr(`/proc/${pid}/stat`, undefined);
  if (stat === undefined) return undefined;
  // The name, in parentheses, may contain anything: the numbers follow the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMicros;
}

/** The running child processes of a process. */
export function childrenOf(pid) {
  return readOr(`/proc/${pid}/task/${pid}/children`, '').split(' ').filter(Boolean).map(Number);
}

/** Resident memory of a process, now and at its highest, in bytes. */
export function processMemory(pid) {
  const status = readOr(`/proc/${pid}/status`, '');
  const bytes = (field) => Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1]) * 1024;
  return { rssBytes: bytes('VmRSS'), peakBytes: bytes('VmHWM') };
}

/** Busy and total time of all cores since boot, µs. Time stolen by a hypervisor counts as busy. */
function machineMicros() {
  const line = readOr('/proc/stat', '').split('\n')[0];
  const [user, nice, system, idle, wait, irq, softIrq, steal] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const busy = user + nice + system + irq + softIrq + steal;
  return { busy: busy * tickMicros, whole: (busy + idle + wait) * tickMicros };
}

/**
 * Measures the load of other processes. `ownMicros` returns the CPU time of this run's processes;
 * busy time beyond that is foreign. The share is of all cores together, 0 to 1; undefined without
 * /proc.
 */
export function watchForeignLoad(ownMicros) {
  if (readOr('/proc/stat', undefined) === undefined) return () => undefined;
  const before = machineMicros();
  const ownBefore = ownMicros();
  return () => {
    const after = machineMicros();
    const foreign = after.busy - before.busy - (ownMicros() - ownBefore);
    return Math.max(0, foreign / (after.whole - before.whole));
  };
}

/** How long a sync of a small write to the disk of the folder takes, ms. */
export function syncMs(folder) {
  const file = openSync(join(folder, 'sync'), 'w');
  const times = Array.from({ length: 200 }, () => {
    const begin = performance.now();
    writeSync(file, Buffer.alloc(4_096));
    fsyncSync(file);
    return performance.now() - begin;
  });
  closeSync(file);
  return summary(times).median;
}

/** How many streams a gateway can have, with two sockets each; Node raises its file limit itself. */
export function mostStreams() {
  const hardLimit = /^Max open files +\S+ +(\d+)/m.exec(readOr('/proc/self/limits', ''))?.[1];
  return Math.floor((Number(hardLimit ?? Number.POSITIVE_INFINITY) - 200) / 2);
}

/** Whether a program is on the PATH. */
export function isOnPath(program) {
  const folders = (process.env.PATH ?? '').split(':');
  return folders.some((folder) => listOr(folder).includes(program));
}

function listOr(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}
