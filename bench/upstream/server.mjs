/**
 * The upstream, a separate process on raw sockets. The path selects the reply: `/200-20/…` is a
 * stream of 200 events, one every 20 ms (`/200-0/…`: all in a burst; `/200-20-stamped/…`: each with
 * the time at which it was sent), `/set/…` the reply that was set last, `/image-1000/…` an
 * image of 1,000 Base64 characters, `/floats/…` embeddings as numbers, and any other path what its API
 * replies to a small call.
 */
import { createServer } from 'node:net';
import { answering } from '../lib/answering.mjs';
import { messageReader } from '../lib/http-reader.mjs';
import { chunkOf, stamper, streams } from './events.mjs';
import { atPace } from './pace.mjs';
import { chatReply, dialectOf, imageReply } from './replies.mjs';

const streamHead =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const jsonHead = 'HTTP/1.1 200 OK\r\ncontent-type: application/json';
const endChunk = chunkOf('');

/** Builds the reply of a path once: a function that sends it over a socket. */
function answerFor(path) {
  const dialect = dialectOf(path);
  const image = /^\/image-(\d+)\//.exec(path);
  if (image !== null) return wholeAnswer(imageReply(dialect, Number(image[1])));
  const stream = /^\/(\d+)-(\d+)(-stamped)?\//.exec(path);
  if (stream === null) return wholeAnswer(chatReply(dialect));
  const [events, everyMs] = [Number(stream[1]), Number(stream[2])];
  return everyMs === 0
    ? burst(streams[dialect], events)
    : paced(streams[dialect], { events, everyMs, isStamped: stream[3] !== undefined });
}

function wholeAnswer(body) {
  const head = [jsonHead, `content-length: ${body.length}`, '', ''].join('\r\n');
  const whole = Buffer.concat([Buffer.from(head), body]);
  return (socket, ended) => {
    socket.write(whole);
    ended();
  };
}

function burst({ first, delta, last }, events) {
  const chunks = [...(first === '' ? [] : [first]), ...Array(events).fill(delta), last];
  const bytes = Buffer.from(streamHead + chunks.map(chunkOf).join('') + endChunk);
  return (socket, ended) => {
    socket.write(bytes);
    ended();
  };
}

/** The first event is sent immediately, with the head; the others at their pace. */
function paced(stream, { events, everyMs, isStamped }) {
  const plain = Buffer.from(chunkOf(stream.delta));
  const event = isStamped ? stamper(stream) : () => plain;
  const head = Buffer.from(streamHead + (stream.first === '' ? '' : chunkOf(stream.first)));
  const end = Buffer.from(chunkOf(stream.last) + endChunk);
  return (socket, ended) => {
    socket.write(Buffer.concat([head, event()]));
    let left = events - 1;
    const leave = atPace(everyMs, () => {
      if (left === 0) {
        socket.off('close', leave);
        socket.write(end);
        ended();
        return false;
      }
      left -= 1;
      socket.write(event());
      return true;
    });
    socket.once('close', leave);
  };
}

const answers = new Map();
/** The prefix that stands for `/set` at present; an empty one selects a chat of 1 KB. */
let prefix = '';

function answerTo(path) {
  const meant = path.replace(/^\/set(?=\/)/, prefix);
  const answer = answers.get(meant) ?? answerFor(meant);
  answers.set(meant, answer);
  return answer;
}

function serve(socket) {
  let path = '';
  let isLast = false;
  const reader = messageReader({
    onHead: (head) => {
      path = head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/')).split('?')[0];
      isLast = /\r\nconnection: *close/i.test(head);
    },
    onData: () => {},
    onEnd: () => {
      answerTo(path)(socket, () => {
        if (isLast) socket.end();
      });
    },
  });
  socket.setNoDelay(true);
  socket.on('data', reader.feed);
  socket.on('error', () => socket.destroy());
}

const server = createServer(serve);
server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
  const answerAs = (as) => {
    prefix = as;
  };
  answering({ port: server.address().port }, { answerAs });
});
