/** Structured output. */
import type { OutputFormat } from '../../../src/canonical/request.ts';
import type { JsonObject } from '../../../src/json.ts';
import { user } from '../../support/plain-request.ts';
import { json } from './fragments.ts';
import { text, tool } from './parts.ts';
import type { RequestRow } from './request-rows.ts';
import { requestRow } from './wire-text.ts';

const open: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
const closed: JsonObject = { ...open, required: ['a'], additionalProperties: false };

const fg = { tools: [tool('f'), tool('g')] };

const schemaFormat = (
  schema: JsonObject,
  more: object = {},
): { readonly format: OutputFormat } => ({
  format: {
    type: 'json_schema',
    name: 'n',
    description: undefined,
    schema,
    strict: undefined,
    ...more,
  },
});

/** Structured output. */
export const formats: readonly RequestRow[] = [
  requestRow('any JSON', { format: { type: 'json' } })`
    chat < {response_format:{type:"json_object"}}
    chat > {response_format:{type:"json_object"},messages:[{role:"system",content:"~JSON"},
      ${json.hi}]}
    chat > {messages:[{role:"system",content:"~JSON"},${json.hi}]} | lost response_format
      | to {structuredOutput:"none"}
    responses < {text:{format:{type:"json_object"}}}
    messages > {system:[{type:"text",text:"~JSON"}]} | lost response_format
    gemini <> {generationConfig:{responseMimeType:"application/json"}}
  `,
  requestRow('any JSON, of which a message speaks', {
    format: { type: 'json' },
    turns: [user(text('As Json, please'))],
  })`
    chat > {response_format:{type:"json_object"},messages:[{role:"user",content:"As Json, please"}]}
  `,
  requestRow('a schema', schemaFormat(closed))`
    chat < {response_format:{type:"json_schema",json_schema:{name:"n",schema:${json.closed}}}}
    chat > {response_format:{type:"json_schema",json_schema:{name:"n",schema:${json.closed},
      strict:false}}}
    chat > {response_format:{type:"json_object"},messages:[{role:"system",
      content:"~\"additionalProperties\":false"},${json.hi}]} | lost response_format
      | to {structuredOutput:"json"}
    chat > {messages:[{role:"system",content:"~\"additionalProperties\":false"},${json.hi}]}
      | lost response_format | to {structuredOutput:"none"}
    responses < {text:{format:{type:"json_schema",name:"n",schema:${json.closed}}}}
    responses < {text:{format:{type:"json_schema",name:"n",schema:${json.closed},strict:null}}}
    messages > {output_config:{format:{type:"json_schema",schema:${json.closed}}}}
    messages > {tools:[{name:"~.",description:"~.",input_schema:${json.closed}}],tool_choice:
      {type:"tool",name:"~.",disable_parallel_tool_use:true}} | to {structuredOutput:"none"}
    gemini > {generationConfig:{responseMimeType:"application/json",
      responseJsonSchema:${json.closed}}}
    gemini < {generationConfig:{responseMimeType:"application/json",
      responseJsonSchema:${json.closed}}} | read ${schemaFormat(closed, { name: undefined })}
      | names {format:"generationConfig.responseJsonSchema"}
    gemini < {generationConfig:{responseFormat:[{text:{mimeType:"APPLICATION_JSON",
      schema:${json.closed}}}]}} | read ${schemaFormat(closed, { name: undefined })}
      | names {format:"generationConfig.responseFormat"}
    gemini > {generationConfig:{responseMimeType:"application/json"},systemInstruction:{parts:
      [{text:"~\"additionalProperties\":false"}]}} | lost response_format
      | to {structuredOutput:"json"}
  `,
  requestRow('a schema as OpenAPI has it', schemaFormat(open, { name: undefined }))`
    gemini < {generationConfig:{responseMimeType:"application/json",responseSchema:{type:"OBJECT",
      properties:{a:{type:"STRING"}}}}} | names {format:"generationConfig.responseSchema"}
    gemini > {generationConfig:{responseMimeType:"application/json",responseSchema:{type:"OBJECT",
      propertyOrdering:["a"],properties:{a:{type:"STRING"}}}}} | to "gemini-1.5-pro"
  `,
  requestRow('a strict schema', schemaFormat(closed, { name: 'response', strict: true }))`
    chat <> {response_format:{type:"json_schema",json_schema:{name:"response",schema:${json.closed},
      strict:true}}}
    responses < {text:{format:{type:"json_schema",name:"response",schema:${json.closed},
      strict:true}}}
    messages <> {output_config:{format:{type:"json_schema",schema:${json.closed}}}}
      | names {format:"output_config.format"}
    messages < {output_format:{type:"json_schema",schema:${json.closed}}}
      | names {format:"output_format"}
    messages < {output_config:{format:{type:"json_schema",schema:${json.closed}}},output_format:
      {type:"json_schema",schema:{}}} | lost output_format
    gemini > {generationConfig:{responseMimeType:"application/json",
      responseJsonSchema:${json.closed}}}
  `,
  requestRow('a strict schema for a model that takes none', schemaFormat(closed, { strict: true }))`
    messages > {tools:[{name:"~.",description:"~.",input_schema:${json.closed}}],tool_choice:
      {type:"tool",name:"~.",disable_parallel_tool_use:true}} | lost response_format
      | to {structuredOutput:"none"}
  `,
  requestRow('a strict schema that is open', schemaFormat({ type: 'object' }, { strict: true }))`
    chat > {response_format:{type:"json_schema",json_schema:{name:"n",schema:{type:"object"},
      strict:false}}} | lost response_format
  `,
  requestRow(
    'a schema with a description and an odd name',
    schemaFormat(closed, { name: 'my answer', description: 'D.' }),
  )`
    chat > {response_format:{type:"json_schema",json_schema:{name:"~^[a-zA-Z0-9_-]{1,64}$",
      description:"D.",schema:${json.closed},strict:false}}}
    responses < {text:{format:{type:"json_schema",name:"my answer",description:"D.",
      schema:${json.closed}}}}
    gemini > {generationConfig:{responseMimeType:"application/json",responseJsonSchema:
      {description:"D.",type:"object",properties:{a:{type:"string"}},required:["a"],
      additionalProperties:false}}}
  `,
  requestRow('a schema and tools', { ...schemaFormat(closed), ...fg })`
    chat > {${json.chatTools},messages:[{role:"system",content:"~\"additionalProperties\":false"},
      ${json.hi}]} | lost response_format | to {jsonWithTools:false}
    messages > {${json.claudeTools},output_config:{format:{type:"json_schema",
      schema:${json.closed}}}}
    messages > {${json.claudeTools},system:[{type:"text",text:"~\"additionalProperties\":false"}]}
      | lost response_format | to {structuredOutput:"none"}
    gemini > {${json.geminiTools},systemInstruction:{parts:
      [{text:"~\"additionalProperties\":false"}]}} | lost response_format | to "gemini-2.5-flash"
  `,
  requestRow('a schema of an array, after a system text', {
    ...schemaFormat({ type: 'array' }),
    system: [text('Be brief.')],
  })`
    chat > {messages:[{role:"system",content:[{type:"text",text:"Be brief."},{type:"text",
      text:"~\"array\""}]},${json.hi}]} | lost response_format
    messages > {system:[{type:"text",text:"Be brief."},{type:"text",text:"~\"array\""}]}
      | lost response_format | to {structuredOutput:"none"}
    gemini > {systemInstruction:{parts:[{text:"Be brief."}]},generationConfig:
      {responseMimeType:"application/json",responseJsonSchema:{type:"array"}}}
  `,
  requestRow('one of some values', { format: { type: 'enum', values: ['a', 'b'] } })`
    chat > {messages:[{role:"system",content:"~\\[\"a\",\"b\"\\]"},${json.hi}]}
      | lost response_format
    messages > {system:[{type:"text",text:"~one of these values"}]} | lost response_format
    gemini <> {generationConfig:{responseMimeType:"text/x.enum",responseSchema:{type:"STRING",enum:
      ["a","b"]}}} | names {format:"generationConfig.responseSchema"}
  `,
];
