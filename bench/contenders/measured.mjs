/** Runs a contender in its own process: reports its port, then its CPU time and memory when asked. */
export function measured(start) {
  const [upstreamPort, scenario, dialect] = process.argv.slice(2);
  const server = start(Number(upstreamPort), scenario ?? '', dialect ?? 'openai');
  server.listen(0, '127.0.0.1', () => process.send?.(server.address().port));
  process.on('SIGINT', () => process.exit(0));
  process.on('message', () => {
    process.send?.({ cpu: process.cpuUsage(), rssBytes: process.memoryUsage().rss });
  });
}
