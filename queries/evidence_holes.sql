-- stored
--
-- One row a hole in the evidence: a time in which something can have happened that nobody wrote down.
--
-- sampling: a pause between samples of a card. suppressed: messages that the journal dropped. unsampled: a load that no
-- sample shows, though cards were sampled in its time, or because none was. timeless: a source without wall time. suspended:
-- the host slept. step: its clock was set. unclear: one of those two.
--
-- kind     VARCHAR  sampling, suppressed, unsampled, timeless, suspended, step or unclear.
-- subject  VARCHAR  Card, source, load or host.
-- from_us  BIGINT   Begin, if it has one.
-- to_us    BIGINT   End, if it has one.
-- number   BIGINT   Messages, lines or seconds; of a clock that was set back, less than nothing.
-- line_id  VARCHAR  Evidence, if there is a line.
WITH ticks AS (
    SELECT DISTINCT card_sample.card_id, card_sample.source_id, card_sample.at_us
    FROM card_sample
    JOIN sample_cadence
        ON sample_cadence.card_id = card_sample.card_id AND sample_cadence.source_id = card_sample.source_id
        AND sample_cadence.kind = 'card' AND sample_cadence.series
),
pauses AS (
    SELECT card_id, source_id, at_us, lag(at_us) OVER (PARTITION BY card_id, source_id ORDER BY at_us) AS before_us
    FROM ticks
),
sampling AS (
    SELECT
        'sampling' AS kind, pauses.card_id AS subject, before_us AS from_us, at_us AS to_us,
        ((at_us - before_us) // 1000000)::BIGINT AS number, NULL::VARCHAR AS line_id
    FROM pauses
    JOIN sample_cadence
        ON sample_cadence.card_id = pauses.card_id AND sample_cadence.source_id = pauses.source_id
        AND sample_cadence.kind = 'card'
    WHERE at_us - before_us > hole_us
),
suppressed AS (
    SELECT
        'suppressed' AS kind, coalesce(service_changed.unit, line.source_id) AS subject,
        service_changed.time_us AS from_us, service_changed.time_us AS to_us, service_changed.number,
        service_changed.line_id
    FROM service_changed
    JOIN line USING (line_id)
    WHERE service_changed.what = 'suppressed'
),
unsampled AS (
    SELECT
        'unsampled' AS kind, load.load_id AS subject, load.begun_us AS from_us,
        coalesce(load.ended_us, load.closing_us) AS to_us, NULL::BIGINT AS number, load.begun_line AS line_id
    FROM load
    WHERE load.begun_us IS NOT NULL
        AND load.load_id NOT IN (SELECT load_id FROM holder_levels WHERE load_id IS NOT NULL)
),
timeless AS (
    SELECT
        'timeless' AS kind, line.source_id AS subject, NULL::BIGINT AS from_us, NULL::BIGINT AS to_us,
        count(*) AS number, NULL::VARCHAR AS line_id
    FROM line
    GROUP BY line.source_id
    HAVING bool_and(line.time_us IS NULL)
),
clocks AS (
    SELECT
        kind, coalesce(host, boot) AS subject, from_us, to_us, (change_us // 1000000)::BIGINT AS number, line_id
    FROM clock_changes
)
SELECT * FROM sampling
UNION ALL SELECT * FROM clocks
UNION ALL SELECT * FROM suppressed
UNION ALL SELECT * FROM unsampled
UNION ALL SELECT * FROM timeless
ORDER BY from_us, kind, subject, to_us, line_id
