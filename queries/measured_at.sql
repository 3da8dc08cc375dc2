-- macro (asked_us BIGINT)
--
-- What was measured for each load that lived at a moment, on each device that is joined to a card.
--
-- Which process of the log is which holder of the samples, and which device is which card, was decided when the case
-- was made: this only picks the sample, the last one before the moment and at most a minute older. Without figures by
-- process it is the card's use, less what the card had before the process began. Columns as in the table measure.
--
-- load_id         VARCHAR  The load.
-- moment          VARCHAR  at.
-- device          VARCHAR  Device of the process.
-- card_id         VARCHAR  Card.
-- pid             BIGINT   Process id on the host.
-- at_us           BIGINT   When the sample was taken, µs UTC.
-- measured_bytes  BIGINT   Amount.
-- measured_by     VARCHAR  process, card_less_baseline or card.
-- joined_by       VARCHAR  How the process, and the device, were joined to the measurement.
-- join_scope      VARCHAR  exact or inferred: the weaker of both.
-- rounding_bytes  BIGINT   Half of the last place of the measurement.
-- ready_bytes     BIGINT   The same at the first sample after it got ready.
-- line_id         VARCHAR  Evidence: the row of telemetry.
WITH lives AS (
    SELECT
        load.load_id, load.process_id, load.begun_us, load.ready_us,
        coalesce(process.begun_us, load.begun_us) AS process_us, process.joined_by, process.join_scope
    FROM load
    JOIN process USING (process_id)
    WHERE load.begun_us <= asked_us AND (load.ended_us IS NULL OR asked_us < load.ended_us)
),
places AS (
    SELECT DISTINCT
        lives.load_id, lives.process_id, lives.begun_us, lives.ready_us, lives.process_us,
        device.device, device.card_id, device.pid,
        coalesce(lives.joined_by || '; ', '') || device.joined_by AS joined_by,
        CASE WHEN lives.join_scope = 'exact' AND device.join_scope = 'exact' THEN 'exact' ELSE 'inferred' END
            AS join_scope
    FROM lives
    JOIN device USING (process_id)
    WHERE device.card_id IS NOT NULL
),
held AS (
    SELECT DISTINCT ON (places.load_id, places.device)
        places.load_id, places.device, places.card_id, sample.pid, sample.at_us, sample.used_bytes AS measured_bytes,
        'process' AS measured_by, places.joined_by, places.join_scope, 524288 AS rounding_bytes, sample.line_id
    FROM places
    JOIN holder_sample AS sample
        ON sample.process_id = places.process_id
        AND sample.card_id = places.card_id
        AND (places.pid IS NULL OR sample.pid = places.pid)
    WHERE sample.used_bytes IS NOT NULL
        AND sample.at_us <= asked_us
        AND sample.at_us >= greatest(places.begun_us, asked_us - 60000000)
    ORDER BY
        places.load_id, places.device, sample.at_us DESC, sample.pid, places.card_id, sample.source_id DESC,
        sample."offset" DESC, places.joined_by
),
-- Where processes were sampled and none of them is provably this one, the card's total would be a guess.
unsampled AS (
    SELECT * FROM places
    WHERE card_id NOT IN (SELECT card_id FROM holder_sample)
        AND (ready_us IS NOT NULL OR load_id IN (SELECT load_id FROM item))
),
latest AS (
    SELECT DISTINCT ON (unsampled.load_id, unsampled.device)
        unsampled.*, sample.at_us, sample.used_bytes, sample.line_id
    FROM unsampled
    JOIN card_sample AS sample USING (card_id)
    WHERE sample.used_bytes IS NOT NULL
        AND sample.at_us <= asked_us
        AND sample.at_us >= greatest(unsampled.begun_us, asked_us - 60000000)
    ORDER BY
        unsampled.load_id, unsampled.device, sample.at_us DESC, unsampled.card_id, sample.source_id DESC,
        sample."offset" DESC, unsampled.joined_by
),
baseline AS (
    SELECT
        latest.load_id, latest.device,
        arg_max(sample.used_bytes, (sample.at_us, sample.source_id, sample."offset")) AS used_bytes
    FROM latest
    JOIN card_sample AS sample USING (card_id)
    WHERE sample.at_us < latest.process_us
    GROUP BY latest.load_id, latest.device
),
carded AS (
    SELECT
        latest.load_id, latest.device, latest.card_id, NULL::BIGINT AS pid, latest.at_us,
        latest.used_bytes - coalesce(baseline.used_bytes, 0) AS measured_bytes,
        CASE WHEN baseline.used_bytes IS NULL THEN 'card' ELSE 'card_less_baseline' END AS measured_by,
        latest.joined_by, 'inferred' AS join_scope, 1048576 AS rounding_bytes, latest.line_id
    FROM latest
    LEFT JOIN baseline USING (load_id, device)
),
found AS (
    SELECT * FROM held
    UNION ALL
    SELECT * FROM carded
)
SELECT
    found.load_id, 'at' AS moment, found.device, found.card_id, found.pid, found.at_us, found.measured_bytes,
    found.measured_by, found.joined_by, found.join_scope, found.rounding_bytes::BIGINT AS rounding_bytes,
    ready.measured_bytes AS ready_bytes, found.line_id
FROM found
LEFT JOIN measure AS ready
    ON ready.load_id = found.load_id AND ready.device = found.device AND ready.moment = 'ready'
    AND ready.measured_by = 'process' AND found.measured_by = 'process'
ORDER BY found.load_id, found.device
