/**
 * Checks that a response object has the members which the types of OpenAI's client require, and
 * those without which a client fails: the AI SDK rejects a whole reply for one missing member.
 */
import { z } from 'zod';

const id = (prefix: string): z.ZodString =>
  z.string().regex(new RegExp(`^${prefix}_tg_[A-Za-z0-9_-]{1,40}$`));
const itemStatus = z.enum(['completed', 'incomplete']);
const callId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

const token = z.strictObject({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()),
});

const annotation = z.strictObject({
  type: z.literal('url_citation'),
  start_index: z.int().min(0),
  end_index: z.int().min(0),
  url: z.string(),
  title: z.string(),
});

const part = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output_text'),
    annotations: z.array(annotation),
    logprobs: z.array(token.extend({ top_logprobs: z.array(token) })),
    text: z.string(),
  }),
  z.strictObject({ type: z.literal('refusal'), refusal: z.string().min(1) }),
]);

const item = z.discriminatedUnion('type', [
  z.strictObject({
    id: id('msg'),
    type: z.literal('message'),
    status: itemStatus,
    role: z.literal('assistant'),
    content: z.tuple([part]),
  }),
  z.strictObject({
    id: id('rs'),
    type: z.literal('reasoning'),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string().min(1) })),
    encrypted_content: z.string().startsWith('Z3cyO').optional(),
    status: z.literal('incomplete').optional(),
  }),
  z.strictObject({
    id: id('fc'),
    type: z.literal('function_call'),
    status: z.literal('completed'),
    arguments: z.string().min(1),
    call_id: callId,
    name: z.string(),
    namespace: z.string().optional(),
  }),
  z.strictObject({
    id: id('ctc'),
    type: z.literal('custom_tool_call'),
    status: z.literal('completed'),
    input: z.string(),
    call_id: callId,
    name: z.string(),
    namespace: z.string().optional(),
  }),
  z.strictObject({
    id: id('ig'),
    type: z.literal('image_generation_call'),
    status: z.literal('completed'),
    output_format: z.string(),
    result: z.string().min(1),
  }),
]);

const usage = z.strictObject({
  input_tokens: z.int(),
  input_tokens_details: z.strictObject({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.strictObject({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
});

const response = z.looseObject({
  id: id('resp'),
  object: z.literal('response'),
  created_at: z.int(),
  model: z.string(),
  status: z.enum(['completed', 'incomplete', 'failed']),
  output: z.array(item),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z
    .strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) })
    .nullable(),
  instructions: z.string().nullable(),
  tools: z.array(z.unknown()),
  tool_choice: z.unknown().refine((choice) => choice !== undefined),
  previous_response_id: z.null(),
  background: z.literal(false),
  store: z.boolean(),
  metadata: z.record(z.string(), z.string()),
  temperature: z.number().nullable(),
  usage: usage.nullable(),
});

/** Returns what is wrong with the form of the final response object of a reply. */
export function shapeFaults(object: unknown): readonly string[] {
  const { error, data } = response.safeParse(object);
  if (error !== undefined)
    return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const { status, incomplete_details: details, error: failure, output } = data;
  const whole = output.filter((one) => !('status' in one) || one.status !== 'incomplete');
  return [
    ...((status === 'incomplete') === (details !== null) ? [] : ['incomplete_details']),
    ...((status === 'failed') === (failure !== null) ? [] : ['error']),
    ...(status === 'completed' && whole.length < output.length ? ['an item is incomplete'] : []),
  ];
}
