/** The JSON Schema of `tollgate.json`, by which editors complete and check the file. */
import { z } from 'zod';
import { modelSchema } from '../../catalog/model-schema.ts';
import { costJsonSchema, priceJsonSchema } from '../../prices/schema.ts';
import { configForm } from './config.ts';
import { referenceTo } from './environment.ts';

export type JsonSchema = Record<string, unknown>;

const cloudForms: Readonly<Record<string, JsonSchema>> = {
  aws: optional('profile'),
  google: { const: 'default' },
  azure: { anyOf: [{ const: 'default' }, optional('scope')] },
};

function optional(name: string): JsonSchema {
  return {
    type: 'object',
    properties: { [name]: { type: 'string' } },
    additionalProperties: false,
  };
}

/** The schemas of members whose JSON form differs from the one in code. */
const writtenForms: Readonly<Record<string, JsonSchema>> = {
  credential: {
    description:
      `A reference to the secret: "${referenceTo('NAME')}" or { "env": "NAME" }; ` +
      'or the cloud whose library gets it: { "aws": {} }, { "google": "default" }, ' +
      '{ "azure": "default" }.',
    anyOf: [
      { type: 'string', pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$' },
      {
        type: 'object',
        properties: { env: { type: 'string' } },
        required: ['env'],
        additionalProperties: false,
      },
      ...Object.entries(cloudForms).map(([cloud, form]) => ({
        type: 'object',
        properties: { [cloud]: form },
        required: [cloud],
        additionalProperties: false,
      })),
    ],
  },
  maxPriceNanos: {
    anyOf: [
      { type: 'integer', minimum: 0 },
      { type: 'string', pattern: '^\\d+$' },
    ],
  },
};

/**
 * The schema of the file before `${NAME}` is replaced. Any string may contain a reference, so
 * formats and patterns of strings are left out.
 */
export function configJsonSchema(): JsonSchema {
  const model = schemaOf(modelSchema, modelOverride);
  const schema = schemaOf(configForm, ({ jsonSchema, path, zodSchema: { _zod } }) => {
    // Zod leaves out the default of what it transforms, such as a port that is text.
    if (_zod.def.type === 'default') jsonSchema.default = Reflect.get(_zod.def, 'defaultValue');
    if (path.at(-1) === 'models') jsonSchema.items = { $ref: '#/$defs/model' };
    dropPattern(jsonSchema);
  });
  return { ...schema, title: 'tollgate.json', $defs: { model: withoutDialect(model) } };
}

const modelPriceSchema = z.union([priceJsonSchema, z.strictObject({ from: z.string() })]);

interface OverrideContext {
  readonly jsonSchema: JsonSchema;
  readonly path: readonly (string | number)[];
  readonly zodSchema: z.core.$ZodType;
}

function schemaOf(schema: z.ZodType, override: (context: OverrideContext) => void): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'any',
    override,
  });
}

function modelOverride({ jsonSchema, path }: OverrideContext): void {
  const name = String(path.at(-1) ?? '');
  const form = { price: modelPriceSchema, cost: costJsonSchema }[name];
  const written = form ? withoutDialect(schemaOf(form, () => {})) : writtenForms[name];
  if (written === undefined || path.at(-2) !== 'properties') {
    dropPattern(jsonSchema);
    return;
  }
  for (const member of Object.keys(jsonSchema)) delete jsonSchema[member];
  Object.assign(jsonSchema, written);
}

/** A string may be `${NAME}`, which a pattern for its value does not allow. */
function dropPattern(jsonSchema: JsonSchema): void {
  delete jsonSchema.pattern;
  delete jsonSchema.format;
}

function withoutDialect({ $schema: _, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
