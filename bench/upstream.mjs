/** The upstream of the benchmark, a process of its own: one recorded chat completion, whole or streamed. */
import { createServer } from 'node:http';

const reply = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1763683200,
    model: 'gpt-4o',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'x'.repeat(620), refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 180, completion_tokens: 160, total_tokens: 340 },
  }),
);
const event = (delta, finish = null) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1763683200,
    model: 'gpt-4o',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
  })}\n\n`;
const delta = Buffer.from(event({ content: ' word' }));
const last = Buffer.from(`${event({}, 'stop')}data: [DONE]\n\n`);

/** `x-bench: <events>/<ms between>` asks for a stream; 0 ms is a burst. */
function stream(res, [events, everyMs]) {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  let left = events;
  if (everyMs === 0) {
    for (; left > 0; left -= 1) res.write(delta);
    res.end(last);
    return;
  }
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return res.write(delta);
    clearInterval(timer);
    res.end(last);
  }, everyMs);
  res.on('close', () => clearInterval(timer));
}

const server = createServer((req, res) => {
  const [, events, everyMs] = /^\/(\d+)-(\d+)\//.exec(req.url ?? '') ?? [];
  req.resume();
  req.on('end', () => {
    if (events !== undefined) return stream(res, [Number(events), Number(everyMs)]);
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': reply.length });
    res.end(reply);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address().port));
