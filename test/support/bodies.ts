/** The least that each protocol accepts, as tests send it. */

/** A chat. */
export const chatBody = {
  model: 'chat-1',
  messages: [{ role: 'user', content: 'Hello!' }],
} as const;

/** An image of the smallest kind that the stage prices. */
export const imageBody = {
  model: 'image-1',
  prompt: 'A grey cat.',
  n: 1,
  size: '1024x1024',
  quality: 'low',
} as const;

/** A native call; the path names its model. */
export const nativeBody = { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] } as const;
