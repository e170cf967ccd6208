/** The smallest body that each protocol accepts. */

/** A chat. */
export const chatBody = {
  model: 'chat-1',
  messages: [{ role: 'user', content: 'Hello!' }],
} as const;

/** The same as a Responses request. */
export const responsesBody = { model: 'chat-1', input: 'Hello!' } as const;

/** The same as a Messages request. */
export const messagesBody = {
  model: 'chat-1',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello!' }],
} as const;

/** An image of the smallest size that has a price in `mounted-models.ts`. */
export const imageBody = {
  model: 'image-1',
  prompt: 'A grey cat.',
  n: 1,
  size: '1024x1024',
  quality: 'low',
} as const;

/** A native call; the path names its model. */
export const nativeBody = { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] } as const;
