/** Asks a model from a page, through the gateway of the same app. */

/** The pieces of the reply, as they come. The browser sends the cookie of the session. */
export async function* ask(content: string): AsyncGenerator<string> {
  const response = await fetch('/api/llm/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini',
      stream: true,
      messages: [{ role: 'user', content }],
    }),
  });
  if (!response.ok || response.body === null) {
    throw new Error(JSON.parse(await response.text()).error.message);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((text) => text.startsWith('data: {'))) {
      const { error, choices } = JSON.parse(line.slice('data: '.length));
      if (error) throw new Error(error.message);
      yield choices[0]?.delta.content ?? '';
    }
  }
}
