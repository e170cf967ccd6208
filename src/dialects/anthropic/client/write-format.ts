/** Requests an output format. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { OutputFormat } from '../../../canonical/request.ts';
import { withDescription } from '../../../canonical/schema/describe.ts';
import { isLoosened } from '../../../canonical/schema/loosened.ts';
import { closedSchema, holdsMap, objectSchema } from '../../../canonical/schema/strictness.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import type { Block } from './written.ts';

export interface WrittenFormat {
  /** `output_config.format`. */
  readonly output: Block | undefined;
  /** A tool that the model must call; its input is the reply. */
  readonly tool: Block | undefined;
  /** An instruction after those of the caller. */
  readonly hint: string | undefined;
  readonly isBestEffort: boolean;
}

const replyTool = 'json';

const jsonHint = 'Answer with one JSON object and nothing else.';
const enumHint =
  'Answer with exactly one of these values, as it stands here, without quotes and nothing else:';
const schemaHint =
  'Give your answer to the user as JSON that fits this JSON Schema, and nothing else:';

const unset: WrittenFormat = {
  output: undefined,
  tool: undefined,
  hint: undefined,
  isBestEffort: false,
};

/** `hasTools`: the caller has declared tools, so that no other tool can be required. */
export function writeFormat(
  format: OutputFormat | undefined,
  {
    capabilities,
    hasTools,
  }: { readonly capabilities: ResolvedCapabilities; readonly hasTools: boolean },
): WrittenFormat {
  switch (format?.type) {
    case undefined:
      return unset;
    case 'json':
      return byHint(jsonHint);
    case 'enum':
      return byHint(`${enumHint}\n${format.values.join('\n')}`);
    case 'json_schema': {
      const schema = withDescription(format.schema, format.description);
      // Closing the schema of a map would only allow an empty object.
      if (holdsMap(schema)) return bySchemaHint(schema);
      const isSupported =
        capabilities.structuredOutput === 'schema' && (!hasTools || capabilities.jsonWithTools);
      if (isSupported) return byOutputConfig(schema);
      if (hasTools || !isObject(schema)) return bySchemaHint(schema);
      return {
        ...byRequiredTool(schema),
        isBestEffort: format.strict === true || isLoosened(schema),
      };
    }
  }
}

function byOutputConfig(schema: JsonObject): WrittenFormat {
  const closed = closedSchema(schema);
  const output = { type: 'json_schema', schema: closed.schema };
  return { ...unset, output, isBestEffort: closed.changed };
}

function byRequiredTool(schema: JsonObject): WrittenFormat {
  const tool = {
    name: replyTool,
    description: 'Gives the answer.',
    input_schema: objectSchema(schema),
  };
  return { ...unset, tool };
}

function bySchemaHint(schema: JsonObject): WrittenFormat {
  return byHint(`${schemaHint}\n${jsonText(schema)}`);
}

function byHint(hint: string): WrittenFormat {
  return { ...unset, hint, isBestEffort: true };
}

/** Only an object can be the input of a tool. */
function isObject(schema: JsonObject): boolean {
  const type = member(schema, 'type');
  return type === 'object' || (type === undefined && isJsonObject(member(schema, 'properties')));
}
