-- stored
--
-- One row an episode: how many models took turns, how often, at what interval, and what the loading cost.
--
-- The interval is from the begin of one load to the begin of the next; the cycle from one load of a model to its next.
-- The deviation is that of a sample. The span runs from the first begin to the end of loading of the last, or to its
-- begin where that is not logged. Seconds and bytes are sums over the loads of which the log tells them.
--
-- episode            BIGINT     Number of the episode.
-- kind               VARCHAR    ping_pong, sequence, reload or crash_loop.
-- domain             VARCHAR    Host, boot and unit, or the source.
-- identities         VARCHAR[]  Labels of the models, in order of their first load.
-- loads              BIGINT     Loads.
-- swaps              BIGINT     Loads that took the place of another model's.
-- alternates         BOOLEAN    Whether two models took strict turns.
-- begun_us           BIGINT     Begin of the first load.
-- until_us           BIGINT     End of the span.
-- span_s             DOUBLE     Length of the span.
-- mean_s             DOUBLE     Mean interval.
-- median_s           DOUBLE     Median interval.
-- min_s              DOUBLE     Shortest interval.
-- max_s              DOUBLE     Longest interval.
-- deviation_s        DOUBLE     Deviation of the intervals.
-- cv                 DOUBLE     Deviation by mean.
-- cycle_mean_s       DOUBLE     Mean cycle.
-- cycle_median_s     DOUBLE     Median cycle.
-- cycle_min_s        DOUBLE     Shortest cycle.
-- cycle_max_s        DOUBLE     Longest cycle.
-- cycle_cv           DOUBLE     Deviation of the cycles by their mean.
-- cycles             BIGINT     Cycles.
-- loading_s          DOUBLE     Seconds spent loading.
-- loads_timed        BIGINT     Loads of which the log tells how long they took.
-- loaded_bytes       BIGINT     Weights brought to cards.
-- loads_weighed      BIGINT     Loads of which the log tells the weights.
WITH weights AS (
    SELECT load_id, sum(size_bytes)::BIGINT AS weights_bytes
    FROM vram_ledger
    WHERE place IN ('card', 'shared', 'remote') AND kind = 'weights'
    GROUP BY load_id
),
members AS (
    SELECT
        swap_runs.*, load_starts.model, load_starts.options, load_starts.identity, load.begun_us, load.ready_us,
        load_times.loading_s, weights.weights_bytes,
        swap_runs.place = min(swap_runs.place) OVER (PARTITION BY swap_runs.episode) AS first
    FROM swap_runs
    JOIN load_starts USING (load_id)
    JOIN load USING (load_id)
    LEFT JOIN load_times USING (load_id)
    LEFT JOIN weights USING (load_id)
),
-- Where models take turns, a load again of the one that is there is no tick.
ticks AS (
    SELECT
        episode, place,
        begun_us - lag(begun_us) OVER (PARTITION BY episode ORDER BY place) AS interval_us,
        begun_us - lag(begun_us) OVER (
            PARTITION BY episode, model, CASE WHEN kind = 'reload' THEN options END ORDER BY place
        ) AS cycle_us
    FROM members
    WHERE swaps OR first OR kind IN ('reload', 'crash_loop')
),
paces AS (
    SELECT
        episode, avg(interval_us) / 1e6 AS mean_s, median(interval_us) / 1e6 AS median_s,
        min(interval_us) / 1e6 AS min_s, max(interval_us) / 1e6 AS max_s,
        stddev_samp(interval_us ORDER BY place) / 1e6 AS deviation_s,
        avg(cycle_us) / 1e6 AS cycle_mean_s, median(cycle_us) / 1e6 AS cycle_median_s,
        min(cycle_us) / 1e6 AS cycle_min_s, max(cycle_us) / 1e6 AS cycle_max_s,
        stddev_samp(cycle_us ORDER BY place) / nullif(avg(cycle_us), 0) AS cycle_cv, count(cycle_us) AS cycles
    FROM ticks
    GROUP BY episode
),
named AS (
    SELECT episode, list(identity ORDER BY place) AS identities, count(DISTINCT model) AS models
    FROM (
        SELECT episode, model, arg_min(identity, place) AS identity, min(place) AS place
        FROM members
        GROUP BY episode, model
    )
    GROUP BY episode
),
turns AS (
    SELECT episode, bool_and(swaps OR first) AS alternates FROM members GROUP BY episode
),
sums AS (
    SELECT
        episode, any_value(kind) AS kind, any_value(domain) AS domain, count(*) AS loads,
        count(*) FILTER (WHERE swaps) AS swaps, min(begun_us) AS begun_us,
        max(coalesce(ready_us, begun_us + (loading_s * 1e6)::BIGINT, begun_us)) AS until_us,
        sum(loading_s ORDER BY place) AS loading_s, count(loading_s) AS loads_timed,
        sum(weights_bytes)::BIGINT AS loaded_bytes, count(weights_bytes) AS loads_weighed
    FROM members
    GROUP BY episode
)
SELECT
    sums.episode, sums.kind, sums.domain, named.identities, sums.loads, sums.swaps,
    named.models = 2 AND turns.alternates AS alternates,
    sums.begun_us, sums.until_us, (sums.until_us - sums.begun_us) / 1e6 AS span_s,
    paces.mean_s, paces.median_s, paces.min_s, paces.max_s, paces.deviation_s,
    paces.deviation_s / nullif(paces.mean_s, 0) AS cv,
    paces.cycle_mean_s, paces.cycle_median_s, paces.cycle_min_s, paces.cycle_max_s, paces.cycle_cv, paces.cycles,
    sums.loading_s, sums.loads_timed, sums.loaded_bytes, sums.loads_weighed
FROM sums
JOIN paces USING (episode)
JOIN named USING (episode)
JOIN turns USING (episode)
ORDER BY sums.episode
