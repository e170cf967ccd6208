/** Migration 16: the owners of keys, and what a search for keys looks into. It only adds. */

export const keyOwners = `
CREATE TABLE "tollgate".owners (
  id text COLLATE "C" PRIMARY KEY,
  record json NOT NULL,
  searched text NOT NULL,
  version bigint NOT NULL DEFAULT 1
);
ALTER TABLE "tollgate".keys ADD COLUMN owner text COLLATE "C";
-- NULL in rows of older versions.
ALTER TABLE "tollgate".keys ADD COLUMN searched text;
CREATE INDEX keys_by_owner ON "tollgate".keys (owner, id) WHERE owner IS NOT NULL;
`;
