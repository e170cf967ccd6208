/** The options that state what a key may do, which `keys issue` and `keys edit` share. */
import {
  anchorDayOf,
  callCountOf,
  expiryOf,
  periodOf,
  rateLineOf,
  ratesOf,
  rateTextForm,
} from '../../admin/keys/texts.ts';
import type { PeriodOfLimit } from '../../ports/keys/key-store.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import { type Command, type Given, usageError } from '../command.ts';

export const rightsOptions: Command['options'] = {
  group: { value: 'NAME', text: 'its group, which decides its models' },
  model: { value: 'ID', isList: true, text: 'a model that it may use, of its group; repeatable' },
  owner: { value: 'ID', text: 'its owner, whose budget its calls count towards as well' },
  rate: {
    value: 'LIMIT',
    isList: true,
    text: 'calls=60/minute, tokens=1000000/day or MODEL:calls=10/minute; repeatable',
  },
  'max-calls': { value: 'N', text: 'how many of its calls may run at once' },
  expires: { value: 'DATE', text: 'when it expires: 2027-01-31, or 2027-01-31T18:00Z' },
  metadata: { value: 'NAME=TEXT', isList: true, text: 'a label of it; repeatable' },
};

export const periodOptions: Command['options'] = {
  period: { value: 'PERIOD', text: 'total, day, week or month; default: total' },
  'anchor-day': { value: 'DAY', text: 'the day on which its months begin; default: 1' },
};

/** The member that an option states; an empty object where it is not given. */
function memberIn<T extends object>(
  { text }: Given,
  option: string,
  read: (text: string) => T | string,
): Partial<T> {
  const stated = text(option);
  if (stated === undefined) return {};
  const found = read(stated);
  if (typeof found === 'string') throw usageError(`--${option} ${found}`);
  return found;
}

export function periodIn(given: Given): Partial<PeriodOfLimit> {
  return {
    ...memberIn(given, 'period', periodOf),
    ...memberIn(given, 'anchor-day', anchorDayOf),
  };
}

/** The rights that the options state; what is not stated is undefined. */
export function rightsIn(given: Given) {
  const models = given.all('model');
  return {
    group: given.text('group'),
    models: models.length === 0 ? undefined : models,
    owner: given.text('owner'),
    rates: ratesIn(given),
    ...memberIn(given, 'max-calls', callCountOf),
    ...memberIn(given, 'expires', (text) => expiryOf(text, given.around.clock.now())),
    metadata: metadataIn(given),
  };
}

export function ratesIn({ all }: Given): readonly KeyRateLimits[] | undefined {
  const lines = all('rate').map((text) => {
    const line = rateLineOf(text);
    if (line === undefined) throw usageError(`--rate must be ${rateTextForm}.`);
    return line;
  });
  return lines.length === 0 ? undefined : ratesOf(lines);
}

export function metadataIn({ all }: Given): Readonly<Record<string, string>> | undefined {
  const labels = all('metadata').map((text) => {
    const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw usageError('--metadata must be NAME=TEXT, such as user=ada@example.com.');
    }
    return [name, value] as const;
  });
  return labels.length === 0 ? undefined : Object.fromEntries(labels);
}

type Labels = Readonly<Record<string, string>>;

/** How `--metadata` and `--no-metadata` change the labels of a record; undefined if not at all. */
export function labelChange(given: Given): ((known: Labels) => Labels) | undefined {
  const labels = metadataIn(given) ?? {};
  const gone = given.all('no-metadata');
  if (gone.length === 0 && Object.keys(labels).length === 0) return undefined;
  return (known) => {
    const all = Object.entries({ ...known, ...labels });
    return Object.fromEntries(all.filter(([name]) => !gone.includes(name)));
  };
}

export function nothingToChange(command: string): Error {
  return usageError(`${command} needs something to change. See npx tollgate ${command} --help.`);
}
