/** Asks for the form of the answer (TRANSLATION §6.7). */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { OutputFormat } from '../../../canonical/request.ts';
import { described } from '../../../canonical/schema/describe.ts';
import { isLoosened } from '../../../canonical/schema/loosened.ts';
import { closedSchema, holdsMap, objectSchema } from '../../../canonical/schema/strictness.ts';
import { isJsonObject, type JsonObject, member } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import type { Block } from './written.ts';

/** How a form is asked for: in one of three ways, or not at all. */
export interface WrittenFormat {
  /** `output_config.format`. */
  readonly output: Block | undefined;
  /** A tool the model is made to call; what it is called with is the answer. */
  readonly tool: Block | undefined;
  /** An instruction behind the caller's own. */
  readonly hint: string | undefined;
  /** The form is asked for, but the upstream does not hold the model to all of it. */
  readonly isLoose: boolean;
}

/** How the tool is called that stands for the answer. */
const answerTool = 'json';

const jsonHint = 'Answer with one JSON object and nothing else.';
const enumHint =
  'Answer with exactly one of these values, as it stands here, without quotes and nothing else:';
const schemaHint =
  'Give your answer to the user as JSON that fits this JSON Schema, and nothing else:';

const free: WrittenFormat = {
  output: undefined,
  tool: undefined,
  hint: undefined,
  isLoose: false,
};

/** `hasTools`: the caller has tools of its own, so that none can be forced. */
export function writeFormat(
  format: OutputFormat | undefined,
  {
    capabilities,
    hasTools,
  }: { readonly capabilities: ResolvedCapabilities; readonly hasTools: boolean },
): WrittenFormat {
  switch (format?.type) {
    case undefined:
      return free;
    case 'json':
      return hinted(jsonHint);
    case 'enum':
      return hinted(`${enumHint}\n${format.values.join('\n')}`);
    case 'json_schema': {
      const schema = described(format.schema, format.description);
      // Of a map, a closed schema would leave an empty object.
      if (holdsMap(schema)) return asked(schema);
      const isTaken =
        capabilities.structuredOutput === 'schema' && (!hasTools || capabilities.jsonWithTools);
      if (isTaken) return native(schema);
      if (hasTools || !isObject(schema)) return asked(schema);
      return { ...forced(schema), isLoose: format.strict === true || isLoosened(schema) };
    }
  }
}

function native(schema: JsonObject): WrittenFormat {
  const closed = closedSchema(schema);
  const output = { type: 'json_schema', schema: closed.schema };
  return { ...free, output, isLoose: closed.changed };
}

function forced(schema: JsonObject): WrittenFormat {
  const tool = {
    name: answerTool,
    description: 'Gives the answer.',
    input_schema: objectSchema(schema),
  };
  return { ...free, tool };
}

function asked(schema: JsonObject): WrittenFormat {
  return hinted(`${schemaHint}\n${jsonText(schema)}`);
}

function hinted(hint: string): WrittenFormat {
  return { ...free, hint, isLoose: true };
}

/** Only an object can be what a tool is called with. */
function isObject(schema: JsonObject): boolean {
  const type = member(schema, 'type');
  return type === 'object' || (type === undefined && isJsonObject(member(schema, 'properties')));
}
