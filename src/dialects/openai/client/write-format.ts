/**
 * Writes the output format: `response_format`, or a hint in the prompt if the upstream does not
 * support the format.
 */

import { functionNames } from '../../../canonical/function-names.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentRequest, OutputFormat } from '../../../canonical/request.ts';
import { isStrictSchema } from '../../../canonical/schema/strictness.ts';
import { member } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { emptyPiece, type Piece } from './piece.ts';

export interface FormatPiece extends Piece {
  readonly hints: readonly string[];
}

/** OpenAI's rule for names of schemas and functions. */
export const nameRule: { readonly pattern: RegExp; readonly maxLength: number } = {
  pattern: /^[a-zA-Z0-9_-]{1,64}$/,
  maxLength: 64,
};

export function formatPiece(request: ContentRequest, flags: ResolvedCapabilities): FormatPiece {
  const { format } = request;
  if (format === undefined) return { ...emptyPiece, hints: [] };
  if (format.type === 'enum') return asHint(request, enumHint(format.values));
  if (!supportsJson(request, flags)) return asHint(request, hintOf(format));
  if (format.type === 'json') return jsonPiece(request);
  if (flags.structuredOutput === 'json') {
    return { ...asHint(request, hintOf(format)), members: jsonObject };
  }
  return isSupportedSchema(format) ? schemaPiece(request, format) : asHint(request, hintOf(format));
}

type SchemaFormat = Extract<OutputFormat, { type: 'json_schema' }>;

const jsonObject = { response_format: { type: 'json_object' } } as const;

const jsonHint = 'Answer with JSON and nothing else.';

function supportsJson({ tools }: ContentRequest, flags: ResolvedCapabilities): boolean {
  return flags.structuredOutput !== 'none' && (flags.jsonWithTools || tools.length === 0);
}

function asHint({ names }: ContentRequest, hint: string): FormatPiece {
  return { members: {}, dropped: [names.format], hints: [hint] };
}

function hintOf(format: Exclude<OutputFormat, { type: 'enum' }>): string {
  if (format.type === 'json') return jsonHint;
  return `${jsonHint} It must match this JSON Schema: ${jsonText(format.schema)}`;
}

/** A hint and not a schema, which would change the reply from bare text to JSON. */
function enumHint(values: readonly string[]): string {
  return `Answer with exactly one of these values, without quotes: ${jsonText(values)}`;
}

/** OpenAI rejects this mode unless a message contains the word JSON. */
function jsonPiece(request: ContentRequest): FormatPiece {
  return { members: jsonObject, dropped: [], hints: mentionsJson(request) ? [] : [jsonHint] };
}

function mentionsJson({ system, turns }: ContentRequest): boolean {
  const mentions = (text: string) => /json/i.test(text);
  return (
    system.some(({ text }) => mentions(text)) ||
    turns.some(({ parts }) => parts.some((part) => part.kind === 'text' && mentions(part.text)))
  );
}

/** OpenAI requires an object at the root of a schema; Gemini's callers may also request arrays. */
function isSupportedSchema({ schema }: SchemaFormat): boolean {
  const type = member(schema, 'type');
  return type === 'object' || (type === undefined && member(schema, '$ref') !== undefined);
}

function schemaPiece({ names }: ContentRequest, format: SchemaFormat): FormatPiece {
  const strict = format.strict === true && isStrictSchema(format.schema);
  const name = format.name ?? 'response';
  return {
    members: {
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: functionNames([name], nameRule).upstream(name),
          description: format.description,
          schema: format.schema,
          strict,
        },
      },
    },
    dropped: format.strict === true && !strict ? [names.format] : [],
    hints: [],
  };
}
