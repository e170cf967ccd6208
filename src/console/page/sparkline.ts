/** A small line of the last minutes, next to the figure that it explains; it has no axes. */

const svgNamespace = 'http://www.w3.org/2000/svg';
const width = 120;
const height = 32;

/** The line and the area below it. Values that are not known leave a gap. */
export function sparkline(values: readonly (number | undefined)[]): SVGSVGElement {
  const highest = Math.max(0, ...values.map((value) => value ?? 0));
  const runs = runsOf(values);
  const node = document.createElementNS(svgNamespace, 'svg');
  node.setAttribute('viewBox', `0 0 ${width} ${height}`);
  node.setAttribute('preserveAspectRatio', 'none');
  node.setAttribute('class', 'sparkline');
  node.setAttribute('aria-hidden', 'true');
  for (const run of runs) {
    const points = run.map(({ index, value }) => pointOf(index, value, values.length, highest));
    const line = `M${points.join('L')}`;
    const [first = '', last = ''] = [points[0], points.at(-1)];
    const area = `${line}L${last.split(',')[0]},${height}L${first.split(',')[0]},${height}Z`;
    node.append(pathOf(area, 'spark-area'), pathOf(line, 'spark-line'));
  }
  return node;
}

interface Point {
  readonly index: number;
  readonly value: number;
}

/** The stretches without a gap. */
function runsOf(values: readonly (number | undefined)[]): readonly (readonly Point[])[] {
  const runs: Point[][] = [];
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    const last = runs.at(-1);
    if (last?.at(-1)?.index === index - 1) last.push({ index, value });
    else runs.push([{ index, value }]);
  }
  return runs;
}

function pointOf(index: number, value: number, length: number, highest: number): string {
  const x = length < 2 ? 0 : (index * width) / (length - 1);
  const y = highest === 0 ? height - 1 : height - 1 - (value / highest) * (height - 3);
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}

function pathOf(d: string, name: string): SVGPathElement {
  const path = document.createElementNS(svgNamespace, 'path');
  path.setAttribute('d', d);
  path.setAttribute('class', name);
  path.setAttribute('vector-effect', 'non-scaling-stroke');
  return path;
}
