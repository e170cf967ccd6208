/** The table of options: their comments in the code, and the defaults that the code uses. */
import { plainDefaults } from '../../../src/plain-options.ts';
import { defaultResponseOptions } from '../../../src/ports/replies/response-options-schema.ts';
import { cell, type Described, membersOf, table } from './table.ts';

/** Options with a row for each of their members. */
const objects: ReadonlyMap<string, () => readonly (readonly string[])[]> = new Map([
  [
    'timeouts',
    () => rowsOf('src/ports/timeouts.ts', 'Timeouts', plainDefaults.timeouts, 'timeouts.'),
  ],
  [
    'responses',
    () =>
      rowsOf(
        'src/ports/replies/response-options.ts',
        'ResponseOptions',
        defaultResponseOptions,
        'responses.',
      ),
  ],
]);

/** The table of docs/options.md. */
export function optionsTable(): string {
  return table(
    ['option', 'default', 'what it does'],
    rowsOf('src/gateway-options.ts', 'GatewayOptions', plainDefaults, ''),
  );
}

function rowsOf(path: string, type: string, defaults: object, prefix: string) {
  return membersOf(path, type).flatMap(
    (option) => objects.get(option.name)?.() ?? [rowOf(option, defaults, prefix)],
  );
}

function rowOf({ name, isOptional, text, byDefault }: Described, defaults: object, prefix: string) {
  const value = written(name, Reflect.get(defaults, name));
  const isRequired = !isOptional && value === undefined;
  return [
    `\`${prefix}${name}\``,
    isRequired ? '' : (value ?? byDefault ?? 'none'),
    isRequired ? `${cell(text)} Required.` : cell(text),
  ];
}

/** A default as people write it: `32 MiB`, `5 s`, `10,000`, `` `a`, `b` ``, `false`. */
function written(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return value.map((item) => `\`${item}\``).join(', ');
  if (typeof value !== 'number') return `\`${value}\``;
  if (name.endsWith('Bytes')) return `${value / 2 ** 20} MiB`;
  if (!name.endsWith('Ms')) return value.toLocaleString('en-US');
  if (value % 3_600_000 === 0) return `${value / 3_600_000} h`;
  return value % 60_000 === 0 ? `${value / 60_000} min` : `${value / 1_000} s`;
}
