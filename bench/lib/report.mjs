/**
 * Writes the report: a table for each scenario, and a description of the machine.
 */
import { excessOf } from './compare.mjs';

/** Above this share of all cores the figures of a scenario are unreliable. */
const foreignLimit = 0.1;

/** The section of one scenario. */
export function scenarioReport({ scenario, rows, notes, foreign, seconds }) {
  const share = foreign === undefined ? 'unknown' : percent(foreign);
  return [
    `## ${scenario.title}`,
    '',
    ...(scenario.description === undefined ? [] : [scenario.description, '']),
    ...table(rows),
    '',
    ...notes.map((note) => `- ${note}`),
    `- Foreign load ${share} of all cores; took ${Math.round(seconds)} s.`,
    ...(foreign > foreignLimit
      ? ['- **Warning: other processes used much of the machine; run this again when it is idle.**']
      : []),
    '',
  ].join('\n');
}

/** The head of the report. */
export function head(facts, { rounds }) {
  const pinned = facts.pinned
    ? 'contender pinned to one core, upstream and load generator to the others'
    : 'not pinned';
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; how to read it: [README](README.md).',
    '',
    `- ${facts.date} UTC, Node ${facts.node.slice(1)}, ${facts.processor}, ${facts.cores} cores`,
    `- ${pinned}`,
    `- medians of ${rounds} interleaved rounds after a warm-up; spread is lowest to highest;`,
    '  a ratio is the median of the ratios within each round',
    '',
  ].join('\n');
}

function table(rows) {
  return [
    '| contender | figure | median | spread | ratio | target | met |',
    '|---|---|--:|--:|--:|--:|---|',
    ...rows.map(line),
  ];
}

function line({ contender, figure, unit, median, low, high, ratio, target, note }) {
  const cells = [
    contender,
    `${figure}${note === '' ? '' : ` (${note})`}`,
    `${digits(median)} ${unit}`,
    `${digits(low)}–${digits(high)}`,
    ratio === undefined ? '' : ratio.toFixed(2),
    target === undefined ? '' : targetText(target, unit),
    target === undefined ? '' : verdict({ target, ratio, median }),
  ];
  return `| ${cells.join(' | ')} |`;
}

function targetText({ of, max, min }, unit) {
  const bound = max === undefined ? `≥ ${min}` : `≤ ${max}`;
  return of === 'ratio' ? `${bound} ×` : `${bound} ${unit}`;
}

function verdict(row) {
  return excessOf(row) <= 1 ? 'yes' : '**no**';
}

/** Three significant digits are already more than a shared machine can give. */
function digits(value) {
  if (value === 0) return '0';
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(places, 3));
}

const percent = (share) => `${(share * 100).toFixed(1)} %`;
