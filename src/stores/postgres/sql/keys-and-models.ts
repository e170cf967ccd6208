/** Migration 7: keys by the digest of their secret, and the versions of the catalog. */

/** No column holds a secret: a channel's credential is a reference by name or variable. */
export const keysAndModels = `
CREATE TABLE "tollgate".keys (
  id text COLLATE "C" PRIMARY KEY,
  digest text COLLATE "C" NOT NULL UNIQUE,
  key_group text COLLATE "C" NOT NULL,
  disabled boolean NOT NULL DEFAULT false,
  -- json, not jsonb: labels may contain what jsonb refuses, such as an escaped NUL.
  record json NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX keys_by_group ON "tollgate".keys (key_group, id);

-- The published lists of models; the newest is served.
CREATE TABLE "tollgate".catalogs (
  version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  models json NOT NULL,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
`;
