-- What Lockgate keeps in Postgres. Names are bytes: a name may hold what a text cannot.
CREATE SCHEMA lockgate;

CREATE TABLE lockgate.store (
  one        integer PRIMARY KEY CHECK (one = 1),
  form       integer NOT NULL,
  id         bytea NOT NULL,
  public_key bytea NOT NULL
);

CREATE TABLE lockgate.session (
  name      bytea PRIMARY KEY,
  version   bigint NOT NULL,
  bytes     bytea,
  clock     bigint NOT NULL,
  questions bigint NOT NULL,
  length    bigint NOT NULL,
  head      bytea NOT NULL,
  answers   bigint NOT NULL,
  shared    bigint NOT NULL,
  seals     bigint NOT NULL,
  token     bytea NOT NULL,
  seal      bytea NOT NULL,
  tx        xid8 NOT NULL DEFAULT pg_current_xact_id()
) WITH (fillfactor = 70);
CREATE INDEX ON lockgate.session (tx);

-- Its one row is made with the tables and never deleted.
CREATE TABLE lockgate.shared_state (
  one       integer PRIMARY KEY CHECK (one = 1),
  version   bigint NOT NULL,
  bytes     bytea,
  human_key bytea,
  seal      bytea NOT NULL
);

-- An answer that is taken away keeps its row, without `granted`.
CREATE TABLE lockgate.answer (
  session bytea NOT NULL,
  number  bigint NOT NULL,
  version bigint NOT NULL,
  granted boolean,
  by      bytea NOT NULL,
  at      bigint NOT NULL,
  proof   bytea NOT NULL,
  seal    bytea NOT NULL,
  PRIMARY KEY (session, number)
);

CREATE TABLE lockgate.record (
  strand  bytea NOT NULL,
  n       bigint NOT NULL,
  prev    bytea NOT NULL,
  hash    bytea NOT NULL,
  at      bigint NOT NULL,
  session bytea,
  entry   bytea NOT NULL,
  tx      xid8 NOT NULL DEFAULT pg_current_xact_id(),
  ord     integer NOT NULL,
  PRIMARY KEY (strand, n)
);
CREATE INDEX ON lockgate.record (tx, ord);

-- Texts of policies by their hash, for sessions that are bound to them.
CREATE TABLE lockgate.policy (
  hash text PRIMARY KEY,
  text bytea NOT NULL
);

CREATE TABLE lockgate.seal (
  n              bigint PRIMARY KEY,
  at             bigint NOT NULL,
  horizon        bigint NOT NULL,
  heads          bigint NOT NULL,
  shared_version bigint NOT NULL,
  root           bytea NOT NULL,
  shared         bytea NOT NULL,
  previous       bytea NOT NULL,
  signature      bytea NOT NULL
);

CREATE TABLE lockgate.sealed (
  seal    bigint NOT NULL REFERENCES lockgate.seal,
  strand  bytea NOT NULL,
  version bigint NOT NULL,
  length  bigint NOT NULL,
  head    bytea NOT NULL,
  PRIMARY KEY (seal, strand)
);

-- One decision in one round trip. Each statement of the function sees what was committed before it began, so the shared state
-- is compared after the lock: once a halt is stored, nothing that was judged before it can be.
CREATE FUNCTION lockgate.write(
  is_exclusive boolean, shared_seen bigint,
  shared_version bigint, shared_bytes bytea, shared_human_key bytea, shared_seal bytea,
  row_name bytea, row_seen bigint, row_version bigint, row_bytes bytea, row_clock bigint, row_questions bigint,
  row_length bigint, row_head bytea, row_answers bigint, row_shared bigint, row_seals bigint, row_token bytea, row_seal bytea,
  ns bigint[], prevs bytea[], hashes bytea[], ats bigint[], sessions bytea[], entries bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  written bigint;
BEGIN
  IF is_exclusive THEN
    PERFORM pg_advisory_xact_lock(7814601, 1);
  ELSE
    PERFORM pg_advisory_xact_lock_shared(7814601, 1);
  END IF;
  IF (SELECT version FROM lockgate.shared_state WHERE one = 1) IS DISTINCT FROM shared_seen THEN
    RETURN false;
  END IF;
  IF row_version IS NOT NULL THEN
    IF row_seen = 0 THEN
      INSERT INTO lockgate.session
          (name, version, bytes, clock, questions, length, head, answers, shared, seals, token, seal)
        VALUES (row_name, row_version, row_bytes, row_clock, row_questions, row_length, row_head, row_answers, row_shared,
                row_seals, row_token, row_seal)
        ON CONFLICT DO NOTHING;
    ELSE
      UPDATE lockgate.session
        SET version = row_version, bytes = row_bytes, clock = row_clock, questions = row_questions, length = row_length,
            head = row_head, answers = row_answers, shared = row_shared, seals = row_seals, token = row_token, seal = row_seal,
            tx = pg_current_xact_id()
        WHERE name = row_name AND version = row_seen;
    END IF;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> 1 THEN
      RETURN false;
    END IF;
  END IF;
  IF shared_version IS NOT NULL THEN
    UPDATE lockgate.shared_state
      SET version = shared_version, bytes = shared_bytes, human_key = shared_human_key, seal = shared_seal WHERE one = 1;
  END IF;
  INSERT INTO lockgate.record (strand, n, prev, hash, at, session, entry, ord)
    SELECT row_name, n, prev, hash, at, session, entry, ord
    FROM unnest(ns, prevs, hashes, ats, sessions, entries) WITH ORDINALITY AS it(n, prev, hash, at, session, entry, ord);
  RETURN true;
END
$$;
