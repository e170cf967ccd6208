/** Writes the report: a table for each scenario, and a description of the machine. */

/** Above this share of all cores the figures of a scenario are unreliable. */
const foreignLimit = 0.1;

/** The section of one scenario. */
export function scenarioReport({ scenario, lines, notes, foreign, seconds }) {
  const share = foreign === undefined ? 'unknown' : `${(foreign * 100).toFixed(1)} %`;
  return [
    ...headingOf(scenario),
    ...table(lines),
    '',
    ...notes.map((note) => `- ${note}`),
    `- Foreign load ${share} of all cores; took ${Math.round(seconds)} s.`,
    ...(foreign > foreignLimit
      ? ['- **Warning: other processes used much of the machine; run this again when it is idle.**']
      : []),
    '',
  ].join('\n');
}

/** The section of a scenario that could not be run. */
export function failureReport(scenario, error) {
  return [...headingOf(scenario), `**It failed: ${error.message.split('\n')[0]}**`, ''].join('\n');
}

const headingOf = ({ title, description }) => [
  `## ${title}`,
  '',
  ...(description === undefined ? [] : [description, '']),
];

/** The head of the report. */
export function head({ date, node, processor, cores, pinned }, { seed }) {
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; how to read it: [README](README.md).',
    '',
    `- ${date} UTC, Node ${node.slice(1)}, ${processor}, ${cores} cores; seed ${seed}`,
    pinned
      ? '- contender pinned to one core, upstream and load generator to the others'
      : '- not pinned',
    '- each figure is the median of its rounds, with their quartiles in brackets; so are the ratio and',
    '  the difference, which are to the baseline of the same round',
    '',
  ].join('\n');
}

function table(lines) {
  return [
    '| contender | figure | median (quartiles) | to its baseline | goal | met |',
    '|---|---|--:|--:|--:|---|',
    ...lines.map(row),
  ];
}

function row({ name, figure, unit, above, values, relation, goal }) {
  const digits = (value) => significant(value);
  const times = (value) => value.toFixed(2);
  const [text, suffix] = above ? [digits, ` ${unit}`] : [times, ' ×'];
  const cells = [
    name,
    figure,
    withQuartiles(values, digits, ` ${unit}`),
    relation === undefined ? '' : withQuartiles(relation, text, suffix, above),
    goal === undefined ? '' : goalText(goal, unit),
    goal === undefined ? '' : isMet({ values, relation, goal }) ? 'yes' : '**no**',
  ];
  return `| ${cells.join(' | ')} |`;
}

function withQuartiles({ low, median, high }, text, suffix, signed = false) {
  const sign = signed && median > 0 ? '+' : '';
  return `${sign}${text(median)}${suffix} (${text(low)}–${text(high)})`;
}

const goalText = ({ ratio, above, value }, unit) =>
  ratio !== undefined ? `≤ ${ratio} ×` : `≤ ${above === undefined ? value : `+${above}`} ${unit}`;

/** A goal names the highest `ratio` to the baseline, difference `above` it, or `value`. */
function isMet({ values, relation, goal: { ratio, above, value } }) {
  return (value === undefined ? relation : values).median <= (ratio ?? above ?? value);
}

/** Three significant digits are already more than a shared machine can give. */
function significant(value) {
  if (value === 0) return '0';
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(places, 3));
}
