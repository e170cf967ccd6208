/** Writes the output format, as a JSON mode or, if the model has none for it, as an instruction. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { OutputFormat } from '../../../canonical/request.ts';
import { withDescription } from '../../../canonical/schema/describe.ts';
import { toOpenApiSchema } from '../../../canonical/schema/openapi.ts';
import type { JsonObject } from '../../../json.ts';
import type { Members, WriteContext } from './write-context.ts';

const jsonType = 'application/json';

export function writeFormat(context: WriteContext): {
  readonly config: Members;
  readonly instructions: readonly string[];
} {
  const { request, capabilities, drop } = context;
  const { format } = request;
  if (format === undefined) return { config: {}, instructions: [] };
  const { structuredOutput } = capabilities;
  const allowsJsonMode = capabilities.jsonWithTools || request.tools.length === 0;
  const canEnforce = allowsJsonMode && structuredOutput !== 'none';
  const lacksSchema = structuredOutput === 'json' && format.type !== 'json';
  if (canEnforce && !lacksSchema) return { config: outputMode(context, format), instructions: [] };
  drop(request.names.format);
  const enforcesJson = canEnforce && format.type === 'json_schema';
  return {
    config: enforcesJson ? { responseMimeType: jsonType } : {},
    instructions: [instructionFor(format)],
  };
}

function outputMode(context: WriteContext, format: OutputFormat): Members {
  switch (format.type) {
    case 'json':
      return { responseMimeType: jsonType };
    case 'enum':
      return {
        responseMimeType: 'text/x.enum',
        responseSchema: { type: 'STRING', enum: format.values },
      };
    case 'json_schema':
      return {
        responseMimeType: jsonType,
        ...schemaMember(context, withDescription(format.schema, format.description)),
      };
  }
}

function schemaMember({ request, capabilities, drop }: WriteContext, schema: JsonObject): Members {
  if (capabilities.structuredOutput === 'schema') return { responseJsonSchema: schema };
  const converted = toOpenApiSchema(schema);
  if (converted.changed) drop(request.names.format);
  return { responseSchema: converted.schema };
}

const byTheSchema =
  'Answer only with JSON, without Markdown fences, that matches this JSON Schema: ';

function instructionFor(format: OutputFormat): string {
  switch (format.type) {
    case 'json':
      return 'Answer with one JSON object only, without Markdown fences.';
    case 'enum':
      return `Answer with exactly one of these values only: ${jsonText(format.values)}`;
    case 'json_schema':
      return `${byTheSchema}${jsonText(withDescription(format.schema, format.description))}`;
  }
}
