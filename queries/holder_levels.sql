-- stored
--
-- Who held how much on which card from when to when: one row a stretch of samples with the same amount.
--
-- The load is the one that the joined process had at that time, by the line that begins it; a process whose load has
-- ended, or sleeps, holds for nobody. A stretch ends at a hole of the sampling too.
--
-- card_id       VARCHAR  Card.
-- pid           BIGINT   Process id on the host.
-- name          VARCHAR  Process name.
-- process_id    VARCHAR  Process that it was joined to.
-- load_id       VARCHAR  Load that the process held then.
-- phase         VARCHAR  Phase of that load.
-- from_us       BIGINT   First sample with this amount, µs UTC.
-- to_us         BIGINT   Last sample with it.
-- used_bytes    BIGINT   Amount.
-- samples       BIGINT   Samples.
-- line_id       VARCHAR  Evidence: the first row of telemetry.
WITH lives AS (
    SELECT load_id, process_id, begun_us, ended_us FROM load
    WHERE begun_us IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY process_id, begun_us ORDER BY number DESC) = 1
),
phases AS (
    SELECT load_id, at_us, arg_max(phase, number) AS phase FROM phase WHERE at_us IS NOT NULL GROUP BY load_id, at_us
),
owned AS (
    SELECT
        holder_sample.*,
        CASE WHEN lives.ended_us IS NULL OR holder_sample.at_us < lives.ended_us THEN lives.load_id END AS load_id
    FROM holder_sample
    JOIN sample_cadence
        ON sample_cadence.card_id = holder_sample.card_id AND sample_cadence.source_id = holder_sample.source_id
        AND sample_cadence.kind = 'holders' AND sample_cadence.series
    ASOF LEFT JOIN lives ON lives.process_id = holder_sample.process_id AND lives.begun_us <= holder_sample.at_us
    WHERE holder_sample.used_bytes IS NOT NULL
),
phased AS (
    SELECT owned.*, phases.phase
    FROM owned
    ASOF LEFT JOIN phases ON phases.load_id = owned.load_id AND phases.at_us <= owned.at_us
),
changes AS (
    SELECT
        phased.*,
        coalesce(
            used_bytes IS DISTINCT FROM lag(used_bytes) OVER life
            OR load_id IS DISTINCT FROM lag(load_id) OVER life
            OR at_us - lag(at_us) OVER life > coalesce(sample_cadence.hole_us, 5000000), TRUE
        ) AS begins,
        row_number() OVER life AS place
    FROM phased
    LEFT JOIN sample_cadence
        ON sample_cadence.card_id = phased.card_id AND sample_cadence.source_id = phased.source_id
        AND sample_cadence.kind = 'holders'
    WINDOW life AS (
        PARTITION BY phased.card_id, phased.pid, phased.process_id
        ORDER BY phased.at_us, phased.source_id, phased."offset"
    )
),
levels AS (
    SELECT *, sum(begins::INTEGER) OVER (PARTITION BY card_id, pid, process_id ORDER BY place) AS level
    FROM changes
)
SELECT
    card_id, pid, arg_min(name, place) AS name, process_id, any_value(load_id) AS load_id,
    arg_min(phase, place) AS phase, min(at_us) AS from_us, max(at_us) AS to_us, any_value(used_bytes) AS used_bytes,
    count(*) AS samples, arg_min(line_id, place) AS line_id
FROM levels
GROUP BY card_id, pid, process_id, level
ORDER BY card_id, pid, from_us, to_us, line_id
