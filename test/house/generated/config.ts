/** The table of the members of `tollgate.json`, from the schema that checks the file. */
import { configJsonSchema } from '../../../src/command/config/json-schema.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '../../../src/json.ts';
import { plainOptions } from '../../../src/plain-options.ts';
import { cell, table } from './table.ts';

/** Members whose own members another page describes, or their row. */
const described: ReadonlySet<string> = new Set(['gateway.responses', 'gateway.chargePolicy']);
const onOtherPages: ReadonlySet<string> = new Set(
  Object.keys(plainOptions).map((name) => `gateway.${name}`),
);

/** The table of docs/command.md. */
export function configTable(): string {
  const schema = parseJson(JSON.stringify(configJsonSchema())) ?? null;
  return table(['member', 'default', 'what it is'], rowsIn(schema, ''));
}

function rowsIn(schema: JsonValue, prefix: string): readonly (readonly string[])[] {
  const { properties, required } = objectOf(schema);
  return Object.entries(objectOf(properties))
    .map(([name, member]) => ({ name, path: `${prefix}${name}`, member: objectOf(member) }))
    .filter(({ path }) => !onOtherPages.has(path))
    .flatMap(({ name, path, member }) => [
      rowOf(path, member, Array.isArray(required) && items(required).includes(name)),
      ...(described.has(path) ? [] : rowsIn(member, `${path}.`)),
    ]);
}

function rowOf(path: string, member: JsonObject, isRequired: boolean): readonly string[] {
  const { description, default: byDefault, enum: values } = member;
  if (typeof description !== 'string') throw new Error(`${path} needs a description.`);
  const choice = Array.isArray(values) ? `${oneOf(items(values))}. ` : '';
  const hasDefault = byDefault !== undefined && !isJsonObject(byDefault);
  return [
    `\`${path}\``,
    hasDefault ? `\`${byDefault}\`` : '',
    `${choice}${cell(description)}${isRequired ? ' Required.' : ''}`,
  ];
}

function oneOf(values: readonly JsonValue[]): string {
  const quoted = values.map((value) => `\`${value}\``);
  return [quoted.slice(0, -1).join(', '), quoted.at(-1)].join(' or ');
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
