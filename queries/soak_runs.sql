-- stored
--
-- One row a load test: its baseline, growth, retention and what else its rules ask for.
--
-- The baseline is what was used at the end of the first clean session: every turn of it answered, and a session after
-- it. Growth is measured over the turns behind it until the first that failed, since what came up again after a death
-- is another load. Without such a session growth is not measurable, whatever the figures are. Retention is the median
-- rate of the last five sessions by that of the first five: with fewer than ten some are both. From a server's log a run
-- has ten requests at least.
--
-- run               VARCHAR  Source of the turn log, or the load.
-- basis             VARCHAR  turn log or server log.
-- sessions          BIGINT   Sessions.
-- turns             BIGINT   Turns.
-- errors            BIGINT   Turns that failed.
-- silent_empty      BIGINT   Turns that were answered with nothing.
-- slow_turns        BIGINT   Turns longer than 30 s.
-- baseline_session  BIGINT   Session whose end is the baseline.
-- baseline_bytes    BIGINT   The baseline.
-- highest_bytes     BIGINT   Most that was used after it.
-- growth_bytes      BIGINT   Growth.
-- watched           BIGINT   Turns over which it was measured.
-- first_bytes       BIGINT   Used at the end of the first session, clean or not.
-- first_rate        DOUBLE   Median rate of the first five sessions.
-- last_rate         DOUBLE   Median rate of the last five sessions.
-- retention         DOUBLE   The one by the other.
-- overlapping       BOOLEAN  Whether these are, in part, the same sessions.
-- first_token       DOUBLE   Median time to the first token of the last five sessions by that of the first five.
-- oscillation_bytes  BIGINT   Largest change of the most used from one session to the next, without failed turns.
-- cited             VARCHAR  The lines behind it: baseline, highest, first failure, separated by blanks.
WITH all_turns AS MATERIALIZED (
    SELECT * FROM soak_turns
),
sessions AS (
    SELECT
        run, session, bool_or(failed) AS failed, arg_max(used_bytes, place) AS ended_bytes, max(place) AS last_place,
        arg_max(line_id, place) AS last_line, max(used_bytes) FILTER (WHERE NOT failed) AS most_bytes,
        row_number() OVER (PARTITION BY run ORDER BY session) AS from_start,
        row_number() OVER (PARTITION BY run ORDER BY session DESC) AS from_end
    FROM all_turns
    GROUP BY run, session
),
baselines AS (
    SELECT
        run, min(session) AS session, arg_min(ended_bytes, session) AS bytes, arg_min(last_place, session) AS place,
        arg_min(last_line, session) AS line_id
    FROM sessions
    WHERE NOT failed AND ended_bytes IS NOT NULL
    GROUP BY run
),
broken AS (
    SELECT all_turns.run, min(all_turns.place) AS place
    FROM all_turns
    JOIN baselines USING (run)
    WHERE all_turns.failed AND all_turns.place > baselines.place
    GROUP BY all_turns.run
),
watched AS (
    SELECT
        all_turns.run, max(all_turns.used_bytes) AS highest_bytes, count(all_turns.used_bytes) AS turns,
        arg_max(all_turns.line_id, (all_turns.used_bytes, -all_turns.place))
            FILTER (all_turns.used_bytes IS NOT NULL) AS line_id
    FROM all_turns
    JOIN baselines USING (run)
    LEFT JOIN broken USING (run)
    WHERE all_turns.place > baselines.place AND all_turns.place < coalesce(broken.place, 9e18)
    GROUP BY all_turns.run
    HAVING count(all_turns.used_bytes) > 0
),
rates AS (
    SELECT
        all_turns.run,
        median(tokens_per_s) FILTER (WHERE from_start <= 5) AS first_rate,
        median(tokens_per_s) FILTER (WHERE from_end <= 5) AS last_rate,
        median(first_token_s) FILTER (WHERE from_start <= 5 AND first_token_s > 0) AS first_wait,
        median(first_token_s) FILTER (WHERE from_end <= 5 AND first_token_s > 0) AS last_wait
    FROM all_turns
    JOIN sessions USING (run, session)
    GROUP BY all_turns.run
),
changes AS (
    SELECT run, max(abs(change)) AS oscillation_bytes
    FROM (SELECT run, most_bytes - lag(most_bytes) OVER (PARTITION BY run ORDER BY session) AS change FROM sessions)
    GROUP BY run
),
counts AS (
    SELECT
        run, any_value(basis) AS basis, count(DISTINCT session) AS sessions, count(*) AS turns,
        count(*) FILTER (WHERE failed) AS errors, count(*) FILTER (WHERE silent_empty) AS silent_empty,
        count(*) FILTER (WHERE slow) AS slow_turns,
        arg_min(line_id, place) FILTER (WHERE failed OR silent_empty) AS trouble_line
    FROM all_turns
    GROUP BY run
    -- A few requests in a server's log are no test of anything.
    HAVING any_value(basis) = 'turn log' OR count(*) >= 10
)
SELECT
    counts.run, counts.basis, counts.sessions, counts.turns, counts.errors, counts.silent_empty, counts.slow_turns,
    CASE WHEN watched.run IS NOT NULL THEN baselines.session END AS baseline_session,
    CASE WHEN watched.run IS NOT NULL THEN baselines.bytes END AS baseline_bytes,
    watched.highest_bytes,
    watched.highest_bytes - baselines.bytes AS growth_bytes,
    coalesce(watched.turns, 0) AS watched,
    first.ended_bytes AS first_bytes,
    rates.first_rate, rates.last_rate,
    rates.last_rate / nullif(rates.first_rate, 0) AS retention,
    counts.sessions < 10 AS overlapping,
    rates.last_wait / nullif(rates.first_wait, 0) AS first_token,
    changes.oscillation_bytes,
    concat_ws(' ', baselines.line_id, watched.line_id, counts.trouble_line) AS cited
FROM counts
LEFT JOIN baselines USING (run)
LEFT JOIN watched USING (run)
LEFT JOIN rates USING (run)
LEFT JOIN changes USING (run)
LEFT JOIN sessions AS first ON first.run = counts.run AND first.from_start = 1
ORDER BY counts.run
