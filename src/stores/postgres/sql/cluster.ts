/** Migration 19: replicas and switches of channels. It only adds, so older processes run on. */

export const clusterTables = `
-- What the processes that are running report of themselves, every few seconds.
CREATE UNLOGGED TABLE "tollgate".replicas (
  id text COLLATE "C" PRIMARY KEY,
  host text COLLATE "C" NOT NULL,
  pid bigint NOT NULL,
  version text NOT NULL,
  started_at_ms bigint NOT NULL,
  seen_at_ms bigint NOT NULL,
  channels json NOT NULL
) WITH (fillfactor = 50);

-- The latest switch of each channel, by an operator.
CREATE TABLE "tollgate".switches (
  channel_id text COLLATE "C" PRIMARY KEY,
  is_off boolean NOT NULL,
  actor text NOT NULL,
  at_ms bigint NOT NULL
);
`;
