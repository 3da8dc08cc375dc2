-- stored
--
-- One row a timed request and gate: whether the gate fired, did not, or could not.
--
-- `load time`: the request waited a second or more for its model to load (the first request of a load that a supervisor
-- began for it, or by the counters of its answer), or it ran while its model and others took each other's place. `length limit`: it stopped on the limit of tokens; benches of a fixed length want that, so it
-- invalidates nothing by itself. `empty answer`: no token came. `not on the card`: layers of the model are elsewhere.
-- `embedding model`: the embedding model of this host was not loaded then. `foreign load`: other loads of the host ran
-- requests for more than half of its time; that is a gauge of what else ran and no proof of contention, so it invalidates
-- nothing by itself. A gate that could not fire says nothing about the request. The limits are this file's.
--
-- load_id      VARCHAR  The load.
-- request      BIGINT   Key, as in request_rates.
-- gate         VARCHAR  Gate.
-- fired        BOOLEAN  Whether it fired; empty if it could not.
-- invalidates  BOOLEAN  Whether a request is no measurement if it fires.
-- value        DOUBLE   What was compared.
-- bound        DOUBLE   With what.
-- why          VARCHAR  In words.
WITH
-- The first load of a ping-pong had its card for itself, and nothing took the last one's place. One that stayed for
-- longer than its keep-alive before it was swapped out served in peace from then on.
turns AS (
    SELECT
        swap_runs.load_id, load_starts.keep_s,
        -- models of the episode, counted without DISTINCT, which no window takes
        len(list_distinct(list(load_starts.model) OVER (PARTITION BY swap_runs.episode))) AS models
    FROM swap_runs
    JOIN load_starts USING (load_id)
    WHERE swap_runs.kind = 'ping_pong'
    QUALIFY swap_runs.place > min(swap_runs.place) OVER (PARTITION BY swap_runs.episode)
        AND swap_runs.place < max(swap_runs.place) OVER (PARTITION BY swap_runs.episode)
),
requests AS MATERIALIZED (
    SELECT
        rates.*, row_number() OVER (PARTITION BY rates.load_id ORDER BY rates.first) AS place, load.begun_us AS loads_us,
        load.ready_us, (load.ready_us - load.begun_us) / 1e6 AS loading_s, load.label IS NOT NULL AS supervised,
        process.host, answers.load_s, answers.limited, answers.content_chars + answers.reasoning_chars AS chars,
        CASE WHEN coalesce(rates.begun_us - load.begun_us <= 1e6 * turns.keep_s, true) THEN turns.models END AS models
    FROM request_rates AS rates
    JOIN load USING (load_id)
    JOIN process USING (process_id)
    LEFT JOIN answers USING (load_id, request)
    LEFT JOIN turns USING (load_id)
),
waits AS (
    SELECT
        load_id, request, 'load time' AS gate, true AS invalidates, 1.0 AS bound,
        CASE
            WHEN load_s >= 1 THEN load_s
            WHEN models > 0 THEN greatest(loading_s, 1.0)
            WHEN load_s IS NOT NULL THEN load_s
            WHEN place > 1 OR NOT supervised THEN 0.0
            WHEN begun_us IS NULL OR ready_us IS NULL THEN NULL
            WHEN begun_us - ready_us < 1000000 THEN loading_s
            ELSE 0.0
        END AS value,
        CASE WHEN models > 0 AND coalesce(load_s < 1, true)
            THEN 'measured while ' || models || ' models took each other''s place'
            ELSE format('it waited for its model to load, {:.1f} s', coalesce(load_s, loading_s)) END AS said,
        'the log has no wall time' AS missing
    FROM requests
),
limits AS (
    SELECT
        load_id, request, 'length limit' AS gate, false AS invalidates, 0.0 AS bound,
        CASE WHEN stop IS NOT NULL THEN (stop LIKE '%limit%')::INTEGER ELSE limited::INTEGER END AS value,
        'stopped on the limit of tokens' AS said, 'no line says why it stopped' AS missing
    FROM requests
),
empties AS (
    SELECT
        load_id, request, 'empty answer' AS gate, true AS invalidates, 0.0 AS bound, (decode_tokens = 0 OR coalesce(chars = 0, false))::INTEGER AS value,
        CASE WHEN decode_tokens = 0 THEN 'no token came' ELSE 'no character came' END AS said, NULL AS missing
    FROM requests
),
offloads AS (
    SELECT load_id, max(total - offloaded) AS left_over
    FROM layers_offloaded
    WHERE believed AND load_id IS NOT NULL AND phase = 'allocate'
    GROUP BY load_id
),
cards AS (
    SELECT
        requests.load_id, requests.request, 'not on the card' AS gate, true AS invalidates, 0.0 AS bound,
        offloads.left_over AS value, 'layers are not on the card' AS said, 'no line says where its layers are' AS missing
    FROM requests
    LEFT JOIN offloads USING (load_id)
),
embedders AS (
    SELECT DISTINCT load.load_id, load.begun_us, load.ended_us, process.host
    FROM arguments_of_load AS arguments
    JOIN load USING (load_id)
    JOIN process USING (process_id)
    WHERE regexp_matches(arguments.text, '(?:^|\s)--embeddings?(?:\s|$)')
),
embeddings AS (
    SELECT
        requests.load_id, requests.request, 'embedding model' AS gate, true AS invalidates, 0.0 AS bound,
        CASE
            WHEN count(embedders.load_id) = 0 OR requests.begun_us IS NULL THEN NULL
            WHEN bool_or(
                embedders.begun_us <= requests.begun_us
                AND (embedders.ended_us IS NULL OR embedders.ended_us >= requests.begun_us)
            ) THEN 0
            ELSE 1
        END AS value,
        'the embedding model was not loaded' AS said,
        CASE WHEN count(embedders.load_id) = 0 THEN 'no embedding model in this evidence' ELSE 'the log has no wall time' END
            AS missing
    FROM requests
    LEFT JOIN embedders ON embedders.host IS NOT DISTINCT FROM requests.host AND embedders.load_id != requests.load_id
    GROUP BY requests.load_id, requests.request, requests.begun_us
),
foreigners AS (
    SELECT
        load_id, request, 'foreign load' AS gate, false AS invalidates, 0.5 AS bound, foreign_share AS value,
        format('other loads ran requests during {:.0f} % of it', 100 * foreign_share) AS said,
        'no line says when requests ran' AS missing
    FROM requests
),
gates AS (
    SELECT load_id, request, gate, invalidates, value::DOUBLE AS value, bound::DOUBLE AS bound, said, missing,
        CASE WHEN gate = 'load time' THEN value >= bound ELSE value > bound END AS fired
    FROM (
        SELECT * FROM waits
        UNION ALL BY NAME SELECT * FROM limits
        UNION ALL BY NAME SELECT * FROM empties
        UNION ALL BY NAME SELECT * FROM cards
        UNION ALL BY NAME SELECT * FROM embeddings
        UNION ALL BY NAME SELECT * FROM foreigners
    )
)
SELECT
    load_id, request, gate, fired, invalidates, value, bound,
    CASE
        WHEN fired THEN said
        WHEN fired IS NULL THEN missing
    END AS why
FROM gates
ORDER BY request, gate
