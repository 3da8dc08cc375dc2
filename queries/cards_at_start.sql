-- stored
--
-- One row a load: the cards that telemetry shows in the two minutes on either side of its begin.
--
-- A card that was sampled at the start before and is in no sample around this one is absent: lost, taken out, hidden, or
-- no longer sampled.
--
-- load_id      VARCHAR  The load.
-- number       BIGINT   Its place among the loads of the case.
-- cards        BIGINT   Cards seen.
-- before_id    VARCHAR  The load before it, on the same host, that has samples too.
-- lost         BIGINT   Cards seen at that load's begin and not at this one's.
-- lost_cards   VARCHAR  Their indices, else their ids, separated by ", ".
-- lines        VARCHAR  Evidence: the last sample of each lost card, and one of a card that is there; separated by blanks.
WITH seen AS (
    SELECT
        load.load_id, load.number, process.host, sample.card_id, card.gpu_index,
        arg_max(sample.line_id, (sample.at_us, sample.source_id, sample."offset")) AS line_id
    FROM load
    JOIN process USING (process_id)
    JOIN card_sample AS sample ON sample.at_us BETWEEN load.begun_us - 120000000 AND load.begun_us + 120000000
    JOIN card USING (card_id)
    GROUP BY load.load_id, load.number, process.host, sample.card_id, card.gpu_index
),
starts AS (
    SELECT
        load_id, number, host, count(*) AS cards, arg_min(line_id, card_id) AS line_id,
        lag(load_id) OVER (PARTITION BY host ORDER BY number) AS before_id
    FROM seen
    GROUP BY load_id, number, host
)
SELECT
    starts.load_id, starts.number, starts.cards, starts.before_id,
    count(gone.card_id) AS lost,
    nullif(string_agg(coalesce(gone.gpu_index::VARCHAR, gone.card_id), ', ' ORDER BY gone.gpu_index, gone.card_id), '')
        AS lost_cards,
    concat_ws(' ', string_agg(gone.line_id, ' ' ORDER BY gone.gpu_index, gone.card_id), any_value(starts.line_id)) AS lines
FROM starts
LEFT JOIN seen AS gone ON gone.load_id = starts.before_id
    AND gone.card_id NOT IN (SELECT card_id FROM seen AS here WHERE here.load_id = starts.load_id)
GROUP BY starts.load_id, starts.number, starts.cards, starts.before_id
ORDER BY starts.number
