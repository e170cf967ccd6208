/** OpenRouter's `reasoning_details`, which replies contain and callers send back. */
import { read, type Shape } from '../unread.ts';

/** The members of one detail that are read. */
export const reasoningDetail: Shape = {
  type: read,
  id: read,
  index: read,
  format: read,
  text: read,
  summary: read,
  signature: read,
  data: read,
};
