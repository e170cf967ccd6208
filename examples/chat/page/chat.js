/** The pieces of a reply, as they come. The browser sends the cookie of the session with the call. */
export async function* ask(messages) {
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages }),
  });
  if (!response.ok) throw new Error((await response.json()).error.message);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop();
    for (const line of lines.filter((line) => line.startsWith('data: {'))) {
      const { error, choices } = JSON.parse(line.slice('data: '.length));
      if (error) throw new Error(error.message);
      yield choices[0]?.delta.content ?? '';
    }
  }
}
