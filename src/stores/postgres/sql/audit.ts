/** The audit trail, and the history of the catalog. They only add, so older processes keep running. */
export const auditTable = `
CREATE TABLE "tollgate".audit (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms bigint NOT NULL,
  actor text NOT NULL,
  action text COLLATE "C" NOT NULL,
  target text,
  change json NOT NULL,
  outcome text NOT NULL,
  code text
);
CREATE INDEX audit_by_age ON "tollgate".audit (at_ms, seq);
-- Who published a version, why, and what it changed, as JSON text.
ALTER TABLE "tollgate".catalogs
  ADD COLUMN actor text, ADD COLUMN note text, ADD COLUMN changes text;
`;
