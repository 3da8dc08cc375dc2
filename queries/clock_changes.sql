-- stored
--
-- One row a moment at which the clock of a host and its time since boot went apart: the clock was set, or the host slept.
--
-- Told from the journal's cursors of lines that patterns read: both clocks stand in them. The time since boot stops while a host
-- is suspended, so the wall clock is ahead afterwards, as it is where somebody set it: the lines of suspend and resume
-- between tell which. A clock that is slewed drifts by less than 500 ppm, and is no change.
--
-- kind       VARCHAR  suspended (lines say so), step (it went back, or the system's lines show no suspend), or unclear.
-- host       VARCHAR  Host.
-- boot       VARCHAR  Boot.
-- from_us    BIGINT   Receive time of the last line before, µs UTC.
-- to_us      BIGINT   Receive time of the first line after.
-- change_us  BIGINT   How much more the wall clock went than the time since boot, signed.
-- line_id    VARCHAR  The first line after.
-- before_id  VARCHAR  The last line before.
-- lines      VARCHAR  The lines of suspend and resume, separated by blanks.
WITH stamped AS (
    SELECT
        line_id, host, boot, ordinal,
        TRY_CAST('0x' || split_part(split_part(cursor, ';m=', 2), ';', 1) AS BIGINT) AS elapsed_us,
        TRY_CAST('0x' || split_part(split_part(cursor, ';t=', 2), ';', 1) AS BIGINT) AS received_us
    FROM line
    WHERE cursor IS NOT NULL AND boot IS NOT NULL
),
apart AS (
    -- most boots have no such moment, and need not be put in order
    SELECT host, boot
    FROM stamped
    GROUP BY host, boot
    HAVING max(received_us - elapsed_us) - min(received_us - elapsed_us) > 1000000
),
pairs AS (
    SELECT
        stamped.*,
        lag(line_id) OVER boots AS before_id,
        lag(elapsed_us) OVER boots AS before_elapsed_us,
        lag(received_us) OVER boots AS before_us
    FROM stamped
    JOIN apart ON apart.host IS NOT DISTINCT FROM stamped.host AND apart.boot = stamped.boot
    WHERE elapsed_us IS NOT NULL AND received_us IS NOT NULL
    WINDOW boots AS (PARTITION BY stamped.host, stamped.boot ORDER BY elapsed_us, ordinal)
),
jumps AS (
    SELECT *, (received_us - before_us) - (elapsed_us - before_elapsed_us) AS change_us
    FROM pairs
    WHERE before_id IS NOT NULL
),
sleeps AS (
    SELECT stamped.host, stamped.boot, stamped.elapsed_us, stamped.line_id, stamped.ordinal, service_changed.what
    FROM service_changed
    JOIN stamped USING (line_id)
    WHERE service_changed.believed
)
SELECT
    CASE
        WHEN jumps.change_us < 0 THEN 'step'
        WHEN bool_or(sleeps.what IN ('suspended', 'resumed')
            AND sleeps.elapsed_us BETWEEN jumps.before_elapsed_us AND jumps.elapsed_us) THEN 'suspended'
        WHEN count(sleeps.line_id) > 0 THEN 'step'
        ELSE 'unclear'
    END AS kind,
    jumps.host,
    jumps.boot,
    jumps.before_us AS from_us,
    jumps.received_us AS to_us,
    jumps.change_us,
    jumps.line_id,
    jumps.before_id,
    string_agg(sleeps.line_id, ' ' ORDER BY sleeps.ordinal) FILTER (
        WHERE sleeps.what IN ('suspended', 'resumed')
        AND sleeps.elapsed_us BETWEEN jumps.before_elapsed_us AND jumps.elapsed_us
    ) AS lines
FROM jumps
LEFT JOIN sleeps ON sleeps.host IS NOT DISTINCT FROM jumps.host AND sleeps.boot = jumps.boot
WHERE abs(jumps.change_us) > 1000000 + (jumps.elapsed_us - jumps.before_elapsed_us) // 2000
GROUP BY jumps.host, jumps.boot, jumps.before_us, jumps.received_us, jumps.change_us, jumps.line_id, jumps.before_id
ORDER BY jumps.received_us, jumps.line_id
