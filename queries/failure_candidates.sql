-- A class that a failure may belong to, by its signature, with what would separate it from the others.
--
-- Candidates, never causes. What the host logged counts only where it is linked by unit, process id or card.
--
-- load_id    VARCHAR  The load.
-- failure    BIGINT   Failure within the load.
-- class      VARCHAR  Class.
-- about      VARCHAR  What it would mean.
-- separates  VARCHAR  What would tell it from others.
-- source     VARCHAR  Who says so.
-- lines      VARCHAR  Evidence of the host, separated by blanks, if the class needs it.
WITH tokens AS (
    SELECT load_id, failure, max(prompt_tokens) AS prompt_tokens FROM crash_requests GROUP BY load_id, failure
),
speculating AS (
    SELECT DISTINCT load_id FROM speculation_configured WHERE believed AND load_id IS NOT NULL AND method IS NOT NULL
),
hosts AS (
    SELECT load_id, failure, what, string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM crash_host
    WHERE how <> 'time'
    GROUP BY load_id, failure, what
)
SELECT
    failures.load_id,
    failures.failure,
    known.class,
    known.about,
    known.separates,
    known.source,
    hosts.lines
FROM failures
JOIN failure_signatures AS known ON regexp_full_match(failures.error_class, known.error_class)
LEFT JOIN tokens ON tokens.load_id = failures.load_id AND tokens.failure = failures.failure
LEFT JOIN hosts ON hosts.load_id = failures.load_id AND hosts.failure = failures.failure AND hosts.what = known.host
WHERE (known.message IS NULL OR regexp_matches(coalesce(failures.message, ''), known.message))
    AND (known.host IS NULL OR hosts.lines IS NOT NULL)
    AND (known.tried_low IS NULL OR failures.tried_bytes / 1048576 >= known.tried_low)
    AND (known.tried_high IS NULL OR failures.tried_bytes / 1048576 <= known.tried_high)
    AND (known.tokens_low IS NULL OR tokens.prompt_tokens >= known.tokens_low)
    AND (known.tokens_high IS NULL OR tokens.prompt_tokens <= known.tokens_high)
    AND (known.speculates IS NULL OR known.speculates = (failures.load_id IN (SELECT load_id FROM speculating)))
ORDER BY failures.number, failures.failure, known.class
